"""Finished rounds in a folder, and the identity of the fit that made them."""

import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from types import FunctionType
from typing import Any

import joblib
import numpy as np
from sklearn.base import BaseEstimator

from selfpaced.callbacks import BinNotes, Round
from selfpaced.ensembles.cross_fitting import HonestScores
from selfpaced.exceptions import CheckpointError
from selfpaced.model import check_contents
from selfpaced.storage import PrivateFolder, UnknownTypeError, dumped, import_skops, loaded, private_folder, versions_of
from selfpaced.tables import Table

# Parameters that do not change the model, or only by the speed of the machine. The seed replaces random_state.
NOT_IN_THE_MODEL = ("callbacks", "client", "fit_on", "n_jobs", "random_state", "time_limit")
# What `sklearn.base.clone` copies besides the parameters.
CLONED = ("_metadata_request", "_sklearn_output_config")


def identity_of_fit(model: Any, seed: int, table: Table) -> dict[str, Any]:
    """What a fitted model depends on, for its checkpoint: parameters, versions of packages, seed and data.

    Code is identified by its name and by the version of its package, or else by the file that it is in. A nameless
    function is refused.
    """
    origins: set[str] = {"numpy", "selfpaced", "sklearn"}
    facts = {"kind": _path_of(type(model))}
    for name, value in model.get_params().items():
        if name not in NOT_IN_THE_MODEL:
            try:
                facts[f"parameter {name}"] = _described(value, origins)
            except Exception as error:  # unknown objects may raise anything
                raise ValueError(
                    f"A checkpoint could not show whether the parameter {name} has changed: {error}. Use a function "
                    "that is defined at the top of a module, or omit checkpoint=."
                ) from error
    return facts | _versions(origins) | {"seed": seed, **table.identity()}


def _described(value: Any, origins: set[str]) -> str:
    """A value as text that two fits share only if it is the same. `origins` gets the modules that it comes from."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, bool | int | float | complex | str | None):
        return repr(value)
    if isinstance(value, list | tuple):
        return f"{type(value).__name__}({', '.join(_described(each, origins) for each in value)})"
    has_name = isinstance(value, type | FunctionType)
    origins.add(value.__module__ if has_name else type(value).__module__)
    # The clones of an estimator keep its parameters only, unless it has its own way of cloning.
    own_way = getattr(type(value), "__sklearn_clone__", None) not in (None, BaseEstimator.__sklearn_clone__)
    if has_name or own_way or not hasattr(value, "get_params"):
        return f"{_path_of(value if has_name else type(value))}({joblib.hash(value)})"
    parts = value.get_params(deep=False) | {name: vars(value)[name] for name in CLONED if name in vars(value)}
    return (
        f"{_path_of(type(value))}({', '.join(f'{name}={_described(parts[name], origins)}' for name in sorted(parts))})"
    )


def _versions(origins: set[str]) -> dict[str, str]:
    """The versions of packages, and hashes of the files of modules that have no version."""
    files = {}
    packages = {module.partition(".")[0] for module in origins} - {"builtins"}
    for module in sorted(origins):
        package = module.partition(".")[0]
        if package not in sys.stdlib_module_names and not hasattr(sys.modules[package], "__version__"):
            packages.discard(package)
            content = Path(str(sys.modules[module].__file__)).read_bytes()
            files[f"source of {module}"] = sha256(content).hexdigest()
    versions = versions_of(packages - sys.stdlib_module_names)
    versions["python"] = versions["python"].rpartition(".")[0]
    return {f"version of {name}": version for name, version in versions.items()} | files


def _path_of(kind: Any) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


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

    `plan` describes the fit, by name: a folder with the rounds of another plan is refused. `allow` names types that the
    files may hold besides those on the library's list.
    """

    def __init__(
        self,
        folder: PrivateFolder | None = None,
        plan: Mapping[str, Any] | None = None,
        allow: str | Sequence[str] = (),
    ) -> None:
        self._folder = folder
        self._allow = allow
        self._saved: dict[int, FinishedRound] = {}
        if self._folder is not None:
            import_skops()  # fail now, not after the first round
            self._plan = plan_hash(plan or {})
            self._begin(self._folder, _as_text(plan or {}))

    def finished(self, number: int) -> FinishedRound | None:
        """What was saved of a round, or None."""
        return self._saved.get(number)

    def save(self, model: Any, round: Round, honest: HonestScores | None = None) -> None:
        if self._folder is None or round.number in self._saved:
            return
        parts = vars(FinishedRound(self._plan, model, round, honest))
        content = dumped(parts, "The member", ALLOWING, self._allow, "Fit without a checkpoint.")
        self._folder.write(_file_name(round.number), content)

    def bins(self, number: int, name: Any) -> BinNotes | None:
        """The notes of a finished round about the class with this name, or None."""
        return self._saved[number].round.bins[name] if number in self._saved else None

    def check_features(self, n_features: int) -> None:
        """Refuse models of other features."""
        for number, saved in self._saved.items():
            if getattr(saved.model, "n_features_in_", n_features) != n_features:
                raise CheckpointError(
                    f"Round {number} of the checkpoint has a model of other features. Remove the folder."
                )

    def _begin(self, folder: PrivateFolder, plan: str) -> None:
        try:
            folder.prepare((PLAN, ENDING))
        except NotADirectoryError as error:
            raise CheckpointError(f"The checkpoint {folder} is a file. Name a folder.") from error
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
