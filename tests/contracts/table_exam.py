"""The exam that every kind of table sits: what a fit asks of it, and what becomes of every option of `open_table`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
from pyarrow import fs
from sklearn.tree import DecisionTreeClassifier

from selfpaced.ensembles import SelfPacedEnsembleClassifier
from selfpaced.exceptions import TableError
from selfpaced.pools import TIME
from selfpaced.tables import SplitPlan, Table, TableOptions, group_hashes
from selfpaced.tables.sources import open_table
from selfpaced.tables.sources.opening import HONOURED

N_ROWS, N_RARE, N_EARLIER = 400, 30, 250
PLAN = SplitPlan(seed=3, n_threads=1, n_draw=N_RARE, first_round=0, on_rows=lambda n_read, n_rows: None)


def make_rows() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    kind = rng.permutation(np.repeat([0, 1, 2], [N_ROWS - 2 * N_RARE, N_RARE, N_RARE]))
    rows = pd.DataFrame({"a": rng.normal(size=N_ROWS), "b": rng.normal(size=N_ROWS)})
    return rows.assign(
        label=(kind == 1).astype(np.int64),
        kind=kind,
        weight=rng.uniform(1, 2, size=N_ROWS),
        tx=rng.permutation(N_ROWS) + 1000,
        when=pd.date_range("2024-01-01", periods=N_ROWS, freq="h", unit="us"),  # Iceberg has no nanoseconds
    )


ROWS = make_rows()
NOT_FEATURES = ["kind", "weight", "tx", "when"]
COLUMNS = {"target": "label", "exclude": NOT_FEATURES}


@dataclass
class Opened:
    """A source of rows, the name that errors call it by, and the options that it needs in any case.

    Attributes
    ----------
    fresh : makes the source, if it can be read only once.
    is_written : whether its rows are written to a file before they are read.
    earlier : the version of a lake table that has the first rows only.
    """

    source: object
    name: str
    needed: dict
    fresh: object = None
    is_written: bool = False
    earlier: object = None

    def open(self, **options):
        source = self.source if self.fresh is None else self.fresh()
        return open_table(source, **{**self.needed, **options})


def features_of(rows) -> np.ndarray:
    return np.asarray(rows.features)


def sorted_rare() -> np.ndarray:
    return np.sort(ROWS.loc[ROWS["label"] == 1, ["a", "b"]].to_numpy(), axis=0)


def minority(table):
    return table.split(PLAN).minority


def honoured(option: str, opened: Opened, tmp_path) -> bool:
    """Whether an option had its effect."""
    seen = []
    if option == "target":
        return opened.open().labels().counts.min() == N_RARE
    if option == "pos_label":
        labels = opened.open(target="kind", exclude=["label", "weight", "tx", "when"], pos_label=2).labels()
        return labels.names == [False, True] and labels.counts.tolist() == [N_ROWS - N_RARE, N_RARE]
    if option == "columns":
        return opened.open(columns=["b", "a"]).schema.names == ["b", "a"]
    if option == "exclude":
        return opened.open(exclude=["a", *NOT_FEATURES]).schema.names == ["b"]
    if option == "where":
        table = opened.open(where=[("a", ">", 0.0)])
        return table.labels().counts.sum() == (ROWS["a"] > 0).sum()
    if option == "weight_column":
        weights = minority(opened.open(weight_column="weight")).metadata["sample_weight"]
        return np.array_equal(np.sort(weights), np.sort(ROWS.loc[ROWS["label"] == 1, "weight"]))
    if option == "id_column":
        ids = minority(opened.open(id_column="tx")).ids
        return ids.tolist() == sorted(ROWS.loc[ROWS["label"] == 1, "tx"])
    if option == "group_column":
        groups = minority(opened.open(group_column="tx")).groups
        return np.array_equal(np.sort(groups), np.sort(group_hashes(ROWS.loc[ROWS["label"] == 1, "tx"])))
    if option == "time_column":
        times = minority(opened.open(time_column="tx")).metadata[TIME]
        return np.array_equal(np.sort(times), np.sort(ROWS.loc[ROWS["label"] == 1, "tx"]))
    if option == "timezone":
        table = opened.open(columns=["when"], exclude=[], timezone="Asia/Tokyo")
        hours = features_of(minority(table))[:, 2]
        return sorted(hours) == sorted((ROWS.loc[ROWS["label"] == 1, "when"].dt.hour + 9) % 24)
    if option == "batch_rows":
        return max(batch.stop - batch.start for batch in opened.open(batch_rows=7).batches()) == 7
    if option == "memory_for_tags":
        return opened.open(memory_for_tags=1).memory_for_tags == 1
    if option == "fit_on":
        return opened.open().elsewhere is None and opened.open(fit_on="executor").elsewhere is not None
    if option == "version":
        return opened.open(version=opened.earlier).labels().counts.sum() == N_EARLIER
    if opened.name == "files" and option in FILE_OPTIONS:
        return FILE_OPTIONS[option](opened.needed, tmp_path)
    if option in ("cache", "progress") and opened.is_written:
        table = opened.open(cache=tmp_path / "cache", progress=lambda done, total: seen.append(done))
        return bool(seen) and any((tmp_path / "cache").iterdir()) and table.n_rows == N_ROWS
    assert option in ("cache", "cache_bytes", "client", "connection", "progress"), f"no effect of {option!r} is known"
    return opened.open(**{option: opened.needed.get(option, GIVEN[option])}).labels().counts.sum() == N_ROWS


def types_are_set(needed, tmp_path) -> bool:
    ROWS.to_csv(tmp_path / "typed.csv", index=False)
    table = open_table(tmp_path / "typed.csv", **needed, types={"a": "float32"})
    return [column.type for column in table.schema.columns] == ["float", "double"]


def a_cache_is_kept(needed, tmp_path) -> bool:
    ROWS.to_csv(tmp_path / "cached.csv", index=False)
    open_table(tmp_path / "cached.csv", **needed, cache=tmp_path / "cache")
    return any((tmp_path / "cache").iterdir())


def progress_is_told(needed, tmp_path) -> bool:
    seen = []
    ROWS.to_csv(tmp_path / "shown.csv", index=False)
    open_table(tmp_path / "shown.csv", **needed, progress=lambda done, total: seen.append(done))
    return bool(seen)


def other_rows_are_read(needed, tmp_path) -> bool:
    """The same path in another file system."""
    table = open_table("rows.parquet", **{**needed, "filesystem": elsewhere(tmp_path)})
    return table.labels().counts.sum() == N_EARLIER


def copies_are_limited(needed, tmp_path) -> bool:
    with pytest.raises(TableError, match="take more than 10 bytes"):
        open_table(
            "rows.parquet",
            **{**needed, "filesystem": elsewhere(tmp_path), "cache": tmp_path / "cache", "cache_bytes": 10},
        )
    return not any((tmp_path / "cache").iterdir())


def elsewhere(tmp_path) -> fs.FileSystem:
    """A file system with the first rows."""
    (tmp_path / "elsewhere").mkdir(exist_ok=True)
    ROWS.iloc[:N_EARLIER].to_parquet(tmp_path / "elsewhere" / "rows.parquet", index=False)
    return fs.SubTreeFileSystem(str(tmp_path / "elsewhere"), fs.LocalFileSystem())


FILE_OPTIONS = {
    "types": types_are_set,
    "cache": a_cache_is_kept,
    "progress": progress_is_told,
    "filesystem": other_rows_are_read,
    "cache_bytes": copies_are_limited,
}
GIVEN = {
    "target": "label",
    "pos_label": 1,
    "columns": ["b", "a"],
    "exclude": ["a"],
    "where": [("a", ">", 0.0)],
    "weight_column": "weight",
    "id_column": "tx",
    "group_column": "tx",
    "time_column": "tx",
    "timezone": "Asia/Tokyo",
    "batch_rows": 7,
    "memory_for_tags": 1,
    "types": {"a": "float32"},
    "cache": "folder",
    "progress": print,
    "client": object(),
    "filesystem": fs.LocalFileSystem(),
    "cache_bytes": 2**30,
    "version": 0,
    "connection": "shop.duckdb",
    "fit_on": "executor",
}


class TableExam:
    """A subclass brings the fixture `opened`: a source with the rows of `ROWS`. It may open the table once for all."""

    @pytest.fixture
    def table(self, opened):
        return opened.open()

    def test_it_is_a_table(self, table):
        assert isinstance(table, Table)

    def test_labels_are_counted(self, table):
        labels = table.labels()
        assert dict(zip(labels.names, labels.counts.tolist(), strict=True)) == {0: N_ROWS - N_RARE, 1: N_RARE}

    def test_the_minority_comes_whole_and_the_rest_is_a_pool(self, table):
        split = table.split(PLAN)
        np.testing.assert_array_equal(np.sort(features_of(split.minority), axis=0), sorted_rare())
        assert {number: pool.n_rows for number, pool in split.pools.items()} == {0: N_ROWS - N_RARE}
        assert (split.names, split.counts, split.minority_class) == ([0, 1], [N_ROWS - N_RARE, N_RARE], 1)

    def test_the_first_draw_brings_different_common_rows(self, table):
        drawn = table.split(PLAN).pools[0].draw([N_RARE], 0)
        assert len(np.unique(drawn.ids)) == N_RARE
        assert set(features_of(drawn)[:, 0]) <= set(ROWS.loc[ROWS["label"] == 0, "a"])

    def test_identity_is_that_of_the_data(self, table, opened):
        assert opened.open().identity() == table.identity()

    def test_a_fit_leaves_the_record_of_the_table(self, table):
        model = SelfPacedEnsembleClassifier(DecisionTreeClassifier(max_depth=3), 2, random_state=0).fit_table(table)
        record = model.trained_on_
        assert (record.schema, record.target) == (table.schema, table.roles.target)
        assert record.counts == {0: N_ROWS - N_RARE, 1: N_RARE}
        assert (model.pos_label_, record.score_column) == (1, 1)
        assert {"python", "selfpaced", "sklearn"} <= set(record.versions)

    @pytest.mark.parametrize("option", sorted(TableOptions.__optional_keys__))
    def test_every_option_is_honoured_or_refused_by_name(self, opened, option, tmp_path):
        if option in HONOURED[opened.name]:
            assert honoured(option, opened, tmp_path)
        else:
            # A connection makes a query of whatever is given.
            as_query = (
                "|filesystem= for a query|must be a query as a string|shop.duckdb does not exist"
                if option == "connection"
                else ""
            )
            with pytest.raises(
                (TableError, TypeError), match=f"does not support {option}= for {opened.name}{as_query}"
            ):
                opened.open(**{option: GIVEN[option]})

    def test_an_unknown_option_is_refused(self, opened):
        with pytest.raises(TypeError, match="unexpected keyword argument 'colums'"):
            opened.open(colums=["a"])
