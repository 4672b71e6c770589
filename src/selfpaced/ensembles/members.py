"""Members: clones of the base models, each with its own seed, trained on a few rows."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from functools import lru_cache
from threading import Lock
from typing import Any

from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from threadpoolctl import ThreadpoolController

from selfpaced.ensembles.checks import weights_argument
from selfpaced.pools import mix

# Training sets of fewer numbers than this (rows times columns) are fitted in one thread: on a busy machine the base
# model's own threads wait for each other longer than they work.
SMALL_TRAINING_SET = 2**19
LARGEST_RANDOM_STATE = 2**31
FORESTS = (ExtraTreesClassifier, RandomForestClassifier)
# Types of base models that train without the interpreter's lock, and do not change global state.
SIDE_BY_SIDE = {
    ("lightgbm", "LGBMClassifier"),
    ("sklearn", "DecisionTreeClassifier"),
    ("sklearn", "ExtraTreeClassifier"),
}
# LightGBM's other names for n_jobs. Who gives one of them has all copies trained with so many threads.
OTHER_NAMES_FOR_JOBS = {"num_thread", "num_threads", "nthread", "nthreads"}


class MemberFactory:
    """Trains the members of one fit. The same seed and rows give the same members."""

    def __init__(
        self, bases: Sequence[Any], seed: int | None, arguments: Mapping[str, Any], n_threads: int = 1
    ) -> None:
        self._bases = bases  # which take turns
        self._seed = seed  # of every random state; None if the base models keep their own
        self._arguments = arguments  # of the base models' `fit` that are the same for every member
        self._n_threads = n_threads  # that train the trees of a forest. The trees do not depend on it.

    def fit(
        self, number: int, X: Any, y: NDArray[Any], metadata: Mapping[str, Any], *, beside_others: bool = False
    ) -> Any:
        """Train member `number`; 0 is the warm-up, where there is one. `beside_others` it gets one thread."""
        base = self._bases[number % len(self._bases)]
        parts = _parts(base)
        model = with_params(cloned(base), self._random_states(parts, number))
        if "sample_weight" in metadata:
            others = {name: value for name, value in metadata.items() if name != "sample_weight"}
            metadata = {**others, weights_argument(base) or "sample_weight": metadata["sample_weight"]}
        # The trees of a forest do not wait for each other, so that threads also help with small training sets.
        left_open = [name for name, value in _jobs(parts).items() if value is None]
        of_forests = {name: self._n_threads for name in left_open if isinstance(_owner(parts, name), FORESTS)}
        with_params(model, of_forests)
        parts |= of_forests
        if beside_others or _is_small(X):
            jobs = _jobs(parts) if beside_others else _jobs_left_open(parts)
            with_params(model, dict.fromkeys(jobs, 1) | _unlisted(parts, "thread_count", 1))
            with _one_thread():
                model.fit(X, y, **metadata, **self._arguments)
            # The user's settings: predictions use the threads they would have used.
            with_params(model, jobs)
        else:
            # LightGBM that is the same with any number of threads has those of the ensemble, and not all cores.
            open_jobs = [
                name for name in _jobs_left_open(parts) if getattr(_owner(parts, name), "deterministic", False)
            ]
            with_params(model, dict.fromkeys(open_jobs, self._n_threads)).fit(X, y, **metadata, **self._arguments)
            with_params(model, dict.fromkeys(open_jobs))
        return with_params(model, dict.fromkeys(of_forests))

    def copies_at_once(self, number: int, X: Any, n_copies: int, n_threads: int) -> int:
        """How many of the copies of a member are trained side by side, each in one thread.

        LightGBM has one number of threads for all of its models, so that each cannot have several threads. On
        many rows copies take the place of the threads that the base model would have used, unless they are far fewer.
        """
        base = self._bases[number % len(self._bases)]
        kind = type(base).__module__.partition(".")[0], type(base).__name__
        if kind not in SIDE_BY_SIDE or OTHER_NAMES_FOR_JOBS & set(base.get_params()):
            return 1
        own_threads = 1 if _is_small(X) else _threads_of(base)
        return 1 if own_threads > 2 * n_copies else min(max(n_threads, own_threads), n_copies)

    def _random_states(self, parts: Mapping[str, Any], number: int) -> dict[str, int]:
        """A seed for every random_state in a base model, nested ones too."""
        if self._seed is None:
            return {}
        names = [name for name in parts if name.rpartition("__")[2] == "random_state"]
        names = sorted({*names, *_unlisted(parts, "random_seed", None)})
        return {name: mix(self._seed, number, i) % LARGEST_RANDOM_STATE for i, name in enumerate(names)}


def cloned(base: Any) -> Any:
    """An unfitted copy. CatBoost copies lists that it is given, such as `cat_features`, which `clone` refuses."""
    if type(base).__module__.partition(".")[0] == "catboost":
        return type(base)(**deepcopy(base.get_params()))
    return clone(base)


class _OneThreadForBlas:
    """While anybody is inside, BLAS has one thread. The last one out restores what was.

    All fits of a process share one, because they share BLAS: of two fits in two threads, each with a limit of its own,
    the second would find BLAS limited by the first, and would restore that.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._n_inside = 0
        self._limit: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if self._n_inside == 0:
                self._limit = _thread_pools(len(sys.modules)).limit(limits=1, user_api="blas")
            self._n_inside += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._n_inside -= 1
            if self._n_inside == 0:
                self._limit.restore_original_limits()


_ONE_THREAD_FOR_BLAS = _OneThreadForBlas()


@contextmanager
def _one_thread() -> Iterator[None]:
    """Limit the thread pools of libraries. A limit of OpenMP is that of the thread that sets it."""
    with _ONE_THREAD_FOR_BLAS, _thread_pools(len(sys.modules)).limit(limits=1, user_api="openmp"):
        yield


@lru_cache(maxsize=1)
def _thread_pools(n_modules: int) -> ThreadpoolController:
    """The pools of the libraries that are loaded. They are looked for again after another module was imported.

    To look takes 10 ms, more than the training of a small member.
    """
    return ThreadpoolController()


def _is_small(X: Any) -> bool:
    return bool(X.shape[0] * X.shape[1] < SMALL_TRAINING_SET)


def in_one_thread(recipe: Any) -> Any:
    """An ensemble that is not fitted, with its base models, set to one thread: its caller has one for each core."""
    bases = recipe.estimator if isinstance(recipe.estimator, list | tuple) else [recipe.estimator]
    for base in bases:
        if base is not None:
            parts = _parts(base)
            names = [*_jobs_left_open(parts), *(name for name, value in _jobs(parts).items() if value)]
            with_params(base, dict.fromkeys(names, 1) | _unlisted(parts, "thread_count", 1))
    return recipe.set_params(n_jobs=1)


def with_params(model: Any, params: Mapping[str, Any]) -> Any:
    """The model with some parameters set. Without any, set_params is not called: a fitted CatBoost would refuse it."""
    return model.set_params(**params) if params else model


def _parts(model: Any) -> dict[str, Any]:
    """The model by the name "", and its parameters, nested ones too, by theirs.

    To ask a model for its parameters takes up to a tenth of the training of a small one: it is asked once a member.
    """
    return {"": model, **model.get_params(deep=True)}


def _owner(parts: Mapping[str, Any], parameter: str) -> Any:
    """What a parameter belongs to: "step__n_jobs" to the parameter "step", and "n_jobs" to the model."""
    return parts.get(parameter.rpartition("__")[0], parts[""])


def _unlisted(parts: Mapping[str, Any], name: str, value: Any) -> dict[str, Any]:
    """A value for a parameter of every CatBoost model in a model, by the parameter's name.

    CatBoost lists only the parameters that it was given. A parameter that was given is not changed, except the seed,
    which has two names.
    """
    found = {}
    for place, part in parts.items():
        if type(part).__module__.partition(".")[0] == "catboost":
            given = part.get_params()
            if "random_state" not in given if name == "random_seed" else name not in given:
                found[f"{place}__{name}" if place else name] = value
    return found


def _jobs(parts: Mapping[str, Any]) -> dict[str, Any]:
    """Every n_jobs of a model, with its value."""
    return {name: value for name, value in parts.items() if name.rpartition("__")[2] == "n_jobs"}


def _jobs_left_open(parts: Mapping[str, Any]) -> dict[str, None]:
    """The parameters n_jobs=None that mean all cores: those of LightGBM and XGBoost. In scikit-learn None means one."""
    return {
        name: None
        for name, value in _jobs(parts).items()
        if value is None and not type(_owner(parts, name)).__module__.startswith("sklearn.")
    }


def _threads_of(base: Any) -> int:
    """In how many threads LightGBM trains on many rows. Trees of scikit-learn have one."""
    if "n_jobs" not in base.get_params():
        return 1
    return int(effective_n_jobs(-1 if base.n_jobs is None or base.n_jobs < 1 else base.n_jobs))
