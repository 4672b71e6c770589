"""Objects in skops archives that run nothing when they are loaded, and the versions that they depend on."""

import platform
import sys
import warnings
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

from sklearn.exceptions import InconsistentVersionWarning

from selfpaced.exceptions import ModelFileError, need

# These versions are recorded, but a model does not depend on them.
ONLY_NOTED = {"numpy", "python", "skops"}


def versions_for(members: Iterable[Any]) -> dict[str, str]:
    """The current versions of Python, of what every model needs, and of the packages of the members of an ensemble."""
    parts = [part for member in members for part in (member, *member.get_params(deep=True).values())]
    packages = {type(part).__module__.partition(".")[0] for part in parts}
    return versions_of({"numpy", "selfpaced", "sklearn"} | packages)


def versions_of(packages: set[str]) -> dict[str, str]:
    """The current versions of Python, and of the given packages that are imported and have a version."""
    return {"python": platform.python_version(), **_installed(packages)}


def _installed(packages: set[str]) -> dict[str, str]:
    """The versions of packages that are imported and have one. Modules of the standard library have none."""
    found = {name: getattr(sys.modules.get(name), "__version__", None) for name in sorted(packages)}
    return {name: str(version) for name, version in found.items() if version is not None}


def differences(written: Mapping[str, str]) -> list[str]:
    """The packages whose version differs from that of a saved model, as text. Patch releases count as the same.

    Packages that are not imported are ignored: names from a file must not cause an import.

    >>> differences({"sklearn": "0.1.2", "python": "2.7"})  # doctest: +ELLIPSIS
    ['sklearn 0.1.2 (here ...)']
    """
    here = _installed(set(written) - ONLY_NOTED)
    return [
        f"{name} {written[name]} (here {version})"
        for name, version in here.items()
        if written[name].split(".")[:2] != version.split(".")[:2]
    ]


OURS = [
    "selfpaced.calibration.BetaMap",
    "selfpaced.calibration.ClassMaps",
    "selfpaced.calibration.IsotonicMap",
    "selfpaced.calibration.PriorCorrection",
    "selfpaced.calibration.RareClassMap",
    "selfpaced.thresholds.decisions.CostDecisionClassifier",
    "selfpaced.ensembles.auto.classifier.AutoSelfPacedClassifier",
    "selfpaced.ensembles.under_sampling.BalanceCascadeClassifier",
    "selfpaced.ensembles.cross_fitting.GroupCopies",
    "selfpaced.ensembles.cross_fitting.HonestScores",
    "selfpaced.baselines.under_sampling.EasyEnsembleClassifier",
    "selfpaced.model.model.Model",
    "selfpaced.model.model.Part",
    "selfpaced.model.model.RecipeResult",
    "selfpaced.model.pooling.LogOddsPool",
    "selfpaced.model.reader.RowReader",
    "selfpaced.model.typical.UsualValues",
    "selfpaced.baselines.under_sampling.RUSBoostClassifier",
    "selfpaced.ensembles.self_paced.SelfPacedEnsembleClassifier",
    "selfpaced.ensembles.single.AsPredicted",
    "selfpaced.ensembles.single.SingleModelClassifier",
    "selfpaced.baselines.smote.SMOTEBaggingClassifier",
    "selfpaced.baselines.smote.SMOTEBoostClassifier",
    "selfpaced.model.model.TrainedOn",
    "selfpaced.ensembles.under_sampling.UnderBaggingClassifier",
    "selfpaced.ensembles.auto.recipes.numbered_columns",
    "selfpaced.callbacks.BinNotes",
    "selfpaced.callbacks.Round",
    "selfpaced.tables.schema.Column",
    "selfpaced.tables.schema.Schema",
    "selfpaced.thresholds.costs.Costs",
    "selfpaced.thresholds.rules.AlertsAtMost",
    "selfpaced.thresholds.rules.Best",
    "selfpaced.thresholds.rules.LowestCost",
    "selfpaced.thresholds.rules.PrecisionAtLeast",
    "selfpaced.thresholds.rules.RecallAtLeast",
    "selfpaced.thresholds.choosing.rule_score",
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


# A changed byte can also make an archive look encrypted or compressed by an unknown method, which is a RuntimeError.
DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, UnicodeDecodeError)
# A small file must not fill the memory when it is decompressed. Models with many categories, the worst that were
# measured, are decompressed to 34 times the size of their file.
ALWAYS_ACCEPTED_BYTES = 2**26
LARGEST_RATIO = 200
BYTES_AT_ONCE = 2**16
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # others decompress megabytes from a few bytes at once


def import_skops() -> Any:
    return need("skops.io", "models", "Writing and reading models and checkpoints")


def dumped(thing: Any, what: str, call: str, allow: str | Sequence[str] = (), otherwise: str = "") -> bytes:
    """An object as an archive. An object that could not be loaded again is refused.

    Errors call the object `what`. They name the `call` that can `allow` more types than those on the list, such as
    "save_model(...", and what to do `otherwise` if skops cannot save the object.
    """
    skops = import_skops()
    try:
        content: bytes = skops.dumps(thing, compression=zipfile.ZIP_DEFLATED)
    except TypeError as error:  # also skops' UnsupportedTypeException
        raise ModelFileError(f"{what} cannot be saved with skops ({error}). {otherwise}".rstrip()) from error
    refuse_unknown(skops.get_untrusted_types(data=content), allow, what, call)
    with zipfile.ZipFile(BytesIO(content)) as archive:
        n_decompressed = sum(part.file_size for part in archive.infolist())
    if n_decompressed > _most_decompressed(len(content)):
        content = skops.dumps(thing, compression=zipfile.ZIP_STORED)  # compressed it would exceed the largest ratio
    return content


def loaded(
    source: Path | BytesIO, name: str, call: str, allow: str | Sequence[str] = (), versions: Mapping[str, str] = {}
) -> Any:
    """The object in an archive, of trusted types only. `check_contents` checks whether its parts fit together.

    Errors call the archive `name`, and list which `versions` of packages have changed since the object was saved.
    `call` and `allow` are those of `dumped`.
    """
    skops = import_skops()
    with opened(source, name) as archive, BytesIO() as copied:
        # Without compression, so that nothing in it can grow; the checksums are checked.
        with zipfile.ZipFile(copied, "w", zipfile.ZIP_STORED) as copy:
            for part in dict.fromkeys(archive.namelist()):
                copy.writestr(part, part_of(archive, part))
        content = copied.getvalue()
    try:
        types = skops.get_untrusted_types(data=content)
    except Exception as error:  # a damaged description may raise anything
        raise ModelFileError(f"{name} is damaged: its content cannot be described ({error!r}).") from error
    refuse_unknown(types, allow, name, call)
    with warnings.catch_warnings():
        # scikit-learn would warn about a different version for every part.
        warnings.simplefilter("ignore", InconsistentVersionWarning)
        try:
            return skops.loads(content, trusted=trusted_with(allow))
        except Exception as error:  # parts that do not fit together, or not here, may raise anything
            changed = differences(versions)
            saved_with = f" It was saved with {', '.join(changed)}." if changed else ""
            raise ModelFileError(f"The content of {name} cannot be put together: {error!r}.{saved_with}") from error


@contextmanager
def opened(source: Path | BytesIO, name: str) -> Iterator[zipfile.ZipFile]:
    """The archive. For another file, an error says what it is."""
    try:
        n_bytes = source.stat().st_size if isinstance(source, Path) else len(source.getbuffer())
        with zipfile.ZipFile(source) as archive:
            _check_size(archive, n_bytes, name)
            yield archive
    except FileNotFoundError as error:
        raise ModelFileError(f"There is no file {name}.") from error
    except IsADirectoryError as error:
        raise ModelFileError(f"{name} is a folder. Name the model file in it.") from error
    except DAMAGE as error:
        raise ModelFileError(f"{name} {_what_it_is(source)}") from error
    except OSError as error:
        raise ModelFileError(f"{name} cannot be read: {error}") from error


def _what_it_is(source: Path | BytesIO) -> str:
    with source.open("rb") if isinstance(source, Path) else BytesIO(source.getvalue()) as file:
        first = file.read(4)
    if not first:
        return "is empty."
    if first.startswith(b"PK"):
        return "is damaged or incomplete. Copy or save it again."
    if first.startswith(b"\x80"):
        return "is a pickle that save_model did not write. If you trust it, load it with joblib and save it again."
    return (
        "is not a selfpaced model file: it does not start with a ZIP header. Save models with save_model or "
        "selfpaced train."
    )


def _check_size(archive: zipfile.ZipFile, n_bytes: int, name: str) -> None:
    """Refuse an archive that would fill the memory."""
    if any(part.compress_type not in METHODS for part in archive.infolist()):
        raise zipfile.BadZipFile("compressed by a method that save_model does not use")
    n_decompressed = sum(part.file_size for part in archive.infolist())
    if n_decompressed > _most_decompressed(n_bytes):
        raise ModelFileError(
            f"{name} has {n_bytes:,} bytes and would have {n_decompressed:,} after decompression. At most "
            f"{LARGEST_RATIO} times as many are accepted: the file is damaged or forged."
        )


def part_of(archive: zipfile.ZipFile, name: str) -> bytes:
    """A part of an archive: as many bytes as it declares, and no more in memory at any time."""
    with archive.open(name) as file:
        return b"".join(iter(lambda: file.read(BYTES_AT_ONCE), b""))


def _most_decompressed(n_bytes: int) -> int:
    return max(ALWAYS_ACCEPTED_BYTES, LARGEST_RATIO * n_bytes)
