"""The demonstration: Self-paced Ensemble beside what one would do otherwise, on two generated tables."""

from __future__ import annotations

import sys
import time
from argparse import Namespace
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import average_precision_score
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from selfpaced import SelfPacedEnsembleClassifier
from selfpaced.callbacks import Callback, ProgressBar
from selfpaced.datasets import make_checkerboard, make_fraud

BAR_WIDTH = 24


@dataclass(frozen=True)
class Problem:
    """Rows to train on and rows to be judged by."""

    title: str
    X: NDArray[np.float64]
    y: NDArray[np.int64]
    X_test: NDArray[np.float64]
    y_test: NDArray[np.int64]


def run(options: Namespace) -> None:
    run_demo(options.seed)


def run_demo(seed: int) -> None:
    """Print, line by line as results come in, the AUCPRC of every method on both tables."""
    tree = DecisionTreeClassifier(max_depth=10)
    boosting = HistGradientBoostingClassifier(max_iter=50)
    _compare(_checkerboard(seed), {"tree": tree}, seed)
    _compare(_fraud_table(seed), {"tree": tree, "gradient boosting": boosting}, seed)
    print(
        "\nAUCPRC is the area under the precision-recall curve on rows not trained on: 1 is perfect, and chance\n"
        "is the share of rare rows. Times are on one core. The data are generated: --seed 1 makes others.\n"
        "Try your own data: SelfPacedEnsembleClassifier(your_model).fit(X, y)"
    )


def _checkerboard(seed: int) -> Problem:
    X, y = make_checkerboard(random_state=2 * seed)
    return Problem("The paper's checkerboard", X, y, *make_checkerboard(random_state=2 * seed + 1))


def _fraud_table(seed: int) -> Problem:
    X, y = make_fraud(n_rows=200_000, random_state=seed)
    return Problem("A table of transactions", X[::2], y[::2], X[1::2], y[1::2])


def _compare(problem: Problem, bases: dict[str, Any], seed: int) -> None:
    n_rows, n_rare = problem.y.size, int(problem.y.sum())
    chance = problem.y_test.mean()
    print(f"\n{problem.title}: {n_rows:,} rows, {n_rare:,} of them rare (1 in {n_rows / n_rare:.0f})")
    print(f"{'':<48}{'AUCPRC':<{BAR_WIDTH + 9}}{'trained on':>13}{'time':>10}")
    print(_line("chance", chance, "", ""))
    for name, base in bases.items():
        for method, model, X, y in _methods(name, base, problem, seed):
            begin = time.perf_counter()
            with threadpool_limits(1):  # one core for everyone: times that compare, on a busy machine too
                model.fit(X, y)
            seconds = time.perf_counter() - begin
            score = average_precision_score(problem.y_test, model.predict_proba(problem.X_test)[:, 1])
            print(_line(method, score, _rows_trained_on(model, y), f"{seconds:.1f} s"), flush=True)


def _methods(name: str, base: Any, problem: Problem, seed: int) -> Iterator[tuple[str, Any, Any, Any]]:
    """Each way to deal with the rare class: what it is called, the model, and the rows it is given."""
    X, y = problem.X, problem.y
    one = clone(base).set_params(random_state=seed)
    yield f"{name}, all rows", one, X, y
    yield f"{name}, class weights", clone(one).set_params(class_weight="balanced"), X, y
    balanced = _random_under_sample(y, seed)
    yield f"{name}, random under-sample", clone(one), X[balanced], y[balanced]
    settings: dict[str, Any] = {"random_state": seed, "callbacks": _progress()}
    yield f"{name} x 10, random under-samples", SelfPacedEnsembleClassifier(base, n_bins=1, **settings), X, y
    yield f"{name} x 10, Self-paced Ensemble", SelfPacedEnsembleClassifier(base, **settings), X, y


def _random_under_sample(y: NDArray[np.int64], seed: int) -> NDArray[np.intp]:
    common, rare = np.flatnonzero(y == 0), np.flatnonzero(y == 1)
    drawn = np.random.default_rng(seed).choice(common, size=rare.size, replace=False)
    return np.concatenate([rare, drawn])


def _rows_trained_on(model: Any, y: NDArray[np.int64]) -> str:
    if not isinstance(model, SelfPacedEnsembleClassifier):
        return f"{y.size:,}"
    return f"{len(model.estimators_)} x {model.rounds_[-1].n_rows:,}"


def _line(method: str, score: float, rows: str, seconds: str) -> str:
    bar = "█" * round(score * BAR_WIDTH)
    return f"  {method:<46}{score:.3f} {bar:<{BAR_WIDTH + 3}}{rows:>13}{seconds:>10}"


def _progress() -> list[Callback]:
    """A bar for whoever watches a terminal and has rich; the lines that come one by one are progress enough without."""
    if not sys.stderr.isatty():
        return []
    try:
        import rich  # noqa: F401
    except ImportError:
        return []
    return [ProgressBar()]
