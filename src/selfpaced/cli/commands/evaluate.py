"""`selfpaced evaluate`: judge a model on rows with labels."""

from argparse import Namespace
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

from selfpaced import thresholds
from selfpaced.cli import output
from selfpaced.cli.commands.predict import threshold_of
from selfpaced.cli.history import rows_to_score
from selfpaced.cli.opening import labelled_rows, what_is_done
from selfpaced.cli.request import amounts_in, check_times_of, data_of, rule_of, target_of, times_in, zone_for
from selfpaced.cli.splitting import check_guarantee
from selfpaced.exceptions import NewCategoryWarning, TableError
from selfpaced.metrics import alerts_at_threshold
from selfpaced.persistence import DataRecord, TrainingRecord, load_ensemble, read_card
from selfpaced.predicting import RowsDone, TableEvaluation, evaluation, open_to_score, rare_rows, scores_of
from selfpaced.report import GROUP_COLUMNS, GroupedFacts, difference_text, group_facts
from selfpaced.tables import Roles
from selfpaced.tables.files import StreamedTable


@dataclass(frozen=True)
class Known:
    """How the threshold of a model was chosen in training: by which rule and column of amounts, and its zones."""

    rule: thresholds.Rule | None = None
    amount: str | None = None
    zones: thresholds.ZoneLimits | None = None
    data: DataRecord | None = None  # the rows that it was trained on
    threshold: float | None = None


UNKNOWN = Known()


def known_from(metrics: Mapping[str, Any], record: TrainingRecord | None = None) -> Known:
    """The rule, the threshold and the rows in a model's card. An unknown rule in the card is ignored."""
    data, threshold = None if record is None else record.data, metrics.get("threshold")
    with suppress(KeyError, ValueError):
        zones = thresholds.ZoneLimits.from_facts(metrics.get("zones"))
        return Known(thresholds.parse_rule(metrics["rule"]), metrics.get("amount"), zones, data, threshold)
    return Known(data=data, threshold=threshold)


@dataclass(frozen=True)
class Judging:
    """How alerts are judged: at a threshold, or at the one that a rule chooses."""

    threshold: float | None = None
    rule: str | None = None
    amount: str | None = None
    known: Known = UNKNOWN  # the rule of training. It gives the costs of rows if no other rule is given
    drop_unlabelled: bool = False
    time_column: str | None = None  # and its unit and zone, for a rule such as alerts<=200/day
    time_unit: str | None = None
    timezone: str | None = None
    as_trained: bool = False  # at the threshold of training
    by: str | None = None  # a column of groups


@dataclass(frozen=True)
class Evaluated:
    evaluation: TableEvaluation
    choice: thresholds.ThresholdChoice | None  # the threshold, if it was chosen on these rows
    cost: float | None = None  # the cost of these rows at the threshold, if the rule is about costs
    unpriced: str | None = None  # why the cost is not known, if the rule is about costs
    zones: thresholds.ZoneLimits | None = None  # of the rule, and the figures of each
    zone_figures: tuple[thresholds.ZoneFigures, ...] = ()
    by_group: GroupedFacts | None = None
    cautions: Sequence[str] = ()


def evaluate(model: Any, source: Any, target: str, judging: Judging, progress: RowsDone | None = None) -> Evaluated:
    """Score the rows of a file and compare them with their labels."""
    chosen = None if judging.rule is None else rule_of(judging.rule, judging.amount)
    rule = judging.known.rule if chosen is None else chosen
    if judging.amount is not None and not isinstance(rule, thresholds.LowestCost):
        raise TableError("--amount needs a rule about costs, for instance --rule cost=5 --amount COL.")
    _check_times(judging, chosen)
    data = data_of(source)
    roles = Roles(target, model.trained_on_.pos_label, keep=() if judging.by is None else (judging.by,))
    table = open_to_score(model.model_, data.source, roles, data.reading)
    if judging.drop_unlabelled:
        table = table.part(labelled_rows(table.reader, target))
    column, unpriced = (judging.amount, None) if chosen is not None else _amounts_for(judging, table)
    amounts = amounts_in(table, column)
    is_rare = rare_rows(model.trained_on_, table)
    scores = scores_of(model.model_, table, model.n_jobs, progress)
    choice, more = None, dict[str, Any]()
    if chosen is not None:
        thresholds.refuse_training_rows(chosen, model.trained_on_, is_rare)
        more["cautions"] = check_guarantee(chosen, table, data, judging.known.data)
        choice = thresholds.choose_threshold(is_rare, scores, chosen, amounts=amounts, **_times(judging, chosen, table))
    found = evaluation(is_rare, scores, judging.threshold if choice is None else choice.threshold)
    if judging.by is not None:
        more["by_group"] = group_facts(table.column(judging.by), judging.by, is_rare, scores, found.threshold)
    if choice is not None:
        return Evaluated(found, choice, choice.cost, None, choice.zones, choice.zone_figures, **more)
    if judging.as_trained and judging.known.zones is not None:
        zones = judging.known.zones
        return Evaluated(found, None, None, None, zones, zones.figures(is_rare, scores), **more)
    if unpriced is not None or not isinstance(rule, thresholds.LowestCost) or rule.costs is None:
        return Evaluated(found, None, unpriced=unpriced, **more)
    missed = scores[is_rare] < found.threshold
    lost = None if amounts is None else float(thresholds.amounts_of(amounts, is_rare)[missed].sum())
    alerts = alerts_at_threshold(is_rare, scores, found.threshold)
    return Evaluated(found, None, float(rule.costs.total(alerts, lost)), **more)


def _check_times(judging: Judging, rule: thresholds.Rule | None) -> None:
    """Refuse a rule by periods without times, and times that no rule uses, before rows are scored."""
    if rule is not None and thresholds.period_of(rule) is not None:
        check_times_of(rule, judging.time_column)
        return
    for name in ("time_column", "time_unit", "timezone"):
        if getattr(judging, name) is not None:
            raise TableError(
                f"--{name.replace('_', '-')} {getattr(judging, name)} is for a rule such as --rule 'alerts<=200/day'."
            )


def _times(judging: Judging, rule: thresholds.Rule, table: StreamedTable) -> dict[str, Any]:
    if judging.time_column is None:
        return {}
    times = times_in(table, judging.time_column, judging.time_unit)
    return {"times": times, "timezone": zone_for(table, rule, judging.time_column, judging.timezone)}


def _amounts_for(judging: Judging, table: StreamedTable) -> tuple[str | None, str | None]:
    """The column of amounts for the rule of training, if the rule needs one; or the reason why there is none."""
    known, given = judging.known, judging.amount
    if (
        not isinstance(known.rule, thresholds.LowestCost)
        or known.rule.costs is None
        or known.rule.costs.missed is not None
    ):
        if given is not None:
            raise TableError(f"The rule {known.rule} already has the cost of a missed case. Omit --amount {given}.")
        return None, None
    if given is not None:
        return given, None  # if it is missing, opening the table raises
    if known.amount is None:
        return None, "the column of amounts is not known. Name it: --amount COL"
    if known.amount not in table.reader.column_names:
        return None, f"there is no column {known.amount!r}, which had the amounts in training. Name one: --amount COL"
    return known.amount, None


def group_table(found: GroupedFacts) -> str:
    """The figures of each group with 90% intervals, and the largest differences."""
    lines = [
        f"By {found.column}, with {found.confidence:.0%} intervals:",
        "",
        output.records(GROUP_COLUMNS, found.groups),
    ]
    if found.n_small:
        lines.append(
            f"{found.n_small:,} groups are put together: those with fewer than {found.fewest_rows} rows first."
        )
    return "\n".join([*lines, "", *map(difference_text, found.differences)]).rstrip()


def run(options: Namespace) -> None:
    talk = output.Talk(options)
    card = read_card(options.model)
    known = known_from(card.metrics, card.record)
    as_trained = options.threshold in (None, "best") and options.rule is None and known.threshold is not None
    threshold = known.threshold if as_trained else threshold_of(options.threshold, options.model)
    model = load_ensemble(options.model)
    target = target_of(options.target, model)
    with talk.progress(what_is_done(options, "scoring")) as progress, output.counted_new_categories() as new:
        times = (options.time_column, options.time_unit, options.timezone)
        known_rows = (options.drop_unlabelled, *times, as_trained, options.by)
        judging = Judging(threshold, options.rule, options.amount, known, *known_rows)
        judged = evaluate(model, rows_to_score(options, model, card.metrics), target, judging, progress)
    found, choice = judged.evaluation, judged.choice
    for caution in [str(NewCategoryWarning(new, found.n_rows))] * bool(new) + [*judged.cautions]:
        talk.warn(caution)
    label, chosen = model.pos_label_, "" if choice is None else f", {output.origin(choice)}"
    if as_trained and known.rule is not None:
        chosen = f", chosen by {known.rule} in training"
    talk.headline(output.headline(found, target, label, choice))
    talk.say(
        f"{found.n_rows:,} rows, {found.n_positives:,} of them {label!r}. AUCPRC {found.aucprc:.3f} (chance "
        f"{found.n_positives / found.n_rows:.2g}). The threshold is {found.threshold}{chosen}."
    )
    if choice is not None:
        talk.say(output.promise(choice))
    elif judged.unpriced is not None:
        talk.say(f"The cost of these rows by {known.rule} is not known: {judged.unpriced}.")
    elif judged.cost is not None:
        talk.say(f"By {known.rule} these rows cost {thresholds.cost_text(judged.cost)}.")
    for line in thresholds.zone_lines(judged.zones, judged.zone_figures):
        talk.say(f"  {line}")
    if found.threshold != found.best_threshold:
        talk.say(
            f"F1 {found.f1:.3f}. The best threshold by F1 on these rows would be {found.best_threshold}, with F1 "
            f"{found.best_f1:.3f}."
        )
    if model.calibration_ is not None:
        talk.say(f"The probabilities {output.expected(found)}.")
    if judged.by_group is not None:
        talk.say(f"\n{group_table(judged.by_group)}")
    talk.result(
        {
            **vars(found),
            "rule": str(known.rule) if as_trained and known.rule is not None else None,
            "cost": judged.cost,
            "confidence": None,
            "intervals": None,
            "zones": [one.as_facts() for one in judged.zone_figures] or None,
            **({} if choice is None else choice.as_facts()),
            "chance": found.n_positives / found.n_rows,
            "calibration": model.calibration_,
            "new_categories": new,
            "by_group": None if judged.by_group is None else asdict(judged.by_group),
        }
    )
