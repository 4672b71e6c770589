"""Means of made-up figures over tables, against values computed by hand."""

import pytest

from blends.summary import as_text, by_table, summaries


def row(table, split, comparison="scales", **figures):
    return {"table": table, "method": comparison, "split": split, "aucprc": figures}


def test_splits_of_a_table_are_averaged_before_tables_are():
    rows = [row("a", 0, x=0.2), row("a", 1, x=0.4), row("b", 0, x=0.9)]
    found = by_table(rows, "scales")
    assert found["x"] == pytest.approx({"a": 0.3, "b": 0.9})
    assert summaries(found, "x")["x"].mean == pytest.approx(0.6)


def test_rows_of_other_comparisons_do_not_count():
    assert by_table([row("a", 0, "weightings", x=0.2)], "scales") == {}


def test_a_model_is_compared_with_the_reference_on_its_own_tables_only():
    rows = [row("a", 0, x=0.2, y=0.3), row("b", 0, x=0.9)]
    assert summaries(by_table(rows, "scales"), "x")["y"].difference == pytest.approx(0.1)


def test_the_best_model_comes_first_in_the_text():
    rows = [row("a", 0, worse=0.2, best=0.3), row("b", 0, worse=0.4, best=0.4)]
    lines = as_text(summaries(by_table(rows, "scales"), "worse"), "worse").splitlines()
    assert [line.split()[0] for line in lines[2:]] == ["best", "worse"]
