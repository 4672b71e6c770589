"""Commands that tests call, and the names of their files."""

import re

CSV = "payments.csv"
MODEL = "model.skops"


def other_warnings(complained):
    """All warnings but the one that the payments are in the order of the column "when"."""
    first, *others = (line for line in complained.splitlines() if not re.match(r"\d+ s: ", line))
    assert first.removeprefix("warning: ").startswith("column 'when' rises from row to row")
    return others


def train(path, *options):
    """Train three trees and leave their scores as they are: what most tests need, and soon done."""
    return train_calibrated(path, "--calibration", "none", *options)


def train_calibrated(path, *options):
    """Train three trees whose scores are calibrated, as they are by default."""
    return ("train", path, "--target", "is_fraud", "--base", "tree", "--members", 3, *options)
