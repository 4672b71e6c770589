"""The review of alerts by people: a local page, and a file of verdicts in which nothing is lost."""

from selfpaced.reviewing.app import make_app, review_at
from selfpaced.reviewing.queue import Item, PastRows, Queue
from selfpaced.reviewing.recall import Reviewed, estimate_recall
from selfpaced.reviewing.verdicts import DISAGREED, Layout, VerdictFile, outcome, read_verdicts, standing
