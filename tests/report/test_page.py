"""One page, complete and safe, whatever the data are called."""

import os
import re
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

from selfpaced.baselines import RUSBoostClassifier
from selfpaced.baselines.smote import SMOTEBaggingClassifier
from selfpaced.ensembles import BalanceCascadeClassifier, SelfPacedEnsembleClassifier, UnderBaggingClassifier
from selfpaced.report import report_of_scores
from selfpaced.report.html import between, element, json_script
from selfpaced.report.thresholds import explorer_texts
from selfpaced.thresholds import choose_threshold, cost_text

HOSTILE = "</script><script>alert('<!--')</script><img src=x onerror=alert(1)>\u2028\"'&"


class Outline(HTMLParser):
    """The elements of a page in their order, and its text."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.words = [], []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self):
        return " ".join("".join(self.words).split())

    def named(self, *names):
        return [tag for tag, _ in self.tags if tag in names]


@pytest.fixture(scope="module")
def page(report):
    return report.to_html()


@pytest.fixture(scope="module")
def outline(page):
    return Outline(page)


class TestTheWords:
    @pytest.mark.parametrize(
        ("label", "target", "says"),
        [
            ("fraud", "kind", "where kind is fraud"),
            ("1", "is_fraud", "where is_fraud is 1"),
            ("1", None, "of the class 1"),
        ],
    )
    def test_the_headline_names_the_label_and_its_column(self, label, target, says):
        y = [label] * 10 + ["0"] * 90
        text = Outline(report_of_scores(y, np.linspace(1, 0, 100), pos_label=label, target=target).to_html()).text
        assert f"Of 100 alerts, 100 are right; it finds 100% of all rows {says}." in text

    def test_the_word_fraud_is_only_used_where_the_label_says_so(self, outline):
        assert "fraud" not in outline.text.lower()

    def test_few_hits_are_not_rounded_to_none(self):
        y = [0] * 999 + [1]
        text = Outline(report_of_scores(y, np.full(1000, 0.5)).to_html()).text
        assert "Of 100 alerts, fewer than 1 is right" in text

    def test_the_suggested_threshold_is_shown_without_any_script(self, report, outline):
        thresholds = report.facts.thresholds
        texts = explorer_texts(thresholds.alerts(thresholds.suggested), thresholds.values[thresholds.suggested])
        assert texts["sentence"] in outline.text

    def test_a_threshold_chosen_on_these_rows_is_called_optimistic(self, outline, scored):
        assert "slightly optimistic" in outline.text
        assert (
            "slightly optimistic"
            not in Outline(report_of_scores(*scored, pos_label=True, threshold=0.5).to_html()).text
        )

    @pytest.mark.parametrize(
        ("rule", "says"),
        [
            ("f1", ["has the best F1 on these rows", "expect an F1 of 0."]),
            (
                "precision>=0.6",
                ["was chosen by precision>=0.6 on these rows", "expect a precision of ", "a recall"],
            ),
            ("alerts<=10/1000", ["alerts in 5,000 rows, a precision of", "(90% intervals)"]),
            ("gmean", ["expect a G-mean of sensitivity and specificity of 0."]),
            ("cost=1:30", ["was chosen by cost=1:30", "expect a cost of", "in 5,000 new rows (90% interval)"]),
        ],
    )
    def test_the_rule_of_the_threshold_is_said_with_what_it_promises(self, scored, rule, says):
        text = Outline(report_of_scores(*scored, pos_label=True, threshold=rule).to_html()).text
        assert "slightly optimistic" in text
        for words in says:
            assert words in text

    def test_a_figure_has_one_interval_and_it_is_that_of_the_choice(self, scored):
        choice = choose_threshold(*scored, "precision>=0.6")
        text = Outline(report_of_scores(*scored, pos_label=True, threshold="precision>=0.6").to_html()).text
        for name in ("precision", "recall"):
            said = between(choice.intervals[name])
            assert text.count(said) >= 3  # in the sentence, in short, and where the threshold is moved
        assert "95% interval" not in text

    def test_costs_by_amount_are_those_of_the_rows(self, scored):
        amounts = np.random.default_rng(0).lognormal(3, 2, scored[0].size)
        cost = choose_threshold(*scored, "cost=5", amounts=amounts)
        text = Outline(report_of_scores(*scored, pos_label=True, threshold="cost=5", amounts=amounts).to_html()).text
        low, high = cost.intervals["cost"].low, cost.intervals["cost"].high
        assert f"{cost_text(cost.cost)}" in text
        assert f"costs its own amount; 90% interval {cost_text(low)} to {cost_text(high)}" in text
        assert f"the chosen threshold costs {cost_text(cost.cost)}" in text
        plain = Outline(report_of_scores(*scored, pos_label=True, threshold="cost=5:100").to_html()).text
        assert "mean amount" not in plain

    def test_no_alert_at_all_is_said_so(self, scored):
        is_case, scores = scored
        text = Outline(report_of_scores(is_case, -scores, pos_label=True, threshold="cost=500:1").to_html()).text
        assert "No row scores high enough for an alert." in text


class TestTheStructure:
    def test_headings_go_down_one_step_at_a_time(self, outline):
        levels = [int(name[1]) for name in outline.named("h1", "h2", "h3", "h4")]
        assert levels[0] == 1
        assert levels.count(1) == 1
        assert all(after - before <= 1 for before, after in pairwise(levels))

    def test_ids_are_there_once_and_links_lead_to_them(self, outline):
        ids = [attributes["id"] for _, attributes in outline.tags if "id" in attributes]
        assert len(ids) == len(set(ids))
        links = [attributes["href"] for tag, attributes in outline.tags if tag == "a"]
        assert {link.removeprefix("#") for link in links} <= set(ids)
        assert links[0] == "#main"

    def test_every_input_has_a_label(self, outline):
        labels = {attributes["for"] for tag, attributes in outline.tags if tag == "label"}
        assert {attributes["id"] for tag, attributes in outline.tags if tag == "input"} == labels

    def test_it_asks_for_nothing_from_elsewhere(self, page, outline):
        assert not outline.named("link", "img", "iframe", "object", "embed", "source", "base")
        assert not [attributes for _, attributes in outline.tags if "src" in attributes]
        assert "http:" not in page
        assert "https:" not in page
        assert "url(" not in page

    def test_only_its_own_style_and_script_may_run(self, page):
        style, script = (re.search(f"<{tag}>(.*?)</{tag}>", page, re.S).group(1) for tag in ("style", "script"))
        policy = re.search('http-equiv="Content-Security-Policy" content="(.*?)"', page).group(1).replace("&#x27;", "'")
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        for text in (style, script):
            assert f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'" in policy

    def test_no_element_has_a_style_or_a_handler_of_its_own(self, outline):
        assert not [name for _, attributes in outline.tags for name in attributes if name.startswith(("on", "style"))]


class TestNames:
    def test_hostile_names_stay_text(self, frauds):
        X, y = frauds
        frame = pd.DataFrame(X[:, :2], columns=[HOSTILE, "a 🙂 b"]).assign(word=pd.Categorical(["x", HOSTILE] * 1500))
        labels = np.where(y == 1, HOSTILE, "ok")
        model = UnderBaggingClassifier(DecisionTreeClassifier(max_depth=3), n_estimators=2, random_state=0)
        model.fit(frame[[HOSTILE, "a 🙂 b"]], labels)
        report = report_of_scores(
            labels,
            model.predict_proba(frame[[HOSTILE, "a 🙂 b"]])[:, model.classes_.tolist().index(HOSTILE)],
            pos_label=HOSTILE,
            sample=frame,
            train_sample=frame[:1000],
            ids=[HOSTILE] * 3000,
            dropped={HOSTILE: HOSTILE},
            title=HOSTILE,
            target=HOSTILE,
        )
        outline = Outline(report.to_html())
        assert not outline.named("img")
        assert len(outline.named("script")) == 2  # the data and the script
        assert "alert('" in outline.text
        assert "a 🙂 b" in outline.text
        assert HOSTILE not in report._repr_html_()

    def test_elements_escape_what_they_hold(self):
        assert element("b", HOSTILE, title=HOSTILE).count("<") == 2

    def test_data_for_scripts_cannot_end_them(self):
        text = json_script("data", {HOSTILE: HOSTILE})
        assert text.count("<") == 2
        assert "\u2028" not in text


@pytest.mark.parametrize(
    "kind",
    [
        BalanceCascadeClassifier,
        RUSBoostClassifier,
        SelfPacedEnsembleClassifier,
        SMOTEBaggingClassifier,
        UnderBaggingClassifier,
    ],
)
def test_every_kind_of_ensemble_has_a_page(kind, frauds, tree):
    X, y = frauds
    page = kind(tree, n_estimators=2, random_state=0).fit(X, y).report(X, y).to_html()
    assert ("Where rows were drawn from" in page) == (kind is SelfPacedEnsembleClassifier)
    assert "AUCPRC by round" in page


@pytest.mark.parametrize(
    ("y", "scores"),
    [
        ([0, 0, 0, 1], [0.5] * 4),
        ([1] * 5 + [0] * 95, np.linspace(1, 0, 100)),
        ([0, 1, 0, 1], [-3.0, 5.0, 0.0, 2.0]),
        ([0, 1], [0.0, 1.0]),
        ([0, 1], [1.0, 0.0]),
    ],
    ids=["equal scores", "no false alarm", "no probabilities", "perfect", "upside down"],
)
def test_odd_scores_have_a_page(y, scores):
    assert "nan" not in Outline(report_of_scores(y, scores).to_html()).text.lower().split()


@pytest.mark.slow
def test_500_columns_and_100_rounds_make_a_small_page(frauds):
    X, y = (one[::3] for one in frauds)
    wide = pd.DataFrame(np.hstack([X, np.zeros((len(X), 494))]), columns=[f"column number {n}" for n in range(500)])
    model = SelfPacedEnsembleClassifier(DecisionTreeClassifier(max_depth=3), n_estimators=100, random_state=0)
    page = model.fit(wide, y).report(wide, y, X_train=wide).to_html()
    assert len(page.encode()) < 1_000_000
    assert "490 more columns" in page


class TestSaving:
    def test_the_ending_says_what_is_written(self, report, tmp_path):
        assert report.save(tmp_path / "report.html").read_text(encoding="utf-8") == report.to_html()
        assert report.save(tmp_path / "report.json").read_text(encoding="utf-8") == report.to_json()
        assert sorted(os.listdir(tmp_path)) == ["report.html", "report.json"]

    def test_a_folder_that_is_not_there_is_named(self, report, tmp_path):
        with pytest.raises(FileNotFoundError, match="nowhere does not exist"):
            report.save(tmp_path / "nowhere" / "report.html")

    def test_nothing_half_written_is_left(self, report, tmp_path, monkeypatch):
        (tmp_path / "report.html").write_text("the old one")

        def stop(*_):
            raise KeyboardInterrupt

        monkeypatch.setattr(os, "replace", stop)
        with pytest.raises(KeyboardInterrupt):
            report.save(tmp_path / "report.html")
        assert os.listdir(tmp_path) == ["report.html"]
        assert (tmp_path / "report.html").read_text() == "the old one"

    def test_a_notebook_shows_it_in_a_frame_of_its_own(self, report):
        shown = report._repr_html_()
        assert Outline(shown).named("iframe", "style", "script") == ["iframe"]
        assert 'sandbox="allow-scripts"' in shown

    def test_its_name_tells_the_essentials(self, report):
        assert re.fullmatch(r"<Report on 1,500 rows: AUCPRC 0\.\d{3}, chance 0\.019>", repr(report))
