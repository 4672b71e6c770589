"""`selfpaced monitor`"""

from __future__ import annotations

from argparse import Namespace
from dataclasses import asdict

from selfpaced._jobs.monitor import Monitored, MonitorRequest, monitor
from selfpaced.cli import ALARM, OK
from selfpaced.cli.data import check_output, data_in, what_is_done
from selfpaced.cli.talk import Talk, table
from selfpaced.monitoring import SOME_DRIFT, Watched, alarm_texts, parse_limit
from selfpaced.persistence import load_ensemble, read_card

MOST_COLUMNS = 10


def run(options: Namespace) -> int:
    talk = Talk(options)
    page = None if options.html is None else check_output(options.html, [".html"])
    limits = [parse_limit(text) for text in options.alarm]
    reference = read_card(options.model).reference
    model = load_ensemble(options.model)
    request = MonitorRequest(
        options.by, options.time_column, options.timezone, options.target, options.threshold, limits
    )
    with talk.progress(what_is_done(options, "scoring")) as progress:
        found = monitor(model, reference, data_in(options), request, progress)
    _tell(talk, found)
    if page is not None:
        from selfpaced.report.monitor import monitor_page
        from selfpaced.whole_files import write_whole

        write_whole(page, monitor_page(found.whole, found.periods, found.reference, found.alarms))
        talk.say(f"The report is in {page}.")
    talk.result(
        {
            "n_rows": found.whole.n_rows,
            "threshold": found.threshold,
            "alarms": [asdict(one) for one in found.alarms],
            "all": asdict(found.whole),
            "periods": {name: asdict(one) for name, one in found.periods.items()},
            "html": None if page is None else str(page),
        }
    )
    for text in alarm_texts(found.alarms):
        talk.warn(f"alarm: {text}")
    return ALARM if found.alarms else OK


def _tell(talk: Talk, found: Monitored) -> None:
    whole = found.whole
    drifted, n_columns = [one for one in whole.drifts if one.is_large], len(whole.drifts)
    named = ", ".join(f"{one.name!r}" for one in drifted[:5])
    n_real = sum(one.is_real for one in whole.drifts)
    talk.headline(
        f"{len(drifted)} of {n_columns} columns {'has' if len(drifted) == 1 else 'have'} drifted: {named}."
        if drifted
        else f"None of {n_columns} columns has drifted much."
    )
    talk.say(
        f"Drifted columns have a stability index (PSI) of {SOME_DRIFT} or more; {n_real} of {n_columns} moved more "
        "than chance explains."
    )
    talk.say(
        f"{whole.n_rows:,} rows, compared with {found.reference.n_rows:,} held-out rows of the training. "
        f"{_estimate(whole)}"
    )
    if not found.is_calibrated:
        talk.say("The scores of this model are not probabilities, so nothing can be estimated without labels.")
    if whole.arrived is not None:
        talk.say(_arrived(whole))
    rows = [
        [one.name, f"{one.psi:.3f}", f"{one.p_value:.2g}", f"{one.missing_before:.1%}", f"{one.missing:.1%}",
         "" if one.unseen is None else f"{one.unseen:.1%}"]
        for one in ([] if whole.score_drift is None else [whole.score_drift]) + list(whole.drifts[:MOST_COLUMNS])
    ]  # fmt: skip
    header = ["", "PSI", "p-value", "missing before", "missing now", "unseen"]
    talk.say(f"\n{table(rows, header=header)}\n")
    if found.periods:
        talk.say(table([_period(name, one) for name, one in found.periods.items()], header=PERIODS) + "\n")


PERIODS = ["", "rows", "alerts", "expected", "precision", "recall", "score PSI", "drifted", "known", "found"]


def _period(name: str, one: Watched) -> list[str]:
    estimate, arrived = one.estimate, one.arrived
    return [
        name,
        f"{one.n_rows:,}",
        "" if one.n_alerts is None else f"{one.n_alerts:,}",
        "" if estimate is None else f"{estimate.expected:,.1f}",
        "" if estimate is None or estimate.precision is None else f"{estimate.precision:.2f}",
        "" if estimate is None or estimate.recall is None else f"{estimate.recall:.2f}",
        "" if one.score_drift is None else f"{one.score_drift.psi:.3f}",
        f"{sum(each.is_large for each in one.drifts)}",
        "" if arrived is None else f"{arrived.n_known:,}",
        "" if arrived is None else f"{arrived.found:,}",
    ]


def _estimate(one: Watched) -> str:
    alerts = "" if one.n_alerts is None else f"{one.n_alerts:,} alerts. "
    estimate = one.estimate
    if estimate is None:
        return alerts
    between = f"{estimate.expected_interval.low:,.0f} to {estimate.expected_interval.high:,.0f}"
    parts = [f"{estimate.expected:,.0f} rare rows ({between})"]
    for name in ("precision", "recall", "aucprc"):
        value = getattr(estimate, name)
        if value is not None:
            parts.append(f"{'AUCPRC' if name == 'aucprc' else name} {value:.2f}")
    return f"{alerts}If the probabilities are still right, expect {', '.join(parts)}."


def _arrived(one: Watched) -> str:
    found = one.arrived
    assert found is not None
    low, high = found.expected_interval.low, found.expected_interval.high
    said = "more or fewer than expected" if found.is_surprising else "as expected"
    parts = [f"Of {found.n_known:,} rows with a label {found.found:,} are rare, {said}: {found.expected:,.1f} "
             f"({low:,.0f} to {high:,.0f})"]  # fmt: skip
    if found.precision is not None and found.precision_interval is not None:
        interval = found.precision_interval
        parts.append(f"precision {found.precision:.2f} ({interval.low:.2f} to {interval.high:.2f})")
    if found.recall is not None and found.recall_interval is not None:
        interval = found.recall_interval
        parts.append(f"recall {found.recall:.2f} ({interval.low:.2f} to {interval.high:.2f})")
    return "; ".join(parts) + "."
