"""`selfpaced evaluate`: judge a model on rows with labels."""

from argparse import Namespace
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from selfpaced.cli.commands.predict import threshold_of
from selfpaced.cli.history import rows_to_score
from selfpaced.cli.opening import labelled_rows, what_is_done
from selfpaced.cli.output import Talk, counted_new_categories, expected, headline, origin, promise
from selfpaced.cli.request import amounts_in, data_of, rule_of, target_of
from selfpaced.exceptions import NewCategoryWarning, TableError
from selfpaced.metrics import alerts_at_threshold
from selfpaced.persistence import load_ensemble, read_card
from selfpaced.predicting import RowsDone, TableEvaluation, evaluation, open_to_score, rare_rows, scores_of
from selfpaced.tables import Roles
from selfpaced.tables.files import StreamedTable
from selfpaced.thresholds import LowestCost, Rule, ThresholdChoice, amounts_of, choose_threshold, cost_text, parse_rule


@dataclass(frozen=True)
class Known:
    """The rule that chose the threshold of a model in training, and the column of amounts that it used."""

    rule: Rule | None = None
    amount: str | None = None


def known_from(metrics: Mapping[str, Any]) -> Known:
    """The rule and the column of amounts in a model's card. An unknown rule in the card is ignored."""
    with suppress(KeyError, ValueError):
        return Known(parse_rule(metrics["rule"]), metrics.get("amount"))
    return Known()


@dataclass(frozen=True)
class Judging:
    """How alerts are judged: at a threshold, or at the one that a rule chooses."""

    threshold: float | None = None
    rule: str | None = None
    amount: str | None = None
    known: Known = Known()  # the rule of training. It gives the costs of rows if no other rule is given
    drop_unlabelled: bool = False


@dataclass(frozen=True)
class Evaluated:
    evaluation: TableEvaluation
    choice: ThresholdChoice | None  # the threshold, if it was chosen on these rows
    cost: float | None = None  # the cost of these rows at the threshold, if the rule is about costs
    unpriced: str | None = None  # why the cost is not known, if the rule is about costs


def evaluate(model: Any, source: Any, target: str, judging: Judging, progress: RowsDone | None = None) -> Evaluated:
    """Score the rows of a file and compare them with their labels."""
    chosen = None if judging.rule is None else rule_of(judging.rule, judging.amount)
    rule = judging.known.rule if chosen is None else chosen
    if judging.amount is not None and not isinstance(rule, LowestCost):
        raise TableError("--amount needs a rule about costs, for instance --rule cost=5 --amount COL.")
    data = data_of(source)
    table = open_to_score(model.model_, data.source, Roles(target, model.trained_on_.pos_label), data.reading)
    if judging.drop_unlabelled:
        table = table.part(labelled_rows(table.reader, target))
    column, unpriced = (judging.amount, None) if chosen is not None else _amounts_for(judging, table)
    amounts = amounts_in(table, column)
    is_rare = rare_rows(model.trained_on_, table)
    scores = scores_of(model.model_, table, model.n_jobs, progress)
    if chosen is not None:
        choice = choose_threshold(is_rare, scores, chosen, amounts=amounts)
        return Evaluated(evaluation(is_rare, scores, choice.threshold), choice, choice.cost)
    found = evaluation(is_rare, scores, judging.threshold)
    if unpriced is not None or not isinstance(rule, LowestCost) or rule.costs is None:
        return Evaluated(found, None, unpriced=unpriced)
    missed = scores[is_rare] < found.threshold
    lost = None if amounts is None else float(amounts_of(amounts, is_rare)[missed].sum())
    alerts = alerts_at_threshold(is_rare, scores, found.threshold)
    return Evaluated(found, None, float(rule.costs.total(alerts, lost)))


def _amounts_for(judging: Judging, table: StreamedTable) -> tuple[str | None, str | None]:
    """The column of amounts for the rule of training, if the rule needs one; or the reason why there is none."""
    known, given = judging.known, judging.amount
    if not isinstance(known.rule, LowestCost) or known.rule.costs is None or known.rule.costs.missed is not None:
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


def run(options: Namespace) -> None:
    talk = Talk(options)
    card = read_card(options.model).metrics
    known = known_from(card)
    as_trained = options.threshold in (None, "best") and options.rule is None and card.get("threshold") is not None
    threshold = float(card["threshold"]) if as_trained else threshold_of(options.threshold, options.model)
    model = load_ensemble(options.model)
    target = target_of(options.target, model)
    with talk.progress(what_is_done(options, "scoring")) as progress, counted_new_categories() as new:
        judging = Judging(threshold, options.rule, options.amount, known, options.drop_unlabelled)
        judged = evaluate(model, rows_to_score(options, model, card), target, judging, progress)
    found, choice = judged.evaluation, judged.choice
    if new:
        talk.warn(str(NewCategoryWarning(new, found.n_rows)))
    label, chosen = model.pos_label_, "" if choice is None else f", {origin(choice)}"
    if as_trained and known.rule is not None:
        chosen = f", chosen by {known.rule} in training"
    talk.headline(headline(found, target, label, choice))
    talk.say(
        f"{found.n_rows:,} rows, {found.n_positives:,} of them {label!r}. AUCPRC {found.aucprc:.3f} (chance "
        f"{found.n_positives / found.n_rows:.2g}). The threshold is {found.threshold}{chosen}."
    )
    if choice is not None:
        talk.say(promise(choice))
    elif judged.unpriced is not None:
        talk.say(f"The cost of these rows by {known.rule} is not known: {judged.unpriced}.")
    elif judged.cost is not None:
        talk.say(f"By {known.rule} these rows cost {cost_text(judged.cost)}.")
    if found.threshold != found.best_threshold:
        talk.say(
            f"F1 {found.f1:.3f}. The best threshold by F1 on these rows would be {found.best_threshold}, with F1 "
            f"{found.best_f1:.3f}."
        )
    if model.calibration_ is not None:
        talk.say(f"The probabilities {expected(found)}.")
    talk.result(
        {
            **vars(found),
            "rule": str(known.rule) if as_trained and known.rule is not None else None,
            "cost": judged.cost,
            "confidence": None,
            "intervals": None,
            **({} if choice is None else choice.as_facts()),
            "chance": found.n_positives / found.n_rows,
            "calibration": model.calibration_,
            "new_categories": new,
        }
    )
