"""The rows of a file scored, and counted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from selfpaced.ensembles.averaging import AveragingEnsemble
from selfpaced.jobs.train import rare_label


@dataclass(frozen=True)
class Predicted:
    """What was written.

    Attributes
    ----------
    n_alerts : None without a threshold.
    n_expected : the rare rows that the probabilities add up to; None where scores are no probabilities.
    """

    n_rows: int
    n_alerts: int | None
    n_expected: float | None


def predict(
    model: AveragingEnsemble,
    source: Any,
    output: Path,
    *,
    keep: Sequence[str] = (),
    threshold: float | None = None,
    progress: Callable[[int, int | None], None] | None = None,
) -> Predicted:
    """Write the scores, then count them in what was written."""
    model.predict_table(source, output, keep=keep, threshold=threshold, progress=progress)
    score = "score" if len(model.classes_) == 2 else f"score_{rare_label(model)}"
    n_rows, n_alerts, total = 0, 0, 0.0
    for batch in _read_back(output, {score: "float64"} if threshold is None else {score: "float64", "alert": "bool"}):
        n_rows += batch.num_rows
        total += float(batch.column(0).to_numpy().sum())
        n_alerts += 0 if threshold is None else int(batch.column(1).to_numpy(zero_copy_only=False).sum())
    is_calibrated = getattr(model, "calibrator_", None) is not None
    return Predicted(n_rows, None if threshold is None else n_alerts, total if is_calibrated else None)


def _read_back(path: Path, types: dict[str, str]) -> Iterator[Any]:
    import pyarrow.csv
    import pyarrow.dataset

    as_csv = pyarrow.dataset.CsvFileFormat(convert_options=pyarrow.csv.ConvertOptions(column_types=types))
    kind = as_csv if path.suffix.lower() == ".csv" else "parquet"
    batches: Iterator[Any] = pyarrow.dataset.dataset(path, format=kind).to_batches(columns=list(types))
    return batches
