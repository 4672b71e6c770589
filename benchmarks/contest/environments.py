"""Which interpreter a method runs in. Its packages are installed into `.bench/` when they are first needed."""

from __future__ import annotations

import sys
from importlib.metadata import version
from pathlib import Path

from peer_environments import environment

# The versions of this environment: a method shall not win or lose by the version of a library.
ALTERNATIVES = [
    *(f"{name}=={version(name)}" for name in ("lightgbm", "scikit-learn", "imbalanced-learn", "pandas", "pyarrow")),
    f"xgboost-cpu=={version('xgboost')}",
    "catboost==1.2.10",
    "optuna==5.0.0",
]
REQUIREMENTS = {
    "alternatives": ALTERNATIVES,
    "autogluon": ["autogluon.tabular[lightgbm,catboost,xgboost]==1.6.3"],
    "flaml": ["flaml[automl,catboost]==2.7.0", "pyarrow"],
}


def interpreter_of(name: str | None) -> Path:
    return Path(sys.executable) if name is None else environment(f"field-{name}", REQUIREMENTS[name])
