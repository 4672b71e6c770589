"""The page about the field, from made-up results."""

import pytest

from contest import page as page_module
from contest.page import write_page

METHODS = ["auto-self-paced", "lightgbm-tuned", "autogluon", "flaml"]


BY_SCORE = [[1.2, 1], [2.0, 0], [3.0, 4], [10.0, 9], [20.0, 22], [64.0, 65]]


def row(table, method, split, aucprc, **more):
    measured = {"fit_seconds": 2.0, "predict_seconds": 0.1, "busy_share": 0.0, "mean_score": 0.05, "rare_share": 0.05}
    measured |= {"by_score": BY_SCORE}
    return {"table": table, "method": method, "split": split, "aucprc": aucprc} | measured | more


def whole():
    """On "hard" ours is best; on "easy" AutoGluon is 0.03 ahead of it; FLAML failed on "easy"."""
    figures = {
        ("hard", "auto-self-paced"): 0.62,
        ("hard", "lightgbm-tuned"): 0.60,
        ("hard", "autogluon"): 0.61,
        ("hard", "flaml"): 0.50,
        ("easy", "auto-self-paced"): 0.92,
        ("easy", "lightgbm-tuned"): 0.90,
        ("easy", "autogluon"): 0.95,
    }
    rows = [
        row(*key, split, value + shift, mean_score=0.06 if key[0] == "hard" else 0.05)
        for key, value in figures.items()
        for split, shift in enumerate([-0.01, 0, 0.01])
    ]
    rows.append({"table": "easy", "method": "flaml", "split": 0, "error": "MemoryError: too many rows"})
    facts = {"rows": 5000, "rare": 250, "order": "random", "source": "KEEL"}
    facts |= {"features": 12, "categorical": 3, "missing_values": 1000}
    tables = dict.fromkeys(("easy", "hard"), facts)
    return {"results": rows, "tables": tables}


@pytest.fixture(scope="module")
def docs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("docs")
    write_page(whole(), METHODS, folder)
    return folder


@pytest.fixture(scope="module")
def page(docs):
    return (docs / "field.md").read_text()


@pytest.fixture
def three_are_enough(monkeypatch):
    """Tables are shown on which three of the four methods have run."""
    monkeypatch.setattr(page_module, "FEWEST_METHODS", 3)


def section(page, title):
    return page.split(f"## {title}\n")[1].split("\n## ")[0]


def line(page, title, start):
    return next(text for text in section(page, title).splitlines() if text.startswith(f"| {start}"))


def test_the_picture_is_beside_the_page(page, docs):
    assert "(images/field.png)" in page
    assert (docs / "images" / "field.png").stat().st_size > 10_000


def test_the_best_figure_of_a_table_is_bold_and_a_failed_one_is_a_dash(page):
    assert line(page, "AUCPRC by table", "easy") == "| easy | 5,000 | 250 | 3 | 0.920 | 0.900 | **0.950** | — |"


def test_a_method_has_its_mean_rank_its_mean_regret_and_its_largest(page):
    # AutoGluon: ranks 2 and 1, regrets 0.01 and 0. Ours: ranks 1 and 2, regrets 0 and 0.03.
    cells = [" 2 ", " 1.50 ", " 1.50 ", " 0.0050 ", " 0.0150 ", " 0.0100 "]
    assert line(page, "All methods", "AutoGluon").split("|")[3:9] == cells


def test_a_method_that_has_not_run_on_a_table_has_no_rank_there(tmp_path, three_are_enough):
    some = whole()
    some["results"] = [row for row in some["results"] if (row["table"], row["method"]) != ("easy", "autogluon")]
    page = write_page(some, METHODS, tmp_path).read_text()
    assert line(page, "All methods", "AutoGluon").split("|")[3:5] == [" 1 ", " 2.00 "]
    assert line(page, "All methods", "AutoSelfPaced").split("|")[3:5] == [" 2 ", " 1.00 "]
    assert "without a rank on the others: `autogluon`." in page


def test_a_method_stands_beside_ours_on_the_tables_that_it_ran_on(tmp_path, three_are_enough):
    some = whole()
    some["results"] = [row for row in some["results"] if (row["table"], row["method"]) != ("hard", "autogluon")]
    page = write_page(some, METHODS, tmp_path).read_text()
    # Ours is first on "hard" and second on "easy", where AutoGluon is first.
    assert line(page, "All methods", "AutoGluon").split("|")[3:7] == [" 1 ", " 1.00 ", " 2.00 ", " 0.0000 "]
    assert line(page, "All methods", "AutoSelfPaced").split("|")[3:5] == [" 2 ", " 1.50 "]


def test_rare_rows_by_ranges_of_scores_are_summed_over_the_splits(page):
    ranges = section(page, "Calibration").split("by ranges of scores")[1]
    assert "| hard | 4 / 3 | 6 / 0 | 9 / 12 | 30 / 27 | 60 / 66 | 192 / 195 |" in ranges


def test_our_wins_and_losses_stand_beside_each_method(page):
    # The differences of all splits are the same, so each is significant.
    assert line(page, "Ours against each method", "AutoGluon").split("|")[2:7] == [
        " 2 ",
        " 6 ",
        " 1 / 0 / 1 ",
        " 1 / 0 / 1 ",
        " -0.0100 ",
    ]


def test_a_table_that_we_lose_is_named_with_the_method_that_won_and_the_noise(page):
    lost = line(page, "Regret and its noise", "easy")
    start = (
        "| easy | 250 | 0.9200 | AutoGluon, good_quality | 0.9500 | -0.0300 | 0.0000 | splits | **behind** | -0.0300 |"
    )
    assert lost == start
    assert "higher figure on 1 of 2 tables, on 1 of them by more" in page
    assert "ours is behind it on 1 of 2 tables, and the mean difference is -0.0100." in page


def test_the_noise_of_a_single_split_is_that_of_its_test_rows(tmp_path):
    one = whole()
    one["results"] = [row for row in one["results"] if row["split"] == 0]
    for each in one["results"]:
        if each["table"] == "easy":
            each["redrawn"] = [0.9, 0.92] if each["method"] == "autogluon" else [0.9, 0.9]
    text = write_page(one, METHODS, tmp_path).read_text()
    assert line(text, "Regret and its noise", "easy").endswith("| -0.0300 | 0.0141 | test rows | **behind** |  |")
    assert line(text, "Regret and its noise", "hard").endswith("| +0.0100 | not known |  |  |  |")


def test_a_target_is_met_or_missed_by_what_was_measured(page):
    assert line(page, "What was to be reached", "never more than 0.02 behind").endswith("| 0.0300 (easy) | missed |")
    assert line(page, "What was to be reached", "ahead of lightgbm-tuned").endswith("| 2 of 2; 0 more equal | met |")


def test_a_method_on_fewer_than_half_of_the_tables_is_not_called_the_next_one(tmp_path):
    few = whole()
    few["tables"]["third"] = few["tables"]["hard"]
    few["results"] = [one for one in few["results"] if (one["table"], one["method"]) != ("hard", "flaml")]
    few["results"] += [row("hard", "flaml", split, 0.9) for split in range(3)]
    few["results"].append({"table": "third", "method": "flaml", "split": 0, "error": "MemoryError"})
    for method, aucprc in (("auto-self-paced", 0.7), ("lightgbm-tuned", 0.6), ("autogluon", 0.5)):
        few["results"] += [row("third", method, split, aucprc) for split in range(3)]
    write_page(few, METHODS, tmp_path)
    text = (tmp_path / "field.md").read_text()
    assert "(flaml)" not in line(text, "What was to be reached", "best mean rank of all methods")
    assert "(flaml)" not in line(text, "What was to be reached", "mean regret at most a third")


def test_the_calibration_is_the_mean_probability_over_the_share_of_rare_rows(page):
    assert line(page, "Calibration", "hard") == "| hard | 1.200 |"


def test_a_method_that_failed_is_listed_with_its_reason(page):
    assert "- easy: FLAML, ap: MemoryError: too many rows" in section(page, "Not possible")


def test_a_table_is_listed_with_its_source_and_its_imbalance(page):
    assert line(page, "The tables", "easy") == "| easy | KEEL | 19 | 12 | 3 | 1,000 |"


def test_fits_with_less_processor_time_than_ours_are_counted_for_methods_whose_time_is_limited(tmp_path):
    timed = whole()
    for each in timed["results"]:
        each["fit_cpu_seconds"] = {"auto-self-paced": 3.0, "autogluon": 2.0 + each["split"]}.get(each["method"], 9.0)
    text = section(write_page(timed, METHODS, tmp_path).read_text(), "All methods")
    assert "`autogluon` had fewer processor seconds than ours on 2 of 6 fits." in text
    assert "`lightgbm-tuned` had" not in text


def test_seconds_of_a_busy_machine_are_called_too_long(tmp_path):
    busy = whole()
    busy["results"][0]["busy_share"] = 0.5
    assert "1 of 21 fits" in write_page(busy, METHODS, tmp_path).read_text()


def on_the_first_split_alone():
    """AutoGluon has only the first split of "easy", where all figures are 0.01 lower."""
    some = whole()
    keys = [("easy", "autogluon", 1), ("easy", "autogluon", 2)]
    some["results"] = [row for row in some["results"] if (row["table"], row["method"], row["split"]) not in keys]
    return some


def test_a_method_that_lacks_splits_has_no_figure_and_no_rank_among_the_means(tmp_path, three_are_enough):
    text = write_page(on_the_first_split_alone(), METHODS, tmp_path).read_text()
    assert line(text, "AUCPRC by table", "easy") == "| easy | 5,000 | 250 | 3 | **0.920** | 0.900 | — | — |"
    assert line(text, "All methods", "AutoGluon").split("|")[3:5] == [" 1 ", " 2.00 "]


def test_all_methods_are_compared_on_the_first_split_if_one_lacks_others(page, tmp_path, three_are_enough):
    assert "All methods on the first split" not in page
    text = write_page(on_the_first_split_alone(), METHODS, tmp_path).read_text()
    assert line(text, "All methods on the first split", "AutoGluon").split("|")[3:5] == [" 2 ", " 1.50 "]
    assert line(text, "All methods on the first split", "easy") == "| easy | 0.910 | **0.940** | 0.890 lightgbm-tuned |"
    assert line(text, "Ours against each method", "AutoGluon").split("|")[2:5] == [" 2 ", " 4 ", " 1 / 0 / 1 "]


def test_a_fit_that_was_given_up_is_listed_and_has_no_rank(tmp_path, three_are_enough):
    some = whole()
    for each in some["results"]:
        if each["method"] == "flaml" and "error" in each:
            each |= {"error": "given up", "given_up_after": 300}
    text = write_page(some, METHODS, tmp_path).read_text()
    assert "- easy: FLAML, ap: given up after 300 s of processor time" in section(text, "Not possible")
    assert line(text, "All methods", "FLAML").split("|")[3] == " 1 "


def test_tables_with_figures_of_former_recipes_are_counted(page, tmp_path):
    assert "former recipes" not in page
    former = whole()
    for each in former["results"]:
        if each["table"] == "easy" and "by_score" in each:
            del each["by_score"]
    assert (
        "**On 1 of 2 tables ours was measured with its former recipes**"
        in write_page(former, METHODS, tmp_path).read_text()
    )


def test_without_ours_the_page_shows_the_others(tmp_path):
    text = write_page(whole(), ["lightgbm-tuned", "autogluon"], tmp_path).read_text()
    assert "| easy | 5,000 | 250 | 3 | 0.900 | **0.950** |" in text
    assert "Where we lose" not in text


def test_all_methods_are_shown_on_the_splits_that_ours_has(tmp_path):
    some = whole()
    some["results"] = [row for row in some["results"] if (row["method"], row["split"]) != ("auto-self-paced", 2)]
    text = write_page(some, METHODS, tmp_path).read_text()
    assert "| easy | 5,000 | 250 | 2 | 0.915 | 0.895 | **0.945** | — |" in text


def test_without_a_table_that_enough_methods_have_finished_there_is_no_page(tmp_path):
    with pytest.raises(SystemExit, match="No table has figures of enough methods"):
        write_page({"results": [], "tables": {}}, METHODS, tmp_path)


def test_tables_tell_the_splits_that_have_run(tmp_path):
    some = whole()
    some["results"] = [row for row in some["results"] if (row["table"], row["split"]) != ("easy", 2)]
    text = write_page(some, METHODS, tmp_path).read_text()
    assert "| easy | 5,000 | 250 | 2 | 0.9" in text
    assert "| hard | 5,000 | 250 | 3 | **0.6" in text
