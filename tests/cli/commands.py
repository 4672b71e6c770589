"""Commands that tests call, and the names of their files."""

CSV = "payments.csv"
MODEL = "model.skops"


def train(path, *options):
    """Train three trees and leave their scores as they are: what most tests need, and soon done."""
    return train_calibrated(path, "--calibration", "none", *options)


def train_calibrated(path, *options):
    """Train three trees whose scores are calibrated, as they are by default."""
    return ("train", path, "--target", "is_fraud", "--base", "tree", "--members", 3, *options)
