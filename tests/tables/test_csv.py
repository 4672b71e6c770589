"""From CSV files to Parquet files of the same rows."""

from __future__ import annotations

import errno
import gzip
import os
import stat
import time
from dataclasses import replace
from datetime import date

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier

from selfpaced.ensembles import SelfPacedEnsembleClassifier
from selfpaced.exceptions import TableError
from selfpaced.tables.files import inference
from selfpaced.tables.files import text as csv_reading
from selfpaced.tables.files.text import Limits
from selfpaced.tables.sources import open_table
from selfpaced.tables.sources.cache import as_parquet

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

SMALL = Limits(block_bytes=64, column_bytes=1)
ONE_ROW_GROUPS = replace(SMALL, group_rows=1)


@pytest.fixture
def write(tmp_path):
    def write(content, name="sales.csv"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


@pytest.fixture
def read(write):
    """The table that comes of a CSV file's content."""

    def read(content, name="sales.csv", **options):
        path = write(content, name)
        return pq.read_table(as_parquet([path], **options)[path])

    return read


def types_of(table):
    return [str(kind) for kind in table.schema.types]


def left_over(folder):
    return sorted(path.name for path in folder.iterdir() if path.suffix != ".csv")


# Types


def test_a_float_after_many_ints_makes_the_column_floats(read):
    table = read("a\n" + "1\n" * 200 + "2.5\n", limits=SMALL)
    assert types_of(table) == ["double"]
    assert table["a"].to_pylist() == [1.0] * 200 + [2.5]


def test_text_after_many_ints_makes_the_column_strings_as_they_were_written(read):
    assert read("a\n" + "1\n" * 200 + "none of them\n", limits=SMALL)["a"].to_pylist() == ["1"] * 200 + ["none of them"]


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["0", "-1"], "int64"),
        ([" 1", "2 "], "int64"),
        (["9223372036854775807", "-9223372036854775808"], "int64"),
        (["1", "9223372036854775808", "18446744073709551615"], "uint64"),
        (["-1", "9223372036854775808"], "string"),
        (["1e5", "-.5", "5.", "inf"], "double"),
        (["-0"], "double"),
        (["true", "FALSE"], "bool"),
        (["true", "1"], "string"),
        (["", "NA"], "null"),
        (["1.5", "9223372036854775808"], "double"),
        (["2024-01-31", "2024-02-01 23:59", "2024-02-01T23:59:59.5"], "timestamp[us]"),
        (["2024-01-31T05:44:06Z", "2024-01-31 05:44:06+02:00"], "timestamp[us, tz=UTC]"),
        (["2024-01-31T05:44:06Z", "2024-01-31 05:44:06"], "string"),
        (["2024-02-30"], "string"),
        (["2024-01-31", "tomorrow"], "string"),
        (["2024-01-31", "7"], "string"),
        (["31.01.2024", "1.2.2024"], "timestamp[us]"),
        (["31.01.2024 23:59", "01.02.2024 00:00:01.5"], "timestamp[us]"),
        (["31.02.2024"], "string"),  # there is no such day
        (["31.01.2024", "2024-01-31"], "string"),
        (["01.13.2024"], "string"),  # the month does not come first
        (["31/01/2024"], "string"),
    ],
)
def test_a_column_has_the_narrowest_type_that_holds_all_values(read, values, kind):
    assert types_of(read("a,b\n" + "".join(f"{value},1\n" for value in values)))[0] == kind


@pytest.mark.parametrize("value", ["007", "-01", "00.5", "18446744073709551616", "+49", "0x1F", "1_000"])
def test_what_a_number_would_change_stays_text(read, value):
    assert read(f"a\n1\n{value}\n")["a"].to_pylist() == ["1", value]


def test_only_values_that_look_like_a_type_are_cast_to_it(read, monkeypatch):
    """Arrow makes an error for every value that it cannot cast, which takes longer than to read the file."""
    tried, cast = [], inference._cast
    monkeypatch.setattr(inference, "_cast", lambda form, texts: tried.extend(texts.to_pylist()) or cast(form, texts))
    read("number,word,day\n1.5,a,2024-01-31\n2.5,b,2024-02-01\n")
    assert set(tried) == {"2024-01-31", "2024-02-01"}


def test_missing_values_do_not_make_strings_of_numbers(read):
    assert read("a,b\n1,x\n,y\nNA,z\n")["a"].to_pylist() == [1, None, None]


def test_missing_values_are_spelled_as_for_pandas(read, write):
    spelled = [*csv_reading.MISSING_VALUES, '""', '"NA"', "na", "NONE", "-", "?", " "]
    content = "a,b\n" + "".join(f"{value},1\n" for value in spelled)
    missing = pd.read_csv(write(content, "again.csv"))["a"].isna().tolist()
    assert [value is None for value in read(content)["a"].to_pylist()] == missing


def test_a_given_type_wins(read):
    table = read("zip,x\n12345,1\n", types={"zip": "string", "x": "float32"})
    assert types_of(table) == ["string", "float"]


def test_a_value_that_does_not_fit_its_given_type_is_named(read):
    with pytest.raises(TableError, match=r"Column 'zip' of .*sales\.csv does not fit the type int64: .*'x9'"):
        read("zip\n12345\nx9\n", types={"zip": "int64"})


def test_a_type_for_a_column_that_is_not_there_is_refused(read):
    with pytest.raises(TableError, match=r"types= names 'zap', but .*sales\.csv has only the columns \['zip'\]"):
        read("zip\n1\n", types={"zap": "int64"})


def test_a_name_of_no_arrow_type_is_refused(read):
    with pytest.raises(TableError, match="'category'} is not the name of an Arrow type"):
        read("zip\n1\n", types={"zip": "category"})


# How values are written


def test_quotes_may_hold_delimiters_newlines_and_quotes(read):
    assert read('a,b\n"x, y","1\n2"\n"say ""hi""",z\n').to_pydict() == {"a": ["x, y", 'say "hi"'], "b": ["1\n2", "z"]}


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_what_the_first_line_has_most_of(read, delimiter):
    header = delimiter.join(["a", '"b,;|, c"', "d"])
    assert read(f"{header}\n{delimiter.join('123')}\n").to_pydict() == {"a": [1], "b,;|, c": [2], "d": [3]}


def test_numbers_may_have_decimal_commas_where_commas_do_not_delimit(read):
    table = read("a;b;c;d\n1,5;7;x, y;1.000,5\n-2,25;8;z;3,5\n")
    assert types_of(table) == ["double", "int64", "string", "string"]
    assert table["a"].to_pylist() == [1.5, -2.25]


def test_each_column_has_a_decimal_mark_of_its_own(read):
    table = read("a;b;c\n1,5;2.5;3,25\n-,5;.5;x\n")
    assert table.to_pydict() == {"a": [1.5, -0.5], "b": [2.5, 0.5], "c": ["3,25", "x"]}


@pytest.mark.parametrize(
    "values",
    [
        ["170,124", "1,5"],  # thousands have three digits
        ["170,124", "0,125"],  # and do not begin with a zero
        ["170,124", "1234,567"],  # or with four digits
        ["-1,234", " 12,5 ", "7", "1e3", ""],
    ],
)
def test_one_value_that_only_a_decimal_comma_explains_decides_for_the_column(read, values):
    values = ["170,124"] * 50 + values
    table = read("a;b\n" + "".join(f"{value};x\n" for value in values), limits=SMALL)
    assert table["a"].to_pylist() == [float(value.replace(",", ".")) if value else None for value in values]


@pytest.mark.parametrize(
    "values", [["170,124"], ["-1,234", "999"], ["1,234", "5e3", "0"], ["1,234", "1,234,567"], ["12,345", "NA", "12345"]]
)
@pytest.mark.parametrize(("name", "delimiter"), [("sales.csv", ";"), ("sales.tsv", "\t"), ("sales.csv", "|")])
def test_commas_that_may_be_decimal_or_between_thousands_are_refused(read, tmp_path, values, name, delimiter):
    complaint = rf"column 'a' of .*{name} may be decimal .*types={{'a': 'decimal comma'}}.*--types a='decimal comma'"
    with pytest.raises(TableError, match=complaint):
        read(f"a{delimiter}b\n" + "".join(f"{value}{delimiter}1,5\n" for value in values), name)
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("values", [["1.234"], ["12.345", "7"], ["-1.234", "", "999.000"]])
def test_points_that_may_separate_thousands_are_refused_beside_decimal_commas(read, values):
    content = "a;b\n" + "".join(f"{value};1,5\n" for value in values)
    with pytest.raises(TableError, match=r"points in column 'a' of .*sales\.csv may be .*types=\{'a': 'float64'\}"):
        read(content)
    assert read(content, types={"a": "float64"})["a"][0].as_py() == float(values[0])


@pytest.mark.parametrize("value", ["1.2345", "0.125", "1.5", "1234.567", "1e3"])
def test_one_value_that_only_a_decimal_point_explains_decides_for_the_column(read, value):
    texts = [value] if value == "1e3" else ["1.234", value]
    table = read("a;b\n" + "".join(f"{text};1,5\n" for text in texts))
    assert table["a"].to_pylist() == list(map(float, texts))


def test_points_are_decimal_where_no_column_has_decimal_commas(read):
    assert read("a;b\n1.234;1\n")["a"].to_pylist() == [1.234]


def test_a_type_for_floats_does_not_make_commas_clear(read):
    with pytest.raises(TableError, match=r"column 'a' of .* may be decimal"):
        read("a;b\n170,124;1\n", types={"a": "float64"})
    assert read("a;b\n170,12;1\n", types={"a": "float32"})["a"].to_pylist() == [np.float32(170.12)]


@pytest.mark.parametrize(
    ("kind", "value"), [("decimal comma", 170.124), ("thousands comma", 170124.0), ("string", "170,124")]
)
def test_a_given_type_says_what_commas_are(read, kind, value):
    assert read("a;b\n170,124;1\n", types={"a": kind})["a"].to_pylist() == [value]


@pytest.mark.parametrize(
    ("kind", "wrong"), [("decimal comma", "1.5"), ("thousands comma", "1,5"), ("thousands comma", "x")]
)
def test_a_number_with_commas_that_does_not_fit_its_given_type_is_named(read, kind, wrong):
    with pytest.raises(TableError, match=rf"Column 'a' of .*sales\.csv does not fit .*'{wrong}'"):
        read(f"a;b\n170,124;1\n{wrong};2\n", types={"a": kind})


def test_scoring_reuses_what_was_opened_with_types(write, frauds, tree):
    X, y = frauds
    model = SelfPacedEnsembleClassifier(tree, n_estimators=2, random_state=0)
    model.fit_table(open_table(write(pd.DataFrame({"a": np.asarray(X)[:, 0], "y": y}).to_csv(index=False)), target="y"))
    path = write("a;b\n170,124;1\n", "july.csv")
    with pytest.raises(TableError, match=r"column 'a' of .*july\.csv may be decimal"):
        model.write_predictions(path, path.with_name("scores.csv"))
    open_table(path, types={"a": "decimal comma"})
    model.write_predictions(path, path.with_name("scores.csv"))


@pytest.mark.parametrize("known", ["", "NA", "None"])
def test_a_known_string_that_a_csv_file_cannot_tell_from_a_missing_value_is_refused(write, tmp_path, known):
    rows = pd.DataFrame({"country": [known, "DE"] * 20, "y": [0, 1, 0, 0] * 10})
    rows.to_parquet(tmp_path / "june.parquet")
    model = SelfPacedEnsembleClassifier(HistGradientBoostingClassifier(max_iter=2, categorical_features=[0]), 1)
    model.fit_table(open_table(tmp_path / "june.parquet", target="y"))
    with pytest.raises(TableError, match=rf"Column 'country' of .*july\.csv has missing values\. .*\['{known}'\]"):
        model.predict_proba_table(write(rows.to_csv(index=False), "july.csv"))
    assert model.predict_proba_table(write("country\nDE\nDE\n", "august.csv")).shape == (2,)


def test_thousands_in_quotes_are_text_in_a_file_with_commas_unless_their_type_is_given(read):
    content = 'a,b\n"1,234.5",1\n'
    assert read(content)["a"].to_pylist() == ["1,234.5"]
    assert read(content, types={"a": "thousands comma"})["a"].to_pylist() == [1234.5]


def test_a_tsv_file_is_delimited_by_tabs_whatever_else_is_there(read):
    assert read("a,b,c\td\nx,y\t3\n", "sales.tsv").to_pydict() == {"a,b,c": ["x,y"], "d": [3]}


@pytest.mark.parametrize("ending", ["gz", "bz2", "zst"])
def test_compressed_files_are_read(read, ending):
    codec = {"gz": "gzip", "bz2": "bz2", "zst": "zstd"}[ending]
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, codec) as stream:
        stream.write(b"a,b\n1,x\n")
    assert read(sink.getvalue().to_pybytes(), f"sales.csv.{ending}").to_pydict() == {"a": [1], "b": ["x"]}


def test_a_mark_of_utf8_and_windows_line_ends_are_no_part_of_values(read):
    assert read(b"\xef\xbb\xbfa,b\r\n1,x\r\n").to_pydict() == {"a": [1], "b": ["x"]}


def test_a_column_without_a_name_is_called_as_in_pandas(read, write):
    content = ",a\n0,1\n"
    assert read(content).column_names == list(pd.read_csv(write(content)).columns)


# Files that are not right


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("", r"sales\.csv is empty"),
        ("\n\n", r"sales\.csv is empty"),
        ("a,b\n", r"sales\.csv has a header but no rows"),
        ("a,b", r"sales\.csv has a header but no rows"),
        ("a,b,a\n1,2,3\n", r"sales\.csv has more than one column 'a'"),
        ('a,b\n1,"x\ny"\n3\n', r"sales\.csv has 1 values in line 4, but 2 columns"),
        ("a,b\n1,2\n3,4,5\n", r"sales\.csv has 3 values in line 3, but 2 columns"),
        (b"a,b\n1,x\n2,\xe4\n", r"sales\.csv is not UTF-8 \(line 3\)"),
        ('a,b\n1,"x\n2,y\n3,z\n', r"sales\.csv ends inside a quoted value: the quote before 'x"),
    ],
)
def test_a_file_that_is_not_right_is_refused_with_the_place(read, tmp_path, content, complaint):
    with pytest.raises(TableError, match=complaint):
        read(content)
    assert left_over(tmp_path) == []


def test_bytes_that_are_not_utf8_are_found_far_into_the_file(read):
    with pytest.raises(TableError, match=r"not UTF-8 \(line 202\)"):
        read(b"a,b\n" + b"1,x\n" * 200 + b"2,\xe4\n", limits=SMALL)


def test_a_line_longer_than_a_block_is_told_from_other_faults(read):
    with pytest.raises(TableError, match="Check whether a quote is never closed"):
        read("a,b\n1,2\n1," + "x" * 1000 + "\n3,4\n", limits=SMALL)


def test_a_compressed_file_cut_short_is_named(read):
    with pytest.raises(TableError, match=r"sales\.csv\.gz cannot be read as CSV"):
        read(gzip.compress(b"a,b\n1,2\n" * 1000)[:-20], "sales.csv.gz")


# What is kept


def made_at(path):
    status = path.stat()
    return status.st_ino, status.st_mtime_ns


def test_the_parquet_file_is_beside_the_csv_file(write):
    path = write("a\n1\n")
    assert as_parquet([path]) == {path: path.with_name("sales.csv.selfpaced.parquet")}


def test_a_file_that_has_not_changed_is_not_made_again(write):
    path = write("a\n1\n")
    before = made_at(as_parquet([path], {"a": "string"})[path])
    assert made_at(as_parquet([path], {"a": "string"})[path]) == before


def test_a_file_that_has_changed_is_made_again(read):
    read("a\n1\n")
    assert read("a\n1\n2\n")["a"].to_pylist() == [1, 2]


def test_a_file_with_another_time_is_made_again(write):
    path = write("a\n1\n")
    before = made_at(as_parquet([path])[path])
    os.utime(path, ns=(1, 1))
    assert made_at(as_parquet([path])[path]) != before


def test_a_file_that_took_the_place_of_another_is_noticed_by_equal_size_and_time(write, tmp_path):
    path = write("a\n1\n")
    as_parquet([path])
    other = write("a\n2\n", "other.csv")
    status = path.stat()
    os.utime(other, ns=(status.st_atime_ns, status.st_mtime_ns))
    os.replace(other, path)
    assert pq.read_table(as_parquet([path])[path])["a"].to_pylist() == [2]


@pytest.mark.parametrize("row", [0, 50_000, 99_999])
def test_other_bytes_at_the_start_the_middle_or_the_end_are_noticed_whatever_the_status_says(write, monkeypatch, row):
    rows = ["1"] * 100_000
    status = write("a\n" + "\n".join(rows)).stat()
    monkeypatch.setattr("selfpaced.tables.sources.cache.os.fstat", lambda file: status)
    before = as_parquet([write("a\n" + "\n".join(rows))])
    rows[row] = "2"
    after = as_parquet([path := write("a\n" + "\n".join(rows))])
    assert after == before
    assert pq.read_table(after[path])["a"][row].as_py() == 2


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o400])
def test_nobody_reads_the_parquet_file_who_may_not_read_the_text(write, mode):
    path = write("a\n1\n")
    path.chmod(mode)
    modes = []
    as_parquet([path], progress=lambda done, total: modes.extend(file.stat().st_mode for file in path.parent.iterdir()))
    modes.append(as_parquet([path])[path].stat().st_mode)
    assert {stat.S_IMODE(found) | 0o200 for found in modes} == {mode | 0o200}


def test_permissions_of_a_group_are_not_given_to_another_group(write, tmp_path, monkeypatch):
    path = write("a\n1\n")
    path.chmod(0o640)
    try:
        os.chown(path, -1, os.getgid() + 1)
    except PermissionError:
        pytest.skip("only the superuser gives files to a group of others")
    assert stat.S_IMODE(as_parquet([path])[path].stat().st_mode) == 0o600


def test_temporary_files_of_killed_processes_are_removed_after_a_day(write, tmp_path):
    yesterday = time.time() - 90_000
    names = {
        ".old.csv.selfpaced.parquet.0123abcd.part": yesterday,
        ".new.csv.selfpaced.parquet.0123abcd.part": time.time(),
        ".other.parquet.0123abcd.part": yesterday,
        "mine.selfpaced.parquet.0123abcd.part": yesterday,
    }
    for name, when in names.items():
        os.utime(write("x", name), (when, when))
    as_parquet([write("a\n1\n")])
    assert [name for name in names if not (tmp_path / name).exists()] == [".old.csv.selfpaced.parquet.0123abcd.part"]


def test_a_file_that_has_been_converted_is_not_read_again(write, monkeypatch):
    path = write("a\n1\n")
    as_parquet([path])
    monkeypatch.setattr("selfpaced.tables.sources.cache.open_csv", None)
    as_parquet([path])


def test_what_another_process_has_made_meanwhile_is_kept(write):
    path = write("a\n1\n")
    made = []

    def convert_too(done, total):
        if not made:
            made.append(None)
            made.append(made_at(as_parquet([path])[path]))

    assert made_at(as_parquet([path], progress=convert_too)[path]) == made[1]


def test_other_types_make_the_file_again(write):
    path = write("a\n1\n")
    as_parquet([path])
    assert types_of(pq.read_table(as_parquet([path], {"a": "string"})[path])) == ["string"]


def test_a_broken_parquet_file_is_made_again(write):
    path = write("a\n1\n")
    as_parquet([path])[path].write_bytes(b"PAR1 and no more")
    assert pq.read_table(as_parquet([path])[path])["a"].to_pylist() == [1]


def test_files_of_one_name_do_not_meet_in_the_folder_of_caches(write, tmp_path):
    one, other = write("a\n1\n", "x/sales.csv"), write("a\n2\n", "y/sales.csv")
    made = as_parquet([one, other], cache=tmp_path / "made")
    assert [pq.read_table(made[path])["a"].to_pylist() for path in (one, other)] == [[1], [2]]
    assert left_over(one.parent) == left_over(other.parent) == []


def fail_in_the_middle(monkeypatch, error):
    """Have the writer write the first row group, and fail at the second."""
    write_table, calls = pq.ParquetWriter.write_table, []

    def failing(self, *args, **kwargs):
        calls.append(args)
        if len(calls) == 2:
            raise error
        write_table(self, *args, **kwargs)

    monkeypatch.setattr(pq.ParquetWriter, "write_table", failing)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), RuntimeError("no"), OSError(errno.ENOSPC, "full")])
def test_nothing_is_left_of_a_file_that_was_not_finished(write, tmp_path, monkeypatch, error):
    path = write("a\n" + "1\n" * 200)
    fail_in_the_middle(monkeypatch, error)
    with pytest.raises((KeyboardInterrupt, RuntimeError, TableError)):
        as_parquet([path], limits=ONE_ROW_GROUPS)
    assert left_over(tmp_path) == []


def test_an_older_file_stays_until_the_new_one_is_whole(write, monkeypatch):
    old = as_parquet([write("a\n1\n")], limits=ONE_ROW_GROUPS).popitem()[1]
    path = write("a\n" + "2\n" * 200)
    fail_in_the_middle(monkeypatch, RuntimeError("no"))
    with pytest.raises(RuntimeError):
        as_parquet([path], limits=ONE_ROW_GROUPS)
    assert pq.read_table(old)["a"].to_pylist() == [1]


def test_a_full_disk_is_called_so(write, monkeypatch):
    path = write("a\n" + "1\n" * 200)
    fail_in_the_middle(monkeypatch, OSError(errno.ENOSPC, "No space left on device"))
    with pytest.raises(TableError, match=r"sales\.csv .* the disk of .* is full.*cache=.*--cache FOLDER"):
        as_parquet([path], limits=ONE_ROW_GROUPS)


@pytest.mark.parametrize("code", [errno.EACCES, errno.EROFS])
def test_a_folder_that_cannot_be_written_to_is_refused_before_any_row_is_read(write, monkeypatch, code):
    def refused(*args, **kwargs):
        raise OSError(code, os.strerror(code))

    path = write("a\n1\n")
    # Rights do not stop the superuser, who runs tests in containers.
    monkeypatch.setattr("pathlib.Path.touch", refused)
    with pytest.raises(TableError, match=r"sales\.csv .* cannot be written to.*cache=.*--cache FOLDER"):
        as_parquet([path], progress=lambda done, total: pytest.fail("read"))


def test_a_file_that_changes_while_it_is_read_is_refused(write, tmp_path):
    path = write("a\n1\n")
    with pytest.raises(TableError, match="changed while it was read"):
        as_parquet([path], progress=lambda done, total: os.utime(path, ns=(1, 1)))
    assert left_over(tmp_path) == []


def test_progress_goes_up_to_all_bytes_of_all_files(write):
    paths = [write("a\n" + "1\n" * 200, name) for name in ("one.csv", "two.csv")]
    told = []
    as_parquet(paths, progress=lambda done, total: told.append((done, total)), limits=SMALL)
    total = 4 * paths[0].stat().st_size
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert told[-1] == (total, total)
    assert {of for _, of in told} == {total}
    assert len(told) > 20


def test_row_groups_are_bounded_in_bytes(read, tmp_path):
    read("a\n" + "1\n" * 1000, limits=replace(SMALL, group_bytes=500))
    metadata = pq.read_metadata(tmp_path / "sales.csv.selfpaced.parquet")
    assert max(metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)) < 150


# The way in


def n_rows_of(table):
    return table.n_rows


@pytest.mark.parametrize("source", ["", "*", "*.csv", "**/*"])
def test_neither_folders_nor_patterns_find_a_csv_file_and_what_was_made_of_it(write, tmp_path, source):
    write("a,y\n1,0\n2,1\n")
    found = [open_table(str(tmp_path / source), target="y") for _ in range(2)]
    assert [n_rows_of(table) for table in found] == [2, 2]


def test_a_folder_with_the_same_name_in_two_kinds_is_refused(write, tmp_path):
    write("a,y\n1,0\n")
    write(gzip.compress(b"a,y\n1,0\n"), "sales.csv.gz")
    with pytest.raises(TableError, match=r"both sales\.csv and sales\.csv\.gz"):
        open_table(tmp_path, target="y")


def test_folders_named_by_a_value_add_a_column(write, tmp_path):
    write("a,y\n1,0\n", "year=2023/part.csv")
    write("a,y\n1.5,1\n", "year=2024/part.csv")
    table = open_table(tmp_path, target="y")
    assert [(column.name, column.type) for column in table.schema.columns] == [("a", "double"), ("year", "int64")]


@pytest.mark.parametrize("in_the_file", [2023, "2023", date(2023, 1, 1)], ids=["number", "string", "date"])
def test_a_column_that_is_also_the_name_of_the_folder_must_agree_with_it(tmp_path, in_the_file):
    named = "2023-01-01" if isinstance(in_the_file, date) else "2023"
    (tmp_path / f"year={named}").mkdir()
    rows = pa.table({"year": [in_the_file] * 3, "y": [0, 1, 0]})
    pq.write_table(rows, tmp_path / f"year={named}" / "part.parquet")
    assert open_table(tmp_path, target="y").schema.names == ["year"]
    (tmp_path / f"year={named}").rename(tmp_path / "year=2024")
    with pytest.raises(TableError, match=r"Column 'year' of .*part\.parquet has the value .*2023.* folder says 2024"):
        open_table(tmp_path, target="y")


def test_a_missing_value_differs_from_the_name_of_the_folder(tmp_path):
    (tmp_path / "year=2024").mkdir()
    pq.write_table(pa.table({"year": [2024, None], "y": [0, 1]}), tmp_path / "year=2024" / "part.parquet")
    with pytest.raises(TableError, match=r"Column 'year' of .* has the value None"):
        open_table(tmp_path, target="y")


def test_errors_of_the_table_name_the_csv_file(write):
    with pytest.raises(TableError, match=r"sales\.csv has no column 'label'"):
        open_table(write("a,y\n1,0\n"), target="label")


def test_types_without_a_csv_file_are_refused(tmp_path):
    pq.write_table(pa.table({"a": [1]}), tmp_path / "a.parquet")
    with pytest.raises(TableError, match="types= is for CSV and JSON files"):
        open_table(tmp_path, types={"a": "string"})


def test_a_dataset_of_csv_files_is_read_in_its_own_way(write):
    ds = pytest.importorskip("pyarrow.dataset")
    semicolons = ds.CsvFileFormat(pa.csv.ParseOptions(delimiter=";"))
    table = open_table(ds.dataset(write("a,b;y\n1;0\n2;1\n"), format=semicolons), target="y")
    assert table.schema.names == ["a,b"]
    assert table.labels().counts.tolist() == [1, 1]


def test_a_fit_on_a_csv_file_has_the_members_of_a_fit_in_memory(write, frauds, tree):
    X, y = frauds
    # Sixty-fourths are the same numbers however decimals are parsed; older pandas is off by a bit in others.
    frame = (
        pd.DataFrame(np.round(np.asarray(X) * 64) / 64)
        .rename(columns=str)
        .assign(word=np.where(np.arange(len(y)) % 3, "b", "a"), y=y)
    )
    path = write(frame.to_csv(index=False))
    again = pd.read_csv(path)
    features = again.drop(columns=["word", "y"])
    spe = SelfPacedEnsembleClassifier(tree, n_estimators=4, random_state=0)
    in_memory = spe.fit(features, again["y"]).estimators_
    from_file = spe.fit_table(open_table(path, target="y", exclude=["word"])).estimators_
    for one, other in zip(in_memory, from_file, strict=True):
        np.testing.assert_array_equal(one.predict_proba(features), other.predict_proba(features))
