"""A page of the rendered results, and words that many pages share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from paper.datasets import DATASETS
from paper.render.scorecard import Score

Frames = Mapping[str, pd.DataFrame]

READING = (
    "Mean ± standard deviation over runs, the number of runs in parentheses; below it the published figure and "
    "ours minus theirs. The best of ours in a row is bold.\n"
)
MEASURES = {"aucprc": "AUCPRC", "f1": "F1", "gmean": "G-mean", "mcc": "MCC"}


def picture(name: str, alternative: str) -> str:
    """A picture, its description for those who do not see it, and a link to its numbers.

    >>> print(picture("overlap", "Two curves."))
    ![Two curves.](overlap.png)
    <BLANKLINE>
    The numbers of this picture are in [overlap.numbers.csv](overlap.numbers.csv).
    """
    numbers = f"{name}.numbers.csv"
    return f"![{alternative}]({name}.png)\n\nThe numbers of this picture are in [{numbers}]({numbers})."


def titles(frame: pd.DataFrame) -> str:
    """The data sets of a picture, by the titles that its parts have."""
    return " and ".join(DATASETS[name].title for name in dict.fromkeys(frame["dataset"]))


def what_differs(datasets: Iterable[str]) -> str:
    """A sentence for each data set that is not the paper's, by the title that its part of a picture has."""
    return "\n\n".join(
        f"**{DATASETS[name].title}.** {DATASETS[name].differs}" for name in datasets if DATASETS[name].differs
    )


@dataclass(frozen=True)
class Page:
    """A page and how to write it.

    Attributes
    ----------
    needs : the experiments whose cells it shows; without them there is no page.
    text : from the results and the folder for pictures to the page's text below its title.
    scores : what it adds to the scorecard.
    """

    name: str
    title: str
    needs: Sequence[str]
    text: Callable[[Frames, Path], str]
    scores: Callable[[Frames], list[Score]] = lambda frames: []
