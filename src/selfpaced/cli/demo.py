"""The demonstration: Self-paced Ensemble beside what one would do otherwise, on two generated tables."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Iterator
from typing import Any

from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from selfpaced import SelfPacedEnsembleClassifier
from selfpaced._jobs.compare import judged
from selfpaced._jobs.methods import Method, Task, single_models
from selfpaced.callbacks import Callback, ProgressBar
from selfpaced.datasets import make_checkerboard, make_fraud

BAR_WIDTH = 24


def run(options: Namespace) -> None:
    """Print, line by line as results come in, the AUCPRC of every method on both tables."""
    tree = DecisionTreeClassifier(max_depth=10)
    both = {"tree": tree, "gradient boosting": _booster()}
    _compare("The paper's checkerboard", _checkerboard(options.seed), {"tree": tree}, options.seed)
    _compare("A table of transactions", _transactions(options.seed), both, options.seed)
    print(
        "\nAUCPRC is the area under the precision-recall curve on rows not trained on: 1 is perfect, and chance\n"
        "is the share of rare rows. Times are for training and scoring on one core. The data are generated:\n"
        "--seed 1 makes others. Try your own data: SelfPacedEnsembleClassifier(your_model).fit(X, y)"
    )


def _booster() -> Any:
    """LightGBM trains members of a few hundred rows in a tenth of the time of scikit-learn's boosting."""
    try:
        from lightgbm import LGBMClassifier
    except ImportError:
        return HistGradientBoostingClassifier(max_iter=50)
    return LGBMClassifier(n_estimators=50, n_jobs=1, verbose=-1)


def _checkerboard(seed: int) -> Task:
    (X, y), (X_test, y_test) = (make_checkerboard(random_state=2 * seed + part) for part in (0, 1))
    return Task(X, y == 1, X_test, y_test == 1)


def _transactions(seed: int) -> Task:
    X, y = make_fraud(n_rows=200_000, random_state=seed)
    return Task(X[::2], y[::2] == 1, X[1::2], y[1::2] == 1)


def _compare(title: str, task: Task, bases: dict[str, Any], seed: int) -> None:
    n_rows, n_rare = task.y.size, int(task.y.sum())
    print(f"\n{title}: {n_rows:,} rows, {n_rare:,} of them rare (1 in {n_rows / n_rare:.0f})")
    print(f"{'':<48}{'AUCPRC':<{BAR_WIDTH + 9}}{'trained on':>13}{'time':>10}")
    print(_line("chance", task.y_test.mean(), "", ""))
    for name, base in bases.items():
        for method in _methods(name, base, task, seed):
            with threadpool_limits(1):  # one core for everyone: times that compare, on a busy machine too
                found = judged(method, task)
            assert found.aucprc is not None
            rows = _rows_trained_on(method.model, found.n_rows)
            print(_line(method.name, found.aucprc, rows, f"{found.seconds:.1f} s"), flush=True)


def _methods(name: str, base: Any, task: Task, seed: int) -> Iterator[Method]:
    yield from single_models(name, base, task, seed)
    settings: dict[str, Any] = {"random_state": seed, "callbacks": _progress()}
    yield Method(f"{name} x 10, random under-samples", SelfPacedEnsembleClassifier(base, n_bins=1, **settings))
    yield Method(f"{name} x 10, Self-paced Ensemble", SelfPacedEnsembleClassifier(base, **settings))


def _rows_trained_on(model: Any, n_rows: int) -> str:
    if not isinstance(model, SelfPacedEnsembleClassifier):
        return f"{n_rows:,}"
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
