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
# Without a graphics card the build for processors is enough: pip takes it if PIP_FIND_LINKS or an index has it.
TORCH = "torch==2.13.0"
REQUIREMENTS = {
    "alternatives": ALTERNATIVES,
    "autogluon": ["autogluon.tabular[lightgbm,catboost,xgboost]==1.6.3"],
    "autogluon-networks": ["autogluon.tabular[lightgbm,catboost,xgboost,fastai]==1.6.3", TORCH],
    "chimeraboost": ["chimeraboost==0.34.0", "pandas", "pyarrow"],
    "ebm": ["interpret-core==0.7.8", "pandas", "pyarrow"],
    "flaml": ["flaml[automl,catboost]==2.7.0", "pyarrow"],
    "networks": ["pytabkit==1.7.3", TORCH, "pandas", "pyarrow"],
    "perpetual": ["perpetual==2.3.0", "scikit-learn", "pandas", "pyarrow"],
}


def interpreter_of(name: str | None) -> Path:
    return Path(sys.executable) if name is None else environment(f"field-{name}", REQUIREMENTS[name])
