"""Small models on Spark, the same in memory, and programs with a session of their own."""

import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from textwrap import dedent

import numpy as np
import pyarrow as pa
from lightgbm import LGBMClassifier
from pyspark.ml.functions import vector_to_array

from selfpaced.clusters.spark.estimators import SparkSelfPacedEnsembleClassifier
from selfpaced.ensembles import SelfPacedEnsembleClassifier
from tests.cluster.transactions import NAMES, TREE, transactions


def numbered(rows):
    """An Arrow table of the rows, with their positions as ids if they have none. Spark makes two partitions of it."""
    with_ids = rows if "number" in rows else rows.assign(number=np.arange(len(rows)))
    return pa.Table.from_pandas(with_ids, preserve_index=False)


def spe(base=TREE, kind=SparkSelfPacedEnsembleClassifier, features=NAMES, **others):
    columns = {"features_col": features, "label_col": "is_fraud", "id_col": "number"}
    return kind(**{"estimator": base, "n_estimators": 2, "seed": 3} | columns | others)


@cache
def expected(base=TREE, kind=SelfPacedEnsembleClassifier, n_estimators=2):
    return in_memory(transactions(), base, kind, n_estimators)


def in_memory(rows, base=TREE, kind=SelfPacedEnsembleClassifier, n_estimators=2, **fit_params):
    model = kind(base, n_estimators, random_state=3)
    return model.fit(rows.drop(columns="is_fraud"), rows["is_fraud"], **fit_params)


def dumped(member):
    """All there is to know of a member; not the bytes between the fields of a node, which mean nothing."""
    if isinstance(member, LGBMClassifier):
        return member.booster_.model_to_string()
    return {name: repr(np.asarray(value).tolist()) for name, value in member.tree_.__getstate__().items()}


def assert_same(model, other):
    model = model.to_local() if hasattr(model, "to_local") else model
    assert list(map(dumped, model.estimators_)) == list(map(dumped, other.estimators_))
    assert model.classes_.tolist() == other.classes_.tolist()


def probabilities(scored):
    rows = scored.orderBy("number").select(vector_to_array("probability").alias("p")).collect()
    return np.array([row.p for row in rows])


def run(code, **environment):
    """A program of its own, whose session must not be that of the other tests."""
    paths = [str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)} | environment
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", dedent(code)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout
