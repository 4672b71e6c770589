"""The files that Spark's executors keep rows in: where they are, who sees them, and what happens when they are lost.

The two workers have local directories of their own, and an executor looks into its own alone, as on two machines.
"""

import gc
import stat
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from types import SimpleNamespace

import pytest
from pyspark.sql import functions as sf

from selfpaced.clusters.spark.engine import SparkEngine, StoredRows
from selfpaced.clusters.spark.storage import FOLDER
from selfpaced.ensembles import SelfPacedEnsembleClassifier
from selfpaced.exceptions import TableError
from selfpaced.pools.partitioned import CutAndShortlist
from selfpaced.tables.sources import open_table
from tests.cluster.spark_models import assert_same, expected, numbered, spe
from tests.cluster.transactions import TREE, transactions
from tests.partitions.test_scratch_files import cut_off, removed

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")


@pytest.fixture
def frame(spark):
    return spark.createDataFrame(numbered(transactions())).repartition(3)


def scratch_files(cluster):
    """The scratch files of both workers."""
    return [path for local in cluster.local_directories() for path in local.glob(f"{FOLDER}/*/*")]


def remove_tables_of_others(cluster):
    """An error that another test caught holds itself, and its table, until Python searches for such cycles."""
    gc.collect()
    assert scratch_files(cluster) == []


@pytest.fixture
def files(spark_cluster):
    def files():
        return scratch_files(spark_cluster)

    remove_tables_of_others(spark_cluster)
    return files


@contextmanager
def doing_after_a_cut(do):
    """Have something done once, after the second cut of a fit, when rows and tags have been written."""
    ask, n_cuts = SparkEngine.ask, []

    def asked(engine, question):
        answer = ask(engine, question)
        n_cuts.extend([1] * isinstance(question, CutAndShortlist))
        if isinstance(question, CutAndShortlist) and len(n_cuts) == 2:
            do(engine)
        return answer

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SparkEngine, "ask", asked)
        yield
    assert len(n_cuts) >= 2


class TestWhatIsKept:
    """One fit, looked at after its second cut."""

    @pytest.fixture(scope="class")
    @classmethod
    def seen(cls, spark, spark_cluster):
        """The model, and what there was in the middle of its fit: scratch files, and the rows that Spark keeps."""
        remove_tables_of_others(spark_cluster)
        frame = spark.createDataFrame(numbered(transactions())).repartition(3)
        files, modes, kept = [], set(), []

        def look(engine):
            files.extend(scratch_files(spark_cluster))
            modes.update(stat.S_IMODE(path.parent.stat().st_mode) for path in files)
            kept.extend(spark.table(f"`{table.name}`").count() for table in spark.catalog.listTables())

        with doing_after_a_cut(look):
            model = spe().fit(frame)
        return SimpleNamespace(model=model, files=files, modes=modes, kept=kept)

    def test_the_model_is_that_in_memory(self, seen):
        assert_same(seen.model, expected())

    def test_each_worker_has_its_own_files(self, seen):
        assert {path.parents[5].name for path in seen.files} == {"scratch-0", "scratch-1"}
        kinds = sorted(path.suffix.partition("-")[0] for path in seen.files)
        assert kinds == [".rows"] * 3 + [".tags"] * 3  # the rows as they were given are gone
        assert len({path.name.partition(".")[0] for path in seen.files}) == 3

    def test_only_the_owner_can_read_the_files(self, seen):
        assert seen.modes == {0o700}

    def test_there_are_no_files_after_the_fit(self, seen, files):
        assert files() == []

    def test_spark_itself_keeps_one_row_a_partition(self, seen):
        assert seen.kept == [3]


# What else may be wrong with a file is asked without a cluster, in `tests/partitions/test_scratch_files.py`.
def test_rows_that_are_lost_are_written_again(frame, files):
    engines = []

    def hurt(engine):
        engines.append(engine)
        removed(next(path for path in files() if path.suffix == ".rows"))

    with doing_after_a_cut(hurt):
        assert_same(spe().fit(frame), expected())
    assert engines[0]._rows.attempt == 1


def test_tags_that_are_damaged_are_made_again_of_the_same_rows(frame, files):
    engines = []

    def hurt(engine):
        engines.append(engine)
        for path in files():
            if path.suffix.startswith(".tags"):
                cut_off(path)

    with doing_after_a_cut(hurt):
        assert_same(spe().fit(frame), expected())
    assert engines[0]._rows.attempt == 0


def test_rows_that_differ_when_they_are_written_again_are_refused(frame, files):
    unsteady = frame.withColumn("number", sf.xxhash64(sf.expr("java_method('java.util.UUID', 'randomUUID')")))
    with (
        pytest.raises(TableError, match=r"had 5000 rows when it was opened\. Spark recomputed part of the DataFrame"),
        doing_after_a_cut(lambda engine: removed(next(path for path in files() if path.suffix == ".rows"))),
    ):
        spe().fit(unsteady)
    assert files() == []


@pytest.mark.parametrize("wrong", ["'Infinity'", "raise_error('no rows today')"])
def test_a_table_that_cannot_be_opened_leaves_no_files(frame, files, wrong):
    broken = frame.withColumn("a", sf.expr(f"if(number = 4000, cast({wrong} as double), a)"))
    with pytest.raises(Exception, match=r"Column 'a' of partition \d contains infinity|no rows today"):
        open_table(broken, target="is_fraud", id_column="number")
    assert files() == []


def test_tags_of_a_fit_that_has_ended_are_removed_by_the_next(frame, files):
    table = open_table(frame.withColumn("note", sf.lit("x")), target="is_fraud", exclude=["note"], id_column="number")
    n_files = []
    for _ in range(2):
        model = SelfPacedEnsembleClassifier(TREE, 1, random_state=3).fit_table(table)
        assert_same(model, expected(n_estimators=1))
        assert model.trained_on_.target == "is_fraud"
        n_files.append(len(files()))
    assert n_files == [6, 6]
    del table
    assert files() == []


@pytest.fixture
def without_disk(spark_cluster):
    """Executors that cannot write to their local directories: a plain file is where their folder would be."""
    for local in spark_cluster.local_directories():
        (local / FOLDER).touch()
    yield
    for local in spark_cluster.local_directories():
        (local / FOLDER).unlink()


def test_executors_without_a_disk_are_refused(frame, files, without_disk):
    with pytest.raises(TableError, match=r"cannot write to its local directory: .*set spark\.local\.dir"):
        open_table(frame, target="is_fraud", id_column="number")


def test_files_that_vanish_whenever_they_are_written_raise_an_error(frame, files, monkeypatch):
    def vanish(rows, attempt):
        write_again(rows, attempt)
        rows.frame.collect()
        for path in files():
            path.unlink()

    write_again = StoredRows.write_again
    monkeypatch.setattr(StoredRows, "write_again", vanish)
    table = open_table(frame, target="is_fraud", id_column="number")
    for path in files():
        path.unlink()
    with pytest.raises(TableError, match=r"do not find the rows that they wrote.*set spark\.locality\.wait"):
        SelfPacedEnsembleClassifier(TREE, 2, random_state=3).fit_table(table)


def test_two_fits_of_one_table_side_by_side_have_tags_of_their_own(frame):
    table = open_table(frame, target="is_fraud", id_column="number")
    models = [SelfPacedEnsembleClassifier(TREE, 1, random_state=seed) for seed in (3, 4)]
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(lambda model: model.fit_table(table), models)
    assert_same(first, expected(n_estimators=1))
    rows = transactions()
    local = SelfPacedEnsembleClassifier(TREE, 1, random_state=4)
    assert_same(second, local.fit(rows.drop(columns="is_fraud"), rows["is_fraud"]))


@pytest.fixture
def restless(spark):
    """Spark sends tasks to executors without their rows, and starts them twice."""
    settings = {"spark.locality.wait": "0s", "spark.speculation.quantile": "0.1"}
    conf = spark.sparkContext._jsc.sc().conf()  # which Spark reads at the beginning of every stage
    before = {name: conf.getOption(name) for name in settings}
    for name, value in settings.items():
        conf.set(name, value)
    spark.conf.set("spark.sql.adaptive.enabled", "true")
    yield
    spark.conf.set("spark.sql.adaptive.enabled", "false")
    for name, value in before.items():
        conf.set(name, value.get()) if value.isDefined() else conf.remove(name)


def test_tasks_that_run_anywhere_and_twice_give_the_same_model(spark, restless):
    # Of five partitions one executor has three. The other one gets the last of them, and does not find its files.
    frame = spark.createDataFrame(numbered(transactions())).repartition(5)
    assert_same(spe().fit(frame), expected())


def test_tasks_beside_each_other_in_one_process_give_the_same_model(fitted_in_local_mode):
    assert_same(fitted_in_local_mode, expected())
