"""Finished rounds in a folder, and the identity of the fit that made them."""

from __future__ import annotations

import copyreg
import json
import os
import pickle
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from dis import get_instructions
from functools import reduce
from hashlib import blake2b, sha256
from io import BytesIO
from types import CodeType, FunctionType, ModuleType
from typing import Any

import joblib
import numpy as np
from sklearn.base import BaseEstimator

from selfpaced.algorithms import MajorityPool
from selfpaced.callbacks import Round
from selfpaced.ensembles.fitting.cross_fitting import HonestScores
from selfpaced.ensembles.fitting.pools import ReplayingPool
from selfpaced.exceptions import CheckpointError
from selfpaced.model import check_contents
from selfpaced.pools import Rows
from selfpaced.storage import PrivateFolder, UnknownTypeError, dumped, import_skops, loaded, private_folder
from selfpaced.tables import ClassSplit, Table
from selfpaced.versions import versions_of

# Parameters that do not change the model, or only by the speed of the machine. The seed replaces random_state.
NOT_IN_THE_MODEL = ("callbacks", "client", "fit_on", "n_jobs", "random_state", "time_limit")
PLAIN = (bool, int, float, complex, str, type(None), type(Ellipsis))
# What `sklearn.base.clone` copies besides the parameters.
CLONED = ("_metadata_request", "_sklearn_output_config")


def described(kind: type, parameters: Mapping[str, Any]) -> dict[str, str]:
    """The class and the parameters of an ensemble, and the versions of all packages that they come from, by name.

    Raises
    ------
    ValueError
        If something cannot be described completely. The message names it.
    """
    describer = Describer()
    facts = {}
    for name, value in {"kind": kind, **{f"parameter {name}": value for name, value in parameters.items()}}.items():
        try:
            facts[name] = describer.text(value)
        except Exception as error:  # unknown objects may raise anything
            raise ValueError(
                f"A checkpoint could not show whether the {name} has changed, because it cannot be described "
                f"completely: {error}. Use a function that is defined at the top of a module, or omit checkpoint=."
            ) from error
    versions = versions_of({"numpy", "selfpaced", "sklearn", *describer.packages})
    versions["python"] = versions["python"].rpartition(".")[0]
    return facts | {f"version of {name}": version for name, version in versions.items()}


def identity_of_fit(model: Any, seed: int, table: Table) -> dict[str, Any]:
    """What a fitted model depends on, for its checkpoint: parameters, versions of packages, seed and data."""
    parameters = {name: value for name, value in model.get_params().items() if name not in NOT_IN_THE_MODEL}
    return {**described(type(model), parameters), "seed": seed, **table.identity()}


class Describer:
    """Describes values completely, or raises. `packages` are those that the values come from.

    Code of a package that has a version is identified by its name. Any other code is identified by what it does: a
    function by its compiled code, its defaults, its closure and the global variables that it reads.

    >>> Describer().text({"depth": np.int64(2), "rates": [0.1, None]})
    "dict('depth': 2, 'rates': list(0.1, None))"
    """

    def __init__(self) -> None:
        self.packages: set[str] = set()
        self._around: list[Any] = []  # the values that are being described, from the outside in

    def text(self, value: Any) -> str:
        if isinstance(value, np.generic) and type(value.item()) in PLAIN:
            value = value.item()
        if type(value) in PLAIN:
            return repr(value)
        depth = next((depth for depth, each in enumerate(self._around) if each is value), None)
        if depth is not None:
            return f"<number {depth} of the values around this>"  # such as a function that calls itself
        self._around.append(value)
        try:
            return KINDS.get(type(value), Describer._object)(self, value)
        finally:
            self._around.pop()

    def _sequence(self, value: Any) -> str:
        return f"{type(value).__name__}({', '.join(map(self.text, value))})"

    def _set(self, value: Any) -> str:
        return f"{type(value).__name__}({', '.join(sorted(map(self.text, value)))})"

    def _dict(self, value: dict[Any, Any]) -> str:
        """The order is kept, because a base model may depend on it."""
        return f"dict({', '.join(f'{self.text(key)}: {self.text(each)}' for key, each in value.items())})"

    def _bytes(self, value: bytes) -> str:
        return f"bytes({_hash(value)})"

    def _array(self, value: Any) -> str:
        content = self.text(value.ravel().tolist()) if value.dtype.hasobject else _hash(value.tobytes())
        return f"array({value.dtype}, {value.shape}, {content})"

    def _module(self, value: ModuleType) -> str:
        if not self._has_version(value.__name__):
            raise TypeError(f"the module {value.__name__} has no version. Import the names that are used from it")
        return f"module {value.__name__}"

    def _function(self, value: FunctionType) -> str:
        names = sorted(_global_names(value.__code__) & set(value.__globals__))
        parts = {
            "defaults": value.__defaults__,
            "keywords": value.__kwdefaults__,
            "closure": [cell.cell_contents for cell in value.__closure__ or ()],
            "attributes": vars(value),
            "globals": {} if self._has_version(value.__module__) else {name: value.__globals__[name] for name in names},
        }
        others = [f"{name}={self.text(part)}" for name, part in parts.items() if part]
        return f"{value.__module__}.{value.__qualname__}({', '.join([self._code(value.__code__), *others])})"

    def _code(self, code: CodeType) -> str:
        constants = [self._code(each) if isinstance(each, CodeType) else self.text(each) for each in code.co_consts]
        arguments = code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags
        names = code.co_names, code.co_varnames, code.co_freevars
        return f"code={_hash(repr((code.co_code, code.co_exceptiontable, arguments, names, constants)).encode())}"

    def _object(self, value: Any) -> str:
        if isinstance(value, type):
            return self._class(value)
        if hasattr(value, "get_params"):
            return self._estimator(value)
        return self._library_name(value) or self._reduced(value)

    def _class(self, value: type) -> str:
        name = f"{value.__module__}.{value.__qualname__}"
        if self._has_version(value.__module__) and "<" not in name:
            return name
        own = {
            key: _without_descriptor(each)
            for key, each in sorted(vars(value).items())
            if isinstance(each, FunctionType) or not key.startswith(("__", "_abc_"))
        }
        return f"{name}(bases={self.text(value.__bases__)}, {self.text(own)})"

    def _estimator(self, value: Any) -> str:
        """An estimator by its parameters: its clones keep nothing else, unless it defines `__sklearn_clone__`."""
        if getattr(type(value), "__sklearn_clone__", None) not in (None, BaseEstimator.__sklearn_clone__):
            return f"{self.text(type(value))}({joblib.hash(value)})"
        parts = value.get_params(deep=False) | {name: vars(value)[name] for name in CLONED if name in vars(value)}
        return f"{self.text(type(value))}({', '.join(f'{name}={self.text(parts[name])}' for name in sorted(parts))})"

    def _library_name(self, value: Any) -> str | None:
        """The name of a function that is not written in Python, such as a ufunc, if its package has a version."""
        name = getattr(value, "__qualname__", getattr(value, "__name__", None))
        if name is None:
            return None
        module = getattr(value, "__module__", None) or pickle.whichmodule(value, name)  # type: ignore[attr-defined]
        found = reduce(lambda owner, part: getattr(owner, part, None), name.split("."), sys.modules.get(module))
        return f"{module}.{name}" if found is value and self._has_version(module) else None

    def _reduced(self, value: Any) -> str:
        """Any other object by the contents of its pickle: its class and its state. Nothing is unpickled."""
        registered = copyreg.dispatch_table.get(type(value))
        parts = value.__reduce_ex__(4) if registered is None else registered(value)
        if isinstance(parts, str):
            raise TypeError(f"{parts} has only a name")
        return f"{type(value).__name__}{self._sequence(tuple(_whole(part) for part in parts))}"

    def _has_version(self, module: str | None) -> bool:
        """Whether a module is part of Python or of a package with a version, which is then noted."""
        package = (module or "").partition(".")[0]
        if package in sys.stdlib_module_names:
            return True
        if package == "__main__" or not hasattr(sys.modules.get(package), "__version__"):
            return False
        self.packages.add(package)
        return True


KINDS: dict[type, Callable[[Describer, Any], str]] = {
    list: Describer._sequence,
    tuple: Describer._sequence,
    set: Describer._set,
    frozenset: Describer._set,
    dict: Describer._dict,
    bytes: Describer._bytes,
    np.ndarray: Describer._array,
    ModuleType: Describer._module,
    FunctionType: Describer._function,
}


def _hash(content: bytes) -> str:
    return blake2b(content, digest_size=16).hexdigest()


def _global_names(code: CodeType) -> set[str]:
    """The global variables that a function reads, in functions inside it too."""
    names = {each.argval for each in get_instructions(code) if each.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    return names.union(*(_global_names(each) for each in code.co_consts if isinstance(each, CodeType)))


def _without_descriptor(attribute: Any) -> Any:
    if isinstance(attribute, property):
        return attribute.fget, attribute.fset
    return getattr(attribute, "__func__", attribute)


def _whole(part: Any) -> Any:
    return list(part) if isinstance(part, Iterator) else part


PLAN = "plan.json"
ENDING = ".skops"  # of a round
ALLOWING = "fit_table(..., checkpoint=..."
ELSEWHERE = "Choose another folder, or remove this one."
MOST_SHOWN = 3  # differences between two fits
SHOWN_CHARACTERS = 80  # of a value that differs


@dataclass(frozen=True)
class FinishedRound:
    """The content of the file of a round. `plan` is a hash of the plan of its fit."""

    plan: str
    model: Any
    round: Round
    honest: HonestScores | None


class Checkpoint:
    """The rounds that a fit has finished. Without a folder there are none, and none are kept.

    Parameters
    ----------
    folder : PrivateFolder | None
        The folder of the rounds.
    plan : Mapping[str, Any]
        The description of the fit, by name. A folder with the rounds of another plan is refused.
    allow : str | Sequence[str], default=()
        The names of types that the files may hold besides those on the library's list.
    """

    def __init__(self, folder: PrivateFolder | None, plan: Mapping[str, Any], allow: str | Sequence[str] = ()) -> None:
        self._folder = folder
        self._allow = allow
        self._saved: dict[int, FinishedRound] = {}
        if self._folder is not None:
            import_skops()  # an hour later would be late
            self._plan = plan_hash(plan)
            self._begin(self._folder, _as_text(plan))

    def model(self, number: int) -> Any:
        """The model of a finished round, or None."""
        return self._saved[number].model if number in self._saved else None

    def round(self, number: int) -> Round | None:
        """The notes of a finished round, or None."""
        return self._saved[number].round if number in self._saved else None

    def honest(self, number: int) -> dict[int, HonestScores]:
        """The scores of the training rows of finished rounds by copies of their models, by round, if there are any."""
        scores = self._saved[number].honest if number in self._saved else None
        return {} if scores is None else {number: scores}

    def save(self, model: Any, round: Round, honest: HonestScores | None = None) -> None:
        if self._folder is None or round.number in self._saved:
            return
        parts = vars(FinishedRound(self._plan, model, round, honest))
        content = dumped(parts, "The member", ALLOWING, self._allow, "Fit without a checkpoint.")
        self._folder.write(_file_name(round.number), content)

    def replaying(self, split: ClassSplit) -> list[MajorityPool[Rows]]:
        """The pools of the larger classes; asked about finished rounds, they answer from the notes."""
        n_features = split.minority.features.shape[1]
        for number, saved in self._saved.items():
            if getattr(saved.model, "n_features_in_", n_features) != n_features:
                raise CheckpointError(
                    f"Round {number} of the checkpoint has a model of other features. Remove the folder."
                )
        return [ReplayingPool(pool, split.names[number], self.round) for number, pool in split.pools.items()]

    def _begin(self, folder: PrivateFolder, plan: str) -> None:
        try:
            folder.prepare((PLAN, ENDING))
        except NotADirectoryError as error:
            raise CheckpointError(f"The checkpoint {folder} is a file. Name a folder.") from error
        if folder.names("round-*.joblib"):
            raise CheckpointError(
                f"The checkpoint in {folder} was written by an earlier version of selfpaced. Its files are pickles, "
                f"which can run any code, and are not opened. {ELSEWHERE}"
            )
        if folder.has(PLAN):
            _refuse_other_plan(folder, _read_plan(folder), json.loads(plan))
        else:
            folder.write(PLAN, plan.encode())
        for name in folder.names(f"round-*{ENDING}"):
            saved = self._read(folder, name)
            self._saved[saved.round.number] = saved

    def _read(self, folder: PrivateFolder, name: str) -> FinishedRound:
        path, again = f"{folder}/{name}", "Remove it, and its round is trained again."
        content = folder.read(name)
        try:
            parts = loaded(BytesIO(content), path, ALLOWING, self._allow)
            check_contents(parts)
            saved = FinishedRound(**parts)
            belongs = saved.plan == self._plan and name == _file_name(saved.round.number)
        except UnknownTypeError:
            raise
        except Exception as error:  # damaged files may raise anything
            raise CheckpointError(f"{path} of the checkpoint is damaged. {again}") from error
        if not belongs:
            raise CheckpointError(f"{path} belongs to another fit than {PLAN} beside it, or to another round. {again}")
        return saved


def _file_name(number: int) -> str:
    return f"round-{number:04}{ENDING}"


def plan_hash(plan: Mapping[str, Any]) -> str:
    """The hash that identifies the files of a fit."""
    return sha256(_as_text(plan).encode()).hexdigest()


def _as_text(plan: Mapping[str, Any]) -> str:
    return json.dumps(plan, default=str, indent=1, sort_keys=True)


def _refuse_other_plan(folder: PrivateFolder, old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
    changed = [name for name in sorted({*old, *new}) if old.get(name) != new.get(name)]
    # "parameter estimator" says no more than "parameter estimator__max_depth".
    changed = [name for name in changed if not any(other.startswith(f"{name}__") for other in changed)]
    if changed:
        shown = "; ".join(_difference(name, old.get(name), new.get(name)) for name in changed[:MOST_SHOWN])
        more = f"; and {len(changed) - MOST_SHOWN} more" if len(changed) > MOST_SHOWN else ""
        raise CheckpointError(f"The checkpoint in {folder} belongs to another fit: {shown}{more}. {ELSEWHERE}")


def _difference(name: str, old: Any, new: Any) -> str:
    """Both values, or of long ones the part where they begin to differ."""
    before, now = repr(old), repr(new)
    if max(len(before), len(now)) > SHOWN_CHARACTERS:
        equal = next((place for place, (a, b) in enumerate(zip(before, now, strict=False)) if a != b), 0)
        start = max(0, equal - SHOWN_CHARACTERS // 2)
        before, now = (f"...{text[start : start + SHOWN_CHARACTERS]}..." for text in (before, now))
    return f"{name} was {before} and is {now} now"


def checkpoint_folder(place: str | os.PathLike[str] | None) -> PrivateFolder | None:
    """The folder that a user named, by a path or a URL, or None."""
    return None if place is None else private_folder(place)


def stored_seed(folder: PrivateFolder | None) -> int | None:
    """The seed of the fit that a folder belongs to. A fit without a random_state continues with its first seed."""
    if folder is None or not folder.has(PLAN):
        return None
    return int(_read_plan(folder)["seed"])


def _read_plan(folder: PrivateFolder) -> dict[str, Any]:
    content = folder.read(PLAN)
    try:
        plan = dict(json.loads(content))
        return plan | {"seed": int(plan["seed"])}
    except (KeyError, TypeError, ValueError) as error:
        raise CheckpointError(
            f"{folder}/{PLAN} of the checkpoint is damaged. Remove the folder, and the fit begins again."
        ) from error
