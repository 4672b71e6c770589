"""Take the pictures of a report in `docs/images` again. `make pictures` runs this.

A small model is trained on Credit Fraud, if the folder that `SELFPACED_DATA` names has it, and otherwise on generated
payments. Its report is opened in headless Chromium, and parts of the page become pictures. The other pictures of the
documentation are drawn by the benchmarks whose figures they show.

Usage: python tools/pictures.py [FOLDER]
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd
from sklearn.model_selection import train_test_split

from selfpaced.datasets import make_fraud
from selfpaced.ensembles import SelfPacedEnsembleClassifier

REPOSITORY = Path(__file__).parents[1]
DATA = Path(os.environ.get("SELFPACED_DATA", REPOSITORY / ".." / "shared" / "data")) / "credit_fraud.parquet"
WIDTH = 1160
PICTURES = {"headline.png": "#answer", "report.png": "#explorer"}  # the last section that each shows
BELOW = 40  # the space below it
COLOURS = 128  # the page has few, and so the files are small


def payments() -> tuple[pd.DataFrame, pd.Series, str]:
    """The features, the labels and a title."""
    if DATA.exists():
        rows = pd.read_parquet(DATA)
        return rows.drop(columns=["Time", "Class"]), rows["Class"], "Card payments, September 2013"
    X, y = make_fraud(n_rows=50_000, n_frauds=250, random_state=0)
    return pd.DataFrame(X).add_prefix("V"), pd.Series(y, name="is_fraud"), "Generated payments"


def report() -> Any:
    """The report on rows that its model was not trained on."""
    from lightgbm import LGBMClassifier  # here and below, because pytest imports this file also where these are missing

    X, y, title = payments()
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, stratify=y, random_state=0)
    base = LGBMClassifier(n_estimators=50, verbose=-1, n_jobs=1)
    model = SelfPacedEnsembleClassifier(base, n_jobs=-1, random_state=0, calibration="isotonic").fit(X_train, y_train)
    return model.report(X_test, y_test, X_train=X_train, y_train=y_train, costs=(5, 120), title=title)


def take(page_file: Path, folder: Path) -> None:
    """Open the page and write its pictures."""
    from PIL import Image
    from playwright.sync_api import sync_playwright

    from system_packages import CHROMIUM  # beside this script

    program = CHROMIUM.path()
    if program is None:
        raise SystemExit("Chromium is not installed: make system-packages")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": WIDTH, "height": 2000})
        page.goto(page_file.as_uri())
        for name, section in PICTURES.items():
            height = page.locator(section).evaluate("(e) => Math.ceil(e.getBoundingClientRect().bottom)") + BELOW
            page.screenshot(path=folder / name, clip={"x": 0, "y": 0, "width": WIDTH, "height": height})
            with Image.open(folder / name) as picture:
                small = picture.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
            small.save(folder / name, optimize=True)
            print(f"{folder / name}: {WIDTH} x {height}, {(folder / name).stat().st_size:,} bytes")
        browser.close()


def main() -> int:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else REPOSITORY / "docs" / "images"
    with TemporaryDirectory() as temporary:
        take(report().save(Path(temporary) / "report.html"), folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
