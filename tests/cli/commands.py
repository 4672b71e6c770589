"""Commands that tests call, and the names of their files."""

CSV = "payments.csv"
MODEL = "model.skops"


def train(path, *options):
    """Train three trees, calibrated as by default: what most tests need, in a third of the time that ten take."""
    return ("train", path, "--target", "is_fraud", "--base", "tree", "--members", 3, *options)
