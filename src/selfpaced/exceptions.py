"""Errors and warnings of the package, suggestions for misspelled names, and optional packages."""

import sys
import warnings
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from importlib import import_module
from os.path import dirname
from types import FrameType
from typing import Any

_PACKAGE = dirname(__file__)


class TableError(ValueError):
    """Raised if a table cannot be read with the given options."""


class ModelFileError(ValueError):
    """Raised if a model file cannot be written or read."""


class CheckpointError(ValueError):
    """Raised if a checkpoint is damaged or belongs to another fit."""


class StateError(ValueError):
    """Raised if the state of a history is damaged, open elsewhere, cannot be written, or belongs to another history."""


class UnreachableRuleError(ValueError):
    """Raised if no threshold meets a rule on the given rows. The message says what can be reached."""


class UnknownRuleError(ValueError):
    """Raised if a text is not a rule for a threshold. `complaint` is the message without the list of the rules."""

    def __init__(self, complaint: str, listed: str = "") -> None:
        super().__init__(f"{complaint} {listed}".strip())
        self.complaint = complaint


class ModelVersionWarning(UserWarning):
    """Warns that a model was saved with other versions of its packages."""


class PickledModelWarning(UserWarning):
    """Warns that a model is loaded from a pickle, which can run any code."""


class NewCategoryWarning(UserWarning):
    """Warns that rows have categories that the model was not trained with, which it reads as missing values.

    `counts` has the number of such rows by column, and `n_rows` the number of all rows.

    >>> str(NewCategoryWarning({"shop": 3, "country": 1}, 1000))[74:]
    "'shop' in 3 rows, 'country' in 1 row of 1,000."
    """

    def __init__(self, counts: Mapping[str, int], n_rows: int) -> None:
        listed = ", ".join(f"{name!r} in {count:,} row{'' if count == 1 else 's'}" for name, count in counts.items())
        most = [name for name, count in counts.items() if 2 * count > n_rows]
        hint = f" Most rows of {most[0]!r} are concerned: check how its values are written." if most else ""
        super().__init__(
            f"Some categories are new to the model, which reads them as missing values: {listed} of {n_rows:,}.{hint}"
        )
        self.counts = dict(counts)
        self.n_rows = n_rows


def warn(message: str | Warning, category: type[Warning] = UserWarning) -> None:
    """Warn at the line that called this package: that of the nearest caller outside of it."""
    frame: FrameType | None = sys._getframe(1)
    stacklevel = 2
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame, stacklevel = frame.f_back, stacklevel + 1
    warnings.warn(message, category, stacklevel=stacklevel)


def did_you_mean(given: str, known: Iterable[str]) -> str:
    """A question with the known name that is most similar to the given one, after a space; empty if none is similar.

    >>> did_you_mean("is_frud", ["amount", "is_fraud"])
    " Did you mean 'is_fraud'?"
    >>> did_you_mean("Amount", ["amount", "is_fraud"])
    " Did you mean 'amount'?"
    >>> did_you_mean("colour", ["amount", "is_fraud"])
    ''
    """
    compared = {_bare(name): name for name in map(str, known)}
    near = get_close_matches(_bare(given), compared, n=1, cutoff=0.7)
    return f" Did you mean {compared[near[0]]!r}?" if near else ""


def _bare(name: str) -> str:
    """A name in lower case and without the dashes of an option."""
    return name.lower().lstrip("-")


def need(module: str, extra: str, what: str) -> Any:
    """An optional module. If it is not installed, the error says what needs it and which extra installs it.

    >>> need("no_such_module", "files", "Reading files")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    ImportError: Reading files needs no_such_module, which cannot be imported (...): pip install 'selfpaced[files]'
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(
            f"{what} needs {module.partition('.')[0]}, which cannot be imported ({error}): "
            f"pip install 'selfpaced[{extra}]'"
        ) from error


class Later:
    """An optional module, imported when a name of it is used. The arguments are those of `need`."""

    def __init__(self, module: str, extra: str, what: str) -> None:
        self._needed = module, extra, what

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # asked for by tools that look at all kinds of objects
            raise AttributeError(name)
        return getattr(need(*self._needed), name)


pa: Any = Later("pyarrow", "files", "Reading files")
pc: Any = Later("pyarrow.compute", "files", "Reading files")
pq: Any = Later("pyarrow.parquet", "files", "Reading files")
ds: Any = Later("pyarrow.dataset", "files", "Reading files")
arrow_csv: Any = Later("pyarrow.csv", "files", "Reading files")
arrow_json: Any = Later("pyarrow.json", "files", "Reading files")
fs: Any = Later("pyarrow.fs", "files", "Reading files")


__all__ = [
    "CheckpointError",
    "ModelFileError",
    "ModelVersionWarning",
    "NewCategoryWarning",
    "PickledModelWarning",
    "StateError",
    "TableError",
    "UnknownRuleError",
    "UnreachableRuleError",
]
