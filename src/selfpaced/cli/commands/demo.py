"""The demonstration: Self-paced Ensemble compared with other methods on two generated tables, a picture, a report."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from selfpaced.cli.commands.compare import Method, Task, judged, single_models
from selfpaced.cli.opening import check_output
from selfpaced.cli.output import progress_bars
from selfpaced.datasets import make_checkerboard, make_fraud
from selfpaced.ensembles import SelfPacedEnsembleClassifier

BAR_WIDTH = 24
# The picture of the checkerboard: characters by score, and its size.
SHADES = " ░▒▓█"
PICTURE_WIDTH, PICTURE_HEIGHT = 56, 28


def run(options: Namespace) -> None:
    """Print the AUCPRC of every method on both tables, line by line, draw the checkerboard, and write a report."""
    page = check_output(options.report, [".html"])
    tree = DecisionTreeClassifier(max_depth=10)
    both = {"tree": tree, "gradient boosting": _booster()}
    board = _compare("The paper's checkerboard", _checkerboard(options.seed), {"tree": tree}, options.seed)
    print(f"\nThe scores of Self-paced Ensemble on the checkerboard, the darker the higher:\n\n{_picture(board)}")
    task = _transactions(options.seed)
    model = _compare("A table of transactions", task, both, options.seed)
    print(
        "\nAUCPRC is the area under the precision-recall curve on held-out rows: 1 is perfect, and chance is the\n"
        "share of rare rows. Times are for training and scoring on one core. The data are generated: --seed 1\n"
        "makes others."
    )
    report = model.report(task.X_test, task.y_test, target="is_fraud", title="Generated transactions")
    report.save(page)
    print(f"\nA report on the last model is in {page}. Open it in a browser.")
    print("Try your own table: selfpaced train FILE --target COLUMN --report report.html")


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


def _compare(title: str, task: Task, bases: dict[str, Any], seed: int) -> Any:
    """Print the results of all methods, and return the last model: Self-paced Ensemble of the last base model."""
    n_rows, n_rare = task.y.size, int(task.y.sum())
    print(f"\n{title}: {n_rows:,} rows, {n_rare:,} of them rare (1 in {n_rows / n_rare:.0f})")
    print(f"{'':<48}{'AUCPRC':<{BAR_WIDTH + 9}}{'trained on':>13}{'time':>10}")
    print(_line("chance", task.y_test.mean(), "", ""))
    for name, base in bases.items():
        for method in _methods(name, base, task, seed):
            with threadpool_limits(1):  # one core for everyone: times that compare, on a busy machine too
                found, _ = judged(method, task)
            assert found.aucprc is not None
            rows = _rows_trained_on(method.model, found.n_rows)
            print(_line(method.name, found.aucprc, rows, f"{found.seconds:.1f} s"), flush=True)
    return method.model


def _picture(model: Any) -> str:
    """The scores of a model over the area of the checkerboard, one character for each place."""
    across, down = np.linspace(-0.7, 3.7, PICTURE_WIDTH), np.linspace(3.7, -0.7, PICTURE_HEIGHT)
    places = np.column_stack([np.tile(across, PICTURE_HEIGHT), np.repeat(down, PICTURE_WIDTH)])
    scores = model.predict_proba(places)[:, 1].reshape(PICTURE_HEIGHT, PICTURE_WIDTH)
    shades = np.minimum((scores * len(SHADES)).astype(int), len(SHADES) - 1)
    return "\n".join("  " + "".join(SHADES[shade] for shade in line).rstrip() for line in shades)


def _methods(name: str, base: Any, task: Task, seed: int) -> Iterator[Method]:
    yield from single_models(name, base, task, seed)
    settings: dict[str, Any] = {"random_state": seed, "callbacks": progress_bars()}
    yield Method(f"{name} x 10, random under-samples", SelfPacedEnsembleClassifier(base, n_bins=1, **settings))
    yield Method(f"{name} x 10, Self-paced Ensemble", SelfPacedEnsembleClassifier(base, **settings))


def _rows_trained_on(model: Any, n_rows: int) -> str:
    if not isinstance(model, SelfPacedEnsembleClassifier):
        return f"{n_rows:,}"
    return f"{len(model.estimators_)} x {model.rounds_[-1].n_rows:,}"


def _line(method: str, score: float, rows: str, seconds: str) -> str:
    bar = "█" * round(score * BAR_WIDTH)
    return f"  {method:<46}{score:.3f} {bar:<{BAR_WIDTH + 3}}{rows:>13}{seconds:>10}"
