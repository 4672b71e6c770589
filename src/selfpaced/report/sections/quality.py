"""Ranking and calibration of the scores."""

from __future__ import annotations

from selfpaced.calibration import expects_the_rare_rows
from selfpaced.report.facts import Calibration, Facts, Interval
from selfpaced.report.figures import calibration_curve, roc_curve
from selfpaced.report.html import Html, element
from selfpaced.report.sections.parts import columns, figure, paragraph, section
from selfpaced.report.words import decimals, percent


def ranking(facts: Facts) -> Html:
    ranked = facts.ranking
    return section(
        "ranking",
        "How well it ranks",
        columns(
            figure(
                "ROC curve",
                roc_curve(ranked, facts.thresholds),
                "The dot is the threshold chosen above. A small step to the right is many false alarms.",
            ),
            element(
                "div",
                paragraph(
                    f"A rare row scores higher than a common one with probability {percent(ranked.auroc)} (AUROC). "
                    "The AUROC is high whenever most rows are easy. Here false alarms for only 1% of the common rows "
                    f"are {facts.thresholds.n_others / 100 / facts.n_cases:,.1f} times as many as the rare rows."
                ),
                paragraph(
                    f"The AUCPRC of {decimals(ranked.aucprc)} is the mean precision over all levels of recall. "
                    f"Random scores reach {percent(ranked.chance)}, the share of rare rows: "
                    f"this is {ranked.aucprc / ranked.chance:,.0f} times as much."
                ),
                _uncertainty(ranked.aucprc_interval),
                class_="prose",
            ),
        ),
    )


def _uncertainty(interval: Interval | None) -> Html:
    if interval is None:
        return paragraph("There are too few rare rows for an interval. Evaluate the model on more rows.")
    return paragraph(
        f"Its 90% interval of {decimals(interval.low)} to {decimals(interval.high)} is from a bootstrap of the rows. "
        "It covers the chance in these rows, not later changes of the data."
    )


def calibration(facts: Facts) -> Html | None:
    found = facts.calibration
    if found is None:
        return None
    return section(
        "calibration",
        "Can a score be read as a probability?",
        columns(
            figure(
                "Calibration",
                calibration_curve(found),
                "Groups of rows by score, with 90% intervals. A hollow dot is a group without rare rows.",
            ),
            element("div", _verdict(found, facts), _brier(found), class_="prose"),
        ),
    )


def _verdict(found: Calibration, facts: Facts) -> Html:
    scores = f"The mean score is {percent(found.mean_score)}, the share of rare rows {percent(facts.prevalence)}. "
    if expects_the_rare_rows(found.mean_score, facts.n_rows, facts.n_cases):
        return paragraph(element("strong", "On average, yes. "), scores)
    if facts.model is not None and facts.model.calibration is not None:
        return paragraph(
            element("strong", "Not on these rows. "),
            scores,
            f"The scores were calibrated on the training rows ({facts.model.calibration}), so these rows differ from "
            "them: the share of rare rows has changed, or columns have drifted, such as a date that moves on. Use the "
            "scores to rank rows. Train on newer rows without such columns, or calibrate on recent rows with labels: ",
            element("code", "model.calibrate(X, y)"),
            ".",
        )
    return paragraph(
        element("strong", "No. "),
        scores,
        "Members that are trained on balanced rows rank well, but their scores overstate the risk. "
        if found.mean_score > facts.prevalence
        else "The scores understate the risk. ",
        "Use the scores to rank rows and to compare with a threshold. Calibrate them to read them as probabilities: ",
        element("code", "calibration='isotonic'"),
        " at training or ",
        element("code", "model.calibrate(X, y)"),
        " on held-out rows.",
    )


def _brier(found: Calibration) -> Html:
    return paragraph(
        f"The Brier score, the mean squared error of the scores, is {decimals(found.brier, 5)}. If every row had the "
        f"share of rare rows as its score, it would be {decimals(found.brier_of_prevalence, 5)}. Among rows with "
        "similar scores, the score and the share of rare rows differ on average by "
        f"{decimals(100 * found.calibration_error, 2)} percentage points."
    )
