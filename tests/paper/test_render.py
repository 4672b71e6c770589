"""Pages from finished cells: what stands beside what, and what is counted."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import pearsonr, ttest_1samp

from paper.__main__ import experiments_for
from paper.datasets import DATASETS, data_folder
from paper.datasets.record_linkage import COMPARISONS
from paper.experiment import Surroundings
from paper.experiments import EXPERIMENTS
from paper.render import render
from paper.render.pages.ensembles import ensembles
from paper.render.pages.story import all_comparisons, differences, distances
from paper.render.paired import comparisons, paired_t, pitman_morgan
from paper.render.scorecard import as_markdown, score
from paper.render.summary import beside, cell, given_up, over_runs
from paper.render.tables import crossed
from paper.results import Results
from paper.working import work

PUBLISHED = pd.DataFrame(
    {
        "model": ["DT", "DT", "DT", "KNN", "KNN"],
        "method": ["Easy", "Clean", "SPE", "Easy", "SPE"],
        "mean": [0.4, 0.3, 0.6, 0.7, 0.5],
        "sd": [0.01, 0.0, 0.02, 0.01, 0.03],
    }
)


def results(**means):
    """Two runs of each cell, 0.01 around its mean."""
    return pd.DataFrame(
        [
            {"model": name.split("_")[0], "method": name.split("_")[1], "run": str(run), "aucprc": mean + sign * 0.01}
            for name, mean in means.items()
            for run, sign in enumerate([-1, 1])
        ]
    )


def summary(**means):
    return beside(over_runs(results(**means), ["model", "method"], "aucprc"), PUBLISHED)


def test_a_cell_shows_ours_the_published_one_the_difference_and_the_runs():
    both = summary(DT_SPE=0.55)
    assert cell(both.loc[("DT", "SPE")]) == "0.550 ± 0.014 (2)<br>paper 0.600 ± 0.020<br>-0.050"


def test_a_cell_without_a_published_figure_shows_ours_alone():
    both = summary(SVM_SPE=0.55)
    assert cell(both.loc[("SVM", "SPE")]) == "0.550 ± 0.014 (2)"


def test_the_best_of_ours_is_bold_and_what_is_not_finished_is_a_dash():
    table = crossed(summary(DT_SPE=0.55, DT_Easy=0.58), ["DT"], ["Easy", "Clean", "SPE"], ["AUCPRC"])
    line = table.splitlines()[-1]
    assert "**0.580 ± 0.014 (2)**<br>paper 0.400" in line
    assert "| — |" in line
    assert "**0.550" not in line


def test_the_scorecard_counts_finished_comparisons_and_reached_figures():
    counted = score("T", summary(DT_SPE=0.585, DT_Easy=0.3, DT_Clean=0.3, KNN_SPE=0.46, KNN_Easy=0.5))
    assert (counted.rows, counted.best_ours, counted.best_published) == (2, 1, 1)
    # 0.585 >= 0.6 - 0.02, but not 0.6 - 0.0141; 0.46 is below 0.5 - 0.03.
    assert (counted.cells, counted.reached, counted.reached_by_our_sd) == (2, 1, 0)


def test_on_other_rows_the_best_is_counted_and_figures_are_not_compared():
    both = summary(DT_SPE=0.585, DT_Easy=0.3, DT_Clean=0.3)
    counted = score("T", both, other_rows=True)
    assert (counted.rows, counted.best_ours, counted.cells) == (1, 1, 0)
    assert as_markdown([counted]).splitlines()[2] == "| T | 1 of 1 | 1 of 1 | — | — | — | — |"
    line = cell({**both.loc[("DT", "SPE")], "other_rows": True})
    assert line == "0.585 ± 0.014 (2)<br>paper, published rows: 0.600 ± 0.020"


def test_a_cell_that_was_given_up_shows_its_reason_and_counts_in_no_mean():
    rows = results(DT_SPE=0.55).assign(given_up="")
    used = {"given_up": "after 300 s", "processor_seconds": 300.2, "peak_gigabytes": 1.44}
    frame = pd.concat([rows, pd.DataFrame([{"model": "DT", "method": "Clean", "run": "0", **used}])])
    notes = given_up(frame, ["model", "method"])
    table = crossed(over_runs(frame, ["model", "method"], "aucprc"), ["DT"], ["Clean", "SPE"], ["AUCPRC"], notes=notes)
    text = "given up: after 300 s, 300 s of processor time and 1.4 GB used"
    assert table.splitlines()[-1] == f"| DT | {text} | **0.550 ± 0.014 (2)** |"
    assert score("T", beside(over_runs(frame, ["model", "method"], "aucprc"), PUBLISHED)).cells == 1


def cells_of(dataset, method, **columns):
    return {"dataset": dataset, "method": method, "size": "50", "run": "0", **columns}


def test_an_ensemble_that_was_given_up_leaves_the_other_tables_as_they_are(tmp_path):
    measured = dict.fromkeys(("aucprc", "aucprc_votes", "f1_best", "gmean_best", "mcc_best"), 0.5)
    rows = [
        cells_of(dataset, method, n_members=n, n_training_rows=100 * n, **measured)
        for dataset in ("credit-fraud", "paysim-simulated")
        for method in ("Cascade", "SPE")
        for n in (10, 50)
    ]
    used = {"given_up": "after 300 s", "processor_seconds": 300.2, "peak_gigabytes": 1.44}
    frame = pd.DataFrame([*rows, cells_of("paysim-simulated", "SMOTEBoost", **used)])
    text = ensembles({"ensembles": frame}, tmp_path)
    reason = "given up: after 300 s, 300 s of processor time and 1.4 GB used"
    assert f"| 10 | — | {reason} | — | — | **0.500 (1)** | **0.500 (1)** |" in text
    assert "**0.500 (1)**<br>paper 0.783 ± 0.015" in text  # Credit Fraud, 10 members
    assert "(Credit Fraud and PaySim, simulated again)" in text
    assert pd.read_csv(tmp_path / "ensembles.numbers.csv")["n_members"].dtype == int
    assert len(differences(frame, "ensembles")) == 4
    found = {
        each.setting for each in all_comparisons(dict.fromkeys(EXPERIMENTS, pd.DataFrame()) | {"ensembles": frame})
    }
    assert found == {"10", "50"}


def test_only_cells_with_distances_are_counted_as_such():
    rows = [
        {"dataset": "paysim-simulated", "model": "KNN", "method": "SPE", "aucprc": 0.5, "n_training_rows": 1000},
        {"dataset": "paysim-simulated", "model": "MLP", "method": "SPE", "given_up": "after 300 s"},
        {"dataset": "paysim-simulated", "model": "GBDT10", "method": "Clean", "given_up": "after 300 s"},
        {"dataset": "credit-fraud", "model": "KNN", "method": "SPE", "aucprc": 0.5, "n_training_rows": 1000},
    ]
    none = pd.DataFrame(columns=["dataset", "method", "size", "run"])
    short, text = distances({"real_world": pd.DataFrame(rows).assign(run="0"), "ensembles": none}, [])
    assert short.startswith("1 of 2 cells")
    assert "- PaySim, simulated again, KNN, SPE: it runs. AUCPRC 0.500, 1,000 training rows." in text
    assert "MLP" not in text


def test_the_corrected_test_is_the_paired_one_where_no_rows_are_shared():
    differences = np.random.default_rng(0).normal(0.3, 1, size=10)
    assert paired_t(differences) == pytest.approx(ttest_1samp(differences, 0).pvalue)
    assert paired_t(differences, shared=1 / 3) > paired_t(differences)
    assert np.isnan(paired_t([0.1, 0.2]))
    assert (paired_t([0, 0, 0]), paired_t([0.5, 0.5, 0.5])) == (1, 0)


def test_deviations_are_compared_by_the_correlation_of_sums_and_differences():
    rng = np.random.default_rng(1)
    one, other = rng.normal(size=10), rng.normal(scale=3, size=10)
    assert pitman_morgan(one, other) == pytest.approx(pearsonr(one + other, one - other).pvalue)
    assert np.isnan(pitman_morgan([1, 1, 1], [2, 2, 2]))


def test_rivals_are_compared_on_shared_runs_and_given_up_ones_are_left_out():
    rows = results(DT_SPE=0.6, DT_Easy=0.5, DT_Clean=0.5)
    more = pd.DataFrame(
        [
            {"model": "DT", "method": "SPE", "run": "2", "aucprc": 0.1},
            {"model": "DT", "method": "SMOTE", "run": "0", "aucprc": np.nan},
        ]
    )
    found = {each.rival: each for each in comparisons("T", pd.concat([rows, more]), ["model"])}
    assert set(found) == {"Easy", "Clean"}
    assert (found["Easy"].runs, found["Easy"].difference) == (2, pytest.approx(0.1))


def test_methods_are_compared_on_the_runs_that_all_of_them_have():
    rows = results(DT_SPE=0.6, DT_Easy=0.5, DT_Clean=0.5)
    # SPE has a third run on a split where everything is harder, which the others have not.
    more = pd.DataFrame([{"model": "DT", "method": "SPE", "run": "2", "aucprc": 0.1}])
    both = beside(over_runs(pd.concat([rows, more]), ["model", "method"], "aucprc"), PUBLISHED)
    assert both.loc[("DT", "SPE"), "mean"] < 0.5
    assert score("T", both).best_ours == 1


def test_a_comparison_with_a_method_missing_is_not_counted():
    counted = score("T", summary(DT_SPE=0.6, DT_Easy=0.3, KNN_SPE=0.5, KNN_Easy=0.4))
    assert (counted.rows, counted.best_ours) == (1, 1)
    assert counted.cells == 2


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_every_page_is_rendered_from_quick_cells(tmp_path, request):
    request.getfixturevalue("credit_fraud_path")
    # All pages at once would take minutes; these three have a table or a picture each.
    for name in ("hardness_under_imbalance", "self_paced_sampling", "overlap"):
        store = Results(EXPERIMENTS[name], tmp_path / "results")
        for one in EXPERIMENTS[name].cells(most_runs=1):
            store.add(one, work(EXPERIMENTS[name].work, one, Surroundings(data_folder(), quick=True)))
    names = {path.name for path in render(tmp_path / "results", tmp_path, quick=True)}
    assert names == {"hardness-under-imbalance.md", "self-paced-sampling.md", "overlap.md", "README.md"}
    for picture in ("hardness-under-imbalance", "self-paced-sampling", "overlap"):
        assert (tmp_path / f"{picture}.png").stat().st_size > 5000
        assert len(pd.read_csv(tmp_path / f"{picture}.numbers.csv")) > 10
        assert f"]({picture}.png)" in (tmp_path / f"{picture}.md").read_text()
    assert "quick pass" in (tmp_path / "overlap.md").read_text()


def write_payments(folder, rng):
    """A small file of the published form."""
    n, fraud = 1500, np.arange(1500) % 10 == 0
    amount = rng.lognormal(11 + 2 * fraud, 1).round(2)
    frame = pd.DataFrame(
        {
            "step": np.sort(rng.integers(1, 744, n)),
            "type": np.where(fraud, rng.choice(["TRANSFER", "CASH_OUT"], n), rng.choice(["PAYMENT", "CASH_IN"], n)),
            "amount": amount,
            "nameOrig": [f"C{number}" for number in range(n)],
            "oldbalanceOrg": amount,
            "newbalanceOrig": np.where(rng.random(n) < 0.2 + 0.6 * fraud, 0, amount),
            "nameDest": "M1",
            "oldbalanceDest": rng.lognormal(10, 1, n).round(2),
            "newbalanceDest": 0.0,
            "isFraud": fraud.astype(int),
            "isFlaggedFraud": 0,
        }
    )
    frame.to_csv(folder / "PS_20174392719_1491204439457_log.csv", index=False)


def write_pairs(folder, rng):
    """Ten small blocks of the published form."""
    for block in range(1, 11):
        match = np.arange(150) % 10 == 0
        frame = pd.DataFrame({"id_1": range(150), "id_2": range(150)})
        for name in COMPARISONS:
            values = np.where(rng.random(150) < 0.3 + 0.5 * match, 1, 0).astype(object)
            frame[name] = np.where(rng.random(150) < 0.1, "?", values)
        frame.assign(is_match=np.where(match, "TRUE", "FALSE")).to_csv(folder / f"block_{block}.csv", index=False)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_who_has_the_published_files_gets_pages_about_them_with_the_papers_figures_beside(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    write_payments(tmp_path, rng)
    write_pairs(tmp_path, rng)
    for name in ("payment-simulation", "record-linkage"):  # the small files have fewer rows than the published ones
        monkeypatch.setitem(DATASETS, name, replace(DATASETS[name], expected=None))
    experiment = experiments_for(tmp_path)["real_world"]
    datasets = {setting["dataset"] for setting in experiment.settings({})}
    assert {"payment-simulation", "record-linkage"} <= datasets
    assert not {"paysim-simulated", "febrl-pairs"} & datasets
    store = Results(experiment, tmp_path / "results")
    only = {"dataset": ["payment-simulation", "record-linkage"], "model": ["GBDT10"]}
    for one in experiment.cells(most_runs=1, only=only):
        store.add(one, work(experiment.work, one, Surroundings(tmp_path, quick=True)))
    assert len(store.failures()) == 0
    pages = {path.name: path.read_text() for path in render(tmp_path / "results", tmp_path)}
    page = pages["real-world.md"]
    assert "## Payment Simulation\n" in page
    assert "## Record Linkage\n" in page
    assert "simulated again" not in page.replace("stand-in", "")
    assert "FEBRL" not in page
    assert "paper 0.944 ± 0.001<br>" in page  # with the difference to ours
    assert "| Payment Simulation, GBDT10, 4 measures |" in pages["README.md"]


def test_pages_and_pictures_leave_results_in_the_same_folder_alone(tmp_path):
    grid = EXPERIMENTS["overlap"]
    for one in grid.cells(most_runs=1):
        rows = [{"round": 1, "aucprc": 0.5, "bayes": 0.6, "seconds": 1.0}]
        Results(grid, tmp_path).add(one, rows)
    before = Results(grid, tmp_path).path.read_text()
    names = {path.name for path in render(tmp_path, tmp_path)}
    assert names == {"overlap.md", "README.md"}
    assert (tmp_path / "overlap.numbers.csv").exists()
    assert Results(grid, tmp_path).path.read_text() == before


def test_failed_cells_stand_on_the_front_page_with_their_reason(tmp_path):
    grid = EXPERIMENTS["checkerboard"]
    Results(grid, tmp_path / "results").add(grid.cells()[0], [{"error": "ValueError: no luck", "seconds": 1.0}])
    *_, front = render(tmp_path / "results", tmp_path)
    assert "- KNN, RandUnder, 0: ValueError: no luck" in front.read_text()


@pytest.mark.slow
def test_what_is_committed_was_rendered_from_what_is_committed(tmp_path, monkeypatch):
    """The pages agree with the rows beside them: nobody touched one without the other."""
    from paper.results import FOLDER

    monkeypatch.setattr("matplotlib.figure.Figure.savefig", lambda *given, **named: None)  # pages alone are compared
    if not any(FOLDER.glob("*.csv")):
        pytest.skip("no results have been committed yet")
    for page in render(FOLDER, tmp_path):
        assert page.read_text() == (FOLDER.parent / page.name).read_text(), page.name
