"""The recipes of a blend in its report, and nothing of them for other models."""

import json
from xml.etree import ElementTree

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from selfpaced.ensembles import SelfPacedEnsembleClassifier
from selfpaced.ensembles.auto import AutoSelfPacedClassifier
from selfpaced.report.about import RecipeFacts
from selfpaced.report.answer import recipe_bars
from selfpaced.report.html import percent

LONG = "a name that is longer than anybody would want to read in a picture"


@pytest.fixture(scope="module")
def blend(frauds):
    X, y = frauds
    linear = make_pipeline(StandardScaler(), LogisticRegression())
    recipes = [
        ("<b>trees</b>", SelfPacedEnsembleClassifier(DecisionTreeClassifier(max_depth=4), 3)),
        ("linear", SelfPacedEnsembleClassifier(linear, 2)),
        ("broken", SelfPacedEnsembleClassifier(DecisionTreeClassifier(), 2, n_bins=0)),
    ]
    with pytest.warns(UserWarning, match="The recipe 'broken' failed"):
        return AutoSelfPacedClassifier(recipes, random_state=0).fit(X[::2], y[::2])


@pytest.fixture(scope="module")
def report(blend, frauds):
    X, y = frauds
    return blend.report(X[1::2], y[1::2])


def test_the_facts_are_those_of_the_model_with_the_highest_weight_first(blend, report):
    found = report.facts.recipes
    by_name = {one.name: one for one in blend.recipes_}
    assert [one.weight for one in found] == sorted([one.weight for one in blend.recipes_], reverse=True)
    for one in found:
        model = by_name[one.name]
        assert (one.aucprc, one.standard_error, one.note) == (model.aucprc, model.standard_error, model.note)
        assert one.seconds == model.seconds_judging + model.seconds_fitting
    assert json.loads(report.to_json())["recipes"][-1]["name"] == "broken"


def test_the_page_has_a_picture_and_the_reason_why_a_recipe_is_left_out(report):
    page = report.to_html()
    section = page[page.index('id="recipes"') : page.index('id="importance"')]
    assert "Recipes by AUCPRC" in section
    assert "failed: ValueError: n_bins must be" in section
    assert "<b>trees" not in section


def test_there_are_no_rounds_of_a_blend(report):
    assert report.facts.learning is None
    assert 'id="learning"' not in report.to_html()


def test_how_it_was_made_counts_the_time_of_all_recipes(blend, report):
    seconds = sum(one.seconds_judging + one.seconds_fitting for one in blend.recipes_)
    assert report.facts.model.training_seconds == pytest.approx(seconds)
    assert "AutoSelfPacedClassifier, " in report.to_html()


def test_a_report_from_scores_has_the_recipes_too(blend, frauds):
    from selfpaced.report import report_of_scores

    X, y = frauds
    facts = report_of_scores(y, blend.predict_proba(X)[:, 1], model=blend).facts
    assert (len(facts.recipes), facts.learning) == (3, None)


def test_other_models_have_no_such_section(model, frauds):
    report = model.report(*frauds)
    assert report.facts.recipes == ()
    assert 'id="recipes"' not in report.to_html()


def test_with_too_few_rare_rows_the_page_says_why_there_are_no_figures(frauds):
    X, y = frauds
    kept = np.flatnonzero((y == 0) | (np.cumsum(y) <= 8))
    recipes = [(name, SelfPacedEnsembleClassifier(DecisionTreeClassifier(max_depth=3), 2)) for name in "ab"]
    with pytest.warns(UserWarning, match="has 8 rows"):
        blend = AutoSelfPacedClassifier(recipes, random_state=0).fit(X[kept], y[kept])
    page = blend.report(X, y).to_html()
    assert "There were too few rare rows to compare the recipes" in page
    assert "Recipes by AUCPRC" not in page


RECIPES = [
    RecipeFacts(LONG, 0.8, 0.02, 0.7, 1.0, None),
    RecipeFacts("other", 0.6, 0.1, 0.3, 1.0, None),
    RecipeFacts("left out", 0.2, 0.01, 0.0, 1.0, "left out"),
    RecipeFacts("missing", None, None, 0.0, 0.0, "not installed"),
]


@pytest.fixture(scope="module")
def picture():
    return ElementTree.fromstring(recipe_bars(RECIPES))


def test_a_bar_is_as_long_as_the_area_and_only_recipes_that_were_judged_have_one(picture):
    widths = [float(bar.get("width")) for bar in picture.iter("rect")]
    assert [width / widths[0] for width in widths] == pytest.approx([1, 0.75, 0.25], abs=1e-3)


def test_recipes_that_do_not_count_are_grey(picture):
    assert [bar.get("class") for bar in picture.iter("rect")] == ["bar case", "bar case", "bar quiet"]


def test_areas_have_their_errors_and_long_names_are_shortened(picture):
    texts = ["".join(text.itertext()) for text in picture.iter("text")]
    assert {"0.800 ± 0.020", "0.600 ± 0.100", "0.200 ± 0.010"} <= set(texts)
    assert any(LONG in text for text in texts)  # as the tooltip of a shorter one
    short = next(text.text for text in picture.iter("text") if text.text.endswith("…"))
    assert LONG.startswith(short[:-1])


def test_the_weights_are_in_the_table(report):
    page = report.to_html()
    for one in report.facts.recipes:
        assert f'<td class="number">{percent(one.weight)}</td>' in page


def test_nothing_of_it_is_drawn_outside_the_paper(picture):
    _, _, width, height = map(float, picture.get("viewBox").split())
    for shape in picture.iter():
        for key, limit in (("x", width), ("y", height)):
            assert 0 <= float(shape.get(key, 0)) <= limit
