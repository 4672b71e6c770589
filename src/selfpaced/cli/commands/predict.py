"""`selfpaced predict`"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced.cli.data.cautions import counted_new_categories
from selfpaced.cli.data.deciding import Deciding
from selfpaced.cli.data.opening import data_in, data_of, scores_output, what_is_done
from selfpaced.cli.output import Talk, counted
from selfpaced.cli.parser import check_engine_options, engine_of
from selfpaced.ensembles import AveragingEnsemble
from selfpaced.exceptions import NewCategoryWarning, TableError
from selfpaced.persistence import load_ensemble, read_card
from selfpaced.predicting import ScoringOptions, open_to_score, write_decided
from selfpaced.storage import Place
from selfpaced.tables import Roles
from selfpaced.tables.sources import DatabaseTable, check_columns


@dataclass(frozen=True)
class Predicted:
    """The numbers of rows, alerts and expected rare rows that were written.

    Attributes
    ----------
    n_alerts : int | None
        The number of alerts; None without a threshold.
    n_expected : float | None
        The sum of the probabilities of the rare class; None if scores are not probabilities.
    new_categories : Mapping[str, int] | None, default=None
        The number of rows with categories that the model was not trained with, by column; None if they are not counted.
    """

    n_rows: int
    n_alerts: int | None
    n_expected: float | None
    new_categories: Mapping[str, int] | None = None


def predict(
    model: AveragingEnsemble,
    source: Any,
    output: Place | DatabaseTable,
    *,
    keep: Sequence[str] = (),
    threshold: float | None = None,
    deciding: Deciding | None = None,
    progress: Callable[[int, int | None], None] | None = None,
) -> Predicted:
    """Write the scores, and count rows and alerts in the same pass."""
    if deciding is not None:
        deciding.check(model)
    with counted_new_categories() as new:
        if deciding is not None and deciding.is_asked_for:
            found = _decided(model, source, output, (keep, threshold, deciding), progress)
        else:
            found = _by_threshold(model, source, output, (keep, threshold), progress)
    return replace(found, new_categories=new)


def _by_threshold(
    model: AveragingEnsemble,
    source: Any,
    output: Place | DatabaseTable,
    how: tuple[Sequence[str], float | None],
    progress: Callable[[int, int | None], None] | None,
) -> Predicted:
    """Write the scores, with alerts at a threshold if there is one."""
    keep, threshold = how
    n_rows, n_alerts, total = 0, 0, 0.0

    def count(scores: NDArray[np.float64]) -> None:
        nonlocal n_rows, n_alerts, total
        n_rows += scores.size
        n_alerts += 0 if threshold is None else int((scores >= threshold).sum())
        total += float(scores.sum())

    data = data_of(source)
    reading: ScoringOptions = {**data.reading, "progress": progress}
    model.write_predictions(data.source, output, keep=keep, threshold=threshold, on_scores=count, **reading)
    is_calibrated = model.calibrator_ is not None
    return Predicted(n_rows, None if threshold is None else n_alerts, total if is_calibrated else None)


def _decided(
    model: AveragingEnsemble,
    source: Any,
    output: Place | DatabaseTable,
    how: tuple[Sequence[str], float | None, Deciding],
    progress: Callable[[int, int | None], None] | None,
) -> Predicted:
    """Write the scores with alerts that can only be decided when the scores of all rows are known."""
    keep, threshold, deciding = how
    data = data_of(source)
    table = open_to_score(model.model_, data.source, Roles(keep=tuple(deciding.columns())), data.reading)
    written = replace(table, roles=Roles(keep=tuple(keep)))
    check_columns(written.reader, written.roles)
    scores, alerts = write_decided(
        model.model_, written, output, lambda scores: deciding.alerts(scores, table, threshold), model.n_jobs, progress
    )
    expected = None if model.calibrator_ is None else float(scores.sum())
    return Predicted(int(scores.size), int(alerts.sum()), expected)


# Options that need all rows, or a database, on this machine.
NOT_ON_A_CLUSTER = (
    "decide",
    "top",
    "per",
    "time_column",
    "timezone",
    "group",
    "table",
    "query",
    "cache",
    "snapshot",
)


def run(options: Namespace) -> None:
    check_engine_options(options, NOT_ON_A_CLUSTER)
    talk = Talk(options)
    if options.engine is not None:
        _run_on_cluster(options, talk)
        return
    output = scores_output(options)
    threshold = threshold_of(options.threshold, options.model)
    model = load_ensemble(options.model)
    keep = kept_columns(options)
    with talk.progress(what_is_done(options, "scoring")) as progress:
        found = predict(
            model,
            data_in(options),
            output,
            keep=keep,
            threshold=threshold,
            deciding=deciding_of(options),
            progress=progress,
        )
    if found.new_categories:
        talk.warn(str(NewCategoryWarning(found.new_categories, found.n_rows)))
    talk.say(f"The scores of {counted(found)} are in {output}.")
    decided = {name: value for name, value in vars(deciding_of(options)).items() if value is not None}
    talk.result({"output": str(output), "threshold": threshold, **decided, **vars(found)})


def _run_on_cluster(options: Namespace, talk: Talk) -> None:
    """Scores as a folder of Parquet files: each machine writes its own."""
    from selfpaced.cli.data.engines import ClusterScoring as Scoring
    from selfpaced.cli.data.engines import predict_on_cluster

    if options.if_exists != "fail":
        raise TableError("--if-exists is for a database; on a cluster scores are written to Parquet files.")
    threshold = threshold_of(options.threshold, options.model)
    model, scoring = load_ensemble(options.model), Scoring(kept_columns(options), threshold)
    found = predict_on_cluster(model, engine_of(options), options.data, options.output, scoring)
    talk.say(f"The scores of {counted(found)} are in the files of {options.output}.")
    talk.result({"output": options.output, "threshold": threshold, **vars(found)})


def kept_columns(options: Namespace) -> list[str]:
    """The columns to put beside the scores."""
    return [name.strip() for name in options.keep.split(",") if name.strip()]


def deciding_of(options: Namespace) -> Deciding:
    """The options about alerts."""
    return Deciding(**{field.name: getattr(options, field.name) for field in fields(Deciding)})


def threshold_of(given: str | None, model: str) -> float | None:
    """A number, or the threshold that the model's card has."""
    if given is None:
        return None
    if given == "best":
        known = read_card(model).metrics.get("threshold")
        if known is None:
            raise TableError(f"{model} does not contain a threshold. Give a number: --threshold NUMBER.")
        return float(known)
    try:
        threshold = float(given)
    except ValueError:
        raise TableError(f"--threshold must be a number from 0 to 1, or 'best'; got {given!r}.") from None
    if not 0 <= threshold <= 1:
        raise TableError(f"--threshold must be a number from 0 to 1, or 'best'; got {given}.")
    return threshold
