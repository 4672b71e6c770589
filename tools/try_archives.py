"""Try what a release would publish: the wheel in a clean environment, and whether the source archive is complete.

Usage: python tools/try_archives.py FOLDER
"""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

# A fit, a threshold, and the version, with the declared dependencies only.
SMOKE_TEST = """
import selfpaced
from selfpaced.datasets import make_fraud

X, y = make_fraud(n_rows=3000, n_frauds=60, n_features=6, random_state=0)
model = selfpaced.SelfPacedEnsembleClassifier(n_estimators=3, random_state=0).fit(X, y)
choice = selfpaced.choose_threshold(y, model.predict_proba(X)[:, 1], "f1")
assert choice.recall > 0.5, choice
print("selfpaced", selfpaced.__version__, "from", selfpaced.__file__)
"""
# What the tests import and read besides src/ and tests/.
NEEDED_BY_THE_TESTS = (
    "benchmarks/results/decisions.json",
    "docs/how-to.md",
    "Makefile",
    "paper/published/checkerboard.csv",
    "pyproject.toml",
    "README.md",
    "src/selfpaced/report/explorer.html",
    "src/selfpaced/report/page.css",
    "tests/paper/test_published.py",
    "tools/system_packages.py",
)


def missing_from(archive: Path) -> list[str]:
    """The files that the tests need and the source archive does not hold."""
    with tarfile.open(archive) as opened:
        names = {name.partition("/")[2] for name in opened.getnames()}
    return [name for name in NEEDED_BY_THE_TESTS if name not in names]


def relative_links(wheel: Path) -> list[str]:
    """The links of the description that a package index cannot follow."""
    with zipfile.ZipFile(wheel) as opened:
        (name,) = [each for each in opened.namelist() if each.endswith(".dist-info/METADATA")]
        return re.findall(r"\]\((?!https?://)([^)]*)\)", opened.read(name).decode())


def try_wheel(wheel: Path) -> None:
    """Install the wheel into a new environment, and use it there, outside the repository."""
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        programs = Path(folder) / ("Scripts" if sys.platform == "win32" else "bin")
        python = programs / "python"
        for command in (
            [python, "-m", "pip", "install", "--quiet", wheel.resolve()],
            [python, "-W", "error", "-c", SMOKE_TEST],
            [programs / "selfpaced", "--version"],
            [programs / "selfpaced", "--help"],
        ):
            subprocess.run([str(part) for part in command], check=True, cwd=folder)


def main(dist: Path) -> int:
    (wheel,) = dist.glob("*.whl")
    (archive,) = dist.glob("*.tar.gz")
    missing = missing_from(archive)
    if missing:
        print(f"{archive.name} lacks {', '.join(missing)}, which the tests need. Add them to pyproject.toml.")
        return 1
    links = relative_links(wheel)
    if links:
        print(f"The description in {wheel.name} has links that only the repository can follow: {', '.join(links)}.")
        return 1
    try_wheel(wheel)
    print(f"{wheel.name} works in a clean environment, and {archive.name} holds what its tests need.")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
