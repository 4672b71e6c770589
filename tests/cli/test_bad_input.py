"""What goes wrong is said in one line, with a hint, and nothing half-done is left behind."""

import errno
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from selfpaced import storage
from selfpaced.cli import main
from tests.few_recipes import compare_few_methods


@pytest.fixture
def refused(run):
    """Run a command that must fail: what it complained of, in one line."""

    def refused(*arguments):
        code, said, complained = run(*arguments)
        assert (code, said) == (2, "")
        assert complained.startswith("selfpaced: error: ")
        assert complained.count("\n") == 1
        assert "Traceback" not in complained
        return complained

    return refused


def train(path="rows.csv", *options):
    return ("train", path, "--target", "y", "--base", "tree", "--members", "2", "--calibration", "none", *options)


def write(content, name="rows.csv"):
    with open(name, "wb") as file:
        file.write(content if isinstance(content, bytes) else content.encode())


def rows(n=60, n_rare=10):
    rng = np.random.default_rng(0)
    return pd.DataFrame({"a": rng.normal(size=n), "b": rng.normal(size=n), "y": (np.arange(n) < n_rare).astype(int)})


@pytest.mark.parametrize(
    ("content", "name", "complaint"),
    [
        ("", "rows.csv", "is empty"),
        ("", "rows.parquet", "is empty"),
        ("a,y\n", "rows.csv", "has a header but no rows"),
        ("nonsense", "rows.parquet", "cannot be read as Parquet"),
        ("nonsense", "rows.xlsx", "has an unsupported format"),
        ("a,a,y\n1,2,0\n", "rows.csv", "more than one column 'a'"),
        ("a,y\nK\xf6ln,0\n".encode("latin-1"), "rows.csv", "is not UTF-8"),
        ("a,y\n1,0\n1,2,3\n", "rows.csv", "has 3 values in line 3, but 2 columns"),
        ('{"a": 1, "y": 0}\n{"a":\n', "rows.jsonl", "is not a file of JSON lines"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_a_file_that_is_not_right(refused, content, name, complaint):
    write(content, name)
    assert complaint in refused(*train(name))
    assert not os.path.exists("model.skops")


@pytest.mark.usefixtures("folder")
class TestData:
    def test_two_columns_of_one_name_in_parquet(self, refused):
        pq.write_table(pa.table([[1.0] * 60, [2.0] * 60, [0, 1] * 30], names=["a", "a", "y"]), "rows.parquet")
        assert "more than one column 'a'" in refused(*train("rows.parquet"))

    def test_a_file_that_is_not_there(self, refused):
        assert "nowhere.csv does not exist" in refused(*train("nowhere.csv"))

    def test_a_target_that_is_not_there(self, refused):
        rows().drop(columns="y").to_csv("rows.csv", index=False)
        assert "no column 'y' in rows.csv. Its columns are 'a', 'b'" in refused(*train())

    def test_a_target_of_one_value(self, refused):
        rows(n_rare=0).to_csv("rows.csv", index=False)
        assert "Column 'y' holds one class only, [0]" in refused(*train())

    def test_a_target_of_a_thousand_values(self, refused):
        rows(n=2000).assign(y=np.arange(2000) // 2).to_csv("rows.csv", index=False)
        assert "number to predict (regression), not like classes" in refused(*train())

    def test_one_positive(self, refused):
        rows(n_rare=1).to_csv("rows.csv", index=False)
        assert "The class 1 of column 'y' has 1 row(s); at least 3 are needed" in refused(*train())

    def test_a_label_of_two_rows_among_many_labels(self, refused):
        rows().assign(y=["a"] * 30 + ["b"] * 28 + ["c"] * 2).to_csv("rows.csv", index=False)
        assert "has 2 row(s); at least 3 are needed" in (said := refused(*train()))
        assert "--pos-label LABEL" in said

    def test_the_rows_to_train_on_as_those_to_judge_by(self, refused):
        rows().to_csv("rows.csv", index=False)
        assert "is the file that is trained on" in refused(*train("rows.csv", "--valid", "./rows.csv"))

    def test_five_positives_are_enough_to_try(self, run):
        rows(n=200, n_rare=5).to_csv("rows.csv", index=False)
        assert run(*train())[0] == 0

    def test_a_label_that_nobody_has(self, refused):
        rows().to_csv("rows.csv", index=False)
        assert "No row of column 'y' has the label 'fraud'. Its labels are '0', '1'" in refused(
            *train("rows.csv", "--pos-label", "fraud")
        )

    def test_rows_without_a_label(self, refused):
        frame = rows().astype({"y": "Int64"})
        frame.loc[5, "y"] = pd.NA
        frame.to_csv("rows.csv", index=False)
        assert "has rows without a label" in refused(*train())

    def test_no_feature_is_left(self, refused):
        rows().assign(a=1.0, b="x").to_csv("rows.csv", index=False)
        assert "No column of rows.csv is left as a feature. Dropped were 'a' (the same value in every row)" in refused(
            *train()
        )

    def test_a_share_that_is_none(self, refused):
        rows().to_csv("rows.csv", index=False)
        assert "between 0 and 1; got 1.5" in refused(*train("rows.csv", "--holdout", "1.5"))

    def test_members_that_are_none(self, refused):
        rows().to_csv("rows.csv", index=False)
        assert "n_estimators must be a whole number >= 1; got 0" in refused(*train("rows.csv", "--members", "0"))

    def test_a_time_column_of_strings(self, refused):
        rows().assign(t="now").to_csv("rows.csv", index=False)
        assert "The time column 't' is" in refused(*train("rows.csv", "--time-column", "t"))

    @pytest.mark.parametrize(
        "times",
        [np.r_[[np.nan] * 3, np.arange(57.0)], pd.Series(pd.date_range("2024", periods=60)).where(np.arange(60) > 2)],
        ids=["NaN", "NaT"],
    )
    @pytest.mark.parametrize("as_null", [True, False])
    def test_rows_without_a_time_are_counted(self, refused, times, as_null):
        table = pa.Table.from_pandas(rows().drop(columns="y"))
        column = pa.array(np.asarray(times), from_pandas=as_null)
        pq.write_table(table.append_column("t", column).append_column("y", [[0, 1] * 30]), "rows.parquet")
        assert "'t' has no time in 3 of 60 rows" in refused(*train("rows.parquet", "--time-column", "t"))

    def test_a_class_that_ended_before_the_rows_held_out(self, refused):
        rows().assign(t=np.arange(60)).to_csv("rows.csv", index=False)
        assert "All rows of the class 1 are before" in refused(*train("rows.csv", "--time-column", "t"))

    def test_five_hundred_columns(self, run):
        rng = np.random.default_rng(0)
        wide = pd.DataFrame(rng.normal(size=(80, 500)), columns=[f"c{i}" for i in range(500)])
        wide.assign(y=(np.arange(80) < 20).astype(int)).to_csv("rows.csv", index=False)
        assert run(*train())[0] == 0

    @pytest.mark.parametrize("base", ["tree", "lightgbm", "gbdt"])
    def test_names_with_spaces_signs_and_pictures(self, run, base):
        frame = rows(n=200, n_rare=40)
        frame = frame.rename(columns={"a": 'a "quoted" {name}: [x], <script>alert(1)</script>', "b": "🦊 fox"})
        frame.to_csv("rows.csv", index=False)
        assert run(*train("rows.csv", "--base", base, "-q")) == (0, "", "")
        assert run("predict", "model.skops", "rows.csv", "-o", "scores.csv", "-q") == (0, "", "")


@pytest.mark.usefixtures("folder")
class TestOutput:
    def test_a_folder_that_is_not_there_is_said_before_training(self, refused):
        assert "The folder out for model.skops does not exist" in refused(
            *train("nowhere.csv", "-o", "out/model.skops")
        )

    def test_an_ending_that_means_nothing(self, refused):
        assert "model.txt has a wrong ending. Name a file that ends in .skops" in refused(
            *train("rows.csv", "-o", "model.txt")
        )

    def test_a_folder_that_may_not_be_written_to(self, refused, tmp_path, monkeypatch):
        (tmp_path / "locked").mkdir(mode=0o500)
        if os.geteuid() == 0:  # who may write anywhere
            monkeypatch.setattr(os, "access", lambda path, mode: not str(path).endswith("locked"))
        assert "no permission" in refused(*train("rows.csv", "-o", "locked/model.skops"))

    def test_a_full_disk_leaves_nothing(self, refused, monkeypatch):
        def full(*arguments):
            raise OSError(errno.ENOSPC, "No space left on device")

        rows().to_parquet("rows.parquet")
        monkeypatch.setattr(storage, "write_whole", full)
        assert "No space left on device" in refused(*train("rows.parquet", "-q"))
        assert sorted(os.listdir(".")) == ["rows.parquet"]

    @pytest.mark.parametrize(
        ("command", "output"),
        [
            (
                ("compare", "rows.parquet", "--target", "y", "--base", "tree", "--members", "2", "-q"),
                "--picture=out.svg",
            ),
            (("report", "model.skops", "rows.parquet", "-q"), "--output=out.html"),
        ],
    )
    def test_a_disk_that_is_full_half_way_leaves_the_earlier_picture_or_page(
        self, run, refused, monkeypatch, command, output
    ):
        compare_few_methods(monkeypatch)
        write_bytes, name = Path.write_bytes, output.partition("=")[2]

        def full(path, content):
            write_bytes(path, content[: len(content) // 2])
            raise OSError(errno.ENOSPC, "No space left on device")

        rows().to_parquet("rows.parquet")
        assert run(*train("rows.parquet", "-q"))[0] == 0
        write("earlier", name)
        monkeypatch.setattr(Path, "write_bytes", full)
        assert "No space left on device" in refused(*command, output)
        assert Path(name).read_text() == "earlier"
        assert sorted(os.listdir(".")) == ["model.skops", name, "rows.parquet"]

    def test_a_symbolic_link_is_followed(self, run, tmp_path):
        rows().to_csv("rows.csv", index=False)
        assert run(*train("rows.csv", "-q"))[0] == 0
        (tmp_path / "real").mkdir()
        os.symlink("real/scores.parquet", "scores.parquet")
        assert run("predict", "model.skops", "rows.csv", "-o", "scores.parquet", "-q") == (0, "", "")
        assert os.readlink("scores.parquet") == "real/scores.parquet"
        assert pq.read_table("real/scores.parquet").num_rows == 60
        assert os.listdir("real") == ["scores.parquet"]


@pytest.mark.usefixtures("folder")
class TestModels:
    def test_a_model_that_is_none(self, refused):
        write("nonsense", "model.skops")
        assert "model.skops" in refused("inspect", "model.skops")

    def test_a_model_that_is_not_there(self, refused):
        assert "nowhere.skops" in refused("predict", "nowhere.skops", "rows.csv", "-o", "scores.csv")

    def test_rows_without_a_column_of_the_model(self, run, refused):
        rows().to_csv("rows.csv", index=False)
        assert run(*train("rows.csv", "-q"))[0] == 0
        rows().drop(columns="b").to_csv("other.csv", index=False)
        assert "other.csv has no column 'b'" in refused("predict", "model.skops", "other.csv", "-o", "scores.csv")
        assert not os.path.exists("scores.csv")

    @pytest.mark.parametrize("command", ["evaluate", "report"])
    def test_no_rows_to_measure_by(self, run, refused, command):
        rows().to_parquet("rows.parquet", index=False)
        assert run(*train("rows.parquet", "-q"))[0] == 0
        rows()[:0].to_parquet("empty.parquet", index=False)
        assert "The table has no rows" in refused(command, "model.skops", "empty.parquet")

    @pytest.mark.parametrize("threshold", ["2", "high"])
    def test_a_threshold_that_is_none(self, run, refused, threshold):
        command = ("predict", "model.skops", "rows.csv", "-o", "scores.csv", "--threshold", threshold)
        assert "--threshold must be a number from 0 to 1, or 'best'" in refused(*command)

    def test_scores_over_the_data(self, run, refused):
        rows().to_csv("rows.csv", index=False)
        assert run(*train("rows.csv", "-q"))[0] == 0
        assert "rows.csv" in refused("predict", "model.skops", "rows.csv", "-o", "rows.csv")


@pytest.mark.usefixtures("folder")
def test_a_bug_asks_for_debug_and_debug_shows_where(monkeypatch, capsys):
    from selfpaced.cli.commands import inspect

    def broken(options):
        raise RuntimeError("no such thing")

    monkeypatch.setattr(inspect, "run", broken)
    assert main(["inspect", "model.skops"]) == 1
    assert capsys.readouterr().err == "selfpaced: error: no such thing (RuntimeError; --debug shows the traceback)\n"
    assert main(["inspect", "model.skops", "--debug"]) == 1
    assert "Traceback" in capsys.readouterr().err


# The command with a callback that says when the first member is trained.
TRAIN_ALOUD = """
import gc, sys
gc.disable()
from selfpaced.callbacks import Callback
from selfpaced.cli import main
from selfpaced.cli.output import Talk

class Aloud(Callback):
    def on_round_end(self, round):
        print("trained", flush=True)

Talk.callbacks = lambda self: [Aloud()]
sys.exit(main())
"""


@pytest.mark.slow
@pytest.mark.usefixtures("folder")
def test_ctrl_c_during_training_leaves_no_model(mixed):
    mixed.to_parquet("rows.parquet", index=False)
    options = ("--target", "is_fraud", "--base", "gbdt", "--members", "500")
    command = [sys.executable, "-c", TRAIN_ALOUD, "train", "rows.parquet", *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "trained\n"
    process.send_signal(signal.SIGINT)
    _, complained = process.communicate(timeout=60)
    assert process.returncode == 130
    assert complained.strip() == "Stopped."
    assert os.listdir(".") == ["rows.parquet"]


@pytest.mark.parametrize("command", ["evaluate", "report", "compare", "backtest"])
def test_rows_without_a_label_are_refused_with_an_option_that_the_command_has(
    run, trained, mixed, command, monkeypatch
):
    compare_few_methods(monkeypatch)
    labels = mixed["is_fraud"].astype("Int64").where(mixed.index % 10 > 0)
    mixed.assign(is_fraud=labels).to_parquet("some.parquet")
    asked = {
        "evaluate": ("evaluate", trained, "some.parquet"),
        "report": ("report", trained, "some.parquet"),
        "compare": ("compare", "some.parquet", "--target", "is_fraud", "--base", "tree", "--members", 1),
        "backtest": ("backtest", "some.parquet", "--target", "is_fraud", "--time-column", "when", "--every", "60d",
                     "--base", "tree", "--members", 1),
    }  # fmt: skip
    code, _, said = run(*asked[command])
    assert code == 2
    assert "--drop-unlabelled on the command line" in said
    code, said, complained = run(*asked[command], "--drop-unlabelled", "--json")
    assert code == 0, complained
    facts = json.loads(said)
    if command == "evaluate":
        assert facts["n_rows"] == int(labels.notna().sum())
    if command == "compare":
        assert facts["n_train"] + facts["n_test"] == int(labels.notna().sum())


@pytest.mark.parametrize(
    "command",
    [
        ("train", "nosuch://bucket/rows.csv", "--target", "is_fraud"),
        ("train", "http://127.0.0.1:9/rows.parquet", "--target", "is_fraud"),
        ("train", "payments.csv", "--target", "is_fraud", "-o", "nosuch://bucket/model.skops"),
        ("inspect", "nosuch://bucket/model.skops"),
        ("predict", "model.skops", "payments.csv", "-o", "nosuch://bucket/scores.csv"),
        ("train", "postgresql://127.0.0.1:9/shop", "--query", "SELECT 1", "--target", "is_fraud"),
    ],
)
@pytest.mark.usefixtures("trained")
def test_a_place_that_cannot_be_reached_is_for_the_user_to_mend(run, command):
    code, _, said = run(*command)
    assert code == 2
    assert next(word for word in command if "://" in word).partition(":")[0] in said
