"""What `--base` names: a kind of members, one model of all rows, or a function in the user's own file."""

import sys
from functools import lru_cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

from sklearn.base import is_classifier

from selfpaced.ensembles.auto import Columns, base_model, lightgbm
from selfpaced.exceptions import ModelFileError, TableError, did_you_mean
from selfpaced.storage import UnknownTypeError, dumped

ALL_ROWS = "lightgbm-all-rows"
# LightGBM's own defaults. Those of base models are for small training sets.
PLAIN_LIGHTGBM = {"n_estimators": 100, "min_child_samples": 20, "min_data_per_group": 100}


def is_of_user(base: str) -> bool:
    """Whether a base is a function in a file.

    >>> is_of_user("models/mine.py:make_model"), is_of_user("lightgbm")
    (True, False)
    """
    return ".py:" in base


def is_single(base: str) -> bool:
    """Whether one model is trained on all rows, instead of the members of an ensemble on some."""
    return base == ALL_ROWS or is_of_user(base)


def base_named(base: str, columns: Columns, seed: int) -> Any:
    """The classifier that a base names, not fitted."""
    if is_of_user(base):
        return _made_by_user(base)
    if base == ALL_ROWS:
        return lightgbm(columns, **PLAIN_LIGHTGBM, random_state=seed)
    return base_model(base, columns)


def _made_by_user(base: str) -> Any:
    """The result of the user's function, called anew each time."""
    path, _, name = base.rpartition(":")
    module = _module_of(Path(path).resolve())
    make = getattr(module, name, None)
    if not callable(make):
        names = [each for each, value in vars(module).items() if callable(value) and not each.startswith("_")]
        raise TableError(f"{path} has no function {name!r}.{did_you_mean(name, names)}")
    try:
        model = make()
    except Exception as error:
        raise TableError(f"{base} raised {error!r}. --debug shows where.") from error
    if isinstance(model, type) or not hasattr(model, "fit") or not is_classifier(model):
        raise TableError(f"{base} must return an unfitted classifier, as scikit-learn has them; got {model!r}.")
    return model


@lru_cache
def _module_of(path: Path) -> Any:
    """The user's file as a module, run once. Modules in its folder can be imported, as by `python file.py`."""
    if not path.is_file():
        raise TableError(f"There is no file {path}. Name a Python file and a function in it: --base FILE.py:FUNCTION.")
    if path.stem in sys.modules:
        raise TableError(f"A module with the name {path.stem!r} is loaded already. Rename {path.name}.")
    spec = spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.path.insert(0, str(path.parent))
    sys.modules[path.stem] = module  # by which files name functions and classes
    spec.loader.exec_module(module)
    return module


def check_can_be_saved(base: str) -> None:
    """Refuse a model of the user that a model file may not hold, before an hour of work."""
    if not is_of_user(base):
        return
    try:
        dumped(_made_by_user(base), f"The model of {base}", "save_model(...")
    except UnknownTypeError as error:
        raise ModelFileError(
            f"{error} Commands load only types of the list. compare and backtest take this model. To keep it, train it "
            "in Python with SingleModelClassifier(estimator).fit(X, y), and call save_model and load_model with allow."
        ) from error
