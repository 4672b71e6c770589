"""An environment for each peer in `.bench/`, made once: no two of these packages bear the same scikit-learn."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

BENCH = Path(__file__).parent.parent / ".bench"

# LightGBM as in our own environment: its speed must not be credited to the package around it.
LIGHTGBM = f"lightgbm=={version('lightgbm')}"
REQUIREMENTS = {
    "self-paced-ensemble": ["self-paced-ensemble==0.1.7", "scikit-learn==1.3.2", "numpy<2", "pandas", LIGHTGBM],
    "imbalanced-ensemble": ["imbalanced-ensemble==0.2.3", "scikit-learn==1.6.0", "pandas", LIGHTGBM],
}

# See `peers.py`: numpy 1.26 sorts labels far too slowly with AVX-512.
VARIABLES = {"self-paced-ensemble": {"NPY_DISABLE_CPU_FEATURES": "AVX512F"}}


def variables_of(package: str) -> dict[str, str]:
    return VARIABLES.get(package, {})


def interpreter_of(package: str) -> Path:
    """The interpreter that has the package: the running one for our own."""
    if package not in REQUIREMENTS:
        return Path(sys.executable)
    return environment(package, REQUIREMENTS[package])


def environment(name: str, requirements: list[str]) -> Path:
    """The interpreter of an environment with these packages, which is made unless it is there."""
    folder = BENCH / name
    if not _is_ready(folder, requirements):
        _make(folder, requirements)
    return folder / "bin" / "python"


def _is_ready(folder: Path, requirements: list[str]) -> bool:
    note = folder / "requirements.txt"
    return note.exists() and note.read_text().split() == requirements


def _make(folder: Path, requirements: list[str]) -> None:
    print(f"making an environment with {' '.join(requirements)}", flush=True)
    _run([sys.executable, "-m", "venv", "--clear", folder])
    _run([folder / "bin" / "python", "-m", "pip", "install", *requirements])
    # Written last: an installation that was interrupted is begun again.
    (folder / "requirements.txt").write_text("\n".join(requirements))


def _run(command: list[str | Path]) -> None:
    # What pip has to say is only of interest if it fails, and then it is in the error.
    subprocess.run(command, check=True, capture_output=True, text=True)
