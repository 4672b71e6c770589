"""Columns that make the figures of a random split too good are named before the figures."""

import numpy as np
import pandas as pd
import pytest

N_ROWS = 20_000
RNG = np.random.default_rng(0)
PLAIN = ("--base", "tree", "--members", 2, "--calibration", "none")


def ordinary():
    """A table without times and entities: amounts, counts, codes of areas, cities and a walk, with 2% rare rows."""
    label = (RNG.random(N_ROWS) < 0.02).astype(int)
    rows = pd.DataFrame(
        {
            "cents": RNG.lognormal(7, 1.5, N_ROWS).astype(int),
            "age": RNG.integers(18, 90, N_ROWS),
            "area": RNG.integers(10_000, 11_000, N_ROWS),
            "city": [f"city {number}" for number in RNG.zipf(1.5, N_ROWS) % 3000],
            "mostly_zero": (RNG.random(N_ROWS) < 0.01).astype(int),
            "walk": np.cumsum(RNG.normal(size=N_ROWS)),
            "signal": RNG.normal(size=N_ROWS) + 2 * label,
            "label": label,
        }
    )
    return rows.assign(logarithm=np.log(rows["cents"] + 1), limit=100 * rows["age"] + RNG.integers(0, 50, N_ROWS))


ROWS = ordinary()


def warned(run, rows, *options):
    """The warnings, and the output after them, which has the figures."""
    rows.to_parquet("rows.parquet")
    code, said, complained = run("train", "rows.parquet", "--target", "label", *PLAIN, *options)
    assert code == 0, complained
    assert "AUCPRC" in said
    return [line for line in complained.splitlines() if "row to row" in line or "repeats" in line]


def test_an_ordinary_table_has_no_such_warning(run, folder):
    assert warned(run, ROWS) == []
    assert warned(run, ROWS.sort_values("label")) == []


@pytest.mark.parametrize(
    ("values", "way"),
    [
        (np.sort(RNG.integers(0, 10**6, N_ROWS)), "rises"),
        (np.sort(RNG.random(N_ROWS))[::-1], "falls"),
        (np.arange(N_ROWS) // 500, "rises"),
        (pd.date_range("2024-01-01", periods=N_ROWS, freq="min"), "rises"),
        (1_700_000_000_000 + np.cumsum(RNG.integers(1, 9000, N_ROWS)), "rises"),
    ],
    ids=["seconds", "newest first", "days", "dates", "milliseconds that are dropped"],
)
def test_a_column_that_goes_one_way_with_the_rows_is_named_as_a_time(run, folder, values, way):
    (warning,) = warned(run, ROWS.assign(seen=values))
    assert f"column 'seen' {way} from row to row" in warning
    assert warning.endswith("Hold out the last rows: --time-column 'seen'")


def test_a_row_number_and_a_column_called_an_id_are_not_times(run, folder):
    rising = np.sort(RNG.integers(0, 10**6, N_ROWS))
    assert warned(run, ROWS.assign(number=np.arange(N_ROWS), id_1=rising)) == []


def test_the_option_that_was_suggested_removes_the_warning(run, folder):
    assert warned(run, ROWS.assign(seen=np.arange(N_ROWS) * 3.0), "--time-column", "seen") == []


@pytest.mark.parametrize("as_text", [False, True])
def test_a_column_whose_rows_are_alike_is_named_as_groups_whatever_its_name(run, folder, as_text):
    payer = RNG.integers(0, N_ROWS // 10, N_ROWS)
    home = RNG.normal(size=N_ROWS // 10)[payer] + 0.3 * RNG.normal(size=N_ROWS)
    rows = ROWS.assign(payer=[f"p{number}" for number in payer] if as_text else payer, home=home)
    (warning,) = warned(run, rows)
    assert warning.startswith("warning: column 'payer' repeats: 100% of the held-out rows")
    assert warning.endswith("Hold out whole groups: --group 'payer'")
    assert warned(run, rows, "--group", "payer") == []


def test_a_column_whose_rare_rows_are_in_few_values_is_named_as_groups(run, folder):
    payer = RNG.integers(0, N_ROWS // 10, N_ROWS)
    is_bad = (RNG.random(N_ROWS // 10) < 0.06)[payer]
    (warning,) = warned(run, ROWS.assign(payer=payer, label=(is_bad & (RNG.random(N_ROWS) < 0.7)).astype(int)))
    assert "column 'payer' repeats" in warning


def test_many_rows_of_one_value_are_not_an_entity(run, folder):
    """As 0 in a column of balances: the rows of such a value are alike, but belong to many payers."""
    balance = np.where(RNG.random(N_ROWS) < 0.7, 0, RNG.integers(1, N_ROWS // 10, N_ROWS))
    assert warned(run, ROWS.assign(balance=balance, kind=(balance == 0).astype(int))) == []


def test_a_thousand_rows_are_enough_to_name_groups(run, folder):
    few = ROWS.iloc[:1000]
    assert warned(run, few) == []
    payer = RNG.integers(0, 100, len(few))
    home = RNG.normal(size=100)[payer] + 0.3 * RNG.normal(size=len(few))
    (warning,) = warned(run, few.assign(payer=payer, home=home))
    assert "column 'payer' repeats" in warning
