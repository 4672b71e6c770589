"""Training and predicting from files: the same as in memory, whatever the files are like."""

from copy import deepcopy

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.feather
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lightgbm import LGBMClassifier
from sklearn.metrics import average_precision_score
from sklearn.tree import DecisionTreeClassifier

from selfpaced.datasets import make_fraud
from selfpaced.ensembles import BalanceCascadeClassifier, SelfPacedEnsembleClassifier, UnderBaggingClassifier
from selfpaced.exceptions import NewCategoryWarning
from selfpaced.tables.files import StreamedBatch
from selfpaced.tables.sources import open_table

TREE = DecisionTreeClassifier(max_depth=5, max_features=3)
N_ROWS = 3000


def spe(base=TREE, **options):
    return SelfPacedEnsembleClassifier(base, n_estimators=3, random_state=0, **options)


@pytest.fixture(scope="module")
def rows():
    """Numbers of several types and labels."""
    X, y = make_fraud(n_rows=N_ROWS, n_frauds=60, n_features=5, random_state=0)
    frame = pd.DataFrame(X.astype(np.float32), columns=[f"V{i}" for i in range(5)])
    return frame.assign(count=(X[:, 0] * 3).astype(np.int16), flag=X[:, 1] > 0, label=y)


@pytest.fixture(scope="module")
def expected(rows):
    return spe().fit(rows.drop(columns="label"), rows["label"])


def write(rows, folder, n_files=1, row_group_rows=1000):
    folder.mkdir(exist_ok=True)
    for number, part in enumerate(np.array_split(np.arange(len(rows)), n_files)):
        rows.iloc[part].to_parquet(folder / f"{number:03}.parquet", row_group_size=row_group_rows, index=False)
    return folder


def same_members(one, other, rows):
    X = rows.drop(columns="label")
    return len(one.estimators_) == len(other.estimators_) and all(
        np.array_equal(a.predict_proba(X), b.predict_proba(X))
        for a, b in zip(one.estimators_, other.estimators_, strict=True)
    )


@pytest.mark.slow
@given(
    n_files=st.integers(1, 6),
    row_group_rows=st.integers(50, 2000),
    batch_rows=st.integers(20, 4000),
    n_jobs=st.sampled_from([1, 2]),
)
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_files_of_any_size_give_the_members_of_memory(
    rows, expected, tmp_path_factory, n_files, row_group_rows, batch_rows, n_jobs
):
    folder = write(rows, tmp_path_factory.mktemp("files"), n_files, row_group_rows)
    table = open_table(folder, target="label", batch_rows=batch_rows)
    assert same_members(spe(n_jobs=n_jobs).fit_table(table), expected, rows)


@pytest.mark.parametrize("hardness", ["squared", "cross_entropy", lambda p: 3 * p], ids=["squared", "entropy", "own"])
def test_every_hardness_gives_the_members_of_memory(rows, tmp_path, hardness):
    table = open_table(write(rows, tmp_path / "t", 3), target="label", batch_rows=700)
    expected = spe(hardness=hardness).fit(rows.drop(columns="label"), rows["label"])
    assert same_members(spe(hardness=hardness).fit_table(table), expected, rows)


@pytest.mark.parametrize("kind", [BalanceCascadeClassifier, UnderBaggingClassifier])
def test_the_rivals_on_pools_read_files_too(rows, tmp_path, kind):
    table = open_table(write(rows, tmp_path / "t", 3), target="label", batch_rows=700)
    expected = kind(TREE, 4, random_state=0).fit(rows.drop(columns="label"), rows["label"])
    assert same_members(kind(TREE, 4, random_state=0).fit_table(table), expected, rows)


def test_lightgbm_members_are_those_of_memory(rows, tmp_path):
    base = LGBMClassifier(n_estimators=4, n_jobs=1, verbose=-1)
    expected = spe(base).fit(rows.drop(columns="label"), rows["label"])
    table = open_table(write(rows, tmp_path / "t", 2), target="label", batch_rows=512)
    assert same_members(spe(base).fit_table(table), expected, rows)


def test_rounds_are_those_of_memory(rows, expected, tmp_path):
    model = spe().fit_table(open_table(write(rows, tmp_path / "t", 2), target="label"))
    for ours, theirs in zip(model.rounds_, expected.rounds_, strict=True):
        np.testing.assert_array_equal(ours.counts, theirs.counts)
        np.testing.assert_array_equal(ours.quota, theirs.quota)
        np.testing.assert_array_equal(ours.mean_hardness, theirs.mean_hardness)


def test_a_round_reads_the_rows_once(rows, tmp_path, passes):
    table = open_table(write(rows, tmp_path / "t"), target="label")
    passes.clear()
    spe().fit_table(table)
    # One for the labels, one for the minority and the warm-up's draw, and one for each of three rounds.
    assert len(passes) == 2 + 3


def test_files_listed_in_any_order_give_the_same_members(rows, expected, tmp_path):
    paths = sorted(write(rows, tmp_path / "t", 4).iterdir())
    table = open_table(paths[::-1], target="label")
    assert same_members(spe().fit_table(table), expected, rows)


def test_a_glob_a_folder_and_a_dataset_are_the_same_table(rows, expected, tmp_path):
    folder = write(rows, tmp_path / "t", 3)
    for source in (str(folder / "*.parquet"), folder, ds.dataset(folder)):
        assert same_members(spe().fit_table(open_table(source, target="label")), expected, rows)


def test_a_table_has_all_its_rows_after_a_cascade_that_let_some_go(rows, tmp_path):
    rows.to_parquet(tmp_path / "rows.parquet")
    table = open_table(tmp_path / "rows.parquet", target="label")
    counts = table.labels().counts.copy()
    first, second = (BalanceCascadeClassifier(TREE, 3, random_state=0).fit_table(table) for _ in range(2))
    X = rows.drop(columns="label")
    np.testing.assert_array_equal(second.predict_proba(X), first.predict_proba(X))
    np.testing.assert_array_equal(np.bincount(table.labels().codes), counts)


def test_feather_files_are_read_too(rows, expected, tmp_path):
    pyarrow.feather.write_feather(rows, tmp_path / "rows.feather", chunksize=400)
    table = open_table(tmp_path / "rows.feather", target="label", batch_rows=150)
    assert same_members(spe().fit_table(table), expected, rows)


def test_a_memory_map_with_labels_is_a_table_too(rows, tmp_path):
    X = rows.drop(columns="label").to_numpy(np.float32)
    np.save(tmp_path / "X.npy", X)
    table = open_table(np.load(tmp_path / "X.npy", mmap_mode="r"), target=rows["label"])
    model = spe().fit_table(table, checkpoint=tmp_path / "kept")
    np.testing.assert_array_equal(model.predict_proba(X), spe().fit(X, rows["label"]).predict_proba(X))
    again = spe().fit_table(table, checkpoint=tmp_path / "kept")
    np.testing.assert_array_equal(model.predict_proba(X), again.predict_proba(X))


def test_ids_make_the_order_of_the_rows_and_their_files_indifferent(rows, tmp_path):
    numbered = rows.assign(id=np.arange(N_ROWS))
    shuffled = numbered.sample(frac=1, random_state=0)
    models = [
        spe().fit_table(open_table(write(some, tmp_path / name, n), target="label", id_column="id"))
        for name, some, n in [("sorted", numbered, 1), ("shuffled", shuffled, 4)]
    ]
    assert same_members(*models, rows)


def test_folders_named_after_values_add_columns(rows, tmp_path):
    for shop, part in rows.assign(shop=rows["count"] % 2).groupby("shop"):
        write(part.drop(columns="shop"), tmp_path / f"shop={shop}")
    table = open_table(tmp_path, target="label")
    assert "shop" in table.schema.names
    together = pd.concat([part for _, part in rows.assign(shop=(rows["count"] % 2).astype(np.int64)).groupby("shop")])
    expected = spe().fit(together.drop(columns="label")[table.schema.names], together["label"])
    assert same_members(spe().fit_table(table), expected, together)


def test_a_filter_leaves_the_rows_that_pass_it(rows, tmp_path):
    passing = rows[rows["V0"] > -1]
    expected = spe().fit(passing.drop(columns="label"), passing["label"])
    folder = write(rows, tmp_path / "t", 3)
    for condition in ([("V0", ">", -1)], pa.compute.field("V0") > -1):
        table = open_table(folder, target="label", where=condition, batch_rows=300)
        assert same_members(spe().fit_table(table), expected, rows)


def test_negative_weights_are_refused_with_their_number(rows, tmp_path):
    path = tmp_path / "rows.parquet"
    rows.assign(w=np.where(rows["label"] == 1, -1.0, 1.0)).to_parquet(path)
    n_rare = int(rows["label"].sum())
    with pytest.raises(ValueError, match=rf"The weight column 'w' of .*rows\.parquet has {n_rare} negative weight"):
        spe().fit_table(open_table(path, target="label", weight_column="w"))


@pytest.mark.parametrize("weight", [np.nan, np.inf])
def test_weights_that_are_not_finite_are_refused(rows, tmp_path, weight):
    weights = pa.array(np.where(rows["label"] == 1, weight, 1.0))  # NaN here is not a missing value
    pa.parquet.write_table(pa.Table.from_pandas(rows).append_column("w", weights), tmp_path / "rows.parquet")
    with pytest.raises(ValueError, match=r"The weight column 'w' of .* has 60 weight\(s\) that are NaN or infinite"):
        spe().fit_table(open_table(tmp_path / "rows.parquet", target="label", weight_column="w"))


def test_weights_go_with_their_rows(rows, tmp_path):
    weights = np.where(rows["V0"] > 0, 5.0, 0.2)
    expected = spe().fit(rows.drop(columns="label"), rows["label"], sample_weight=weights)
    folder = write(rows.assign(w=weights), tmp_path / "t", 2)
    assert same_members(spe().fit_table(open_table(folder, target="label", weight_column="w")), expected, rows)


def test_three_classes_share_a_pass(rows, tmp_path, monkeypatch):
    three = rows.assign(label=np.where(rows["label"] == 1, "rare", np.where(rows["V0"] > 1, "some", "many")))
    expected = spe().fit(three.drop(columns="label"), three["label"])
    table = open_table(write(three, tmp_path / "t", 2), target="label", batch_rows=800)
    model = spe().fit_table(table)
    assert model.classes_.tolist() == ["many", "rare", "some"]
    assert same_members(model, expected, three)


def test_one_label_can_be_told_from_all_others(rows, tmp_path):
    three = rows.assign(label=np.where(rows["label"] == 1, "rare", np.where(rows["V0"] > 1, "some", "many")))
    table = open_table(write(three, tmp_path / "t"), target="label", pos_label="rare")
    model = spe().fit_table(table)
    assert model.classes_.tolist() == [False, True]
    assert model.pos_label_ == "rare"


class TestWordsAndGaps:
    """Columns of strings and of numbers, with missing values."""

    BASE = LGBMClassifier(n_estimators=4, min_child_samples=2, n_jobs=1, verbose=-1)

    @pytest.fixture
    def mixed(self, rows):
        shop = np.where(rows["V0"] > 0, "b", np.where(rows["V1"] > 0, "a", None))
        count = rows["count"].astype("Int16").mask(rows["V2"] > 1)
        return rows.assign(shop=shop, count=count)

    def in_memory(self, mixed):
        return mixed.drop(columns="label").assign(
            shop=pd.Categorical(mixed["shop"], categories=["a", "b"]),
            count=mixed["count"].astype("float64"),
        )

    def test_they_reach_the_base_model_as_categories_and_nan(self, mixed, tmp_path):
        table = open_table(write(mixed, tmp_path / "t", 3), target="label", batch_rows=512)
        X = self.in_memory(mixed)
        expected = spe(self.BASE).fit(X, mixed["label"])
        model = spe(self.BASE).fit_table(table)
        np.testing.assert_array_equal(model.predict_proba(X), expected.predict_proba(X))

    def test_strings_not_known_from_training_are_missing_values(self, mixed, tmp_path):
        model = spe(self.BASE).fit_table(open_table(write(mixed, tmp_path / "t"), target="label"))
        write(mixed.assign(shop="never seen"), tmp_path / "new")
        with pytest.warns(NewCategoryWarning, match="'shop' in"):
            model.write_predictions(tmp_path / "new", tmp_path / "scores.parquet")
        without = self.in_memory(mixed).assign(shop=pd.Categorical([None] * N_ROWS, categories=["a", "b"]))
        np.testing.assert_allclose(
            pd.read_parquet(tmp_path / "scores.parquet")["score"], model.predict_proba(without)[:, 1]
        )

    def test_strings_that_differ_by_file_have_one_list_of_categories(self, mixed, tmp_path):
        by_word = mixed.sort_values("shop")
        table = open_table(write(by_word, tmp_path / "t", 5), target="label")
        assert {column.name: column.categories for column in table.schema.columns}["shop"] == ("a", "b")


def test_scores_written_are_those_of_memory_with_the_columns_kept(rows, expected, tmp_path):
    folder = write(rows.assign(name=[f"row {i}" for i in range(N_ROWS)]), tmp_path / "t", 3)
    model = spe().fit_table(open_table(folder, target="label", exclude=["name"]))
    scores = expected.predict_proba(rows.drop(columns="label"))[:, 1]
    for ending, read in ((".parquet", pd.read_parquet), (".csv", pd.read_csv)):
        path = model.write_predictions(folder, tmp_path / f"scores{ending}", keep=["name"], batch_rows=321)
        written = read(path)
        assert written.columns.tolist() == ["name", "score"]
        assert written["name"].tolist() == [f"row {i}" for i in range(N_ROWS)]
        np.testing.assert_allclose(written["score"], scores)


def test_progress_is_told_batch_by_batch(rows, expected, tmp_path):
    told = []
    expected.write_predictions(
        write(rows, tmp_path / "t"),
        tmp_path / "s.csv",
        batch_rows=1000,
        progress=lambda *told_now: told.append(told_now),
    )
    assert told == [(1000, N_ROWS), (2000, N_ROWS), (3000, N_ROWS)]


def test_a_model_trained_in_memory_scores_files_too(rows, expected, tmp_path):
    folder = write(rows, tmp_path / "t", 3)
    path = expected.write_predictions(folder, tmp_path / "scores.parquet")
    scores = expected.predict_proba(rows.drop(columns="label"))[:, 1]
    np.testing.assert_array_equal(pd.read_parquet(path)["score"], scores)


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_lightgbm_scores_files_with_categories_without_making_frames_of_them(tmp_path, monkeypatch, n_jobs):
    rng = np.random.default_rng(0)
    values = rng.normal(size=20_000)
    rows = pd.DataFrame({"number": np.where(values > 2, np.nan, values), "word": rng.choice(list("abc"), 20_000)})
    rows = rows.assign(label=(values + (rows["word"] == "b") > 2).astype(int))
    table = open_table(write(rows, tmp_path / "t"), target="label")
    model = spe(LGBMClassifier(n_estimators=5, verbose=-1, n_jobs=n_jobs), n_jobs=n_jobs).fit_table(table)
    expected = model.predict_proba(rows[["number", "word"]])[:, 1]
    monkeypatch.setattr("pyarrow.pandas_compat.table_to_dataframe", None)
    np.testing.assert_array_equal(model.predict_proba_table(tmp_path / "t"), expected)


@pytest.mark.parametrize("n_leaves", [31, 40], ids=["scored by bit vectors", "scored by LightGBM"])
def test_columns_of_float32_are_scored_by_lightgbm_members_as_they_are(rows, tmp_path, monkeypatch, n_leaves):
    monkeypatch.setattr("selfpaced.trees.bitvectors.VALUES_WORTH_HALVES", 0)
    rows = rows.drop(columns=["count", "flag"]).assign(V1=rows["V1"].where(rows["V2"] < 1))
    base = LGBMClassifier(n_estimators=5, num_leaves=n_leaves, min_child_samples=1, verbose=-1)
    expected = spe(base).fit(rows.drop(columns="label"), rows["label"])
    monkeypatch.setattr("selfpaced.tables.files.streamed.coded_batch", None)  # columns of float64
    model = spe(base).fit_table(open_table(write(rows, tmp_path / "t"), target="label"))
    assert same_members(model, expected, rows)


def test_threads_share_the_rows_of_a_batch_and_put_them_together_in_order(rows, expected, tmp_path, monkeypatch):
    monkeypatch.setattr("selfpaced.predicting.tables.FEWEST_ROWS_OF_A_PART", 170)
    scored = []
    real = StreamedBatch.features_for
    monkeypatch.setattr(
        StreamedBatch, "features_for", lambda rows, scorers: scored.append(rows.stop) or real(rows, scorers)
    )
    told = []
    several = deepcopy(expected).set_params(n_jobs=3)
    folder = write(rows, tmp_path / "t")
    scores = several.predict_proba_table(folder, batch_rows=1000, progress=lambda *told_now: told.append(told_now))
    np.testing.assert_array_equal(scores, expected.predict_proba(rows.drop(columns="label"))[:, 1])
    assert told == [(1000, N_ROWS), (2000, N_ROWS), (3000, N_ROWS)]
    assert sorted(scored) == [start + stop for start in (0, 1000, 2000) for stop in (250, 500, 750, 1000)]


def test_a_table_is_evaluated_without_its_scores_being_written(rows, expected, tmp_path):
    from selfpaced.metrics import aucprc

    folder = write(rows, tmp_path / "t", 3)
    model = spe().fit_table(open_table(folder, target="label"))
    found = model.evaluate_table(folder, batch_rows=400)
    scores = expected.predict_proba(rows.drop(columns="label"))[:, 1]
    assert found.aucprc == pytest.approx(aucprc(rows["label"], scores))
    assert (found.n_rows, found.n_positives) == (N_ROWS, 60)
    with pytest.raises(ValueError, match="The column of labels is not known"):
        expected.evaluate_table(folder)
    assert expected.evaluate_table(folder, target="label").aucprc == found.aucprc


def test_a_table_that_was_opened_in_another_zone_is_scored_as_in_training(rows, tmp_path):
    moments = pa.array(np.arange(N_ROWS) * 10_000).cast(pa.timestamp("s", "America/New_York"))
    tables = {zone: pa.table({"when": moments.cast(pa.timestamp("s", zone))}) for zone in (moments.type.tz, "UTC")}
    for zone, table in tables.items():
        night = pa.compute.hour(moments).to_numpy() < 1
        pa.parquet.write_table(table.append_column("label", pa.array(night)), tmp_path / f"{zone[:3]}.parquet")
    model = spe().fit_table(open_table(tmp_path / "Ame.parquet", target="label"))
    found = model.predict_proba_table(open_table(tmp_path / "UTC.parquet", target="label"))
    np.testing.assert_array_equal(found, model.predict_proba_table(tmp_path / "Ame.parquet"))


def test_a_later_fit_in_memory_forgets_the_files(rows, tmp_path):
    folder = write(rows, tmp_path / "t")
    model = spe().fit_table(open_table(folder, target="label"))
    shuffled = rows.drop(columns="label").iloc[:, ::-1]
    model.fit(shuffled, rows["label"])
    path = model.write_predictions(folder, tmp_path / "s.parquet")
    np.testing.assert_array_equal(pd.read_parquet(path)["score"], model.predict_proba(shuffled)[:, 1])


def test_the_label_named_positive_is_the_one_that_is_scored(rows, tmp_path):
    three = rows.assign(label=np.where(rows["label"] == 1, "rare", np.where(rows["V0"] > 1, "some", "many")))
    folder = write(three, tmp_path / "t")
    model = spe().fit_table(open_table(folder, target="label", pos_label="many"))
    scores = pd.read_parquet(model.write_predictions(folder, tmp_path / "s.parquet"))["score"]
    assert scores[three["label"] == "many"].mean() > scores[three["label"] != "many"].mean()
    assert model.evaluate_table(folder).n_positives == (three["label"] == "many").sum()


@pytest.mark.parametrize("pos_label", [0, 1, 2])
@pytest.mark.parametrize("opened", [False, True])
def test_one_label_is_found_in_a_file_that_lacks_one_of_the_others(rows, tmp_path, pos_label, opened):
    kinds = rows.assign(label=np.where(rows["label"] == 1, pos_label, (pos_label + 1 + np.arange(N_ROWS) % 2) % 3))
    kinds.to_parquet(tmp_path / "all.parquet")
    model = spe().fit_table(open_table(tmp_path / "all.parquet", target="label", pos_label=pos_label))
    for other in ((pos_label + 1) % 3, (pos_label + 2) % 3):
        path = tmp_path / f"without-{other}.parquet"
        kinds[kinds["label"] != other].to_parquet(path)
        found = model.evaluate_table(open_table(path, target="label") if opened else path)
        assert (found.n_positives, found.aucprc > 0.3) == (60, True)


@pytest.mark.parametrize("pos_label", [0, False, np.False_])
def test_a_number_names_a_boolean_label(rows, tmp_path, pos_label):
    rows.astype({"label": bool}).to_parquet(tmp_path / "rows.parquet")
    model = spe().fit_table(open_table(tmp_path / "rows.parquet", target="label", pos_label=pos_label))
    assert model.trained_on_.score_label is False
    assert model.trained_on_.score_column == 0


def test_strings_in_the_names_of_folders_of_csv_files_are_scored_too(rows, tmp_path):
    base = LGBMClassifier(n_estimators=3, n_jobs=1, verbose=-1)
    for shop in ("x", "y"):
        (tmp_path / "t" / f"shop={shop}").mkdir(parents=True)
        rows[rows["flag"] == (shop == "x")].to_csv(tmp_path / "t" / f"shop={shop}" / "part.csv", index=False)
    table = open_table(tmp_path / "t", target="label")
    model = spe(base).fit_table(table)
    in_order = pd.concat([rows[rows["flag"]].assign(shop="x"), rows[~rows["flag"]].assign(shop="y")])
    expected = model.predict_proba(in_order.drop(columns="label"))
    written = pd.read_csv(model.write_predictions(tmp_path / "t", tmp_path / "s.csv"))
    np.testing.assert_allclose(written["score"], expected[:, 1])
    aucprc = average_precision_score(in_order["label"], expected[:, 1])
    assert model.evaluate_table(tmp_path / "t").aucprc == pytest.approx(aucprc)
    again = spe(base).fit_table(table)  # what evaluating made of the CSV files is what training had
    np.testing.assert_array_equal(again.predict_proba(in_order.drop(columns="label")), expected)


@pytest.mark.parametrize(
    ("folders", "types"),
    [(("1", "2"), "int64"), (("1", "a"), "category"), (("007", "008"), "category"), (("a%20b", "c"), "category")],
)
def test_values_in_the_names_of_folders_are_typed_together(rows, tmp_path, folders, types):
    for number, value in enumerate(folders):
        write(rows.iloc[number::2], tmp_path / f"v={value}")
    column = open_table(tmp_path, target="label").schema.columns[-1]
    assert (column.name, column.type) == ("v", types)
    if "007" in folders:
        assert column.categories == ("007", "008")
    if "a%20b" in folders:
        assert column.categories == ("a b", "c")


@pytest.mark.parametrize("where", ["files", "memory"])
def test_a_part_of_a_table_is_trained_on_as_those_rows_alone(rows, tmp_path, where):
    table = open_table(write(rows, tmp_path / "t", 3), target="label", batch_rows=700)
    table = table.loaded() if where == "memory" else table
    chosen = np.random.default_rng(0).random(len(rows)) < 0.7
    some = rows[chosen]
    expected = spe().fit(some.drop(columns="label"), some["label"])
    assert same_members(spe().fit_table(table.part(chosen)), expected, rows)
    labels = table.part(chosen).part(np.arange(chosen.sum()) < 1000).labels()
    assert labels.codes.tolist() == some["label"][:1000].tolist()


def test_a_part_of_the_rows_that_pass_a_filter(rows, tmp_path):
    table = open_table(write(rows, tmp_path / "t", 2), target="label", where=[("flag", "==", True)])
    passed = rows[rows["flag"]]
    chosen = np.arange(len(passed)) % 3 > 0
    for one in (table.part(chosen), table.part(chosen).loaded(), table.loaded().part(chosen)):
        assert one.labels().codes.tolist() == passed["label"][chosen].tolist()
