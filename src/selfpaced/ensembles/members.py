"""Members: clones of the base model, each with a seed of its own, trained on a few rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray
from sklearn.base import clone
from threadpoolctl import ThreadpoolController

from selfpaced.pools.keys import mix

# Training sets of fewer numbers than this (rows times columns) are fitted in one thread: on a busy machine the base
# model's own threads wait for each other longer than they work.
SMALL_TRAINING_SET = 2**17
LARGEST_RANDOM_STATE = 2**31


class MemberFactory:
    """Trains the members of one fit. The same seed and rows give the same members.

    Parameters
    ----------
    arguments : arguments of the base model's `fit` that are the same for every member.
    """

    def __init__(self, base: Any, seed: int, arguments: Mapping[str, Any]) -> None:
        self._base = base
        self._seed = seed
        self._arguments = arguments
        self._thread_pools = ThreadpoolController()

    def fit(self, number: int, X: Any, y: NDArray[Any], metadata: Mapping[str, Any]) -> Any:
        """Train member `number`; 0 is the warm-up."""
        model = clone(self._base).set_params(**self._random_states(number))
        if X.shape[0] * X.shape[1] < SMALL_TRAINING_SET:
            self._fit_in_one_thread(model, X, y, metadata)
        else:
            model.fit(X, y, **metadata, **self._arguments)
        return model

    def _fit_in_one_thread(self, model: Any, X: Any, y: NDArray[Any], metadata: Mapping[str, Any]) -> None:
        """The user's settings are restored afterwards, so that predictions use the threads they would have used."""
        left_open = _jobs_left_open(model)
        model.set_params(**dict.fromkeys(left_open, 1))
        with self._thread_pools.limit(limits=1):
            model.fit(X, y, **metadata, **self._arguments)
        model.set_params(**dict.fromkeys(left_open))

    def _random_states(self, number: int) -> dict[str, int]:
        """A seed for every random_state in the base model, nested ones too."""
        names = [name for name in sorted(self._base.get_params(deep=True)) if _is_called(name, "random_state")]
        return {name: mix(self._seed, number, i) % LARGEST_RANDOM_STATE for i, name in enumerate(names)}


def _jobs_left_open(model: Any) -> list[str]:
    """The n_jobs of None that mean all cores: LightGBM's and XGBoost's. In scikit-learn None means one already."""
    parameters = model.get_params(deep=True)
    return [
        name
        for name, value in parameters.items()
        if _is_called(name, "n_jobs")
        and value is None
        # The owner of "step__n_jobs" is the parameter "step"; the owner of "n_jobs" is the model.
        and not type(parameters.get(name[: -len("__n_jobs")], model)).__module__.startswith("sklearn.")
    ]


def _is_called(parameter: str, name: str) -> bool:
    return parameter == name or parameter.endswith("__" + name)
