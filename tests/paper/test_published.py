"""The published figures were copied from the paper's LaTeX without a slip.

The sums below were added up from the LaTeX by a script of its own, not from the CSV files.
"""

from __future__ import annotations

import csv
import re
from collections import Counter, defaultdict
from decimal import Decimal
from pathlib import Path

import pytest

PUBLISHED = Path(__file__).parents[2] / "paper" / "published"

# File: rows, and the sum of each column of numbers.
TOTALS = {
    "checkerboard": (48, {"mean": "20.773", "sd": "0.361"}),
    "real_world": (136, {"mean": "90.541", "sd": "1.416"}),
    "resampling": (75, {"mean": "33.396", "sd": "1.028"}),
    "resampling_cost": (15, {"n_samples": "3071945", "seconds": "3210.79"}),
    "ensembles": (72, {"mean": "53.014", "sd": "1.490"}),
    "ensembles_samples": (18, {"n_samples": "29351332"}),
    "missing_values": (24, {"mean": "10.407", "sd": "0.663"}),
    "statistics": (5, {"n_attributes": "138", "n_rows": "20205527", "imbalance_ratio": "5169.55"}),
}

# File: what its columns in print are, and for each of them the sum of the means. A slip by one column shows here.
COLUMNS = {
    "checkerboard": (
        "method",
        {"RandUnder": "2.697", "Clean": "2.884", "SMOTE": "3.019", "Easy": "3.892", "Cascade": "3.653", "SPE": "4.628"},
    ),
    "real_world": (
        "method",
        {
            "RandUnder": "11.724",
            "Clean": "6.109",
            "SMOTE": "5.609",
            "Easy": "17.663",
            "Cascade": "24.082",
            "SPE": "25.354",
        },
    ),
    "resampling": (
        "model",
        {"LR": "5.175", "KNN": "7.423", "DT": "5.284", "AdaBoost10": "5.782", "GBDT10": "9.732"},
    ),
    "ensembles": (
        "method",
        {
            "RUSBoost": "6.650",
            "SMOTEBoost": "9.808",
            "UnderBagging": "7.627",
            "SMOTEBagging": "9.891",
            "Cascade": "8.948",
            "SPE": "10.090",
        },
    ),
    "missing_values": (
        "method",
        {
            "RUSBoost": "0.991",
            "SMOTEBoost": "2.210",
            "UnderBagging": "0.820",
            "SMOTEBagging": "2.154",
            "Cascade": "1.799",
            "SPE": "2.433",
        },
    ),
}

# A slip by one row shows here: single cells, found in the printed tables by eye.
CELLS = [
    ("checkerboard", {"model": "DT", "method": "Cascade"}, "0.376", "0.052"),
    ("checkerboard", {"model": "MLP", "method": "Clean"}, "0.138", "0.035"),
    ("checkerboard", {"model": "SVM", "method": "SPE"}, "0.518", "0.004"),
    ("checkerboard", {"model": "GBDT10", "method": "RandUnder"}, "0.553", "0.015"),
    ("real_world", {"dataset": "credit-fraud", "model": "KNN", "method": "Easy", "metric": "mcc"}, "0.650", "0.004"),
    ("real_world", {"dataset": "credit-fraud", "model": "MLP", "method": "SMOTE", "metric": "gmean"}, "0.665", "0.060"),
    ("real_world", {"dataset": "kddcup-dos-prb", "method": "RandUnder", "metric": "f1"}, "0.962", "0.001"),
    ("real_world", {"dataset": "kddcup-dos-r2l", "method": "Easy", "metric": "f1"}, "0.259", "0.058"),
    ("real_world", {"dataset": "record-linkage", "method": "Cascade", "metric": "mcc"}, "0.940", "0.000"),
    ("real_world", {"dataset": "payment-simulation", "method": "SPE", "metric": "aucprc"}, "0.944", "0.001"),
    ("resampling", {"method": "ORG", "model": "KNN"}, "0.721", "0.000"),
    ("resampling", {"method": "OSS", "model": "LR"}, "0.711", "0.056"),
    ("resampling", {"method": "BorderSMOTE", "model": "GBDT10"}, "0.242", "0.020"),
    ("ensembles", {"n_members": "10", "method": "SMOTEBoost", "metric": "f1"}, "0.842", "0.012"),
    ("ensembles", {"n_members": "20", "method": "UnderBagging", "metric": "aucprc"}, "0.519", "0.125"),
    ("ensembles", {"n_members": "50", "method": "RUSBoost", "metric": "mcc"}, "0.297", "0.015"),
    ("missing_values", {"missing": "0.25", "method": "UnderBagging"}, "0.258", "0.053"),
    ("missing_values", {"missing": "0.75", "method": "SPE"}, "0.374", "0.028"),
]

# File: the label of its table in the LaTeX.
LABELS = {
    "checkerboard": "result_checkerboard",
    "real_world": "result-real",
    "resampling": "result-resample",
    "ensembles": "result-ensemble",
    "missing_values": "result-missing",
}


def rows_of(name: str) -> list[dict[str, str]]:
    with (PUBLISHED / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def tables_of(latex: str) -> list[str]:
    return re.findall(r"\\begin\{table\*?\}.*?\\end\{table\*?\}", latex, re.S)


def with_deviation(latex: str) -> list[tuple[str, str]]:
    """Every `mean ± sd` in the order of print; the best are in bold and have a brace in between."""
    return re.findall(r"(\d\.\d+)\}?\$\\pm\$(\d\.\d+)", latex)


def test_no_file_is_left_unchecked():
    assert {path.stem for path in PUBLISHED.glob("*.csv")} == set(TOTALS)


@pytest.mark.parametrize("name", TOTALS)
def test_the_file_has_the_printed_tables_number_of_rows(name):
    assert len(rows_of(name)) == TOTALS[name][0]


@pytest.mark.parametrize(("name", "column"), [(name, column) for name, (_, sums) in TOTALS.items() for column in sums])
def test_a_column_of_numbers_adds_up_to_the_printed_ones(name, column):
    total = sum(Decimal(row[column] or 0) for row in rows_of(name))
    assert total == Decimal(TOTALS[name][1][column])


@pytest.mark.parametrize("name", COLUMNS)
def test_the_means_of_each_printed_column_add_up(name):
    key, printed = COLUMNS[name]
    found = defaultdict(Decimal)
    for row in rows_of(name):
        found[row[key]] += Decimal(row["mean"])
    assert found == {column: Decimal(total) for column, total in printed.items()}


@pytest.mark.parametrize(("name", "where", "mean", "sd"), CELLS)
def test_a_cell_stands_where_it_is_printed(name, where, mean, sd):
    found = [row for row in rows_of(name) if where.items() <= row.items()]
    assert [(row["mean"], row["sd"]) for row in found] == [(mean, sd)]


@pytest.mark.parametrize("name", LABELS)
def test_no_cell_is_there_twice(name):
    rows = rows_of(name)
    keys = {tuple(value for column, value in row.items() if column not in {"mean", "sd"}) for row in rows}
    assert len(keys) == len(rows)


def test_without_missing_values_the_figures_are_those_of_ten_members():
    """The paper prints these six twice."""
    without = {row["method"]: (row["mean"], row["sd"]) for row in rows_of("missing_values") if row["missing"] == "0"}
    ten = {
        row["method"]: (row["mean"], row["sd"])
        for row in rows_of("ensembles")
        if row["n_members"] == "10" and row["metric"] == "aucprc"
    }
    assert without == ten


def test_the_one_cost_that_is_not_printed_is_empty():
    assert [row["method"] for row in rows_of("resampling_cost") if not row["seconds"]] == ["ORG"]


def test_the_products_in_print_are_multiplied_out():
    spe = next(row for row in rows_of("resampling_cost") if row["method"] == "SPE")
    assert (int(spe["n_samples"]), Decimal(spe["seconds"])) == (632 * 10, Decimal("0.116") * 10)


@pytest.mark.parametrize("name", LABELS)
def test_the_latex_table_has_the_same_figures_in_the_same_order(name, latex):
    (table,) = [table for table in tables_of(latex) if rf"\label{{{LABELS[name]}}}" in table]
    assert [(row["mean"], row["sd"]) for row in rows_of(name)] == with_deviation(table)


def test_no_figure_of_any_latex_table_is_left_out(latex):
    everywhere = Counter(figure for table in tables_of(latex) for figure in with_deviation(table))
    assert everywhere == Counter((row["mean"], row["sd"]) for name in LABELS for row in rows_of(name))


def test_every_deviation_in_the_latex_is_understood(latex):
    assert len(with_deviation(latex)) == latex.count(r"\pm")
