"""Choosing among recipes within a time limit, with judgements that a checkpoint keeps."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from io import BytesIO
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced.calibration import Calibrator, fit_calibrator
from selfpaced.ensembles.auto import judging
from selfpaced.ensembles.checkpoint import ALLOWING, plan_hash
from selfpaced.exceptions import CheckpointError, ModelFileError, TableError, warn
from selfpaced.model import LogOddsPool, Model, RecipeResult, equal_pool, log_odds, pool_of
from selfpaced.storage import PrivateFolder, dumped, loaded

Floats = NDArray[np.float64]

# The share of a time limit that judging may take; the rest is for training on the whole table.
SHARE_TO_JUDGE = 0.5
TIME_IS_UP = "skipped: the time limit was reached"
SHORTEST = 1e-3  # seconds of judging, to divide by


class CallbackError(Exception):
    """Wraps an error of a user's callback, to distinguish it from an error of a recipe."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


# Errors that end the whole fit. After other errors the fit continues without the recipe.
NOT_OF_A_RECIPE = (CallbackError, CheckpointError, ModelFileError, OSError, TableError)


@dataclass(frozen=True)
class Clock:
    """The time limit of a fit in seconds; None for no limit."""

    limit: float | None
    begin: float

    def allows(self, seconds: float, share: float = 1.0) -> bool:
        """Whether a number of further seconds is within a share of the limit."""
        return self.limit is None or time.perf_counter() - self.begin + seconds <= share * self.limit


@dataclass(frozen=True)
class Blend:
    """The models of the recipes with a weight, in their order, their pool, its calibration, and all results."""

    models: dict[str, Model]
    pool: LogOddsPool
    calibrator: Calibrator | None
    results: list[RecipeResult]


class Chooser:
    """Chooses among recipes, given by name. `on_step` is called with the name of a recipe and what happens to it.

    `judge` compares the recipes by copies of them, or by rows that are held out; it is None if there are too few rare
    rows. Where rows are held out, all recipes are trained, and no copies are needed. `fits` trains recipes, given by
    name: it gives the model of each or its error, and the seconds. `again` does so on all rows, also those that were
    held out; it is None if these are too few to matter.
    """

    def __init__(
        self,
        recipes: Mapping[str, Any],
        judge: judging.Judge | judging.HeldOutJudge | None,
        fits: Callable[[Sequence[str]], Iterator[tuple[Model | Exception, float]]],
        clock: Clock,
        on_step: Callable[[str, str], None],
        again: Callable[[Sequence[str]], Iterator[tuple[Model | Exception, float]]] | None = None,
    ) -> None:
        self._recipes = recipes
        self._judge = judge
        self._fits = fits
        self._clock = clock
        self._on_step = on_step
        self._again = again
        self._results = {name: RecipeResult(name) for name in recipes}
        self._judged: dict[str, judging.Judgement] = {}

    def chosen(self, classes: Sequence[int], calibration: str | None, saved: SavedJudgements | None) -> Blend:
        """The blend. `classes` are the numbers of the classes that are pooled."""
        models: dict[str, Model] = {}
        if isinstance(self._judge, judging.HeldOutJudge):
            models = self._fitted(dict.fromkeys(self._recipes, 1.0))
            for name, model in models.items():
                self._on_step(name, "judging")
                self._take(name, self._judge.judged(model), self._judge)
        elif self._judge is not None:
            self._judge_all(self._judge, saved)
        weights = self._weights()
        models = {name: self._on_all_rows(name, models[name]) for name in weights} if models else self._fitted(weights)
        if not models:
            reasons = "; ".join(f"{name}: {each.note}" for name, each in self._results.items())
            raise ValueError(f"No recipe could be trained on these rows. {reasons}")
        kept = np.array([weights[name] for name in models])
        pool, calibrator = equal_pool(len(models), classes), None
        if self._judge is not None and all(name in self._judged for name in models):
            honest = [self._judged[name].probabilities for name in models]
            pool = pool_of(honest, kept, self._judge.rows.weights, classes)
            calibrator = self._calibrator(calibration, pool(honest))
            if calibrator is not None and isinstance(self._judge, judging.Judge) and self._judge.has_some_rare_rows:
                calibrator = self._calibrator(calibration, self._levelled(models, pool, pool(honest), calibrator))
        for name, weight in zip(models, pool.weights.tolist(), strict=True):
            self._note(name, weight=weight)
        return Blend(models, pool, calibrator, list(self._results.values()))

    def _judge_all(self, judge: judging.Judge, saved: SavedJudgements | None) -> None:
        known = {name: earlier for name in self._recipes if saved and (earlier := saved.get(name)) is not None}
        at_once, names = None, list(self._recipes)
        if self._clock.limit is None:
            # All at once, beginning with the last: these take longest, so no core waits for them at the end.
            names.reverse()
            at_once = judge.judged([self._recipes[name] for name in names if name not in known])
        # With a time limit recipes are judged one after the other, to stop in time.
        slowest = 0.0
        for name in names:
            if self._judged and not self._clock.allows(slowest, SHARE_TO_JUDGE):
                self._note(name, note=TIME_IS_UP)
                continue
            self._on_step(name, "judging")
            found: judging.Judgement | Exception = known.get(name) or next(
                at_once or judge.judged([self._recipes[name]])
            )
            if isinstance(found, Exception):
                self._note_failure(name, found)
                continue
            if saved is not None:
                saved.put(name, found)
            slowest = max(slowest, found.seconds)
            self._take(name, found, judge)
        self._judged = {name: self._judged[name] for name in self._recipes if name in self._judged}

    def _take(self, name: str, found: judging.Judgement, judge: judging.Judge | judging.HeldOutJudge) -> None:
        score = judging.aucprc_of(found.probabilities, judge.rows)
        error = judging.standard_error(found.probabilities, judge.rows, judge.seed)
        self._judged[name] = found
        self._note(name, aucprc=score, standard_error=error, seconds_judging=found.seconds)

    def _weights(self) -> dict[str, float]:
        """The weights of the recipes that are to be trained."""
        if self._judge is None:
            return dict.fromkeys(self._recipes, 1 / len(self._recipes))
        if not self._judged:
            return {}
        rows = self._judge.rows
        equal = np.full(len(self._judged), 1 / len(self._judged))
        honest = [each.probabilities for each in self._judged.values()]
        scale = pool_of(honest, equal, rows.weights, range(honest[0].shape[1]))
        standard = [
            (log_odds(each) - centre) / spread
            for each, centre, spread in zip(honest, scale.centres, scale.spreads, strict=True)
        ]
        weights = judging.blend_weights(standard, rows, self._judge.seed)
        if isinstance(self._judge, judging.HeldOutJudge):
            weights = judging.nearer_to_equal(weights)
        for name, weight in zip(self._judged, weights.tolist(), strict=True):
            if weight == 0:
                self._note(name, note="no weight: the others are better without it")
        return {name: w for name, w in zip(self._judged, weights.tolist(), strict=True) if w > 0}

    def _fitted(self, weights: Mapping[str, float]) -> dict[str, Model]:
        """The recipes trained on the whole table, those with the largest weight first, as far as the time allows."""
        fitted: dict[str, Model] = {}
        taken: dict[str, float] = {}
        names = sorted(weights, key=lambda name: -weights[name])
        if self._clock.limit is not None and names:
            # The first is trained in any case: the largest weight that should be in time, or the fastest.
            expected = {name: self._seconds_to_fit(name, {}) for name in names}
            fastest = min(names, key=expected.__getitem__)
            first = next((name for name in names if self._clock.allows(expected[name])), fastest)
            names.sort(key=lambda name: name != first)
        # With a time limit a recipe may be skipped, and a faster one after it trained.
        all_of_them = self._fits(names) if self._clock.limit is None else None
        for name in names:
            if fitted and not self._clock.allows(self._seconds_to_fit(name, taken)):
                self._note(name, note=TIME_IS_UP)
                continue
            self._on_step(name, "fitting")
            found, seconds = next(all_of_them or self._fits([name]))
            if isinstance(found, Exception):
                self._note_failure(name, found)
            else:
                fitted[name] = found
            taken[name] = seconds
            self._note(name, seconds_fitting=seconds)
        return {name: fitted[name] for name in self._recipes if name in fitted}

    def _on_all_rows(self, name: str, model: Model) -> Model:
        """The model trained again with the rows that it was judged by, if there is time."""
        if self._again is None or not self._clock.allows(self._results[name].seconds_fitting):
            return model
        self._on_step(name, "fitting")
        ((found, seconds),) = self._again([name])
        self._note(name, seconds_fitting=self._results[name].seconds_fitting + seconds)
        if isinstance(found, Exception):
            raise found  # it could be trained on nearly all of these rows
        return found

    def _seconds_to_fit(self, name: str, taken: Mapping[str, float]) -> float:
        """How long a recipe may take on the whole table, by the seconds of others and the seconds of judging each.

        Before any is trained, by how many more members and rows it has than its copies.
        """
        if not isinstance(self._judge, judging.Judge):
            return max(taken.values(), default=0.0)
        ratios = [seconds / max(self._judged[other].seconds, SHORTEST) for other, seconds in taken.items()]
        expected = self._judge.times_as_much_work(self._recipes[name].n_estimators)
        return max(ratios, default=expected) * max(self._judged[name].seconds, SHORTEST)

    def _levelled(
        self, models: Mapping[str, Model], pool: LogOddsPool, copies: Floats, calibrator: Calibrator
    ) -> Floats:
        """The pooled scores of the copies, at the level of the models."""
        assert isinstance(self._judge, judging.Judge)
        scores = pool([self._judge.rescored(each) for each in models.values()])
        return judging.shifted(
            copies, judging.difference_of_levels(copies, scores, calibrator, self._judge.weights_of_common_rows)
        )

    def _calibrator(self, method: str | None, pooled: Floats) -> Calibrator | None:
        if method is None or self._judge is None:
            return None
        judge = self._judge
        return fit_calibrator(method, pooled, judge.sample.classes, judge.sample.weights, judge.rare_class)

    def _note(self, name: str, **facts: Any) -> None:
        self._results[name] = replace(self._results[name], **facts)

    def _note_failure(self, name: str, error: Exception) -> None:
        """Report a recipe that failed. The fit continues with the others."""
        if isinstance(error, NOT_OF_A_RECIPE):
            raise error
        reason = f"{type(error).__name__}: {' '.join(str(error).split())}"
        self._note(name, note=f"failed: {reason}")
        warn(f"The recipe {name!r} failed and is skipped. {reason}")


class SavedJudgements:
    """The judgements of an earlier fit that was interrupted, in the files of a checkpoint. `plan` describes the fit."""

    def __init__(self, folder: PrivateFolder, plan: Mapping[str, Any], allow: str | Sequence[str]) -> None:
        self._folder = folder
        self._plan = plan_hash(plan)
        self._allow = allow

    def get(self, name: str) -> judging.Judgement | None:
        file = _file_name(name)
        if not self._folder.has(file):
            return None
        path, content = f"{self._folder}/{file}", self._folder.read(file)
        try:
            parts = loaded(BytesIO(content), path, ALLOWING, self._allow)
            belongs = (parts.pop("plan"), parts.pop("name")) == (self._plan, name)
            found = judging.Judgement(**parts)
        except Exception as error:  # damaged files may raise anything
            raise CheckpointError(
                f"{path} of the checkpoint is damaged. Remove it, and the recipe is judged again."
            ) from error
        if not belongs:
            raise CheckpointError(f"{path} belongs to another fit. Remove it, and the recipe is judged again.")
        return found

    def put(self, name: str, judgement: judging.Judgement) -> None:
        file = _file_name(name)
        if not self._folder.has(file):
            parts = {"plan": self._plan, "name": name, **vars(judgement)}
            content = dumped(parts, "The judgement", ALLOWING, self._allow, "Fit without a checkpoint.")
            self._folder.write(file, content)


def _file_name(name: str) -> str:
    return f"judged-{sha256(name.encode()).hexdigest()[:16]}.skops"
