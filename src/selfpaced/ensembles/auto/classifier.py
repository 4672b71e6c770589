"""The classifier that chooses among self-paced recipes and blends them."""

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import get_tags

from selfpaced import tables
from selfpaced.calibration import BEST_METHOD, PriorCorrection
from selfpaced.callbacks import Callback, Round
from selfpaced.ensembles import checks
from selfpaced.ensembles.auto.recipes import BlendLimits, Columns, MinoritySize, columns_of, default_recipes
from selfpaced.ensembles.auto.training import AutoTraining, recipes_to_try
from selfpaced.ensembles.base import bases_of
from selfpaced.ensembles.suspects import DoubtingEnsemble
from selfpaced.ensembles.under_sampling import UnderSamplingEnsemble
from selfpaced.model import LogOddsPool, Model, check_features, reader_for, record_of


@checks.with_inherited_entries
class AutoSelfPacedClassifier(DoubtingEnsemble):
    """The best model without tuning: a blend of the self-paced recipes that rank held-out rows best.

    No single recipe is best on all tables. This classifier compares several on a sample of the rows, by the scores
    that each gives to rows that it was not trained on. Recipes that help the ranking get a weight and are trained on
    the whole table. The probabilities are a weighted sum of the recipes' log-odds, calibrated by the same scores.

    The comparison costs the same for a hundred thousand common rows and for a billion: the sample has at most 1,500
    rare rows (fewer of wide tables) and 30 times as many common rows (at least 20,000). Half of the common rows are
    drawn by their hardness.

    With more than 2,000 rare rows of two classes, the default recipes are strong boosted trees. An eighth of the rows
    is held out, or about 500 rare ones if that is less. The models themselves are judged, weighed and calibrated by
    their scores there, and below 10,000 rare rows trained again on all rows.

    Parameters
    ----------
    recipes : list of (str, estimator) tuples or None, default=None
        Names and unfitted ensembles to choose from: `SelfPacedEnsembleClassifier`, `UnderBaggingClassifier` or
        `BalanceCascadeClassifier`. By default LightGBM with random splits, a linear model, extra trees, and
        CatBoost if it is installed; with more than 2,000 rare rows, LightGBM of 300 rounds, as an ensemble and as one
        model of all rows. The cheapest should come first. If one common row for each rare one would be more than 2^20
        numbers (rows times columns), LightGBM of 300 rounds replaces the default recipes of other kinds, which are
        skipped, unless there is a time limit.
    time_limit : float or None, default=None
        Seconds that a fit should take. Recipes for which no time is left are skipped; there is always a model. With a
        limit, the result depends on the speed of the machine.
    calibration : {"isotonic", "beta", "sigmoid"} or None, default="isotonic"
        How scores become probabilities. With None, scores rank as well, but are far higher than probabilities.
    n_jobs : int or None, default=None
        Threads; None is 1 and -1 is all cores. The result does not depend on it.
    random_state : int, RandomState or None, default=None
        Seed of everything random. The same number gives the same model.
    callbacks : Callback, list of Callback or None, default=None
        Callbacks during the fit, such as `selfpaced.callbacks.ProgressBar`.

    Attributes
    ----------
    recipes_ : list of RecipeResult
        The result of each recipe: its AUCPRC on rows that it was not trained on with the standard error, its weight,
        its seconds, and the reason if it is not a part of the blend.
    ensembles_ : dict of str to estimator
        The fitted ensembles that make up the blend, by the names of their recipes.
    estimators_ : list of estimator
        All members of these ensembles.
    pool_ : LogOddsPool
        How the ensembles' probabilities become one.
    calibrator_ : Calibrator or None
        The map of the calibration.

    See Also
    --------
    SelfPacedEnsembleClassifier : one recipe, with all its parameters.

    Examples
    --------
    >>> from selfpaced import AutoSelfPacedClassifier, SelfPacedEnsembleClassifier
    >>> from selfpaced.datasets import make_fraud
    >>> from sklearn.ensemble import ExtraTreesClassifier
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = make_fraud(n_rows=4000, n_frauds=80, random_state=0)
    >>> trees = SelfPacedEnsembleClassifier(DecisionTreeClassifier(max_depth=5))
    >>> forest = SelfPacedEnsembleClassifier(ExtraTreesClassifier(20), ratio=5)
    >>> model = AutoSelfPacedClassifier([("trees", trees), ("forest", forest)], random_state=0).fit(X, y)
    >>> [result.name for result in model.recipes_ if result.weight > 0.5]
    ['forest']
    """

    ensembles_: dict[str, UnderSamplingEnsemble]
    # Not a parameter: a subclass may have other limits, as those of the tests have.
    _limits: ClassVar[BlendLimits] = BlendLimits()

    def __init__(
        self,
        recipes: Sequence[tuple[str, Any]] | None = None,
        *,
        time_limit: float | None = None,
        calibration: str | None = BEST_METHOD,
        n_jobs: int | None = None,
        random_state: Any = None,
        callbacks: Sequence[Callback] | Callback | None = None,
    ) -> None:
        self.recipes = recipes
        self.time_limit = time_limit
        self.calibration = calibration
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.callbacks = callbacks

    def fit(self, X: Any, y: Any, *, groups: Any = None, times: Any = None, **fit_params: Any) -> Self:
        """Choose among the recipes, and train those with a weight.

        Parameters
        ----------
        X : {ndarray, memory map, CSR matrix, pandas or polars DataFrame, pyarrow Table} of shape (n_rows, n_features)
            Features. Strings of a frame become categories, and dates become seconds since 1970, weekday and hour.
        y : array-like of shape (n_rows,)
            Labels of any type. The rarest class is the minority.
        groups : array-like of shape (n_rows,), default=None
            The group of each row, such as a card or a customer. No group is in the training rows and in the rows that a
            recipe is judged by.
        times : array-like of shape (n_rows,), default=None
            When each row was: dates or numbers. Recipes are then judged, and probabilities calibrated, by rows of other
            times than those that they were trained on. Rows of a group are of one time, the mean of theirs.
        **fit_params : dict
            `sample_weight`, of shape (n_rows,): how much each row counts, in training and in judging. Recipes whose
            base models do not accept weights are skipped.

        Returns
        -------
        self : estimator
            The fitted ensemble.
        """
        schema = tables.schema_of_frame(X) if tables.is_frame(X) else None
        X = check_features(self, X if schema is None else tables.as_trained(schema, X), reset=True)
        labels = checks.check_labels(y, X)
        weights = checks.weights_only(fit_params, labels)
        per_row = weights | checks.check_groups(groups, labels) | checks.check_times(times, labels)
        rows = tables.InMemoryTable(tables.polars_as_arrow(X), per_row)
        return self._adopt(
            AutoTraining(self, tables.LabelledTable(rows, labels, schema=schema, roles=checks.roles_with(groups)))
        )

    def fit_table(
        self, table: tables.Table, *, checkpoint: str | PathLike[str] | None = None, allow: str | Sequence[str] = ()
    ) -> Self:
        """Choose among the recipes, and train those with a weight, on rows that need not fit into memory.

        Parameters
        ----------
        table : Table
            What `selfpaced.open_table` returns.
        checkpoint : path, default=None
            A folder for the judgements and every finished round. The same call after a crash continues.
        allow : str or list of str, default=()
            Types that the files of the checkpoint may hold besides those that `load_model` accepts.

        Returns
        -------
        self : estimator
            The fitted ensemble.
        """
        checks.check_table(table)
        return self._adopt(AutoTraining(self, table, checkpoint=checkpoint, allow=allow))

    @classmethod
    def default_recipes(cls, X: Any = None) -> list[tuple[str, UnderSamplingEnsemble]]:
        """The recipes that are tried by default, to change some of them or to add others.

        Parameters
        ----------
        X : array or frame, default=None
            Some training rows: the recipes depend on which columns are categories.

        Returns
        -------
        list of (str, estimator) tuples
            Names and unfitted ensembles, as for `recipes`.
        """
        schema = tables.schema_of_frame(X) if tables.is_frame(X) else None
        columns = (
            Columns(None, {})
            if X is None
            else columns_of(X if schema is None else tables.as_trained(schema, X), schema)
        )
        return list(default_recipes(columns, MinoritySize(0, 0, cls._limits)).items())

    @property
    def pool_(self) -> LogOddsPool:
        """How the probabilities of the ensembles become one."""
        pool = self._fitted.pool
        assert pool is not None  # every blend has one
        return pool

    @property
    def n_training_rows_(self) -> list[int]:
        """The training rows of each member."""
        return [each.n_rows for each in self.rounds_of_members]

    @property
    def rounds_(self) -> list[Round]:
        raise AttributeError("A blend has several ensembles: see ensembles_[name].rounds_.")

    def _adopt(self, training: AutoTraining) -> Self:
        """Set the attributes of a finished fit."""
        blend, table, labels = training.run(), training.table, training.labels
        models = list(blend.models.values())
        record = record_of(
            labels, table.roles, table.schema, [each for m in models for each in m.members], table.snapshot
        )
        reader = reader_for(training.features, table.schema, [base for m in models for base in m.members])
        calibration = None if blend.calibrator is None else training.calibration
        parts = tuple(part for model in models for part in model.parts)
        self.ensembles_ = {name: training.ensemble(name)._keep(model, labels) for name, model in blend.models.items()}
        usual = next((own for each in models if (own := each.usual) is not None), None)
        model = Model(reader, parts, record, blend.pool, blend.calibrator, calibration, tuple(blend.results), usual)
        return self._keep(model, labels)

    def _bases(self) -> list[Any]:
        """The base models of all recipes: of the fitted blend, of the given recipes, or of the default ones."""
        if hasattr(self, "ensembles_"):
            recipes: Mapping[str, Any] = self.ensembles_
        elif self.recipes is None:
            recipes = dict(self.default_recipes())
        else:
            recipes = recipes_to_try(self.recipes)
        return [base for recipe in recipes.values() for base in bases_of(recipe)]

    def __sklearn_tags__(self) -> Any:
        """Recipes that cannot read the rows are skipped, so one that can read them is enough."""
        tags = super().__sklearn_tags__()
        bases = [get_tags(base).input_tags for base in self._bases()]
        tags.input_tags.sparse = any(base.sparse for base in bases)
        tags.input_tags.allow_nan = any(base.allow_nan for base in bases)
        return tags

    def _honest_means(
        self,
        table: tables.InMemoryTable,
        labels: tables.Labels,
        seen: Sequence[NDArray[np.intp]],
        fit_params: dict[str, Any],
    ) -> NDArray[np.float64]:
        parts, start = [], 0
        for each in self.ensembles_.values():
            stop = start + len(each.estimators_)
            parts.append(each._honest_means(table, labels, seen[start:stop], fit_params))
            start = stop
        return self.pool_(parts)

    def _prior_correction(self) -> PriorCorrection:
        """The closed forms of the ensembles, pooled as their log-odds are."""
        logs = [np.log(each._prior_correction().factors) for each in self.ensembles_.values()]
        return PriorCorrection(np.exp(self.pool_.weights @ np.array(logs)))
