"""The files that Spark's executors keep rows in: where they are, who sees them, and what happens when they are lost.

The two workers have local directories of their own, and an executor looks into its own alone, as on two machines.
"""

import shutil
import stat
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import functions as sf

from selfpaced import BalanceCascadeClassifier, SelfPacedEnsembleClassifier, open_table
from selfpaced.exceptions import TableError
from selfpaced.pools import spark_blobs
from selfpaced.pools.scratch import FOLDER, OWNER
from selfpaced.pools.shortlist import CutAndShortlist
from selfpaced.pools.spark_scratch import ScratchEngine, ScratchRows
from tests.cluster.test_spark import TREE, assert_same, expected, run, spe, transactions
from tests.pools.test_scratch import changed, cut_off, removed

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")


@pytest.fixture
def frame(spark):
    numbered = transactions().assign(number=np.arange(len(transactions())))
    return spark.createDataFrame(pa.Table.from_pandas(numbered, preserve_index=False)).repartition(3)


@pytest.fixture
def files(spark_cluster):
    """The scratch files by the worker that wrote them, less those that say whose they are."""

    def files():
        found = [path for local in spark_cluster.local_directories() for path in local.glob(f"{FOLDER}/*/*")]
        return [path for path in found if path.name != OWNER]

    assert files() == []  # of other tests
    return files


@pytest.fixture
def after_a_cut(monkeypatch):
    """Have something done once, after the second cut of a fit, when rows and tags have been written."""
    ask, n_cuts = ScratchEngine.ask, []

    def register(do):
        def asked(engine, question, merge, *, features):
            answer = ask(engine, question, merge, features=features)
            n_cuts.extend([1] * isinstance(question, CutAndShortlist))
            if isinstance(question, CutAndShortlist) and len(n_cuts) == 2:
                do(engine)
            return answer

        monkeypatch.setattr(ScratchEngine, "ask", asked)

    yield register
    assert len(n_cuts) >= 2


def test_the_jobs_of_a_fit_are_three_and_two_a_round(spark, frame):
    frame.write.format("noop").mode("overwrite").save()
    spark.sparkContext.setJobGroup("counted", "a fit")
    try:
        spe().fit(frame)
    finally:
        spark.sparkContext._jsc.clearJobGroup()
    assert len(spark.sparkContext.statusTracker().getJobIdsForGroup("counted")) == 3 + 2 * 2


def test_each_worker_has_its_own_files_for_its_owner_alone_and_none_after_the_fit(
    spark_cluster, frame, files, after_a_cut
):
    seen, modes = [], set()

    def look(engine):
        seen.extend(files())
        modes.update(stat.S_IMODE(path.parent.stat().st_mode) for path in seen)

    after_a_cut(look)
    assert_same(spe().fit(frame), expected())
    workers = {path.parents[5].name for path in seen}
    assert workers == {"scratch-0", "scratch-1"}
    kinds = sorted(path.suffix.partition("-")[0] for path in seen)
    assert kinds == [".rows"] * 3 + [".tags"] * 3  # the rows as they were given are gone
    assert len({path.name.partition(".")[0] for path in seen}) == 3
    assert modes == {0o700}
    assert files() == []


def test_spark_itself_keeps_one_row_a_partition(spark, frame, after_a_cut):
    kept = []

    def look(engine):
        for table in spark.catalog.listTables():
            kept.append(spark.table(f"`{table.name}`").count())

    after_a_cut(look)
    spe().fit(frame)
    assert kept == [3]


@pytest.mark.parametrize("damage", [removed, cut_off, changed])
def test_rows_that_are_damaged_are_written_again(frame, files, after_a_cut, damage):
    engines = []

    def hurt(engine):
        engines.append(engine)
        damage(next(path for path in files() if path.suffix == ".rows"))

    after_a_cut(hurt)
    assert_same(spe().fit(frame), expected())
    assert engines[0]._rows.attempt == 1


@pytest.mark.parametrize("damage", [removed, cut_off])
def test_tags_that_are_damaged_are_made_again_of_the_same_rows(frame, files, after_a_cut, damage):
    engines = []

    def hurt(engine):
        engines.append(engine)
        for path in files():
            if path.suffix.startswith(".tags"):
                damage(path)

    after_a_cut(hurt)
    assert_same(spe().fit(frame), expected())
    assert engines[0]._rows.attempt == 0


def test_rows_that_come_out_otherwise_when_they_are_written_again_are_refused(frame, files, after_a_cut):
    after_a_cut(lambda engine: removed(next(path for path in files() if path.suffix == ".rows")))
    unsteady = frame.withColumn("number", sf.xxhash64(sf.expr("java_method('java.util.UUID', 'randomUUID')")))
    with pytest.raises(TableError, match=r"had 5000 rows when it was opened.*computed parts of it again"):
        spe().fit(unsteady)
    assert files() == []


@pytest.mark.parametrize("wrong", ["'Infinity'", "raise_error('no rows today')"])
def test_a_table_that_cannot_be_opened_leaves_no_files(frame, files, wrong):
    broken = frame.withColumn("a", sf.expr(f"if(number = 4000, cast({wrong} as double), a)"))
    with pytest.raises(Exception, match=r"infinity in partition|no rows today"):
        open_table(broken, target="is_fraud", id="number")
    assert files() == []


def test_tags_of_a_fit_that_has_ended_are_removed_by_the_next(frame, files):
    table = open_table(frame, target="is_fraud", id="number")
    n_files = []
    for _ in range(2):
        assert_same(SelfPacedEnsembleClassifier(TREE, 2, random_state=3).fit_table(table), expected())
        n_files.append(len(files()))
    assert n_files == [6, 6]
    del table
    assert files() == []


class TestWithoutDisk:
    """Executors that cannot write to their local directories: a plain file is where their folder would be."""

    @pytest.fixture
    def block(self, spark_cluster):
        def block():
            for local in spark_cluster.local_directories():
                shutil.rmtree(local / FOLDER, ignore_errors=True)
                (local / FOLDER).touch()

        yield block
        for local in spark_cluster.local_directories():
            if (local / FOLDER).is_file():
                (local / FOLDER).unlink()

    @pytest.mark.parametrize("kind", [SelfPacedEnsembleClassifier, BalanceCascadeClassifier])
    def test_spark_keeps_the_rows_and_says_so(self, frame, block, monkeypatch, kind):
        monkeypatch.setattr(spark_blobs, "LONGEST_CHAIN", 2)
        block()
        with pytest.warns(RuntimeWarning, match="cannot write to its local directories.*Spark keeps the rows"):
            table = open_table(frame, target="is_fraud", id="number")
        assert_same(kind(TREE, 3, random_state=3).fit_table(table), expected(kind=kind, n_estimators=3))

    def test_a_disk_that_is_lost_in_the_middle_of_a_fit_changes_nothing(self, spark, frame, block, after_a_cut):
        after_a_cut(lambda engine: block())
        with pytest.warns(RuntimeWarning, match="cannot write to its local directories.*Spark keeps the rows"):
            model = spe(n_estimators=3).fit(frame)
        assert_same(model, expected(n_estimators=3))
        assert spark.catalog.listTables() == []


def test_files_that_vanish_whenever_they_are_written_are_given_up(frame, files, monkeypatch):
    def vanish(rows, attempt):
        write_again(rows, attempt)
        rows.frame.collect()
        for path in files():
            path.unlink()

    write_again = ScratchRows.write_again
    monkeypatch.setattr(ScratchRows, "write_again", vanish)
    table = open_table(frame, target="is_fraud", id="number")
    for path in files():
        path.unlink()
    with pytest.warns(RuntimeWarning, match="do not find the rows that they wrote"):
        model = SelfPacedEnsembleClassifier(TREE, 2, random_state=3).fit_table(table)
    assert_same(model, expected())


def test_two_fits_of_one_table_side_by_side_have_tags_of_their_own(frame):
    table = open_table(frame, target="is_fraud", id="number")
    models = [SelfPacedEnsembleClassifier(TREE, 2, random_state=seed) for seed in (3, 4)]
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(lambda model: model.fit_table(table), models)
    assert_same(first, expected())
    rows = transactions()
    local = SelfPacedEnsembleClassifier(TREE, 2, random_state=4)
    assert_same(second, local.fit(rows.drop(columns="is_fraud"), rows["is_fraud"]))


@pytest.mark.slow
def test_tasks_that_run_anywhere_twice_or_beside_each_other_give_the_same_model(spark_cluster):
    """Spark sends tasks to executors without their rows, and starts them twice; then one executor has three cores."""
    told = run(
        f"""
        import warnings
        from pyspark.sql import SparkSession
        from tests.cluster.spark_cluster import QUIET, SETTINGS
        from tests.cluster.test_spark import *

        restless = {{
            "spark.locality.wait": "0s",
            "spark.speculation": "true",
            "spark.speculation.interval": "10ms",
            "spark.speculation.multiplier": "1.01",
            "spark.speculation.quantile": "0.1",
            "spark.speculation.minTaskRuntime": "0ms",
            "spark.sql.adaptive.enabled": "true",
        }}
        for master in ({spark_cluster.url!r}, "local[3]"):
            spark = SparkSession.builder.master(master).config(map=SETTINGS | restless).getOrCreate()
            spark.sparkContext.setLogLevel("OFF")
            rows = transactions().assign(number=range(5000))
            frame = spark.createDataFrame(pa.Table.from_pandas(rows, preserve_index=False)).repartition(7)
            assert_same(spe().fit(frame), expected())
            print("the same")
            spark.stop()
        """
    )
    assert told.split("\n")[:2] == ["the same"] * 2
