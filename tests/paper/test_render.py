"""Pages from finished cells: what stands beside what, and what is counted."""

import pandas as pd
import pytest

from paper.experiments import EXPERIMENTS
from paper.render import render
from paper.render.scorecard import score
from paper.render.summary import beside, cell, over_runs
from paper.render.tables import crossed
from paper.results import Results

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
    from paper.datasets import data_folder
    from paper.experiment import Surroundings
    from paper.working import work

    for name in ("hardness_under_imbalance", "self_paced_sampling", "overlap"):
        store = Results(EXPERIMENTS[name], tmp_path / "results")
        for one in EXPERIMENTS[name].cells(most_runs=1):
            store.add(one, work(EXPERIMENTS[name].work, one, Surroundings(data_folder(), quick=True)))
    names = {path.name for path in render(tmp_path / "results", tmp_path, quick=True)}
    assert names == {"hardness-under-imbalance.md", "self-paced-sampling.md", "overlap.md", "README.md"}
    for picture in ("hardness-under-imbalance.png", "self-paced-sampling.png", "overlap.png"):
        assert (tmp_path / picture).stat().st_size > 5000
    assert "quick pass" in (tmp_path / "overlap.md").read_text()


def test_failed_cells_stand_on_the_front_page_with_their_reason(tmp_path):
    grid = EXPERIMENTS["checkerboard"]
    Results(grid, tmp_path / "results").add(grid.cells()[0], [{"error": "ValueError: no luck", "seconds": 1.0}])
    *_, front = render(tmp_path / "results", tmp_path)
    assert "- KNN, RandUnder, 0: ValueError: no luck" in front.read_text()


@pytest.mark.slow
def test_what_is_committed_was_rendered_from_what_is_committed(tmp_path):
    """The front page agrees with the rows beside it: nobody touched one without the other."""
    from paper.results import FOLDER

    if not any(FOLDER.glob("*.csv")):
        pytest.skip("no results have been committed yet")
    *_, front = render(FOLDER, tmp_path)
    assert front.read_text() == (FOLDER.parent / "README.md").read_text()
