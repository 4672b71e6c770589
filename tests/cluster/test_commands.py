"""`selfpaced train` and `selfpaced predict` where a cluster keeps the rows."""

import json
from contextlib import redirect_stderr
from io import StringIO

import numpy as np
import pandas as pd
import pytest

from selfpaced.cli import engines, main
from selfpaced.cli.commands.train import model_for
from selfpaced.cli.request import TrainRequest
from selfpaced.clusters.dask import frame_of_pieces, parquet_pieces
from selfpaced.clusters.scoring import HOLDING_OUT
from selfpaced.datasets import make_fraud
from selfpaced.ensembles.auto import columns_of
from selfpaced.exceptions import TableError
from selfpaced.persistence import read_card
from selfpaced.persistence.files import load_model
from selfpaced.pools import mix, row_keys
from selfpaced.tables.sources import open_table

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")

NAMES = list("abcd")


@pytest.fixture(scope="module")
def rows():
    X, y = make_fraud(n_rows=3000, n_frauds=90, n_features=4, random_state=0)
    return pd.DataFrame(X, columns=NAMES).assign(is_fraud=y, number=np.arange(len(y)), card=np.arange(len(y)) // 3)


@pytest.fixture(scope="module")
def data(rows, tmp_path_factory):
    """Eleven files: in the order of names, the last one comes before the third."""
    folder = tmp_path_factory.mktemp("data")
    for number, part in enumerate(np.array_split(np.arange(len(rows)), 11)):
        rows.iloc[part].to_parquet(folder / f"{number}.parquet", index=False, row_group_size=100)
    return folder


def in_order_of_files(rows):
    parts = np.array_split(np.arange(len(rows)), 11)
    return rows.iloc[np.concatenate([parts[int(name)] for name in sorted(map(str, range(11)))])]


@pytest.fixture
def run(capsys):
    def run(*arguments):
        code = main([str(argument) for argument in arguments])
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


def held_out(ids):
    return row_keys(np.asarray(ids, dtype=np.uint64), mix(0, HOLDING_OUT), 0) < np.uint64(int(0.2 * 2**64))


def trees_of(model):
    return [member.tree_.threshold.tolist() for member in model.estimators_]


def trained_on_a_file(rows, folder):
    """The model with one member on the rows that are not held out."""
    rows[~held_out(rows["number"])].to_parquet(folder / "train.parquet")
    table = open_table(folder / "train.parquet", target="is_fraud", id_column="number")
    request = TrainRequest(None, "is_fraud", base="tree", members=1)
    return model_for(request, columns_of(None, table.schema), None).fit_table(table)


@pytest.fixture(scope="module")
def on_dask(dask_cluster):
    return ("--engine", "dask", "--scheduler", dask_cluster.client.scheduler.address)


@pytest.fixture(scope="module")
def trained(data, on_dask, tmp_path_factory):
    """A model file, and what the command said on standard error."""
    model, said = tmp_path_factory.mktemp("model") / "model.skops", StringIO()
    features = ("--target", "is_fraud", "--exclude", "number,card")
    one_kind = ("--base", "tree", "--members", "2", "--calibration", "none")
    with redirect_stderr(said):
        assert main(["train", str(data), *features, *one_kind, "-o", str(model), *on_dask]) == 0
    return model, said.getvalue()


class TestDask:
    def test_a_model_is_trained_on_the_rows_that_are_not_held_out_and_judged_on_the_others(self, trained, rows):
        card = read_card(trained[0])
        ordered = in_order_of_files(rows)
        test = ordered[held_out(np.arange(len(rows)))]
        assert (card.metrics["n_rows"], card.metrics["n_positives"]) == (len(test), test["is_fraud"].sum())
        model = load_model(trained[0])
        drawn = np.unique(np.concatenate([note.ids for note in model.rounds_]))
        assert not held_out(drawn).any()
        scores = model.predict_proba(test[NAMES])[:, 1]
        assert card.metrics["mean_score"] == pytest.approx(scores.mean())
        assert set(model.feature_names_in_) == set(NAMES)

    def test_a_record_has_the_rows_but_no_digests_and_verify_says_why(self, trained, run, data, rows):
        model, record = trained[0], read_card(trained[0]).record.data
        assert (record.sources, record.n_rows, record.digest) == ((str(data),), len(rows), None)
        assert set(record.columns) == {*NAMES, "is_fraud"}
        code, _, err = run("verify", model, data)
        assert (code, "has no digest of its rows: it was trained on a cluster" in err) == (2, True)
        assert "digest       none, because rows on a cluster are not hashed" in run("inspect", model)[1]

    def test_each_round_is_a_line_with_what_it_cost(self, trained):
        lines = [line for line in trained[1].splitlines() if line.startswith("round")]
        assert [line.partition(":")[0] for line in lines] == [f"round {number} of 2" for number in range(3)]
        assert all(" s fitting), " in line for line in lines)

    def test_scores_are_those_of_one_machine(self, run, trained, data, on_dask, tmp_path):
        scored = ("predict", trained[0], data, "--keep", "number", "--threshold", "best")
        assert run(*scored, "-o", tmp_path / "scores", *on_dask)[0] == 0
        assert run(*scored, "-o", tmp_path / "local.parquet")[0] == 0
        pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "scores"), pd.read_parquet(tmp_path / "local.parquet"))
        assert (tmp_path / "scores" / "_SUCCESS").exists()
        code, _, err = run(*scored, "-o", tmp_path / "scores", *on_dask)
        assert (code, "already contains files" in err) == (2, True)

    def test_groups_are_held_out_whole(self, run, data, on_dask, rows, tmp_path):
        options = ("--target", "is_fraud", "--base", "tree", "--members", 1, "--calibration", "none", "--group", "card")
        code, out, err = run("train", data, *options, "--id", "number", "-o", tmp_path / "m.skops", "--json", *on_dask)
        assert code == 0, err
        drawn = np.concatenate([note.ids for note in load_model(tmp_path / "m.skops").rounds_])
        n_held_out = json.loads(out)["n_rows"]
        not_drawn = set(rows["card"]) - set(rows["card"].to_numpy()[drawn])
        assert n_held_out % 3 == 0
        assert n_held_out / 3 <= len(not_drawn)

    def test_a_training_that_is_repeated_with_its_checkpoint_ends_with_the_same_model(
        self, run, data, on_dask, tmp_path
    ):
        options = ("--target", "is_fraud", "--base", "tree", "--members", 2, "--calibration", "none")
        kept = ("--checkpoint", tmp_path / "fit", "-q")
        for name in ("first", "second"):
            assert run("train", data, *options, *kept, "-o", tmp_path / f"{name}.skops", *on_dask)[0] == 0
        first, second = (load_model(tmp_path / f"{name}.skops") for name in ("first", "second"))
        assert trees_of(first) == trees_of(second)
        assert [note.seconds for note in first.rounds_[:2]] == [note.seconds for note in second.rounds_[:2]]

    def test_suspects_do_not_take_other_rows_for_those_of_the_training(self, run, trained, data):
        _, _, err = run("suspects", trained[0], data)
        assert "the model was not trained on these rows" in err

    def test_files_that_workers_do_not_see_are_named(self, dask_cluster, rows, tmp_path):
        rows.to_parquet(tmp_path / "rows.parquet")
        frame = frame_of_pieces(parquet_pieces(tmp_path / "rows.parquet"))
        (tmp_path / "rows.parquet").rename(tmp_path / "elsewhere.parquet")
        with pytest.raises(
            TableError, match=r"rows\.parquet is not there for the worker on .* by the same path or URL"
        ):
            open_table(frame, target="is_fraud", client=dask_cluster.client)


class TestSpark:
    @pytest.fixture
    def engine(self, spark):
        """The session that is around, as `spark-submit` gives one."""
        return ("--engine", "spark")

    def test_a_model_is_that_of_the_same_rows_in_a_file_and_its_scores_are_those_of_one_machine(
        self, run, data, rows, engine, tmp_path
    ):
        options = ("--target", "is_fraud", "--base", "tree", "--members", 1, "--calibration", "none", "--id", "number")
        code, _, err = run("train", data, *options, "-o", tmp_path / "spark.skops", *engine)
        assert code == 0, err
        assert trees_of(load_model(tmp_path / "spark.skops")) == trees_of(trained_on_a_file(rows, tmp_path))
        scored = ("predict", tmp_path / "spark.skops", data, "--keep", "number", "--threshold", "best")
        assert run(*scored, "-o", tmp_path / "scores", *engine)[0] == 0
        assert run(*scored, "-o", tmp_path / "local.parquet")[0] == 0
        ours, local = (
            pd.read_parquet(tmp_path / name).sort_values("number", ignore_index=True)
            for name in ("scores", "local.parquet")
        )
        pd.testing.assert_frame_equal(ours, local)

    @pytest.mark.parametrize(
        ("source", "complaint"),
        [("nowhere/rows.parquet", "Spark cannot read nowhere/rows.parquet"), ("payments", "no table 'payments'")],
    )
    def test_a_source_that_spark_does_not_see_is_named(self, run, engine, source, complaint):
        code, _, err = run("train", source, "--target", "is_fraud", *engine)
        assert code == 2
        assert complaint in err


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("--scheduler", "tcp://head:8786"), "--scheduler needs --engine dask."),
        (("--engine", "dask", "--master", "local"), "--master needs --engine spark; got --engine dask."),
        (("--engine", "dask"), "--engine dask needs the address of the scheduler"),
        (("--engine", "spark", "--master", "spark://127.0.0.1:1"), "No Spark master answers at spark://127.0.0.1:1"),
        (("--engine", "spark", "--report", "page.html"), "--report is not supported on a cluster."),
        (("--engine", "spark", "--time-column", "when"), "--time-column is not supported on a cluster."),
        (("--engine", "dask", "--drop-unlabelled"), "--drop-unlabelled is not supported on a cluster."),
    ],
)
def test_what_a_cluster_cannot_honour_is_refused_by_name(run, options, complaint):
    code, _, err = run("train", "rows.parquet", "--target", "is_fraud", *options)
    assert code == 2
    assert complaint in err


def test_a_scheduler_that_does_not_answer_is_named(run, monkeypatch):
    monkeypatch.setattr(engines, "SECONDS_TO_ANSWER", 0.5)
    code, _, err = run("train", "x.parquet", "--target", "y", "--engine", "dask", "--scheduler", "tcp://127.0.0.1:1")
    assert code == 2
    assert "No Dask scheduler answers at tcp://127.0.0.1:1" in err


@pytest.mark.parametrize(("file", "complaint"), [("rows.csv", "is not a Parquet file"), ("nothing", "does not exist")])
def test_files_that_dask_does_not_read_are_refused(run, on_dask, rows, tmp_path, file, complaint):
    rows.head().to_csv(tmp_path / "rows.csv")
    code, _, err = run("train", tmp_path / file, "--target", "is_fraud", *on_dask)
    assert code == 2
    assert complaint in err
