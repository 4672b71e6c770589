"""Methods compared on the same rows: `selfpaced compare` on a table, `selfpaced demo` on generated ones."""

import time
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter
from threadpoolctl import threadpool_limits

from selfpaced import ensembles
from selfpaced.baselines import EasyEnsembleClassifier, RUSBoostClassifier
from selfpaced.cli.bases import ALL_ROWS, base_named
from selfpaced.cli.columns import Floats, Mask
from selfpaced.cli.commands.train import N_BINS, N_MEMBERS, auto_model, open_data
from selfpaced.cli.opening import check_output
from selfpaced.cli.output import Talk, kept_warnings, progress_bars, records
from selfpaced.cli.request import AUTO, TrainRequest, check_time_limit
from selfpaced.cli.splitting import TrainingData
from selfpaced.datasets import make_checkerboard, make_fraud
from selfpaced.ensembles import auto
from selfpaced.exceptions import TableError
from selfpaced.metrics import aucprc, resampled
from selfpaced.model import named_among
from selfpaced.report import html
from selfpaced.storage import write_whole
from selfpaced.tables.files import StreamedTable
from selfpaced.thresholds import CONFIDENCE, Interval, middle_of

# The method that all others are compared with.
CHOSEN = "AutoSelfPaced"
# The usual numbers. Three times as many are three times as slow and hardly better.
N_TREES = N_ROUNDS = 100
N_CATBOOST_ROUNDS = 300


@dataclass(frozen=True)
class Task:
    """Rows to train on and test rows, as frames or arrays; y says which rows are rare.

    `groups` are those of the rows to train on, for models whose `fit` takes groups.
    """

    X: Any
    y: Mask
    X_test: Any
    y_test: Mask
    groups: NDArray[Any] | None = None


@dataclass(frozen=True)
class Method:
    name: str
    model: Any
    rows: NDArray[np.intp] | None = None  # the positions of its training rows; None for all rows
    # What it reads of the features. Boosting could not weight the rows of a pipeline, which would encode them.
    read: Callable[[Any], Any] = lambda X: X


def methods_for(request: TrainRequest, columns: auto.Columns, task: Task) -> Iterator[Method]:
    """All methods, made one by one as they are tried."""
    name = request.base
    if name == AUTO:
        name = "lightgbm" if find_spec("lightgbm") is not None else "gbdt"
    base = base_named(name, columns, request.seed)
    yield Method(CHOSEN, auto_model(request, calibration=None))  # a calibration does not change the ranking
    yield from _ensembles(request, base)
    if request.base != AUTO:
        yield from single_models("plain lightgbm" if name == ALL_ROWS else Path(name).name, base, task, request.seed)
    for method in _alternatives(columns, request.seed):
        seeded(with_threads(method.model, request.n_jobs), request.seed)
        yield method


def _ensembles(request: TrainRequest, base: Any) -> Iterator[Method]:
    n_members = N_MEMBERS if request.members is None else request.members
    n_bins = N_BINS if request.bins is None else request.bins
    how: dict[str, Any] = {"n_estimators": n_members, "random_state": request.seed, "n_jobs": request.n_jobs}
    boosting = {name: value for name, value in how.items() if name != "n_jobs"}
    yield Method("Self-paced Ensemble", ensembles.SelfPacedEnsembleClassifier(base, n_bins=n_bins, **how))
    yield Method("BalanceCascade", ensembles.BalanceCascadeClassifier(base, **how))
    yield Method("under-bagging", ensembles.UnderBaggingClassifier(base, **how))
    yield Method("EasyEnsemble", EasyEnsembleClassifier(**how), read=as_numbers)
    yield Method("RUSBoost", RUSBoostClassifier(_last_step(base), **boosting), read=as_numbers)


def single_models(name: str, base: Any, task: Task, seed: int) -> Iterator[Method]:
    """Ways to train one base model: on all rows, with class weights if it has them, and on a random under-sample."""
    alone = seeded(clone(base), seed)
    yield Method(f"{name}, all rows", alone)
    balanced = with_class_weights(clone(alone))
    if balanced is not None:
        yield Method(f"{name}, class weights", balanced)
    yield Method(f"{name}, random under-sample", clone(alone), _under_sample(task.y, seed))


def _alternatives(columns: auto.Columns, seed: int) -> Iterator[Method]:
    """Models that are often trained on all rows of such tables, as far as their packages are installed."""
    from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier

    if find_spec("lightgbm") is not None:
        plain = auto.lightgbm(columns, n_estimators=N_ROUNDS)
        yield Method(f"LightGBM, {N_ROUNDS} rounds", plain)
        yield Method("LightGBM, class weights", with_class_weights(clone(plain)))
    for name, forest in (("extra trees", ExtraTreesClassifier), ("random forest", RandomForestClassifier)):
        yield Method(f"{name}, {N_TREES} trees", auto.with_codes(forest(N_TREES), columns.categorical))
    if find_spec("xgboost") is not None:
        from xgboost import XGBClassifier

        # It refuses some characters in the names of columns, so these are numbers too.
        yield Method(f"XGBoost, {N_ROUNDS} rounds", XGBClassifier(n_estimators=N_ROUNDS), read=_numbered)
    if find_spec("catboost") is not None:
        model = auto.catboost(columns, iterations=N_CATBOOST_ROUNDS, random_seed=seed)
        yield Method(f"CatBoost, {N_CATBOOST_ROUNDS} rounds", model)


def as_numbers(frame: Any) -> Any:
    """A frame with the codes of its categories."""
    categorical = frame.select_dtypes("category").columns
    return frame.assign(**{name: frame[name].cat.codes.astype(float) for name in categorical})


def _numbered(frame: Any) -> Any:
    return auto.numbered_columns(as_numbers(frame))


def _last_step(base: Any) -> Any:
    return base[-1] if hasattr(base, "steps") else base


def seeded(model: Any, seed: int) -> Any:
    return model.set_params(**dict.fromkeys(_parameters(model, "random_state"), seed))


def with_threads(model: Any, n_jobs: int) -> Any:
    """The model with a number of threads, if it has such a parameter. Encoders before it need no threads."""
    last = _last_step(model)
    if "n_jobs" in last.get_params():
        last.set_params(n_jobs=n_jobs)
    return model


def with_class_weights(model: Any) -> Any:
    """The model with balanced class weights; None if it does not support them."""
    names = _parameters(model, "class_weight")
    return model.set_params(**dict.fromkeys(names, "balanced")) if names else None


def _parameters(model: Any, parameter: str) -> list[str]:
    return [name for name in model.get_params() if name.rpartition("__")[2] == parameter]


def _under_sample(is_rare: Mask, seed: int) -> NDArray[np.intp]:
    rare, common = np.flatnonzero(is_rare), np.flatnonzero(~is_rare)
    drawn = np.random.default_rng(seed).choice(common, size=min(rare.size, common.size), replace=False)
    return np.sort(np.concatenate([rare, drawn]))


@dataclass(frozen=True)
class Compared:
    """A method, its figures on the test rows and its cost, or the reason why it failed."""

    method: str
    aucprc: float | None
    seconds: float  # the time for training and for scoring the test rows
    n_rows: int  # the number of rows that its models were trained on, added up
    failure: str | None = None
    warnings: tuple[str, ...] = ()  # the warnings of its training
    interval: Interval | None = None  # the interval of the AUCPRC, over draws of the test rows
    # How much higher its AUCPRC is than that of `AutoSelfPaced`, over the same draws for both.
    ahead: float | None = None
    ahead_interval: Interval | None = None


@dataclass(frozen=True)
class Comparison:
    """All methods on one table, best first; `chance` is the share of rare rows."""

    methods: list[Compared]
    n_train: int
    n_test: int
    chance: float


def compare(request: TrainRequest, on_result: Callable[[Compared], None] = lambda one: None) -> Comparison:
    """Train and judge each method in turn. `on_result` is called with each result as soon as it is known."""
    check_time_limit(request.time_limit)
    request.check_times()
    data = open_data(request)
    if not data.facts.in_memory:
        raise TableError("The table is too large for a comparison in memory. Give a smaller part of it.")
    task = task_of(request, data)
    methods, scores = [], {}
    for method in methods_for(request, auto.columns_of(None, data.facts.schema), task):
        found, given = _tried(method, task)
        methods.append(found)
        if given is not None:
            scores[method.name] = given
        on_result(found)
    sure = with_intervals(methods, scores, task.y_test)
    best_first = sorted(sure, key=lambda one: -1 if one.aucprc is None else one.aucprc, reverse=True)
    return Comparison(best_first, len(task.y), len(task.y_test), float(task.y_test.mean()))


def task_of(request: TrainRequest, data: TrainingData) -> Task:
    rare, train, test = data.facts.labels.score_label(data.facts.pos_label), data.train, data.test
    is_rare = [_has_label(part, rare) for part in (train, test)]
    groups = None if request.group is None else np.asarray(train.column(request.group).to_pylist(), dtype=object)
    return Task(train.features(), is_rare[0], test.features(), is_rare[1], groups)


def _has_label(part: StreamedTable, label: Any) -> Mask:
    labels = part.labels()
    return np.asarray(labels.codes == labels.names.index(named_among(labels.names, label)))


def with_intervals(methods: list[Compared], scores: Mapping[str, Floats], is_rare: Mask) -> list[Compared]:
    """The methods with the intervals of their AUCPRC, and of its difference to that of `AutoSelfPaced`."""
    draws, sure = resampled(is_rare, scores), []
    ours = next((one.aucprc for one in methods if one.method == CHOSEN), None)
    for one in methods:
        if one.aucprc is not None:
            own = draws[one.method]
            one = replace(one, interval=middle_of(own))
            if ours is not None and one.aucprc is not None and one.method != CHOSEN:
                one = replace(one, ahead=one.aucprc - ours, ahead_interval=middle_of(own - draws[CHOSEN]))
        sure.append(one)
    return sure


def judged(method: Method, task: Task) -> tuple[Compared, Floats]:
    X = task.X.iloc if hasattr(task.X, "iloc") else task.X
    rows = slice(None) if method.rows is None else method.rows
    takes_groups = task.groups is not None and has_fit_parameter(method.model, "groups")
    along = {} if task.groups is None or not takes_groups else {"groups": task.groups[rows]}
    begin = time.perf_counter()
    method.model.fit(method.read(X[rows]), task.y[rows], **along)
    scores = np.asarray(method.model.predict_proba(method.read(task.X_test))[:, 1], dtype=np.float64)
    seconds = time.perf_counter() - begin
    n_rows = _rows_trained_on(method.model, len(task.y[rows]))
    return Compared(method.name, aucprc(task.y_test, scores), seconds, n_rows), scores


def _tried(method: Method, task: Task) -> tuple[Compared, Floats | None]:
    begin = time.perf_counter()
    try:
        with kept_warnings() as warned_of:
            found, scores = judged(method, task)
        return replace(found, warnings=tuple(warned_of)), scores
    except Exception as error:  # other libraries raise errors of all kinds; the other methods are compared nevertheless
        reason = " ".join(str(error).split())
        return Compared(method.name, None, time.perf_counter() - begin, 0, reason), None


def _rows_trained_on(model: Any, n_rows: int) -> int:
    """The number of training rows of a model. For an ensemble, the rows of all its members are added up."""
    if hasattr(model, "rounds_"):
        return sum(round.n_rows for round in model.rounds_)
    return sum(model.n_training_rows_) if hasattr(model, "n_training_rows_") else n_rows


def _between(form: str) -> Callable[[Interval], str]:
    return lambda interval: " to ".join(format(end, form) for end in interval)


SURE = f"{CONFIDENCE:.0%} interval"
COLUMNS: html.Columns = {
    "": ("method", str),
    "AUCPRC": ("aucprc", html.decimals),
    SURE: ("interval", _between(".3f")),
    f"to {CHOSEN}": ("ahead", "{:+.3f}".format),
    f"its {SURE}": ("ahead_interval", _between("+.3f")),
    "seconds": ("seconds", "{:.1f}".format),
    "trained on": ("n_rows", html.whole),
}
LONGEST_REASON = 120


def run(options: Namespace) -> None:
    talk = Talk(options)
    picture = None if options.picture is None else check_output(options.picture, [".svg"])

    def tell(one: Compared) -> None:
        if one.aucprc is None:
            talk.say(f"{one.method}: failed. {html.shortened(one.failure or '', LONGEST_REASON)}")
        else:
            talk.say(f"{one.method}: AUCPRC {one.aucprc:.3f} in {one.seconds:.1f} s")
        for warning in one.warnings:
            talk.warn(f"{one.method}: {warning}")

    comparison = compare(TrainRequest.of(options), tell)
    talk.say(
        f"\nTrained on {comparison.n_train:,} rows, judged on {comparison.n_test:,} others; chance is "
        f"{comparison.chance:.4f}. Best first. Intervals are over random draws of the test rows, the same for all "
        f"methods. A difference to {CHOSEN} whose interval contains 0 may be chance.\n"
    )
    talk.say(records(COLUMNS, [one for one in comparison.methods if one.aucprc is not None]))
    if picture is not None:
        write_whole(picture, drawn(comparison))
        talk.say(f"\nThe picture is in {picture}.")
    talk.result(asdict(comparison))


WIDTH, LINE = 760, 28
AXIS = html.Axis(0.0, 1.0, start=270, stop=560)
STYLE = html.Html("""
text { font: 14px system-ui, sans-serif; fill: #222 } .grey { fill: #666 }
rect { fill: #9db7d5 } .best { fill: #1f5fa8 } line { stroke: #111; stroke-width: 1.5 }
.chance { stroke: #c33; stroke-dasharray: 3 3; stroke-width: 1 }
@media (prefers-color-scheme: dark) {
  text { fill: #eee } .grey { fill: #aaa } rect { fill: #46648a } .best { fill: #7fb2ec } line { stroke: #fff }
  .chance { stroke: #f77 }
}
""")


def drawn(comparison: Comparison) -> str:
    """An SVG file for pages and slides. It follows the light or dark mode of the page."""
    methods = [one for one in comparison.methods if one.aucprc is not None]
    height, chance = LINE * (len(methods) + 3), AXIS(comparison.chance)
    held_out = f"AUCPRC on {comparison.n_test:,} rows held out, with {CONFIDENCE:.0%} intervals"
    picture = html.drawing(
        f"AUCPRC of {len(methods)} methods on the same rows",
        ", ".join(f"{one.method} {one.aucprc:.3f}" for one in methods),
        WIDTH,
        height,
        html.element("style", STYLE),
        html.text(AXIS.start, 20, held_out, "grey"),
        [_bar(place, one) for place, one in enumerate(methods)],
        html.line((chance, LINE), (chance, height - LINE), "chance"),
        html.text(chance + 4, height - 10, f"chance {comparison.chance:.4f}", "grey"),
        xmlns="http://www.w3.org/2000/svg",
    )
    return f"{picture}\n"


def _bar(place: int, one: Compared) -> html.Html:
    assert one.aucprc is not None
    top, end, whisker = LINE * (place + 1), AXIS(one.aucprc), []
    y, (low, high) = top + LINE / 2, (end, end) if one.interval is None else map(AXIS, one.interval)
    if one.interval is not None:
        ends = [html.line((x, y - 4), (x, y + 4), "whisker-end") for x in (low, high)]
        whisker = [html.line((low, y), (high, y), "whisker"), *ends]
    return html.joined(
        html.text(AXIS.start - 10, top + 18, one.method, "name", "end"),
        html.rectangle(AXIS.start, top + 5, end - AXIS.start, LINE - 10, "best" if place == 0 else "bar"),
        whisker,
        html.text(max(end, high) + 6, top + 18, f"{one.aucprc:.3f}", "value"),
        html.text(WIDTH - 10, top + 18, f"{one.seconds:.1f} s", "grey", "end"),
    )


# The width of a bar of the demonstration, and the characters and the size of its picture.
BAR_WIDTH, SHADES, PICTURE_WIDTH, PICTURE_HEIGHT = 24, " ░▒▓█", 56, 28


def run_demo(options: Namespace) -> None:
    """Print the AUCPRC of every method on both tables, line by line, draw the checkerboard, and write a report."""
    from sklearn.tree import DecisionTreeClassifier

    page, seed = check_output(options.report, [".html"]), options.seed
    tree = {"tree": DecisionTreeClassifier(max_depth=10)}
    (X, y), (X_test, y_test) = (make_checkerboard(random_state=2 * seed + part) for part in (0, 1))
    board = _demonstrated("The paper's checkerboard", Task(X, y == 1, X_test, y_test == 1), tree, seed)
    print(f"\nThe scores of Self-paced Ensemble on the checkerboard, the darker the higher:\n\n{_picture(board)}")
    X, y = make_fraud(n_rows=200_000, random_state=seed)
    task = Task(X[::2], y[::2] == 1, X[1::2], y[1::2] == 1)
    model = _demonstrated("A table of transactions", task, {**tree, "gradient boosting": _booster()}, seed)
    print(
        "\nAUCPRC is the area under the precision-recall curve on held-out rows: 1 is perfect, and chance is the\n"
        "share of rare rows. Times are for training and scoring on one core. The data are generated: --seed 1\n"
        "makes others."
    )
    model.report(task.X_test, task.y_test, target="is_fraud", title="Generated transactions").save(page)
    print(f"\nA report on the last model is in {page}. Open it in a browser.")
    print("Try your own table: selfpaced train FILE --target COLUMN --report report.html")


def _booster() -> Any:
    """LightGBM trains members of a few hundred rows in a tenth of the time of scikit-learn's boosting."""
    try:
        from lightgbm import LGBMClassifier
    except ImportError:
        from sklearn.ensemble import HistGradientBoostingClassifier

        return HistGradientBoostingClassifier(max_iter=50)
    return LGBMClassifier(n_estimators=50, n_jobs=1, verbose=-1)


def _demonstrated(title: str, task: Task, bases: dict[str, Any], seed: int) -> Any:
    """Print the results of all methods, and return the last model: Self-paced Ensemble of the last base model."""

    def tell(method: str, score: float, rows: str = "", seconds: str = "") -> None:
        bar = "█" * round(score * BAR_WIDTH)
        print(f"  {method:<46}{score:.3f} {bar:<{BAR_WIDTH + 3}}{rows:>13}{seconds:>10}", flush=True)

    n_rows, n_rare = task.y.size, int(task.y.sum())
    how: dict[str, Any] = {"random_state": seed, "callbacks": progress_bars()}
    print(f"\n{title}: {n_rows:,} rows, {n_rare:,} of them rare (1 in {n_rows / n_rare:.0f})")
    print(f"{'':<48}{'AUCPRC':<{BAR_WIDTH + 9}}{'trained on':>13}{'time':>10}")
    tell("chance", task.y_test.mean())
    for name, base in bases.items():
        plain = ensembles.SelfPacedEnsembleClassifier(base, n_bins=1, **how)
        self_paced = ensembles.SelfPacedEnsembleClassifier(base, **how)
        several = {f"{name} x 10, random under-samples": plain, f"{name} x 10, Self-paced Ensemble": self_paced}
        for method in (*single_models(name, base, task, seed), *(Method(*one) for one in several.items())):
            with threadpool_limits(1):  # one core for everyone: times that compare, on a busy machine too
                found, _ = judged(method, task)
            assert found.aucprc is not None
            members = f"{len(method.model.estimators_)} x " if method.name in several else ""
            rows = method.model.rounds_[-1].n_rows if members else found.n_rows
            tell(method.name, found.aucprc, f"{members}{rows:,}", f"{found.seconds:.1f} s")
    return self_paced


def _picture(model: Any) -> str:
    """The scores of a model over the area of the checkerboard, one character for each place."""
    across, down = np.linspace(-0.7, 3.7, PICTURE_WIDTH), np.linspace(3.7, -0.7, PICTURE_HEIGHT)
    places = np.column_stack([np.tile(across, PICTURE_HEIGHT), np.repeat(down, PICTURE_WIDTH)])
    scores = model.predict_proba(places)[:, 1].reshape(PICTURE_HEIGHT, PICTURE_WIDTH)
    shades = np.minimum((scores * len(SHADES)).astype(int), len(SHADES) - 1)
    return "\n".join("  " + "".join(SHADES[shade] for shade in line).rstrip() for line in shades)
