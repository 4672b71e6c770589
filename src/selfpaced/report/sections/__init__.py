"""The sections of the page, each a function from facts to HTML, or to None if its facts are missing."""

from selfpaced.report.sections.answer import answer
from selfpaced.report.sections.course import course
from selfpaced.report.sections.data import data
from selfpaced.report.sections.decision import decision
from selfpaced.report.sections.explorer import explorer
from selfpaced.report.sections.importance import importance
from selfpaced.report.sections.learning import learning
from selfpaced.report.sections.making import making
from selfpaced.report.sections.quality import calibration, ranking
from selfpaced.report.sections.recipes import recipes
from selfpaced.report.sections.suspects import suspects

__all__ = [
    "answer",
    "calibration",
    "course",
    "data",
    "decision",
    "explorer",
    "importance",
    "learning",
    "making",
    "ranking",
    "recipes",
    "suspects",
]
