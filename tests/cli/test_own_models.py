"""One model of all rows by commands: `--base lightgbm-all-rows`, a function in the user's file, and adopted models."""

import json
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from selfpaced import adopt, load_model, save_model
from selfpaced.cli.commands.compare import Task, methods_for
from selfpaced.cli.parser import parser
from selfpaced.cli.request import TrainRequest
from selfpaced.ensembles.auto import columns_of
from selfpaced.monitoring import make_reference

MINE = """
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler


def make_model():
    columns = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_include="category")),
        (StandardScaler(), make_column_selector(dtype_include="number")),
    )
    return make_pipeline(columns, LogisticRegression())


class Own(LogisticRegression):
    pass


def make_own():
    return Own()


def make_nothing():
    return None


def make_error():
    return {}["boom"]
"""
ROWS = "rows.parquet"


def make_model():
    columns = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_include="category")),
        (StandardScaler(), make_column_selector(dtype_include="number")),
    )
    return make_pipeline(columns, LogisticRegression())


@pytest.fixture
def rows(folder):
    """Payments in a file, and the user's own file beside it."""
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"amount": rng.lognormal(size=600), "shop": rng.choice(["web", "till"], 600)})
    rows["shop"] = rows["shop"].astype("category")
    rows["when"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(600), unit="h")
    is_fraud = rng.random(600) < 1 / (1 + np.exp(3 - rows["amount"]))
    rows["label"] = np.where(is_fraud, "fraud", "ok")
    rows.to_parquet(ROWS)
    (folder / "mine.py").write_text(MINE)
    yield rows
    sys.modules.pop("mine", None)
    sys.path[:] = [path for path in sys.path if path != str(folder)]


@pytest.fixture
def works(run):
    """What a command that succeeds has said."""

    def works(*arguments):
        code, said, complained = run(*arguments)
        assert code == 0, complained
        return said

    return works


@pytest.fixture
def complains(run):
    """What a command that is refused has complained of."""

    def complains(*arguments):
        code, _, complained = run(*arguments)
        assert code == 2
        return complained

    return complains


OWN = "mine.py:make_model"
TRAIN = ("train", ROWS, "--target", "label", "--exclude", "when")


@pytest.fixture
def trained(rows, works):
    """A model of the user's function in `model.skops`."""
    works(*TRAIN, "--base", OWN, "--calibration", "none", "-q")
    return load_model("model.skops")


class TestTraining:
    def test_the_model_of_a_function_is_trained_on_all_rows_but_the_held_out_ones(self, trained):
        assert trained.n_training_rows_ == [480]
        assert trained.estimators_[0][-1].coef_.shape == (1, 3)

    def test_lightgbm_on_all_rows_has_its_own_defaults(self, rows, works):
        works(*TRAIN, "--base", "lightgbm-all-rows", "-q")
        model = load_model("model.skops")
        assert model.calibration_ == "isotonic"
        assert model.estimators_[0].get_params()["min_child_samples"] == 20

    def test_a_refit_trains_the_same_again(self, trained, works):
        found = json.loads(works("refit", "model.skops", ROWS, "-o", "new.skops", "--json"))
        assert found["difference"] == 0
        new = load_model("new.skops")
        np.testing.assert_array_equal(new.estimators_[0][-1].coef_, trained.estimators_[0][-1].coef_)

    def test_a_backtest_compares_it_with_members(self, rows, works):
        times = ("--time-column", "when", "--every", "8d", "--calibration", "none", "--json")
        found = works("backtest", ROWS, "--target", "label", "--base", OWN, "lightgbm-all-rows", *times)
        assert [course["model"] for course in json.loads(found)["courses"]] == [OWN, "lightgbm-all-rows"]

    @pytest.mark.parametrize(("base", "name"), [(OWN, OWN), ("lightgbm-all-rows", "plain lightgbm")])
    def test_a_comparison_has_the_model_alone_and_as_members(self, rows, base, name):
        X, y = rows[["amount", "shop"]], (rows["label"] == "fraud").to_numpy()
        request = TrainRequest(ROWS, "label", base=base)
        methods = {each.name: each.model for each in methods_for(request, columns_of(X, None), Task(X, y, X, y))}
        assert f"{name}, all rows" in methods
        assert type(methods["Self-paced Ensemble"].estimator) is type(methods[f"{name}, all rows"])


class TestRefused:
    @pytest.mark.parametrize(
        "option",
        [
            ("--members", "3"),
            ("--bins", "5"),
            ("--time-limit", "9.5"),
            ("--calibration", "prior"),
            ("--checkpoint", "kept"),
            ("--out-of-core",),
        ],
    )
    @pytest.mark.parametrize("base", ["lightgbm-all-rows", OWN])
    def test_options_of_ensembles(self, rows, complains, base, option):
        said = complains(*TRAIN, "--base", base, *option)
        assert f"{' '.join(option)} is for ensembles, but --base {base} is one model" in said

    @pytest.mark.parametrize(
        ("base", "reason"),
        [
            ("mine.py:make_modle", "mine.py has no function 'make_modle'. Did you mean 'make_model'?"),
            ("yours.py:make_model", "Name a Python file and a function in it: --base FILE.py:FUNCTION."),
            ("mine.py:make_nothing", "mine.py:make_nothing must return an unfitted classifier"),
            ("mine.py:make_error", "mine.py:make_error raised KeyError('boom')"),
            ("mine.py:make_own", "holds mine.Own, which is not on the list of trusted types."),
        ],
    )
    def test_functions_that_make_no_model_of_a_command(self, rows, complains, base, reason):
        assert reason in complains(*TRAIN, "--base", base)

    def test_a_class_of_the_user_is_kept_by_python(self, rows, complains):
        assert "call save_model and load_model with allow" in complains(*TRAIN, "--base", "mine.py:make_own")

    def test_a_file_with_the_name_of_a_package(self, rows, folder, complains):
        (folder / "numpy.py").write_text(MINE)
        assert "Rename numpy.py" in complains(*TRAIN, "--base", "numpy.py:make_model")

    @pytest.mark.parametrize("base", ["lightgbm-all-row", "mine.py", "mine:make_model"])
    def test_unknown_bases(self, base, capsys):
        with pytest.raises(SystemExit):
            parser().parse_args(["train", "rows.csv", "--target", "y", "--base", base])
        said = capsys.readouterr().err
        assert "'FILE.py:FUNCTION'" in said
        assert ("Did you mean 'lightgbm-all-rows'?" in said) is base.startswith("lightgbm")


class TestAdopted:
    @pytest.fixture
    def fitted(self, rows):
        """A model that was trained without selfpaced, and adopted into `adopted.skops`."""
        X, y = rows[["amount", "shop"]], rows["label"]
        fitted = make_model().fit(X[:300], y[:300])
        model = adopt(fitted, X[300:], y[300:])
        reference = make_reference(X[300:], model.predict_proba(X[300:])[:, 0])
        save_model(model, "adopted.skops", reference=reference)
        return fitted

    def test_predict_writes_the_scores_of_the_model(self, fitted, rows, works):
        works("predict", "adopted.skops", ROWS, "-o", "scores.parquet", "-q")
        own = fitted.predict_proba(rows[["amount", "shop"]])[:, 0]
        np.testing.assert_array_equal(pd.read_parquet("scores.parquet")["score"], own)

    @pytest.mark.parametrize(
        ("command", "key"),
        [
            (("evaluate", "--target", "label"), "aucprc"),
            (("report", "--target", "label"), "threshold"),
            (("monitor",), "n_rows"),
            (("refit", "--target", "label"), "difference"),
        ],
    )
    def test_commands_on_rows_take_the_file(self, fitted, works, command, key):
        name, *options = command
        assert key in json.loads(works(name, "adopted.skops", ROWS, *options, "--json"))

    def test_inspect_says_that_the_counts_are_not_those_of_the_training(self, fitted, works):
        said = works("inspect", "adopted.skops")
        assert "adopted with" in said
        assert "trained on" not in said

    def test_suspects_are_refused(self, fitted, complains):
        said = complains("suspects", "adopted.skops", ROWS, "--target", "label")
        assert "A SingleModelClassifier does not keep its training rows" in said
