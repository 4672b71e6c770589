"""A fit on a cluster whose driver was stopped goes on, and ends with the model it would have had."""

import time
from textwrap import dedent

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.tree import DecisionTreeClassifier

from selfpaced.callbacks import Callback
from selfpaced.clusters.dask.estimators import DaskAutoSelfPacedClassifier, DaskSelfPacedEnsembleClassifier
from selfpaced.clusters.spark.estimators import SparkSelfPacedEnsembleClassifier
from selfpaced.datasets import make_fraud
from selfpaced.ensembles import (
    BalanceCascadeClassifier,
    MemberFactory,
    SelfPacedEnsembleClassifier,
    UnderBaggingClassifier,
)
from selfpaced.exceptions import CheckpointError
from selfpaced.tables.sources import open_table
from tests.ensembles.blends import assert_the_same_model, auto

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")

NAMES = list("abcd")
TREE = DecisionTreeClassifier(max_depth=6)


@pytest.fixture(scope="module")
def rows():
    X, y = make_fraud(n_rows=3000, n_frauds=60, n_features=4, random_state=0)
    return pd.DataFrame(X, columns=NAMES).assign(is_fraud=y, number=np.arange(len(y)))


class AccidentError(Exception):
    pass


class AccidentAfter(Callback):
    def __init__(self, number):
        self.number = number

    def on_round_end(self, round):
        if round.number == self.number:
            raise AccidentError


@pytest.fixture
def fits(monkeypatch):
    """The numbers of the members that are fitted, in order."""
    numbers = []

    def noted(factory, number, *given, **named):
        numbers.append(number)
        return fit(factory, number, *given, **named)

    fit = MemberFactory.fit
    monkeypatch.setattr(MemberFactory, "fit", noted)
    return numbers


def same(one, other, rows):
    X = rows[NAMES]
    pairs = zip(one.estimators_, other.estimators_, strict=True)
    return all(np.array_equal(a.predict_proba(X), b.predict_proba(X)) for a, b in pairs)


class TestDask:
    @pytest.fixture
    def opened(self, dask_cluster):
        def opened(rows, n_partitions=3):
            frame = dd.from_pandas(rows, npartitions=n_partitions, sort=False)
            return open_table(frame, target="is_fraud", columns=NAMES, client=dask_cluster.client)

        return opened

    @pytest.mark.parametrize(
        ("kind", "options"),
        [
            (SelfPacedEnsembleClassifier, {"calibration": "sigmoid"}),
            (SelfPacedEnsembleClassifier, {"weighting": "sqrt"}),
            (BalanceCascadeClassifier, {}),
            (UnderBaggingClassifier, {}),
        ],
    )
    def test_after_an_accident_the_model_is_that_in_memory(self, opened, rows, tmp_path, fits, kind, options):
        model = kind(TREE, 3, random_state=0, **options)
        whole = kind(TREE, 3, random_state=0, **options).fit(rows[NAMES], rows["is_fraud"])
        with pytest.raises(AccidentError):
            model.set_params(callbacks=AccidentAfter(2)).fit_table(opened(rows), checkpoint=tmp_path / "fit")
        fits.clear()
        model.set_params(callbacks=None).fit_table(opened(rows, n_partitions=5), checkpoint=tmp_path / "fit")
        assert same(model, whole, rows)
        assert model.calibrator_ == whole.calibrator_
        assert len(set(fits)) == 1  # one round was missing

    def test_a_table_with_another_value_is_refused(self, opened, rows, tmp_path):
        spe = SelfPacedEnsembleClassifier(TREE, 1, random_state=0)
        spe.fit_table(opened(rows), checkpoint=tmp_path / "fit")
        changed = rows.copy()
        changed.loc[1234, "b"] += 1e-9
        with pytest.raises(CheckpointError, match=r"content was '[0-9a-f]{16}' and is '[0-9a-f]{16}' now"):
            spe.fit_table(opened(changed), checkpoint=tmp_path / "fit")

    def test_the_estimator_keeps_finished_rounds_too(self, dask_cluster, rows, tmp_path, fits):
        frame = dd.from_pandas(rows[[*NAMES, "is_fraud"]], npartitions=2, sort=False)
        spe = DaskSelfPacedEnsembleClassifier(TREE, 1, random_state=0, client=dask_cluster.client)
        spe.fit(frame, "is_fraud", checkpoint=tmp_path / "fit")
        fits.clear()
        again = spe.fit(frame, "is_fraud", checkpoint=tmp_path / "fit")
        assert not fits
        whole = SelfPacedEnsembleClassifier(TREE, 1, random_state=0).fit(rows[NAMES], rows["is_fraud"])
        assert same(again, whole, rows)

    def test_a_blend_keeps_what_it_has_judged(self, dask_cluster, rows, tmp_path, fits):
        frame = dd.from_pandas(rows[[*NAMES, "is_fraud"]], npartitions=2, sort=False)
        blend = auto(DaskAutoSelfPacedClassifier, client=dask_cluster.client)
        blend.fit(frame, "is_fraud", checkpoint=tmp_path / "fit")
        fits.clear()
        again = blend.fit(frame, "is_fraud", checkpoint=tmp_path / "fit")
        assert not fits
        assert_the_same_model(again.to_local(), auto().fit(rows[NAMES], rows["is_fraud"]), rows[NAMES])

    @pytest.mark.slow
    def test_a_driver_that_is_killed_is_replaced_by_another(self, dask_cluster, opened, rows, tmp_path):
        rows.to_parquet(tmp_path / "rows.parquet")
        driver = tmp_path / "driver.py"
        driver.write_text(
            dedent(f"""
            import time
            import dask.dataframe as dd
            from distributed import Client
            from sklearn.tree import DecisionTreeClassifier
            from selfpaced import SelfPacedEnsembleClassifier, open_table
            from selfpaced.callbacks import Callback

            class Slowly(Callback):
                def on_round_end(self, round):
                    time.sleep(0.5)

            client = Client({dask_cluster.client.scheduler.address!r})
            frame = dd.read_parquet({str(tmp_path / "rows.parquet")!r})
            table = open_table(frame, target="is_fraud", columns={NAMES}, client=client)
            tree = DecisionTreeClassifier(max_depth=6)
            spe = SelfPacedEnsembleClassifier(tree, 5, random_state=0, callbacks=Slowly())
            spe.fit_table(table, checkpoint={str(tmp_path / "fit")!r})
            """)
        )
        process = dask_cluster.start_script(driver)
        deadline = time.monotonic() + 60
        while not (tmp_path / "fit" / "round-0001.skops").exists():
            assert process.is_running()
            assert time.monotonic() < deadline
            time.sleep(0.05)
        process.kill()
        process.wait()
        assert not (tmp_path / "fit" / "round-0005.skops").exists()
        resumed = SelfPacedEnsembleClassifier(TREE, 5, random_state=0)
        resumed.fit_table(opened(rows), checkpoint=tmp_path / "fit")
        whole = SelfPacedEnsembleClassifier(TREE, 5, random_state=0).fit(rows[NAMES], rows["is_fraud"])
        assert same(resumed, whole, rows)


class TestSpark:
    @pytest.fixture(scope="class")
    @classmethod
    def frame_of(cls, spark):
        return lambda rows: spark.createDataFrame(pa.Table.from_pandas(rows))

    @pytest.fixture(scope="class")
    @classmethod
    def spe(cls, frame_of, rows, tmp_path_factory):
        """An estimator with the checkpoint of a fit that had an accident after its first round."""
        columns = {"features_col": NAMES, "label_col": "is_fraud", "id_col": "number"}
        kept = {"seed": 0, "checkpoint": tmp_path_factory.mktemp("fits") / "fit"}
        spe = SparkSelfPacedEnsembleClassifier(estimator=TREE, n_estimators=2, **kept, **columns)
        with pytest.raises(AccidentError):
            spe.copy().setCallbacks(AccidentAfter(1)).fit(frame_of(rows))
        return spe

    def test_a_table_with_another_value_is_refused(self, spe, frame_of, rows):
        changed = rows.copy()
        changed.loc[1234, "b"] += 1e-9
        with pytest.raises(CheckpointError, match=r"content was '[0-9a-f]{16}' and is '[0-9a-f]{16}' now"):
            spe.fit(frame_of(changed))

    def test_after_an_accident_the_model_is_that_in_memory(self, spe, frame_of, rows, fits):
        whole = SelfPacedEnsembleClassifier(TREE, 2, random_state=0).fit(rows[NAMES], rows["is_fraud"])
        fits.clear()
        resumed = spe.fit(frame_of(rows).repartition(3))
        assert same(resumed.to_local(), whole, rows)
        assert fits == [2]
