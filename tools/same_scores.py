"""Show that a refactoring changes no score: train small models before and after it, and compare what they predict.

    python tools/same_scores.py --clusters --write before.json      # PYTHONPATH=/old/tree/src chooses another tree
    python tools/same_scores.py --clusters --compare before.json

A case trains a model on generated rows and scores others. Its result is the SHA-256 of the scores, so that a difference
in the last bit counts. The same file runs in both trees: where names change, it tries the new ones first.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from copy import deepcopy
from functools import cache, partial
from importlib import import_module
from itertools import chain, product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import onnxruntime
import pandas as pd
import polars as pl
import pyarrow as pa
from catboost import CatBoostClassifier
from lightgbm import LGBMClassifier
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import get_tags
from xgboost import XGBClassifier

import selfpaced
from selfpaced.callbacks import EarlyStopping
from selfpaced.onnx_export import export_onnx

Cases = Iterator[tuple[str, Callable[[], Any]]]

OLD_NAMES = {
    "group_column": "group",
    "id_column": "id",
    "min_delta": "min_rise",
    "pos_label": "positive",
    "pos_label_": "score_label_",
    "predict_proba_table": "score_table",
    "recalibrated": "calibrate",
    "row_scorer": "scorer",
    "weight_column": "weight",
    "where": "filter",
}
ON_CLUSTERS = ("SelfPacedEnsembleClassifier", "BalanceCascadeClassifier", "UnderBaggingClassifier")
OF_TABLES = (*ON_CLUSTERS, "EasyEnsembleClassifier")
ENSEMBLES = (*OF_TABLES, "RUSBoostClassifier", "SMOTEBoostClassifier", "SMOTEBaggingClassifier")
NUMBERS = list("abcd")
AS_THEY_ARE = [*NUMBERS, "e", "shop"]  # LightGBM reads these columns without preparation
FEATURES = [*AS_THEY_ARE, "city", "when"]
TREE = DecisionTreeClassifier(max_depth=5)
BOOSTER = LGBMClassifier(n_estimators=10, verbose=-1)
LINEAR = make_pipeline(StandardScaler(), LogisticRegression())
BASES = {
    "LightGBM": BOOSTER,
    "HistGradientBoosting": HistGradientBoostingClassifier(max_iter=10),
    "XGBoost": XGBClassifier(n_estimators=10),
    "CatBoost": CatBoostClassifier(iterations=10, verbose=0, allow_writing_files=False),
    "logistic regression": LINEAR,
    "random forest": RandomForestClassifier(10),
    "several base models": [TREE, BOOSTER, LINEAR],
}
PARAMETERS = (
    *({"calibration": method} for method in ("isotonic", "beta", "sigmoid", "prior")),
    *({"weighting": weighting, "calibration": "beta"} for weighting in ("sqrt", "inverse")),
    *({"hardness": hardness} for hardness in ("squared", "cross_entropy")),
    {"ratio": 3.0, "n_bins": 5, "n_jobs": 2},
)
READING = (
    {"weight_column": "weight", "batch_rows": 512},
    {"id_column": "number"},
    {"group_column": "card"},
    {"where": [("a", "<", 1.5)]},
    {"timezone": "Asia/Tokyo", "target": "three"},
    {"target": "three", "pos_label": "some"},
)


def rows(n_rows: int, n_rare: int, seed: int) -> pd.DataFrame:
    """Numbers, categories, strings and dates, some of them missing. Rare rows are rare in several ways."""
    rng = np.random.default_rng(seed)
    rare, kind = rng.permutation(n_rows) < n_rare, rng.integers(3, size=n_rows)
    frame = pd.DataFrame(rng.normal(size=(n_rows, 5)), columns=list("abcde"))
    frame.loc[rare & (kind == 0), ["a", "b"]] += 3
    frame.loc[rare & (kind == 1), "c"] = frame["a"] + 0.3 * frame["c"] + 2
    frame.loc[rare & (kind == 2), "d"] *= 4
    frame["e"] = frame["e"].where(rng.random(n_rows) > 0.1)
    shops = np.array(["bank", "kiosk", "market", "pump", None], dtype=object)
    shop = np.where(rare & (rng.random(n_rows) < 0.5), 1, rng.integers(5, size=n_rows))
    frame["shop"] = pd.Categorical(shops[shop], shops[:-1])
    cities = np.array(["Bonn", "Lyon", "Oslo", None, f"Rome {seed}"], dtype=object)  # one of them is new in other rows
    frame["city"] = pd.array(cities[rng.integers(5, size=n_rows)], "str")
    seconds = rng.integers(10**7, size=n_rows)
    when = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.where(rare, seconds // 86400 * 86400, seconds), "s")
    frame["when"] = when.to_series(index=frame.index).where(rng.random(n_rows) > 0.05)
    labels = {"y": rare.astype(int), "three": np.where(rare, "rare", np.where(frame["a"] > 1, "some", "most"))}
    others = {"weight": rng.integers(1, 4, size=n_rows) / 2, "card": rng.integers(n_rows // 5, size=n_rows)}
    return frame.assign(**labels, **others, number=rng.permutation(n_rows))


TRAIN, TEST = rows(3000, 40, seed=0), rows(800, 40, seed=1)


def public(name: str, *modules: str) -> Any:
    """A public class, from the first of some modules that has it."""
    for module in modules or ("selfpaced", "selfpaced.baselines"):
        with suppress(AttributeError, ModuleNotFoundError):
            return getattr(import_module(module), name)
    raise AttributeError(f"there is no {name}")


def attribute(model: Any, name: str) -> Any:
    return getattr(model, name if hasattr(model, name) else OLD_NAMES[name])


def call(function: Callable[..., Any], *values: Any, **options: Any) -> Any:
    """Call with the new name of each option or, where it is not known, with the old one."""
    for names in product(*(dict.fromkeys([name, OLD_NAMES.get(name, name)]) for name in options)):
        try:
            return function(*values, **dict(zip(names, options.values(), strict=True)))
        except TypeError as error:
            if not re.search("no option|unexpected keyword", str(error)):
                raise
    raise TypeError(f"{function.__name__} does not know all of {', '.join(options)}")


def spe(base: Any = BOOSTER, n_estimators: int = 4, **options: Any) -> Any:
    return public("SelfPacedEnsembleClassifier")(base, n_estimators, random_state=0, **options)


def blend(recipes: Any = None, **options: Any) -> Any:
    return public("AutoSelfPacedClassifier")(recipes, random_state=0, **options)


def few_recipes() -> list[tuple[str, Any]]:
    cascade = public("BalanceCascadeClassifier")(BOOSTER, 3, ratio=2.0)
    return [("booster", spe()), ("cascade", cascade), ("weighted", spe(ratio=5.0, weighting="sqrt"))]


def scores(model: Any, X: Any, y: Any, X_test: Any, **fit_params: Any) -> Any:
    return clone(model).fit(X, y, **fit_params).predict_proba(X_test)


def table_scores(model: Any, source: Path, test: Path, where: Any = None, **reading: Any) -> Any:
    """The scores of files by a model that was trained on other files: the probability of one label."""
    model = clone(model).fit_table(call(selfpaced.open_table, source, where=where, **reading))
    found = call(attribute(model, "predict_proba_table"), test, where=where)
    classes = model.classes_.tolist()  # False and True where one label is separated from all others
    label = attribute(model, "pos_label_")
    column = classes.index(label) if label in classes else -1
    return found if found.ndim == 1 else found[:, column]


def array_cases() -> Cases:
    X, X_test = (each[NUMBERS].to_numpy() for each in (TRAIN, TEST))
    missing, missing_test = (each[[*NUMBERS, "e"]].to_numpy() for each in (TRAIN, TEST))
    sparse, sparse_test = (csr_matrix(np.where(np.abs(each) > 0.5, each, 0)) for each in (X, X_test))
    for name in ENSEMBLES:
        base = {} if name == "EasyEnsembleClassifier" else {"estimator": TREE}
        model = public(name)(**base, n_estimators=4, random_state=0)
        yield f"{name}: numbers", partial(scores, model, X, TRAIN["y"], X_test)
        yield f"{name}: three classes", partial(scores, model, X, TRAIN["three"], X_test)
        yield f"{name}: weights", partial(scores, model, X, TRAIN["y"], X_test, sample_weight=TRAIN["weight"])
        if get_tags(model).input_tags.sparse:
            yield f"{name}: sparse", partial(scores, model, sparse, TRAIN["y"], sparse_test)
        if get_tags(model).input_tags.allow_nan:
            yield f"{name}: missing values", partial(scores, model, missing, TRAIN["y"], missing_test)
    kinds = {name: spe(base) for name, base in BASES.items()} | {str(given): spe(**given) for given in PARAMETERS}
    for name, model in kinds.items():
        yield f"{name}: numbers", partial(scores, model, X, TRAIN["y"], X_test)
        yield f"{name}: three classes", partial(scores, model, X, TRAIN["three"], X_test)
    stopping = spe(TREE, 20, callbacks=call(EarlyStopping, patience=3, min_delta=0.001))
    yield "early stopping", partial(scores, stopping, X, TRAIN["y"], X_test, eval_set=(X_test, TEST["y"]))
    large = rows(150_000, 300, seed=2)
    for n_jobs in (1, 2):
        model, features = spe([TREE, BOOSTER], n_jobs=n_jobs), large[NUMBERS].to_numpy()
        yield f"150,000 rows, n_jobs={n_jobs}", partial(scores, model, features, large["y"], features)


def frame_cases() -> Cases:
    few, calibrated, groups = blend(few_recipes()), spe(calibration="isotonic"), TRAIN["card"]
    for name, made in {"pandas": pd.DataFrame, "polars": pl.from_pandas, "pyarrow": pa.Table.from_pandas}.items():
        (X, X_test), (read, read_test), (all_kinds, all_kinds_test) = (
            (made(TRAIN[columns]), made(TEST[columns])) for columns in (NUMBERS, AS_THEY_ARE, FEATURES)
        )
        yield f"{name}: trees", partial(scores, spe(TREE), X, TRAIN["y"], X_test)
        yield f"{name}: categories", partial(scores, spe(), read, TRAIN["y"], read_test)
        yield f"{name}: groups", partial(scores, calibrated, read, TRAIN["three"], read_test, groups=groups)
        yield f"{name}: blend", partial(scores, few, all_kinds, TRAIN["y"], all_kinds_test, groups=groups)


def written(frame: pd.DataFrame, folder: Path) -> dict[str, Path]:
    """The rows as a file of each format, and as a folder of files."""
    paths = {kind: folder / f"rows.{kind}" for kind in ("parquet", "csv", "feather", "jsonl")} | {"parts": folder / "p"}
    paths["parts"].mkdir(parents=True)
    frame.to_parquet(paths["parquet"], row_group_size=700)
    frame.to_csv(paths["csv"], index=False)
    frame.to_feather(paths["feather"])
    frame.to_json(paths["jsonl"], orient="records", lines=True, date_format="iso")
    for number, places in enumerate(np.array_split(np.arange(len(frame)), 3)):
        frame.iloc[places].to_parquet(paths["parts"] / f"{number}.parquet", row_group_size=200)
    return paths


def file_cases(folder: Path) -> Cases:
    train, test = written(TRAIN, folder / "train"), written(TEST, folder / "test")
    large, read = written(rows(30_000, 150, seed=3), folder / "large")["parts"], {"target": "y", "columns": FEATURES}
    for kind in train:
        yield f"files: {kind}", partial(table_scores, spe(), train[kind], test[kind], **read)
    for given in READING:
        model = spe(calibration="sigmoid", n_jobs=2)
        yield f"files: {given}", partial(table_scores, model, train["parts"], test["csv"], **read | given)
    for name in OF_TABLES:
        model = public(name)(BOOSTER, n_estimators=4, random_state=0)
        yield f"files: {name}", partial(table_scores, model, train["parts"], test["parquet"], **read)
    several = spe([BOOSTER, TREE])
    yield "files: 30,000 rows", partial(table_scores, several, large, large, target="y", columns=NUMBERS)
    for name, model in {"few": blend(few_recipes(), n_jobs=2), "default": blend()}.items():
        yield f"files: blend of {name} recipes", partial(table_scores, model, train["parts"], test["csv"], **read)
    yield "files: blend of 30,000 rows", partial(table_scores, blend(few_recipes()), large, test["parts"], **read)


def model_cases(folder: Path) -> Cases:
    """Everything that gives scores of a fitted model. ONNX cannot hold all members of a blend of strings."""
    for options in ({"calibration": None}, {"calibration": "beta", "n_jobs": 2}):
        model = blend(few_recipes(), **options)
        yield f"blend: {options}", partial(scores, model, TRAIN[FEATURES], TRAIN["y"], TEST[FEATURES])
    X, X_test = TRAIN[NUMBERS].to_numpy(), TEST[NUMBERS].to_numpy()
    yield "default blend, n_jobs=2", partial(scores, blend(n_jobs=2), X, TRAIN["y"], X_test)
    yield from of_model("trees", spe(TREE), X, "three", X_test, folder)
    yield from of_model("default blend", blend(), X, "y", X_test, folder)
    of_boosters = spe(calibration="isotonic")
    yield from of_model("boosters", of_boosters, TRAIN[AS_THEY_ARE], "y", TEST[AS_THEY_ARE], folder)
    yield from of_model("default blend of a frame", blend(), TRAIN[FEATURES], "y", TEST[FEATURES], None)


def of_model(name: str, unfitted: Any, X: Any, target: str, X_test: Any, folder: Path | None) -> Cases:
    model, is_frame = cache(partial(unfitted.fit, X, TRAIN[target])), isinstance(X, pd.DataFrame)

    def of_single_rows() -> Any:
        scorer = attribute(model(), "row_scorer")()
        return [scorer.predict_proba(row) for row in (X_test[:40].to_dict("records") if is_frame else X_test[:40])]

    def loaded() -> Any:
        with TemporaryDirectory() as place:
            path = selfpaced.save_model(model(), Path(place) / "model.skops")
            return selfpaced.load_model(path).predict_proba(X_test)

    def exported() -> Any:
        codes = X_test.assign(shop=X_test["shop"].cat.codes.replace(-1, np.nan)) if is_frame else X_test
        session = onnxruntime.InferenceSession(export_onnx(model(), folder / f"{name}.onnx"))
        return session.run(["probabilities"], {"X": np.asarray(codes, dtype=np.float64)})[0]

    def suspects() -> Any:
        found = model().suspects(X, TRAIN[target], 20)
        return np.concatenate([found.rows, found.doubts])

    def recalibrated() -> Any:
        return attribute(deepcopy(model()), "recalibrated")(X_test, TEST[target]).predict_proba(X_test)

    yield f"{name}: probabilities", lambda: model().predict_proba(X_test)
    yield f"{name}: stages", lambda: np.concatenate(list(model().staged_predict_proba(X_test)))
    yield f"{name}: spread", lambda: np.concatenate(list(model().predict_proba_spread(X_test)))
    yield f"{name}: single rows", of_single_rows
    yield f"{name}: saved and loaded", loaded
    yield f"{name}: suspects", suspects
    yield f"{name}: recalibrated", recalibrated
    if folder is not None:
        yield f"{name}: ONNX", exported
    if hasattr(unfitted, "recipes"):
        yield f"{name}: recipes", lambda: [[each.aucprc, each.weight] for each in model().recipes_]


def dask_cases() -> Cases:
    from dask.dataframe import from_pandas
    from distributed import Client, LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        frame = from_pandas(TRAIN[[*FEATURES, "y", "number"]], npartitions=3)

        def own(kind: type, **options: Any) -> Any:
            model = kind(**options, random_state=0, client=client).fit(frame, "y", ids="number")
            return model.predict_proba(frame[FEATURES]).compute()

        yield from cluster_cases("Dask", frame, own, client=client)


def spark_cases() -> Cases:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}
    with SparkSession.builder.master("local[2]").config(map=settings).getOrCreate() as session:
        session.sparkContext.setLogLevel("OFF")
        frame = session.createDataFrame(pa.Table.from_pandas(TRAIN.astype({"shop": "str"}))).repartition(3)

        def own(kind: type, **options: Any) -> Any:
            model = kind(**options, seed=0, features_col=FEATURES, label_col="y", id_col="number").fit(frame)
            found = model.transform(frame).orderBy("number").select("probability").collect()
            return [row.probability.toArray() for row in found]

        yield from cluster_cases("Spark", frame, own)


def cluster_cases(engine: str, frame: Any, own: Callable[..., Any], **reading: Any) -> Cases:
    """Ensembles that read a table of a cluster, and the estimators of the cluster."""

    def from_table(model: Any, fit_on: str) -> Any:
        roles = {"target": "y", "columns": FEATURES, "id_column": "number", "fit_on": fit_on}
        return model.fit_table(call(selfpaced.open_table, frame, **roles, **reading)).predict_proba(TEST[FEATURES])

    for fit_on in ("driver", "executor") if engine == "Dask" else ("driver",):
        for name in OF_TABLES:
            model = public(name)(BOOSTER, n_estimators=3, random_state=0)
            yield f"{engine}: {name} on the {fit_on}", partial(from_table, model, fit_on)
    yield f"{engine}: calibrated", partial(from_table, spe(calibration="isotonic"), "driver")
    yield f"{engine}: blend", partial(from_table, blend(few_recipes()), "driver")
    own_kinds = {name: {"estimator": BOOSTER, "n_estimators": 3} for name in ON_CLUSTERS}
    for name, options in {**own_kinds, "AutoSelfPacedClassifier": {"recipes": few_recipes()}}.items():
        kind = public(engine + name, f"selfpaced.clusters.{engine.lower()}", f"selfpaced.{engine.lower()}")
        yield f"{engine}{name}", partial(own, kind, **options)


def started(cases: Cases) -> Cases:
    """The cases of a group. If it cannot start, as a cluster without Java, they are missing, and the others run."""
    try:
        yield from cases
    except Exception as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)


def digest(case: Callable[[], Any]) -> str:
    try:
        return hashlib.sha256(np.ascontiguousarray(case(), dtype=np.float64).tobytes()).hexdigest()
    except Exception as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return f"error: {type(error).__name__}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the results to this file")
    parser.add_argument("--compare", type=Path, metavar="FILE", help="name the results that differ from this file")
    parser.add_argument("--clusters", action="store_true", help="also train on Dask and Spark")
    parser.add_argument("--only", default="", metavar="REGEX", help="only the cases with matching names")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"scores of {selfpaced.__file__}", file=sys.stderr)

    def is_asked_for(case: str) -> bool:
        return bool(re.search(given.only, case)) and (given.clusters or not case.startswith(("Dask", "Spark")))

    found = {}
    with TemporaryDirectory() as name:
        on_clusters = [dask_cases(), spark_cases()] if given.clusters else []
        groups = [array_cases(), frame_cases(), file_cases(Path(name)), model_cases(Path(name)), *on_clusters]
        for case, run in chain(*map(started, groups)):
            if is_asked_for(case):
                begin = time.perf_counter()
                found[case] = digest(run)
                seconds = time.perf_counter() - begin
                print(f"{seconds:6.1f} s  {found[case][:20]:20}  {case}", file=sys.stderr, flush=True)
    if given.write:
        given.write.write_text(json.dumps(found, indent=1) + "\n")
    if not given.compare:
        return 0
    before = {case: value for case, value in json.loads(given.compare.read_text()).items() if is_asked_for(case)}
    pairs = {case: (before.get(case, "missing"), found.get(case, "missing")) for case in before | found}
    differing = [f"{case}: {old[:20]} before, {new[:20]} now" for case, (old, new) in pairs.items() if old != new]
    print("\n".join([*differing, f"{len(pairs) - len(differing)} of {len(pairs)} cases are the same."]))
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
