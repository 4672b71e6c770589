"""What the card of a model file says, without loading the model."""

import json
import sys
from dataclasses import fields
from datetime import UTC, datetime, timedelta

import numpy as np
import pandas as pd
import pytest
import sklearn
from hypothesis import given
from hypothesis import strategies as st
from lightgbm import LGBMClassifier
from sklearn.tree import DecisionTreeClassifier

import selfpaced
from selfpaced.baselines import RUSBoostClassifier
from selfpaced.ensembles import SelfPacedEnsembleClassifier
from selfpaced.exceptions import ModelFileError, ModelVersionWarning
from selfpaced.persistence import ModelCard, card_as_json, read_card, save_model
from selfpaced.persistence.card import read_as
from selfpaced.persistence.files import CARD, load_model


@pytest.fixture(scope="module")
def card(frauds, tmp_path_factory):
    X, y = frauds
    frame, labels = pd.DataFrame(X, columns=list("abcdef")), np.array(["ok", "fraud"])[y]
    base = LGBMClassifier(n_estimators=5, verbose=-1)
    model = SelfPacedEnsembleClassifier(base, 3, n_bins=7, random_state=0).fit(frame, labels, eval_set=(frame, labels))
    path = tmp_path_factory.mktemp("card") / "model.skops"
    return read_card(save_model(model, path, metrics={"aucprc": np.float64(0.5), "rows": 100}, notes="for the demo"))


def test_it_says_what_the_model_was_trained_on(card):
    assert card.kind == "SelfPacedEnsembleClassifier"
    assert card.feature_names == tuple("abcdef")
    assert card.n_features == 6
    assert (card.classes, card.class_counts, card.minority_class) == (("fraud", "ok"), (60, 2940), "fraud")
    assert (card.schema, card.target, card.pos_label) == (None, None, None)


def test_it_says_how_the_model_was_trained(card):
    assert card.base_model.startswith("LGBMClassifier(n_estimators=5")
    assert card.parameters["n_bins"] == "7"
    assert [each.number for each in card.rounds] == [0, 1, 2, 3]
    assert {each.n_rows for each in card.rounds} == {120}
    assert card.rounds[1].alpha == pytest.approx(np.tan(np.pi / 6))
    assert all(each.score > 0 for each in card.rounds[1:])
    assert all(each.seconds > 0 for each in card.rounds)


def test_it_repeats_what_the_caller_gave(card):
    assert card.metrics == {"aucprc": 0.5, "rows": 100}
    assert card.notes == "for the demo"


def test_it_says_when_and_with_what_the_file_was_written(card):
    assert datetime.now(UTC) - datetime.fromisoformat(card.created_at) < timedelta(minutes=10)
    assert card.versions["selfpaced"] == selfpaced.__version__
    assert card.versions["sklearn"] == sklearn.__version__
    assert set(card.versions) == {"python", "numpy", "selfpaced", "sklearn", "lightgbm"}


def test_without_notes_of_rounds_it_says_the_rows_of_each_member(frauds, tmp_path):
    model = RUSBoostClassifier(DecisionTreeClassifier(max_depth=3), 3, random_state=0).fit(*frauds)
    card = read_card(save_model(model, tmp_path / "model.skops"))
    assert [each.n_rows for each in card.rounds] == model.n_training_rows_
    assert card.rounds[0].alpha is None


def test_reading_it_does_not_touch_the_model(rewrite):
    path = rewrite("schema.json", lambda _: b"not even JSON")
    assert read_card(path).kind == "SelfPacedEnsembleClassifier"


def facts_changed(**facts):
    return lambda card: json.dumps({**json.loads(card), **facts}).encode()


@pytest.mark.parametrize("package", ["sklearn", "selfpaced"])
def test_another_version_of_a_package_is_warned_of_by_its_name(rewrite, package):
    path = rewrite(CARD, facts_changed(versions={package: "0.0.7", "python": "2.7.1", "numpy": "0.1"}))
    with pytest.warns(ModelVersionWarning, match=rf"saved with {package} 0\.0\.7 \(here [\d.]+\),"):
        load_model(path)


def test_another_patch_release_is_the_same(rewrite):
    version = ".".join([*sklearn.__version__.split(".")[:2], "99"])
    load_model(rewrite(CARD, facts_changed(versions={"sklearn": version})))


def test_a_package_is_not_imported_for_being_named_on_the_card(rewrite):
    load_model(rewrite(CARD, facts_changed(versions={"this": "1.0"})))
    assert "this" not in sys.modules


def test_a_newer_format_is_refused_with_a_hint(rewrite):
    path = rewrite(CARD, facts_changed(format_version=99, kind=None))
    for read in (read_card, load_model):
        with pytest.raises(
            ModelFileError,
            match=r"format 99, but this version of selfpaced reads formats up to 1\. Install a newer version",
        ):
            read(path)


def test_facts_that_a_later_version_adds_are_passed_over(rewrite):
    assert read_card(rewrite(CARD, facts_changed(mood="good"))).format_version == 1


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b"\xff\xfe", b'{"format_version": 1}'], ids=repr)
def test_a_damaged_card_is_an_error(rewrite, content):
    with pytest.raises(ModelFileError, match=r"card in .* is damaged"):
        read_card(rewrite(CARD, lambda _: content))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
# What the fields may hold that any JSON value fits.
FREE = {"metrics", "pos_label", "minority_class", "classes"}


@pytest.fixture(scope="module")
def facts(card):
    columns = [{"name": "a", "type": "category", "categories": ["x", "y"], "made_of": None}]
    return {**json.loads(card_as_json(card)), "schema": {"columns": columns}}


def places_in(value, place=()):
    """All places of a JSON value, as keys and positions."""
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, part in parts:
        yield (*place, name)
        yield from places_in(part, (*place, name))


def changed_at(value, place, new):
    if not place:
        return new
    parts = dict(value) if isinstance(value, dict) else list(value)
    parts[place[0]] = changed_at(parts[place[0]], place[1:], new)
    return parts


@given(data=st.data())
def test_a_card_with_any_value_anywhere_is_read_or_refused(facts, data):
    place = data.draw(st.sampled_from(list(places_in(facts))))
    try:
        card = read_as(ModelCard, changed_at(facts, place, data.draw(JSON)), "the card")
    except ValueError:
        return
    assert read_as(ModelCard, json.loads(card_as_json(card)), "the card") is not None


@pytest.mark.parametrize("wrong", [[[1]], {"a": [1]}, 1.5, True])
@pytest.mark.parametrize("name", [field.name for field in fields(ModelCard) if field.name not in FREE])
def test_a_fact_of_a_wrong_type_is_an_error(rewrite, name, wrong):
    with pytest.raises(ModelFileError, match=rf"card in .* is damaged: .*{name}"):
        read_card(rewrite(CARD, facts_changed(**{name: wrong})))


@pytest.mark.parametrize(
    "content",
    [b"[" * 100_000, b'{"format_version": ' + b"1" * 5000 + b"}", b'{"format_version": "1"}', b"null"],
    ids=["deep", "long", "text", "null"],
)
def test_a_card_made_to_confuse_is_an_error(rewrite, content):
    with pytest.raises(ModelFileError, match=r"card in .* is damaged"):
        read_card(rewrite(CARD, lambda _: content))
