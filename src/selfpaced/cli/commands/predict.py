"""`selfpaced predict`: write the scores of the rows of a table."""

import math
from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from selfpaced.cli.columns import Floats
from selfpaced.cli.history import rows_to_score, rows_to_score_with_state
from selfpaced.cli.opening import scores_output, what_is_done
from selfpaced.cli.output import Talk, counted_new_categories
from selfpaced.cli.request import Deciding, check_engine_options, data_of, request_from
from selfpaced.exceptions import NewCategoryWarning, TableError
from selfpaced.persistence import id_of_file, load_ensemble, read_card
from selfpaced.predicting import Beside, open_to_score, write_decided, write_scores
from selfpaced.reasons import check_top
from selfpaced.storage import Place
from selfpaced.tables import DatabaseTable, Roles
from selfpaced.tables.sources import check_columns
from selfpaced.thresholds import ZoneLimits


@dataclass(frozen=True)
class Predicted:
    """The numbers of rows, alerts and expected rare rows that were written."""

    n_rows: int
    n_alerts: int | None  # the number of alerts; None without a threshold
    n_expected: float | None  # the sum of the probabilities of the rare class; None if scores are not probabilities
    # The number of rows with categories that the model was not trained with, by column; None if they are not counted.
    new_categories: Mapping[str, int] | None = None
    n_zones: Mapping[str, int] | None = None  # the number of rows of each zone; None without zones

    def __str__(self) -> str:
        """
        >>> str(Predicted(n_rows=3000, n_alerts=1, n_expected=2.7)), str(Predicted(3000, None, None))
        ('1 alert, about 3 rare rows expected', '')
        """
        parts = []
        if self.n_alerts is not None:
            parts.append(f"{self.n_alerts:,} alert{'' if self.n_alerts == 1 else 's'}")
        if self.n_expected is not None:
            n_expected = round(self.n_expected)
            parts.append(f"about {n_expected:,} rare row{'' if n_expected == 1 else 's'} expected")
        parts += [f"{n_rows:,} in the zone {name!r}" for name, n_rows in (self.n_zones or {}).items()]
        return ", ".join(parts)


def predict(
    model: Any,
    source: Any,
    output: Place | DatabaseTable,
    *,
    keep: Sequence[str] = (),
    threshold: float | ZoneLimits | None = None,
    deciding: Deciding | None = None,
    progress: Callable[[int, int | None], None] | None = None,
    beside: Beside | None = None,
) -> Predicted:
    """Write the scores, and count rows and alerts in the same pass."""
    deciding, beside = deciding or Deciding(), beside or Beside()
    deciding.check(model)
    zones, lowest = (threshold, threshold.lowest) if isinstance(threshold, ZoneLimits) else (None, threshold)
    if zones is not None and deciding.is_asked_for:
        raise TableError(
            f"The threshold of this model has zones, {', '.join(zones.names)}, which do not go together with --decide "
            f"or --top. Give one threshold as a number, such as --threshold {zones.lowest}."
        )
    n_zones = Counter(dict.fromkeys(() if zones is None else zones.names, 0))
    data = data_of(source)
    with counted_new_categories() as new:
        if deciding.is_asked_for:
            # These alerts can only be decided when the scores of all rows are known.
            table = open_to_score(model.model_, data.source, Roles(keep=tuple(deciding.columns())), data.reading)
            written = replace(table, roles=Roles(keep=tuple(keep)))
            check_columns(written.reader, written.roles)
            decide = partial(deciding.alerts, table=table, threshold=lowest)
            scores, alerts = write_decided(model.model_, written, output, decide, model.n_jobs, progress, beside)
            n_rows, n_alerts, total = int(scores.size), int(alerts.sum()), float(scores.sum())
        else:
            n_rows, n_alerts, total = 0, 0, 0.0

            def count(scores: Floats) -> None:
                nonlocal n_rows, n_alerts, total
                n_rows += scores.size
                n_alerts += 0 if lowest is None else int((scores >= lowest).sum())
                n_zones.update([] if zones is None else zones.of(scores).tolist())
                total += float(scores.sum())

            table = open_to_score(model.model_, data.source, Roles(keep=tuple(keep)), data.reading)
            how: dict[str, Any] = {"threshold": threshold, "on_scores": count, "beside": beside}
            write_scores(model.model_, table, output, n_jobs=model.n_jobs, progress=progress, **how)
    has_alerts = threshold is not None or deciding.is_asked_for
    expected = None if model.calibrator_ is None else total
    return Predicted(n_rows, n_alerts if has_alerts else None, expected, new, n_zones or None)


def run(options: Namespace) -> None:
    check_engine_options(options)
    for name in ("id", "learn"):
        if getattr(options, name) is not None and options.state is None:
            raise TableError(f"--{name} is for the state of a history. Name its folder: --state FOLDER.")
    talk, on_cluster = Talk(options), options.engine is not None
    n_reasons = 0 if options.reasons is None else check_top(options.reasons)
    output = options.output if on_cluster else scores_output(options)
    threshold, keep = threshold_of(options.threshold, options.model), options.keep
    zones = zones_of(options.threshold, options.model)
    if on_cluster and zones is not None:
        raise TableError(
            f"Zones are not written on a cluster. Give one threshold as a number: --threshold {zones.lowest}."
        )
    model = load_ensemble(options.model)
    deciding = request_from(Deciding, options)
    if on_cluster:
        from selfpaced.cli.engines import predict_on_cluster

        found = predict_on_cluster(options, model, keep, threshold)
    else:
        with talk.progress(what_is_done(options, "scoring")) as progress:
            how: dict[str, Any] = {"keep": keep, "threshold": zones or threshold, "deciding": deciding}
            stamp = {"model_id": id_of_file(options.model), "threshold": threshold} if options.stamp else {}
            how["beside"] = Beside(n_reasons, stamp)
            metrics = read_card(options.model).metrics
            given = (options, model, metrics)
            with (
                rows_to_score_with_state(*given, talk) if options.state else nullcontext(rows_to_score(*given)) as data
            ):
                found = predict(model, data, output, **how, progress=progress)
    if found.new_categories:
        talk.warn(str(NewCategoryWarning(found.new_categories, found.n_rows)))
    where = f"the files of {output}" if on_cluster else str(output)
    talk.say(f"Wrote {found.n_rows:,} scores to {where}{': ' if str(found) else ''}{found}.")
    decided = {name: value for name, value in vars(deciding).items() if value is not None}
    limits = {} if zones is None else {"zones": zones.as_facts()}
    talk.result({"output": str(output), "threshold": threshold, **limits, **decided, **vars(found)})


def zones_of(given: str | None, model: str) -> ZoneLimits | None:
    """The zones that the model's card has, if its own threshold is asked for."""
    return ZoneLimits.from_facts(read_card(model).metrics.get("zones")) if given == "best" else None


def threshold_of(given: str | None, model: str) -> float | None:
    """A number, or the threshold that the model's card has."""
    if given is None:
        return None
    if given == "best":
        known = read_card(model).metrics.get("threshold")
        if known is None:
            raise TableError(f"{model} does not contain a threshold. Give a number: --threshold NUMBER.")
        return float(known)
    threshold = math.nan
    with suppress(ValueError):
        threshold = float(given)
    if not 0 <= threshold <= 1:
        raise TableError(f"--threshold must be a number from 0 to 1, or 'best'; got {given!r}.")
    return threshold
