"""The types that a file may hold. The list is part of the library, and a file cannot add to it.

skops itself trusts scikit-learn's public estimators and numpy's arrays. This list adds to them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from selfpaced.exceptions import ModelFileError

OURS = [
    "selfpaced.calibration.BetaMap",
    "selfpaced.calibration.ClassMaps",
    "selfpaced.calibration.IsotonicMap",
    "selfpaced.calibration.PriorCorrection",
    "selfpaced.calibration.RareClassMap",
    "selfpaced.deciding.CostDecisionClassifier",
    "selfpaced.ensembles.auto.AutoSelfPacedClassifier",
    "selfpaced.ensembles.balance_cascade.BalanceCascadeClassifier",
    "selfpaced.ensembles.choosing.RecipeResult",
    "selfpaced.ensembles.cross_fitting.GroupCopies",
    "selfpaced.ensembles.cross_fitting.HonestScores",
    "selfpaced.ensembles.easy_ensemble.EasyEnsembleClassifier",
    "selfpaced.ensembles.pooling.LogOddsPool",
    "selfpaced.ensembles.rus_boost.RUSBoostClassifier",
    "selfpaced.ensembles.self_paced.SelfPacedEnsembleClassifier",
    "selfpaced.ensembles.smote_bagging.SMOTEBaggingClassifier",
    "selfpaced.ensembles.smote_boost.SMOTEBoostClassifier",
    "selfpaced.ensembles.trained_on.TrainedOn",
    "selfpaced.ensembles.under_bagging.UnderBaggingClassifier",
    "selfpaced.bases.numbered_columns",
    "selfpaced.rounds.BinNotes",
    "selfpaced.rounds.Round",
    "selfpaced.tables.schema.Column",
    "selfpaced.tables.schema.Schema",
    "selfpaced.thresholds.costs.Costs",
    "selfpaced.thresholds.rules.AlertsAtMost",
    "selfpaced.thresholds.rules.Best",
    "selfpaced.thresholds.rules.LowestCost",
    "selfpaced.thresholds.rules.PrecisionAtLeast",
    "selfpaced.thresholds.rules.RecallAtLeast",
    "selfpaced.thresholds.scorer.rule_score",
]
# skops leaves the first two out because their numbers of nodes are not checked; `contents.py` checks them.
INSIDE_SCIKIT_LEARN = [
    "sklearn.tree._tree.Tree",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.calibration._CalibratedClassifier",
    "sklearn.calibration._SigmoidCalibration",
    "sklearn.compose._column_transformer._RemainderColsList",  # up to scikit-learn 1.7
    "sklearn.compose._column_transformer.make_column_selector",
    "sklearn.feature_selection._univariate_selection.f_classif",
    "sklearn.metrics._dist_metrics.ChebyshevDistance64",
    "sklearn.metrics._dist_metrics.EuclideanDistance64",
    "sklearn.metrics._dist_metrics.ManhattanDistance64",
    "sklearn.metrics._dist_metrics.MinkowskiDistance64",
    # The scorer that tuned a threshold holds a function by its name, which must be on the list too.
    "sklearn.metrics._scorer._CurveScorer",
    "sklearn.metrics._scorer._PassthroughScorer",
    "sklearn.metrics._scorer._Scorer",
    "sklearn.model_selection._split.StratifiedKFold",
    "sklearn.neighbors._ball_tree.BallTree",
    "sklearn.neighbors._kd_tree.KDTree",
    "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
    "sklearn.neural_network._stochastic_optimizers.SGDOptimizer",
    "sklearn.utils._bunch.Bunch",
    "sklearn.utils._metadata_requests.MetadataRequest",
    "sklearn.utils._metadata_requests.MethodMetadataRequest",
    # HistGradientBoosting keeps a bound check of its categories; a partial is not called while loading.
    "functools.partial",
    "sklearn.utils.validation.check_array",
    "numpy.dtype",
    "scipy.sparse._csr.csr_array",
    "scipy.sparse._csr.csr_matrix",
]
# A file stores a Booster as text (LightGBM) or bytes (XGBoost, CatBoost) in its own format, not as a pickle.
BOOSTERS = [
    "catboost.core.CatBoostClassifier",
    "collections.OrderedDict",
    "lightgbm.basic.Booster",
    "lightgbm.sklearn.LGBMClassifier",
    "xgboost.core.Booster",
    "xgboost.sklearn.XGBClassifier",
    "xgboost.sklearn.XGBRFClassifier",
]
TRUSTED = [*OURS, *INSIDE_SCIKIT_LEARN, *BOOSTERS]


def trusted_types() -> list[str]:
    """The names of the types that model files may hold, besides those that skops trusts by itself.

    This is for tools that load skops files themselves, such as MLflow:
    `mlflow.sklearn.save_model(model, path, skops_trusted_types=trusted_types())`. These are the types that `load_model`
    accepts. None of them runs code from a file when it is loaded. `load_model` also checks the trees in a file, which
    other tools do not. So load files from others with `load_model`.

    >>> "selfpaced.ensembles.self_paced.SelfPacedEnsembleClassifier" in trusted_types()
    True
    """
    return list(TRUSTED)


def trusted_with(allow: str | Sequence[str]) -> list[str]:
    """The list, and the types that the caller allows."""
    return [*TRUSTED, *([allow] if isinstance(allow, str) else allow)]


class UnknownTypeError(ModelFileError):
    """Raised for types that are not on the list. The file itself may be valid."""


def refuse_unknown(types: Iterable[str], allow: str | Sequence[str], what: str, call: str) -> None:
    """Refuse types that are neither on the list nor allowed by the caller. `call` begins as "save_model(..."."""
    unknown = sorted(set(types) - set(trusted_with(allow)))
    if unknown:
        raise UnknownTypeError(
            f"{what} holds {', '.join(unknown)}, which is not on the list of trusted types. If you trust "
            f"{'it' if len(unknown) == 1 else 'them'}, call {call}, allow={unknown})."
        )
