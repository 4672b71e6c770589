"""What is compared on one split of one table. Each comparison gives the AUCPRC on the test rows of several models."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from blends.candidates import IN_TURN, bases_in_turn
from blends.scales import SCALES, Scaled, log_odds_scaled
from blends.trial import Scores, Trial
from blends.weightings import weightings
from selfpaced.ensembles.auto import columns_of
from selfpaced.ensembles.auto.judging import Judge, Labelled, blend_weights
from selfpaced.ensembles.auto.recipes import RECIPES, BlendLimits

Floats = NDArray[np.float64]
Figures = dict[str, float]
# The AUCPRC of several models on the test rows ("aucprc"), and what else is to be known of them.
Outcome = dict[str, Figures]

# Few rows, yet more than the recipes ask for: a recipe that gets fewer common rows than it asks for is another one.
COMMON_PER_RARE_ROW = 30
MORE_FOLDS, MORE_MEMBERS = 5, 10
WHOLE_BLEND = "the blend"


class Comparisons:
    """All comparisons of a trial. Recipes are trained when the first comparison asks for them."""

    def __init__(self, trial: Trial) -> None:
        self._trial = trial
        self._judge: Judge = trial.judge()
        self._rows: Labelled = self._judge.rows

    def recipes(self) -> Outcome:
        """Every recipe alone, beside the blend of the default ones."""
        alone = {name: self._trial.aucprc(scores.test) for name, scores in self._scores(self._trial.recipes).items()}
        return {"aucprc": alone | {WHOLE_BLEND: self._default}}

    def weightings(self) -> Outcome:
        honest, test = log_odds_scaled(self._default_scores, self._rows)
        ways = weightings(honest, self._rows, self._trial.seed)
        return {
            "aucprc": {way: self._mixed(test, weights) for way, weights in ways.items()},
            "recipes_kept": {way: float((weights > 0).sum()) for way, weights in ways.items()},
        }

    def scales(self) -> Outcome:
        """On each scale, recipes are weighed by their scores on it."""
        scaled = {name: scale(self._default_scores, self._rows) for name, scale in SCALES.items()}
        return {"aucprc": {name: self._blended(each) for name, each in scaled.items()}}

    def one_less(self) -> Outcome:
        names = self._default_names()
        without = {name: self._of([other for other in names if other != name]) for name in names}
        return self._beside_the_blend({f"without {name}": score for name, score in without.items()})

    def one_more(self) -> Outcome:
        names = self._default_names()
        others = [name for name in self._trial.recipes if name not in names]
        return self._beside_the_blend({f"with {name}": self._of([*names, name]) for name in others})

    def in_turn(self) -> Outcome:
        """Several base models in one ensemble, beside an ensemble of each, blended."""
        columns = columns_of(self._trial.X, None)
        members = {n: self._trial.aucprc(self._trial.tested(bases_in_turn(columns, n))) for n in (9, 30)}
        together = {f"three base models in turn, {n} members": score for n, score in members.items()}
        return self._beside_the_blend({"the blend of these three": self._of(IN_TURN)} | together)

    def sample(self) -> Outcome:
        """Judged by few of the common rows, where there are more."""
        judge = self._trial.judge(BlendLimits(fewest_common_rows=0, common_per_rare_row=COMMON_PER_RARE_ROW))
        by = {"judged by all rows": self._rows, "judged by a sample": judge.rows}
        return {
            "aucprc": dict(zip(by, [self._default, self._judged_by(judge, "sample")], strict=True)),
            "common_rows": {name: float((rows.classes != rows.ranked[0]).sum()) for name, rows in by.items()},
        }

    def folds(self) -> Outcome:
        """Judged by more folds and more members."""
        more = self._judged_by(
            self._trial.judge(BlendLimits(n_folds=MORE_FOLDS, n_members_judged=MORE_MEMBERS)), "folds"
        )
        usual = f"{BlendLimits().n_folds} folds, {BlendLimits().n_members_judged} members"
        return {"aucprc": {usual: self._default, f"{MORE_FOLDS} folds, {MORE_MEMBERS} members": more}}

    def _beside_the_blend(self, figures: Figures) -> Outcome:
        return {"aucprc": {WHOLE_BLEND: self._default} | figures}

    def _default_names(self) -> list[str]:
        return [name for name in self._trial.recipes if name in RECIPES]

    def _scores(self, names: Sequence[str] | Mapping[str, object]) -> dict[str, Scores]:
        return {name: self._trial.scores(name, self._judge) for name in names}

    @cached_property
    def _default_scores(self) -> list[Scores]:
        return list(self._scores(self._default_names()).values())

    @cached_property
    def _default(self) -> float:
        return self._of(self._default_names())

    def _of(self, names: Sequence[str]) -> float:
        """The blend of some recipes, as the library makes it."""
        return self._blended(log_odds_scaled(list(self._scores(names).values()), self._rows))

    def _judged_by(self, judge: Judge, way: str) -> float:
        """The blend of the default recipes if they are judged by other rows, or in other ways."""
        scores = [self._trial.scores(name, judge, way) for name in self._default_names()]
        return self._blended(log_odds_scaled(scores, judge.rows), judge.rows)

    def _blended(self, scaled: Scaled, rows: Labelled | None = None) -> float:
        honest, test = scaled
        return self._mixed(test, blend_weights(honest, rows or self._rows, self._trial.seed))

    def _mixed(self, test: Sequence[Floats], weights: Floats) -> float:
        return self._trial.aucprc(np.tensordot(weights, test, axes=1))


COMPARISONS: dict[str, Callable[[Comparisons], Outcome]] = {
    "recipes": Comparisons.recipes,
    "weightings": Comparisons.weightings,
    "scales": Comparisons.scales,
    "one recipe less": Comparisons.one_less,
    "one recipe more": Comparisons.one_more,
    "in turn": Comparisons.in_turn,
    "sample": Comparisons.sample,
    "folds": Comparisons.folds,
}
