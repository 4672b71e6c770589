"""Training by the default, a choice among recipes: what is said of them, and what is refused."""

import json
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from io import StringIO
from shutil import copyfile

import numpy as np
import pandas as pd
import pytest

from selfpaced.cli import main
from selfpaced.ensembles.auto import AutoSelfPacedClassifier
from selfpaced.ensembles.auto.choosing import TIME_IS_UP
from selfpaced.persistence import read_card
from selfpaced.persistence.files import load_model
from tests.cli.commands import CSV, MODEL, other_warnings
from tests.few_recipes import FEW_RECIPES, NOT_INSTALLED, SMALL_RECIPES, use_recipes

TRAIN = ("train", CSV, "--target", "is_fraud")


@pytest.fixture
def few_recipes(monkeypatch):
    use_recipes(monkeypatch, FEW_RECIPES)


@pytest.fixture(scope="module")
def auto(payments, tmp_path_factory):
    """A folder with the payments, a model chosen among recipes, its report, and what the command said in a file."""
    folder, said, complained = tmp_path_factory.mktemp("auto"), StringIO(), StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(said), redirect_stderr(complained):
        patch.chdir(folder)
        use_recipes(patch, FEW_RECIPES)
        copyfile(payments / CSV, CSV)
        assert main([*TRAIN, "--report", "report.html"]) == 0
    assert other_warnings(complained.getvalue()) == []
    (folder / "said.txt").write_text(said.getvalue())
    return folder


@pytest.fixture
def in_folder(auto, monkeypatch):
    monkeypatch.chdir(auto)
    return auto


def test_the_model_is_chosen_among_recipes_unless_a_kind_is_named(in_folder):
    model = load_model(MODEL)
    assert isinstance(model, AutoSelfPacedClassifier)
    assert (model.calibration_, model.random_state) == ("isotonic", 0)


def test_train_prints_a_line_for_each_recipe(in_folder):
    said = (in_folder / "said.txt").read_text()
    lines = said[said.index("recipe ") :].splitlines()[1:4]
    by_name = {line.split()[0]: line for line in lines}
    for result in load_model(MODEL).recipes_[:2]:
        assert f"{result.aucprc:.3f} ± {result.standard_error:.3f}" in by_name[result.name]
        assert f" {result.weight:.2f} " in by_name[result.name]
    assert by_name["boosted"].endswith(NOT_INSTALLED)
    weights = [float(line.split("±")[1].split()[1]) for line in lines if "±" in line]
    assert weights == sorted(weights, reverse=True)


@pytest.mark.usefixtures("few_recipes", "csv")
def test_scripts_get_the_recipes_as_they_are_in_the_model(run):
    facts = json.loads(run(*TRAIN, "--json")[1])
    assert [one["name"] for one in facts["recipes"]] == ["trees", "linear", "boosted"]
    assert [one["weight"] for one in facts["recipes"]] == [one.weight for one in load_model(MODEL).recipes_]
    assert facts["recipes"][2]["note"] == NOT_INSTALLED
    assert other_warnings("\n".join(facts["warnings"])) == []


@pytest.mark.usefixtures("few_recipes", "csv")
@pytest.mark.parametrize("more", [(), ("--out-of-core",)], ids=["in memory", "out of core"])
def test_with_times_recipes_are_judged_by_other_periods(run, mixed, more):
    facts = json.loads(run(*TRAIN, "--time-column", "when", "--json", *more)[1])
    names, times = list(load_model(MODEL).feature_names_in_), mixed["when"]
    assert "when" not in names
    earlier = mixed[times < times.sort_values().iloc[int(np.ceil(0.8 * (len(mixed) - 1)))]]
    fitted = [
        AutoSelfPacedClassifier(random_state=0).fit(earlier[names], earlier["is_fraud"], times=times)
        for times in (earlier["when"], None)
    ]
    by_time, by_row = ([one.aucprc for one in model.recipes_[:2]] for model in fitted)
    assert [one["aucprc"] for one in facts["recipes"][:2]] == by_time != by_row


def test_a_kind_of_members_has_no_recipes(run, trained):
    assert "recipe" not in run("inspect", trained)[1]
    assert json.loads(run("inspect", trained, "--json")[1])["recipes"] == []


def test_train_prints_no_recipes_for_one_kind_of_members(run, csv):
    code, said, _ = run(
        "train", csv, "--target", "is_fraud", "--base", "tree", "--members", "1", "--calibration", "none"
    )
    assert (code, "Judged on" in said, "ecipe" in said) == (0, True, False)


def test_inspect_shows_the_recipes_in_place_of_rounds(run, in_folder):
    code, said, _ = run("inspect", MODEL)
    assert code == 0
    assert said.startswith(f"AutoSelfPacedClassifier of {len(load_model(MODEL).ensembles_)} of 3 recipes\n")
    assert "trees" in said
    assert NOT_INSTALLED in said
    assert "alpha" not in said
    recipes = json.loads(run("inspect", MODEL, "--json")[1])["recipes"]
    assert [one["weight"] for one in recipes] == [one.weight for one in load_model(MODEL).recipes_]


def test_the_report_has_the_recipes_and_no_rounds(in_folder):
    page = (in_folder / "report.html").read_text()
    assert 'id="recipes"' in page
    assert 'id="learning"' not in page


def test_a_chosen_model_scores_new_rows(run, in_folder):
    assert run("predict", MODEL, CSV, "-o", "scores.csv", "--threshold", "best", "-q") == (0, "", "")
    scores = pd.read_csv("scores.csv")["score"]
    assert scores.tolist() == pytest.approx(load_model(MODEL).predict_proba_table(CSV).tolist())
    assert scores.sum() == pytest.approx(90, rel=0.3)  # as many as there are


@pytest.mark.usefixtures("few_recipes", "csv")
def test_out_of_core_chooses_the_same_model(run, in_folder):
    outside = json.loads(run(*TRAIN, "--out-of-core", "--json", "-o", "outside.skops")[1])
    assert outside["aucprc"] == read_card(MODEL).metrics["aucprc"]


@pytest.mark.usefixtures("few_recipes", "csv")
def test_a_time_limit_that_cannot_be_kept_gives_a_model_and_a_warning(run):
    code, _, complained = run(*TRAIN, "--time-limit", "0.001")
    assert code == 0
    told = "The time limit of 0.001 s was reached. Skipped recipes: 'linear'."
    assert other_warnings(complained) == [f"warning: {told}"]
    assert [one.note for one in load_model(MODEL).recipes_] == [None, TIME_IS_UP, NOT_INSTALLED]
    assert other_warnings("\n".join(read_card(MODEL).metrics["warnings"])) == [told]


@pytest.mark.usefixtures("few_recipes", "folder")
def test_too_few_rare_rows_to_compare_by_are_warned_of(run, mixed):
    few = pd.concat([mixed[mixed["is_fraud"] == 0][:500], mixed[mixed["is_fraud"] == 1][:9]])
    few.to_csv(CSV, index=False)
    code, said, complained = run(*TRAIN)
    assert code == 0
    assert "warning: The class 1 has 7 rows. Comparing recipes needs at least 10" in complained
    assert "too few rare rows for a calibration" in said


@pytest.mark.usefixtures("csv")
def test_a_recipe_that_fails_is_warned_of_with_its_reason(run, monkeypatch):
    trees = FEW_RECIPES["trees"]
    broken = replace(trees, make=lambda *given: trees.make(*given).set_params(n_bins=0))
    recipes = {"trees": trees, "broken": broken}
    use_recipes(monkeypatch, recipes)
    code, _, complained = run(*TRAIN)
    assert code == 0
    assert other_warnings(complained)[0].startswith(
        "warning: The recipe 'broken' failed and is skipped. ValueError: n_bins must be"
    )


@pytest.mark.usefixtures("csv")
@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--members", "5"], "--members 5 is for one kind of members, but --base auto has several"),
        (["--bins", "5"], "--bins 5 is for one kind of members"),
        (["--calibration", "prior"], "--calibration prior is for one kind of members, but --base auto has several"),
        (["--base", "tree", "--time-limit", "60"], "--time-limit 60 needs --base auto"),
        (["--time-limit", "0"], "--time-limit must be a positive number of seconds; got 0"),
        (["--time-limit", "nan"], "--time-limit must be a positive number of seconds; got nan"),
    ],
)
def test_options_that_do_not_go_together_are_refused_before_the_file_is_read(run, options, complaint):
    code, said, complained = run("train", "nowhere.csv", "--target", "is_fraud", *options)
    assert (code, said) == (2, "")
    assert complained.startswith(f"selfpaced: error: {complaint}")
    assert len(complained.splitlines()) == 1


@pytest.mark.slow
@pytest.mark.usefixtures("folder")
def test_the_default_recipes_learn_from_numbers_strings_dates_and_missing_values(run, mixed, monkeypatch):
    mixed.iloc[:2000].to_csv(CSV, index=False)
    use_recipes(monkeypatch, SMALL_RECIPES)
    code, said, complained = run(*TRAIN, "--json")
    facts = json.loads(said)
    assert (code, complained, other_warnings("\n".join(facts["warnings"]))) == (0, "", [])
    assert facts["aucprc"] > 10 * facts["chance"]
    assert [one["name"] for one in facts["recipes"] if one["aucprc"] is None] == []
    assert len(facts["recipes"]) == len(SMALL_RECIPES)
