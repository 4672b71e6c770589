"""The rows to review: which one each reviewer gets, what was said about it, and what all verdicts come to."""

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import accumulate
from typing import Any

from selfpaced.exceptions import TableError
from selfpaced.reviewing.recall import Reviewed, estimate_recall
from selfpaced.reviewing.verdicts import DISAGREED, VERDICTS, Verdict, VerdictFile, outcome, standing

SECONDS_HELD = 600.0  # until a row goes to another reviewer, if the first one has gone
LONGEST_NAME, LONGEST_NOTE = 80, 2000
MOST_LISTED = 200


@dataclass(frozen=True)
class PastRows:
    """The last rows of an entity before a row."""

    entity: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str | None]]
    n_all: int  # how many there are, of which these are the last


@dataclass(frozen=True)
class Item:
    """A row to review. Values are texts; None is a missing value."""

    id: str
    place: int  # among the rows drawn at random, from 1; 0 for an alert
    score: float | None
    reasons: Sequence[dict[str, Any]]
    row: Sequence[tuple[str, str | None]]
    past: PastRows | None = None


class Queue:
    """The rows and their verdicts. `n_others` is the number of rows that the sample of non-alerts was drawn from.

    `facts` are what the page says about the file as a whole.
    """

    def __init__(
        self, items: Sequence[Item], file: VerdictFile, facts: Mapping[str, str | None], n_others: int = 0
    ) -> None:
        self.items, self.file, self.facts = items, file, facts
        self.n_others, self.is_blind = n_others, any(item.place for item in items)
        self._numbers = {item.id: number for number, item in enumerate(items)}
        self._said = standing(file.verdicts)
        self._held: dict[int, tuple[str, float]] = {}  # the reviewer who looks at a row, and since when

    @property
    def n_unknown(self) -> int:
        """The number of rows that have a verdict but are not among those to review."""
        return len(self._said.keys() - self._numbers.keys())

    def next_for(self, reviewer: str) -> int | None:
        """The first row without a verdict that no other reviewer looks at; the same one until there is a verdict."""
        now = time.monotonic()
        waiting = [number for number, item in enumerate(self.items) if item.id not in self._said]
        own = [number for number in waiting if self._held.get(number, ("", 0.0))[0] == reviewer]
        free = [number for number in waiting if number not in self._held or now - self._held[number][1] > SECONDS_HELD]
        return next((self._hold(number, reviewer) for number in own + free), None)

    def _hold(self, number: int, reviewer: str) -> int:
        self._held[number] = reviewer, time.monotonic()
        return number

    def record(self, number: int, reviewer: str, verdict: str, note: str) -> None:
        """Save a verdict. The same verdict again, as after a lost answer, is not saved twice."""
        item, reviewer = self.items[number], one_line(reviewer)
        if verdict not in VERDICTS:
            raise TableError(f"A verdict is {', '.join(VERDICTS[:-1])} or {VERDICTS[-1]}; got {verdict!r}.")
        if not 0 < len(reviewer) <= LONGEST_NAME:
            raise TableError(f"The reviewer needs a name of at most {LONGEST_NAME} characters.")
        if len(note) > LONGEST_NOTE:
            raise TableError(f"The note has {len(note):,} characters; at most {LONGEST_NOTE:,} can be saved.")
        when = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        said = Verdict(item.id, verdict, one_line(note), reviewer, when)
        before = self._said.get(item.id, {})
        if not said.repeats(before.get(reviewer)):
            self.file.append(said)
            self._said.setdefault(item.id, {})[reviewer] = said
        self._held.pop(number, None)

    def shown(self, number: int, reviewer: str) -> dict[str, Any]:
        """What a reviewer sees of a row: the verdicts of others only beside an own one, and no score if it is blind."""
        item, said = self.items[number], self._said.get(self.items[number].id, {})
        past = item.past
        return {
            "number": number,
            "id": item.id,
            "score": None if self.is_blind else item.score,
            "reasons": [] if self.is_blind else list(item.reasons),
            "row": list(item.row),
            "past": None if past is None else vars(past),
            "own": vars(said[reviewer]) if reviewer in said else None,
            "others": [vars(one) for who, one in said.items() if who != reviewer] if reviewer in said else [],
            "outcome": outcome(said.values()) if reviewer in said else None,
        }

    def outcomes(self) -> dict[int, str]:
        """What the verdicts about each row come to, by its number, in the order of the first verdicts."""
        return {self._numbers[id]: outcome(said.values()) for id, said in self._said.items() if id in self._numbers}

    def findings(self) -> str:
        """What the verdicts come to. Those of an audit do if they are about all rows or a random part of them."""
        found, order = self.outcomes(), list(range(len(self.items)))
        n_left, n_alerts = len(order) - len(found), sum(item.place == 0 for item in self.items)
        # What was finished before: all alerts, or a smaller audit, which has the first of the rows drawn here.
        last = accumulate((self.items[number].place for number in found), max)
        n_before = max((n for n, place in enumerate(last, 1) if n == n_alerts + place), default=0)
        order = list(dict.fromkeys([*[*found][:n_before], *order]))
        at = {number: place for place, number in enumerate(order)}
        # Reviewers get rows in the random order of the audit, and each can be late with one of them.
        n_late = len({who for item in self.items for who in self._said.get(item.id, ())}) - 1
        is_random = not self.n_unknown and all(at[number] <= n + n_late for n, number in enumerate(found))
        if self.is_blind and n_left and not is_random:
            return (
                "There is no estimate of the recall yet: rows had verdicts before this audit began, or got them in "
                "another order than its random one, so those with a verdict are no random sample. Go on with the same "
                f"command until the {n_left:,} rows that are left have a verdict."
            )
        looked_at = order[: 1 + max((at[number] for number in found), default=-1)] if self.is_blind else found

        def reviewed(is_alert: bool, n_rows: int) -> Reviewed:
            said = [found.get(number) for number in looked_at if (self.items[number].place == 0) == is_alert]
            n_rare, n_common = said.count("rare"), said.count("common")
            return Reviewed(n_rows, n_rare + n_common, n_rare, len(said) - n_rare - n_common)

        return str(estimate_recall(reviewed(True, n_alerts), reviewed(False, self.n_others)))

    def summary(self) -> dict[str, Any]:
        """The state of the review. A blind one says what it has found only when it is complete."""
        found = self.outcomes()
        counts, n_left = Counter(found.values()), len(self.items) - len(found)
        listed = [number for number, said in found.items() if said == DISAGREED]
        listed += [number for number in reversed(found) if found[number] != DISAGREED]
        return {
            "n_rows": len(self.items),
            "n_reviewed": len(found),
            "n_left": n_left,
            "counts": {name: counts[name] for name in (*VERDICTS, DISAGREED)},
            "listed": [
                {"number": number, "id": self.items[number].id, "outcome": found[number]}
                for number in listed[:MOST_LISTED]
            ],
            "found": None if self.is_blind and n_left else self.findings(),
            "is_blind": self.is_blind,
        }


def one_line(text: str) -> str:
    """A text without line breaks and control characters.

    >>> one_line(" two\\nlines\\x00 ")
    'two lines'
    """
    return " ".join("".join(one if one.isprintable() else " " for one in text).split())
