"""Precision and recall in words for readers who know no statistics."""

import pytest

from selfpaced.thresholds import headline, of_hundred, rows_where


@pytest.mark.parametrize(
    ("share", "said"),
    [(0.005, "fewer than 1"), (0.0051, "1"), (0.99, "99"), (0.9949, "99"), (0.995, "more than 99")],
)
def test_a_share_is_a_whole_number_of_a_hundred_unless_it_would_be_rounded_to_none_or_all(share, said):
    assert of_hundred(share) == said


@pytest.mark.parametrize(("precision", "said"), [(0.01, "1 is right"), (0.001, "fewer than 1 is right")])
def test_one_alert_is_right_in_the_singular(precision, said):
    assert headline(precision, 0.5).startswith(f"Of 100 alerts, {said};")


def test_rows_are_named_by_their_column_or_by_their_class():
    assert rows_where("1", "is_fraud") == "rows where is_fraud is 1"
    assert rows_where("1", None) == "rows of the class 1"


def test_no_row_and_all_rows_are_said_as_they_are():
    assert [of_hundred(share) for share in (0, 1, 0.5)] == ["0", "100", "50"]
