"""Executors that are killed in the middle of a fit.

These tests come last on the cluster: Spark starts other executors, and what runs there first takes many times as long.
"""

from threading import Timer

import pytest

from selfpaced.clusters.spark.engine import SparkEngine
from selfpaced.pools.blocks import FoldScores as Fold
from selfpaced.pools.partitioned import CutAndShortlist
from tests.cluster.spark_models import assert_same, expected, numbered, spe
from tests.cluster.transactions import BOOSTER, transactions

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")

# The round in which an executor is lost: scores of two members are to be made again, and a third one follows.
ROUND = 2


@pytest.fixture
def frame(spark):
    return spark.createDataFrame(numbered(transactions()))


def test_an_executor_killed_while_rows_are_scored_changes_nothing(spark_cluster, frame, monkeypatch):
    folds, killed = [], []
    killer = Timer(0.3, lambda: killed.append(spark_cluster.kill_an_executor()))

    def advance(engine, step, *shared):
        folds.append(step)
        if len(folds) == ROUND:
            killer.start()  # strikes during the next question, which scores the rows
        return ask_to_advance(engine, step, *shared)

    ask_to_advance = SparkEngine.advance
    monkeypatch.setattr(SparkEngine, "advance", advance)
    assert_same(spe(BOOSTER, n_estimators=3).fit(frame), expected(BOOSTER, n_estimators=3))
    killer.join()
    assert [type(step) for step in folds] == [Fold] * 3
    assert len(killed) == 1


def test_scores_that_are_lost_with_an_executor_are_made_again(spark_cluster, frame, monkeypatch):
    cuts = []

    def ask_and_lose_an_executor(engine, question):
        answer = ask(engine, question)
        cuts.extend([1] * isinstance(question, CutAndShortlist))
        if isinstance(question, CutAndShortlist) and len(cuts) == ROUND:
            spark_cluster.kill_an_executor()
        return answer

    ask = SparkEngine.ask
    monkeypatch.setattr(SparkEngine, "ask", ask_and_lose_an_executor)
    assert_same(spe(n_estimators=3).fit(frame), expected(n_estimators=3))
    assert len(cuts) == 3
