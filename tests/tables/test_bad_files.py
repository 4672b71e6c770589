"""Files that cannot be trained on: an error that names the file, and nothing left behind."""

import shutil
import subprocess

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

from selfpaced.callbacks import Callback
from selfpaced.datasets import make_fraud
from selfpaced.ensembles import SelfPacedEnsembleClassifier
from selfpaced.exceptions import TableError
from selfpaced.tables.sources import open_table

TREE = DecisionTreeClassifier(max_depth=4)


def spe(**options):
    return SelfPacedEnsembleClassifier(TREE, 3, random_state=0, **options)


@pytest.fixture
def frame():
    X, y = make_fraud(n_rows=900, n_frauds=30, n_features=4, random_state=0)
    return pd.DataFrame(X[:, :3].astype(np.float32), columns=list("abc")).assign(label=y)


@pytest.fixture
def folder(frame, tmp_path):
    """Three files of 300 rows."""
    for number in range(3):
        frame.iloc[300 * number : 300 * (number + 1)].to_parquet(tmp_path / f"{number}.parquet")
    return tmp_path


def fit(folder, **options):
    return spe().fit_table(open_table(folder, target="label", **options))


def test_a_truncated_file_is_named(folder):
    whole = (folder / "1.parquet").read_bytes()
    (folder / "1.parquet").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(TableError, match=r"1\.parquet cannot be read as Parquet"):
        fit(folder)


def test_an_empty_file_is_named(folder):
    (folder / "1.parquet").write_bytes(b"")
    with pytest.raises(TableError, match=r"1\.parquet is empty: 0 bytes"):
        fit(folder)


def test_damage_in_the_middle_of_a_file_is_named_when_it_is_read(folder):
    content = bytearray((folder / "2.parquet").read_bytes())
    content[4:600] = b"\xff" * 596
    (folder / "2.parquet").write_bytes(content)
    with pytest.raises(TableError, match=r"2\.parquet cannot be read as Parquet"):
        fit(folder)


def test_a_file_without_rows_is_passed_over(folder, frame):
    expected = fit(folder).predict_proba(frame[["a", "b", "c"]])
    frame.iloc[:0].to_parquet(folder / "1a.parquet")
    np.testing.assert_array_equal(fit(folder).predict_proba(frame[["a", "b", "c"]]), expected)


def test_all_files_unreadable_but_one_is_an_error(folder):
    for number in (0, 1):
        (folder / f"{number}.parquet").write_text("not Parquet")
    with pytest.raises(TableError, match=r"0\.parquet cannot be read as Parquet"):
        fit(folder)


def test_no_positive_row_is_an_error_with_the_labels_found(folder, frame):
    for number in range(3):
        frame.assign(label=0).to_parquet(folder / f"{number}.parquet")
    with pytest.raises(ValueError, match=r"Column 'label' holds one class only, \[0\]"):
        fit(folder)


def test_a_positive_label_that_no_row_has_is_an_error(folder):
    with pytest.raises(TableError, match=r"No row of column 'label' has the label 7. Its labels are \[0, 1\]"):
        fit(folder, pos_label=7)


def test_positives_in_the_last_file_only_are_found(folder, frame):
    ordered = frame.sort_values("label", kind="stable")
    for number in range(3):
        ordered.iloc[300 * number : 300 * (number + 1)].to_parquet(folder / f"{number}.parquet")
    model = fit(folder)
    expected = spe().fit(ordered.drop(columns="label"), ordered["label"])
    X = frame.drop(columns="label")
    np.testing.assert_array_equal(model.predict_proba(X), expected.predict_proba(X))


def test_a_target_missing_in_one_file_is_named(folder, frame):
    frame.drop(columns="label").to_parquet(folder / "1.parquet")
    with pytest.raises(TableError, match=r"1\.parquet has no column 'label'; its columns are"):
        fit(folder)


def test_a_feature_missing_in_one_file_is_named(folder, frame):
    frame.drop(columns="b").to_parquet(folder / "1.parquet")
    with pytest.raises(TableError, match=r"1\.parquet has no column 'b', which .*0\.parquet has"):
        fit(folder)


def test_a_feature_that_only_a_later_file_has_is_named(folder, frame):
    frame.assign(z=1.0).to_parquet(folder / "2.parquet")
    with pytest.raises(TableError, match=r"0\.parquet has no column 'z', which .*2\.parquet has"):
        fit(folder)
    assert len(fit(folder, exclude=["z"]).estimators_) == 3


def test_excluded_columns_may_differ(folder, frame):
    frame.assign(a="word").to_parquet(folder / "2.parquet")
    assert fit(folder, exclude=["a"]).feature_names_in_.tolist() == ["b", "c"]


def test_whole_numbers_here_and_floats_there_become_floats(folder, frame):
    frame.assign(a=(frame["a"] * 10).astype(int)).iloc[:300].to_parquet(folder / "0.parquet")
    table = open_table(folder, target="label")
    assert {column.name: column.type for column in table.schema.columns}["a"] == "double"
    assert len(spe().fit_table(table).estimators_) == 3


def test_strings_in_one_file_and_numbers_in_another_are_refused_with_both_files(folder, frame):
    frame.assign(a="word").to_parquet(folder / "2.parquet")
    with pytest.raises(TableError, match=r"'a' is float in .*0\.parquet and (large_)?string in .*2\.parquet"):
        fit(folder)


def test_a_type_that_no_model_reads_is_refused_with_what_to_do(folder, frame):
    for number in range(3):
        frame.assign(took=pd.Timedelta("3 s")).to_parquet(folder / f"{number}.parquet")
    with pytest.raises(TableError, match=r"Column 'took' is duration.*exclude=\['took'\]"):
        fit(folder)
    assert len(fit(folder, exclude=["took"]).estimators_) == 3


def test_infinity_is_refused_with_file_and_column(folder, frame):
    frame.assign(c=np.inf).to_parquet(folder / "1.parquet")
    with pytest.raises(TableError, match=r"Column 'c' of .*1\.parquet contains infinity"):
        fit(folder)


def test_rows_without_a_label_are_refused(folder, frame):
    frame.assign(label=frame["label"].where(frame["a"] < 3)).to_parquet(folder / "1.parquet")
    with pytest.raises(TableError, match=r"1\.parquet has rows without a label"):
        fit(folder)


def test_a_target_of_many_values_is_refused(folder, frame):
    with pytest.raises(TableError, match="looks like a number to predict"):
        spe().fit_table(open_table(folder, target="a"))


class WhileReading(Callback):
    """Does something once, when the warm-up is done."""

    def __init__(self, deed):
        self.deed = deed

    def on_round_end(self, round):
        if round.number == 0:
            self.deed()


def test_a_file_that_disappears_during_the_fit_is_named(folder):
    model = spe(callbacks=WhileReading((folder / "1.parquet").unlink))
    with pytest.raises(TableError, match=r"1\.parquet existed when the table was opened, but does not exist any more"):
        model.fit_table(open_table(folder, target="label"))


def test_a_file_that_changes_during_the_fit_is_named(folder, frame):
    model = spe(callbacks=WhileReading(lambda: frame.to_parquet(folder / "2.parquet")))
    with pytest.raises(TableError, match=r"2\.parquet has changed since the table was opened"):
        model.fit_table(open_table(folder, target="label"))


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("nowhere", "nowhere does not exist"),
        ("*.nothing", "No file matches"),
        ("notes.txt", r"notes\.txt has an unsupported format. Supported are .*\.parquet"),
        ("empty", "no file with a supported ending"),
    ],
)
def test_a_source_without_files_is_refused(folder, source, message):
    (folder / "empty").mkdir()
    (folder / "notes.txt").write_text("hello")
    with pytest.raises(TableError, match=message):
        open_table(str(folder / source), target="label")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target": "lable"}, r"0\.parquet has no column 'lable'; its columns are \['a', 'b', 'c', 'label'\]"),
        ({"target": "label", "exclude": ["z"]}, "There is no column 'z'"),
        ({"target": "label", "columns": ["a", "z"]}, "There is no column 'z'"),
        ({"target": "label", "weight_column": "w"}, "has no column 'w'"),
        ({"target": "label", "columns": ["label"]}, "No column is left as a feature"),
        ({"target": "label", "columns": []}, "No column is left as a feature"),
        ({"target": "label", "memory_for_tags": "2 GB"}, "memory_for_tags must be a whole number >= 1; got '2 GB'"),
        ({"target": "label", "batch_rows": 0}, "batch_rows must be a whole number >= 1; got 0"),
    ],
)
def test_columns_that_are_not_there_are_named(folder, options, message):
    with pytest.raises(ValueError, match=message):
        open_table(folder, **options)


def test_an_id_that_comes_twice_is_refused(folder, frame):
    for number in range(3):
        frame.iloc[:300].assign(id=range(300)).to_parquet(folder / f"{number}.parquet")
    with pytest.raises(TableError, match="in column 'id' occurs more than once"):
        fit(folder, id_column="id")


def test_an_id_that_comes_twice_among_rows_that_are_not_drawn_is_refused(folder, frame):
    frame = frame.assign(id=np.arange(len(frame)))
    common = frame.index[frame["label"] == 0][-2:]
    frame.loc[common, "id"] = 10**6
    for number, part in enumerate(np.array_split(np.arange(len(frame)), 3)):
        frame.iloc[part].to_parquet(folder / f"{number}.parquet")
    with pytest.raises(TableError, match="The id 1000000 in column 'id' occurs more than once"):
        fit(folder, id_column="id")


def test_a_rare_class_without_weight_is_refused(folder, frame):
    for number in range(3):
        frame.assign(w=1.0 - frame["label"]).to_parquet(folder / f"{number}.parquet")
    with pytest.raises(TableError, match="All rows of the class 1 have a weight of 0"):
        fit(folder, weight_column="w")


def test_ids_that_are_strings_are_refused(folder, frame):
    for number in range(3):
        frame.assign(id="a").to_parquet(folder / f"{number}.parquet")
    with pytest.raises(TableError, match=r"id column 'id' of .*must hold a whole number for every row"):
        fit(folder, id_column="id")


def test_a_table_without_a_target_and_something_else_than_a_table_are_refused(folder, frame):
    with pytest.raises(ValueError, match="opened without a target"):
        spe().fit_table(open_table(folder))
    with pytest.raises(TypeError, match=r"fit_table needs a table that selfpaced\.open_table returns; got DataFrame"):
        spe().fit_table(frame)
    with pytest.raises(TypeError, match="Give arrays and frames to fit"):
        open_table(42, target="label")


class TestScoring:
    @pytest.fixture
    def model(self, folder):
        return fit(folder)

    def test_a_missing_feature_is_named_with_its_file(self, model, folder, frame, tmp_path):
        frame.drop(columns="b").to_parquet(folder / "1.parquet")
        with pytest.raises(TableError, match=r"1\.parquet has no column 'b', which the model was trained with"):
            model.write_predictions(folder, tmp_path / "scores.csv")
        assert not list(tmp_path.glob("*scores*"))

    def test_a_changed_type_is_named_with_its_file(self, model, folder, frame, tmp_path):
        frame.assign(b="word").to_parquet(folder / "1.parquet")
        with pytest.raises(
            TableError, match=r"Column 'b' of .*1\.parquet is .*string, but the model was trained with float"
        ):
            model.write_predictions(folder, tmp_path / "scores.parquet")
        assert not list(tmp_path.glob("*scores*"))

    def test_columns_in_another_order_are_put_right(self, model, folder, frame, tmp_path):
        frame[["c", "label", "a", "b"]].to_parquet(tmp_path / "other.parquet")
        path = model.write_predictions(tmp_path / "other.parquet", tmp_path / "scores.csv")
        np.testing.assert_allclose(pd.read_csv(path)["score"], model.predict_proba(frame[list("abc")])[:, 1])

    def test_an_output_without_a_folder_or_a_known_ending_is_refused(self, model, folder, tmp_path):
        with pytest.raises(TableError, match=r"the folder .*nowhere does not exist"):
            model.write_predictions(folder, tmp_path / "nowhere" / "scores.csv")
        with pytest.raises(TableError, match=r"scores\.xls has an unsupported ending"):
            model.write_predictions(folder, tmp_path / "scores.xls")

    def test_an_older_output_stays_when_the_new_one_fails(self, model, folder, tmp_path):
        output = tmp_path / "scores.csv"
        output.write_text("as it was")
        (folder / "2.parquet").write_bytes(b"broken")
        with pytest.raises(TableError):
            model.write_predictions(folder, output)
        assert output.read_text() == "as it was"
        assert not list(tmp_path.glob(".scores*"))

    def test_a_column_to_keep_that_is_not_there_is_named(self, model, folder, tmp_path):
        with pytest.raises(TableError, match=r"0\.parquet has no column 'tx'"):
            model.write_predictions(folder, tmp_path / "scores.csv", keep=["tx"])


def test_running_sums_in_a_file_give_the_same_members(folder, frame):
    X = frame.drop(columns="label")
    in_file = fit(folder, memory_for_tags=10)
    np.testing.assert_array_equal(in_file.predict_proba(X), fit(folder).predict_proba(X))


@pytest.fixture
def small_disk(tmp_path):
    """A disk of 300 kB: a real file system in memory. Only root may mount one."""
    place = tmp_path / "small"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", str(place)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("a small disk cannot be mounted here")
    yield place
    subprocess.run(["umount", str(place)], check=True)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_full_disk_is_an_error_that_leaves_nothing(folder, small_disk, ending):
    noise = np.random.default_rng(0).normal(size=(40_000, 3)).astype(np.float32)  # does not get smaller on the disk
    pd.DataFrame(noise, columns=list("abc")).to_parquet(folder / "many.parquet")
    with pytest.raises(TableError, match=rf"scores\.{ending} cannot be written: .*[Nn]o space"):
        fit(folder / "0.parquet").write_predictions(
            folder / "many.parquet", small_disk / f"scores.{ending}", keep=["a", "b", "c"]
        )
    assert list(small_disk.iterdir()) == []


def test_ctrl_c_leaves_no_output(folder, tmp_path):
    def interrupt(n_read, n_rows):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(folder).write_predictions(folder, tmp_path / "scores.csv", batch_rows=50, progress=interrupt)
    assert not list(tmp_path.glob("*scores*"))
    assert not list(tmp_path.glob(".scores*"))


def test_scores_never_take_the_place_of_the_rows(folder):
    model = fit(folder)
    with pytest.raises(TableError, match="is one of the files that are read"):
        model.write_predictions(folder, folder / "1.parquet")
    assert len(pd.read_parquet(folder / "1.parquet")) == 300


def test_a_column_called_like_the_scores_cannot_be_kept(folder, frame, tmp_path):
    model = fit(folder)
    frame.assign(score=1).to_parquet(tmp_path / "other.pq")
    with pytest.raises(TableError, match="'score' cannot be kept"):
        model.write_predictions(tmp_path / "other.pq", tmp_path / "s.csv", keep="score")


def test_a_model_without_names_asks_for_the_columns(folder, frame, tmp_path):
    model = spe().fit(frame[list("abc")].to_numpy(), frame["label"])
    with pytest.raises(TableError, match=r"trained on 3 features without names, but the files have 4 columns"):
        model.write_predictions(folder, tmp_path / "s.csv")
    path = model.write_predictions(folder, tmp_path / "s.csv", columns=["a", "b", "c"])
    np.testing.assert_allclose(pd.read_csv(path)["score"], model.predict_proba(frame[list("abc")].to_numpy())[:, 1])


def test_infinity_is_refused_when_scoring_too(folder, frame, tmp_path):
    model = fit(folder)
    frame.assign(c=np.inf).to_parquet(folder / "1.parquet")
    with pytest.raises(TableError, match=r"Column 'c' of .*1\.parquet contains infinity"):
        model.write_predictions(folder, tmp_path / "s.csv")


def test_what_programs_put_aside_is_not_read(folder, frame):
    for name in (".ipynb_checkpoints", "_temporary"):
        (folder / name).mkdir()
        frame.to_parquet(folder / name / "copy.parquet")
    frame.to_parquet(folder / "._1.parquet")
    assert open_table(folder, target="label").n_rows == 900


def test_a_file_named_twice_is_refused(folder):
    with pytest.raises(TableError, match=r"0\.parquet is named more than once"):
        open_table([folder / "0.parquet", folder / "0.parquet"], target="label")


def test_labels_that_the_model_does_not_know_are_refused(folder, frame, tmp_path):
    model = fit(folder)
    frame.assign(label=frame["label"].astype(str)).to_parquet(tmp_path / "other.pq")
    with pytest.raises(TableError, match=r"labels in column 'label' are \['0', '1'\]; the model knows \[0, 1\]"):
        model.evaluate_table(tmp_path / "other.pq")
    frame.assign(label=0).to_parquet(tmp_path / "other.pq")
    with pytest.raises(TableError, match=r"needs rows with the label 1"):
        model.evaluate_table(tmp_path / "other.pq")


def test_labels_of_types_that_do_not_fit_are_refused_with_the_file(folder, frame):
    frame.assign(label=frame["label"] * 0.5).to_parquet(folder / "2.parquet")
    with pytest.raises(TableError, match=r"The labels of .*2\.parquet are double, those of the files before it int64"):
        fit(folder)


def test_a_base_model_that_cannot_read_strings_comes_with_a_hint(folder, frame):
    for number in range(3):
        frame.assign(shop="a").to_parquet(folder / f"{number}.parquet")
    with pytest.raises(ValueError, match="could not convert") as caught:
        fit(folder)
    assert any("The columns ['shop'] hold strings" in note for note in caught.value.__notes__)


@pytest.mark.parametrize("where", ["a > 0", [[("a", ">", 0)]], [("a", ">")]])
def test_a_condition_of_another_kind_is_refused(folder, where):
    with pytest.raises(TypeError, match="where must be a list of"):
        open_table(folder, target="label", where=where)


def test_a_filter_that_does_not_suit_the_column_is_refused_with_the_file(folder):
    with pytest.raises(TableError, match=r"The filter does not fit the columns of .*0\.parquet"):
        fit(folder, where=[("a", ">", "word")])


def test_a_frame_is_told_to_go_to_fit_and_a_single_name_needs_no_list(folder, frame):
    with pytest.raises(TypeError, match=r"a DataFrame in memory"):
        open_table(frame, target="label")
    assert open_table(folder, target="label", exclude="a").schema.names == ["b", "c"]
    assert open_table(folder, target="label", columns="a").schema.names == ["a"]
    with pytest.raises(TableError, match="columns names a feature twice"):
        open_table(folder, target="label", columns=["a", "a"])


def test_a_misspelled_file_is_suggested(tmp_path):
    (tmp_path / "turbines.csv").write_text("a,label\n1,0\n")
    with pytest.raises(TableError, match=r"turbine\.csv does not exist\. Did you mean 'turbines\.csv'\?"):
        open_table(tmp_path / "turbine.csv", target="label")
