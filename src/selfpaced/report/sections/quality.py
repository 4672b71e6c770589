"""How well the scores rank, and whether they are probabilities."""

from __future__ import annotations

from math import sqrt

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
                "The dot is the threshold chosen above. With few cases, a step to the right is many false alarms.",
            ),
            element(
                "div",
                paragraph(
                    f"A case scores higher than another row with probability {percent(ranked.auroc)} (AUROC). "
                    "That figure looks good whenever most rows are easy: here 1% of false alarms would be "
                    f"{facts.thresholds.n_others / 100 / facts.n_cases:,.1f} for every case there is."
                ),
                paragraph(
                    f"The AUCPRC of {decimals(ranked.aucprc)} is the mean precision over all shares of cases found. "
                    f"Scores without knowledge reach {percent(ranked.chance)}, the share of cases: "
                    f"this is {ranked.aucprc / ranked.chance:,.0f} times as much."
                ),
                _luck(ranked.aucprc_interval),
                class_="prose",
            ),
        ),
    )


def _luck(interval: Interval | None) -> Html:
    if interval is None:
        return paragraph("There are too few cases to say how much of this is luck: judge it on more rows.")
    return paragraph(
        f"Its 90% interval of {decimals(interval.low)} to {decimals(interval.high)} comes from drawing the rows again, "
        "with replacement. It covers the luck of these rows, not changes to come."
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
                "Groups of rows by score, with 90% intervals. A hollow dot is a group without any case.",
            ),
            element("div", _verdict(found, facts), _brier(found), class_="prose"),
        ),
    )


def _verdict(found: Calibration, facts: Facts) -> Html:
    ratio = found.mean_score / facts.prevalence
    luck = 2 / sqrt(facts.n_cases)  # two standard deviations of the number of cases
    scores = f"The mean score is {percent(found.mean_score)}, the share of cases {percent(facts.prevalence)}. "
    if abs(ratio - 1) <= max(0.1, luck):
        return paragraph(element("strong", "On average, yes. "), scores)
    return paragraph(
        element("strong", "No. "),
        scores,
        "Members that train on balanced rows rank well and overstate the risk. "
        if ratio > 1
        else "The scores understate the risk. ",
        "Use scores to order rows and to compare them with a threshold; calibrate them before reading them as odds: ",
        element("code", "calibration='isotonic'"),
        " at training or ",
        element("code", "model.calibrate(X, y)"),
        " on rows set aside.",
    )


def _brier(found: Calibration) -> Html:
    return paragraph(
        f"The Brier score, the mean squared error of the scores, is {decimals(found.brier, 5)}; giving every row the "
        f"share of cases would have {decimals(found.brier_of_prevalence, 5)}. A score is "
        f"{decimals(100 * found.calibration_error, 2)} percentage points away from the share of cases among rows with "
        "similar scores, on average."
    )
