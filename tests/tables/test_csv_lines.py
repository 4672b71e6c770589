"""Lines of a CSV file and rows that are read of it agree, or the file is refused with the line."""

from __future__ import annotations

import bz2
import csv
import gzip

import pandas as pd
import pytest

from selfpaced.exceptions import TableError
from selfpaced.tables.files.text import Limits, open_csv
from selfpaced.tables.sources import open_table

N_ROWS = 300


def lines_of(delimiter=",", n_rows=N_ROWS):
    """Rows with a name, a number and a label."""
    rows = [delimiter.join(["name", "amount", "y"])]
    return rows + [delimiter.join([f"shop {i % 7}", f"{i / 4}", str(i % 2)]) for i in range(n_rows)]


def with_stray_quotes(first, last, delimiter=",", column=0, n_rows=N_ROWS):
    """The same, with a quote before a value in one line, and one after a value of the same column in a later line."""
    lines = lines_of(delimiter, n_rows)
    for number, quoted in ((first, '"{}'), (last, '{}"')):
        values = lines[number - 1].split(delimiter)
        values[column] = quoted.format(values[column])
        lines[number - 1] = delimiter.join(values)
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("column", [0, 1, 2])
@pytest.mark.parametrize(("first", "last"), [(2, 3), (51, 200), (300, 301)])
def test_a_stray_pair_of_quotes_is_refused_with_its_line(tmp_path, column, first, last):
    path = tmp_path / "rows.csv"
    path.write_text(with_stray_quotes(first, last, column=column))
    with pytest.raises(
        TableError, match=rf"quoted value of {last - first + 1} lines in column .* starts in line {first}\."
    ):
        open_table(path, target="y")


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("rows.csv.gz", lambda text: gzip.compress(text.encode())),
        ("rows.tsv.bz2", lambda text: bz2.compress(text.replace(",", "\t").encode())),
        ("rows.tsv", lambda text: text.replace(",", "\t").encode()),
        ("rows.csv", lambda text: text.replace("\n", "\r\n").encode()),
        ("rows.csv", lambda text: text.replace(",", ";").encode()),
        ("rows.csv", lambda text: ("\n\n" + text).encode()),
    ],
)
def test_stray_quotes_are_found_however_the_file_is_written(tmp_path, name, written):
    path = tmp_path / name
    path.write_bytes(written(with_stray_quotes(51, 200)))
    with pytest.raises(TableError, match=r"quoted value of 150 lines in column 'name', which starts in line 5[13]\."):
        open_table(path, target="y")


def test_stray_quotes_are_found_in_one_of_many_files_and_behind_a_url(tmp_path):
    import fsspec

    (tmp_path / "a.csv").write_text("\n".join(lines_of()))
    (tmp_path / "b.csv").write_text(with_stray_quotes(51, 200))
    with pytest.raises(TableError, match=r"b\.csv has a quoted value of 150 lines .* starts in line 51"):
        open_table(tmp_path, target="y")
    with fsspec.open("memory://quotes/rows.csv", "w") as file:
        file.write(with_stray_quotes(51, 200))
    with pytest.raises(TableError, match=r"memory://.*quotes/rows\.csv has a quoted value of 150 lines"):
        open_table("memory://quotes/rows.csv", target="y")


def test_stray_quotes_are_found_where_all_columns_are_text(tmp_path):
    lines = ["shop,country,kind", *(f"s{i % 3},c{i % 5},{'ab'[i % 2]}" for i in range(40))]
    lines[10], lines[20] = '"' + lines[10], lines[20].replace(",", '",', 1)
    (tmp_path / "rows.csv").write_text("\n".join(lines))
    with pytest.raises(TableError, match="quoted value of 11 lines in column 'shop', which starts in line 11"):
        open_table(tmp_path / "rows.csv", target="kind")


@pytest.mark.parametrize(("n_columns", "n_lines"), [(2, 7), (3, 4), (4, 3)])
def test_six_delimiters_in_the_right_places_are_rows_where_all_columns_are_text(tmp_path, n_columns, n_lines):
    """With one line less they may be an accident."""
    names = ",".join("abcd"[:n_columns])
    row, quoted = ",".join(["x"] * n_columns), ",".join(["y"] * (n_columns - 1))
    for n_more in (n_lines - 1, n_lines):
        value = "\n".join([",z"] + [f"{quoted},z"] * (n_more - 2) + [quoted + ","])
        first = ",".join(["x"] * (n_columns - 1))
        (tmp_path / "rows.csv").write_text(f'{names}\n{row}\n{first},"{value[1:]}"\n{row}\n')
        if n_more < n_lines:
            assert open_table(tmp_path / "rows.csv").n_rows == 3
        else:
            with pytest.raises(TableError, match=f"quoted value of {n_lines} lines .* starts in line 3"):
                open_table(tmp_path / "rows.csv")


def test_the_value_that_holds_rows_is_found_among_others_that_do_not(tmp_path):
    """Each of them has as many delimiters in every line as a row; their values tell which is one."""
    first, middle, rows = '"b,x\nc",2', '"b,1\nx,y\nc",2', '"b,1\nc,2\nd",3'
    for before, line in (([middle, first, first, rows], 9), ([rows, first], 2)):
        (tmp_path / "rows.csv").write_text("\n".join(["name,amount", *before, "a,5"]))
        with pytest.raises(TableError, match=f"value of 3 lines in column 'name', which starts in line {line}"):
            open_table(tmp_path / "rows.csv")
    (tmp_path / "rows.csv").write_text("\n".join(["name,amount", first, middle, first]))
    assert open_table(tmp_path / "rows.csv").n_rows == 3


def test_rows_with_missing_values_are_found_in_stray_quotes(tmp_path):
    (tmp_path / "rows.csv").write_text('name,amount\na,1\n"b,NA\nc,\nd",4\ne,5\n')
    with pytest.raises(TableError, match="value of 3 lines in column 'name', which starts in line 3"):
        open_table(tmp_path / "rows.csv")


TEXTS = [
    *(
        "Dear Sir, thank you.\nBye, Ann",
        "one\ntwo\nthree",
        "a, b\nc, d\ne, f",
        "\n",
        'she said "no"\nand left',
        "end\n",
    ),
    *("first, second, third\nfourth, fifth, sixth", "x\r\ny", "2024-01-31, late\nsorry, J."),
]


@pytest.mark.parametrize(
    "columns", [["text", "y"], ["y", "text"], ["text", "amount", "y"], ["amount", "text", "when", "y"]]
)
@pytest.mark.parametrize("quoting", [0, 1, 2])
def test_ordinary_text_of_several_lines_is_read(tmp_path, columns, quoting):
    rows = pd.DataFrame({"text": TEXTS * 20}).assign(
        y=[i % 2 for i in range(20 * len(TEXTS))], amount=lambda rows: rows.index / 4, when=pd.Timestamp("2024-01-31")
    )[columns]
    rows.to_csv(tmp_path / "rows.csv", index=False, quoting=quoting, lineterminator="\n")
    table = open_table(tmp_path / "rows.csv", target="y")
    assert table.n_rows == len(rows)
    assert table.column("text").to_pylist() == rows["text"].tolist()


def test_a_small_file_that_ends_with_a_quoted_line_break_is_read(tmp_path):
    (tmp_path / "rows.csv").write_text('a,text\n1,\n2,"x\ny"\n')
    assert open_table(tmp_path / "rows.csv").column("text").to_pylist() == [None, "x\ny"]


def test_line_breaks_in_quotes_may_be_where_a_block_ends(tmp_path):
    texts = ["\n".join("abcdefg"[: 1 + number % 7]) for number in range(200)]
    pd.DataFrame({"a": range(200), "text": texts}).to_csv(tmp_path / "rows.csv", index=False, lineterminator="\n")
    file = open_csv(tmp_path / "rows.csv", Limits(block_bytes=64, column_bytes=1))
    forms = file.forms({}, lambda position: None, True)
    assert [text for batch in file.blocks(forms, lambda position: None) for text in batch["text"].to_pylist()] == texts


def test_lines_that_are_one_value_are_read_if_the_column_is_given_as_strings(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text(with_stray_quotes(51, 200))
    assert open_table(path, target="y", types={"name": "string"}).n_rows == N_ROWS - 149


@pytest.mark.parametrize("name", ["rows.csv", "rows.tsv", "rows.csv.gz"])
@pytest.mark.parametrize("content", ["1\n\n3\n\n", "1\n\n3\n", "1.5\n\n", "a\n\nb\n", '1\n""\n3\n'])
def test_an_empty_line_of_a_file_of_one_column_is_a_row_without_a_value(tmp_path, name, content):
    path = tmp_path / name
    text = ("amount\n" + content).encode()
    path.write_bytes(gzip.compress(text) if name.endswith("gz") else text)
    values = open_table(path).column("amount").to_pylist()
    expected = [None if line in ("", '""') else line for line in content.split("\n")[:-1]]
    assert [None if value is None else str(value) for value in values] == expected


def test_empty_lines_before_the_header_of_one_column_are_not_rows(tmp_path):
    (tmp_path / "rows.csv").write_text("\n\namount\n1\n\n3\n")
    assert open_table(tmp_path / "rows.csv").column("amount").to_pylist() == [1, None, 3]


@pytest.mark.parametrize("values", ["12345", ["true", "true", "false", "true", "false"]])
def test_values_in_a_stray_pair_of_quotes_in_one_column_are_refused(tmp_path, values):
    one, two, three, four, five = values
    (tmp_path / "rows.csv").write_text(f'amount\n{one}\n\n"{two}\n{three}\n{four}"\n{five}\n')
    with pytest.raises(TableError, match="quoted value of 3 lines in column 'amount', which starts in line 4"):
        open_table(tmp_path / "rows.csv")


def test_empty_lines_between_rows_are_counted_in_the_number_of_a_line(tmp_path):
    (tmp_path / "rows.csv").write_text('a,b\n1,x\n\n2,"y\n3,y\n4,z"\n')
    with pytest.raises(TableError, match="value of 3 lines in column 'b', which starts in line 4"):
        open_table(tmp_path / "rows.csv")


def test_pythons_own_reader_is_left_as_it_was(tmp_path):
    limit = csv.field_size_limit()
    (tmp_path / "rows.csv").write_text("a,b\n1,2\n3\n")
    with pytest.raises(TableError, match="has 1 values in line 3, but 2 columns"):
        open_table(tmp_path / "rows.csv")
    assert csv.field_size_limit() == limit


def test_a_header_that_never_ends_is_refused(tmp_path):
    (tmp_path / "rows.csv").write_text('"' + "a" * 200_000 + "\n1\n")
    with pytest.raises(TableError, match="does not start with a line of column names"):
        open_table(tmp_path / "rows.csv")


def test_a_block_of_many_columns_is_larger(tmp_path):
    (tmp_path / "rows.csv").write_text("a,b,c,d\n1,2,3,4\n")
    blocks = [open_csv(tmp_path / "rows.csv", Limits(100, n_bytes)).block_bytes for n_bytes in (20, 30)]
    assert blocks == [100, 120]


def test_empty_lines_between_rows_of_several_columns_are_ignored(tmp_path):
    (tmp_path / "rows.csv").write_text("a,y\n1,0\n\n2,1\n\n\n")
    assert open_table(tmp_path / "rows.csv", target="y").n_rows == 2
