"""What a service counts: requests, scores, alerts, refusals, new categories, and the drift of rows since its start."""

import os
from collections.abc import Mapping
from pathlib import Path
from threading import Lock
from types import SimpleNamespace
from typing import Any

import numpy as np
from prometheus_client import REGISTRY, CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.multiprocess import MultiProcessCollector

from selfpaced.monitoring import count_values, drift_of_counts
from selfpaced.predicting import ReadRow
from selfpaced.serving.served import Floats, ServedModel
from selfpaced.tables import plain

FOLDER = "PROMETHEUS_MULTIPROC_DIR"  # where the processes of prometheus_client meet, and the counts of drift too
SECONDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 5)
MOST_WAITING = 512
FEWEST_ROWS = 100  # the drift of fewer rows is chance
SHARES = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1)

requests = Counter("selfpaced_requests", "Answered requests", ["path", "status"])
latency = Histogram("selfpaced_request_seconds", "Time from the first byte to the answer", ["path"], buckets=SECONDS)
rows_scored = Counter("selfpaced_rows", "Rows that were scored")
rows_together = Histogram("selfpaced_rows_together", "Single rows scored in one pass", buckets=(1, 2, 4, 8, 16, 32, 64))
scores = Histogram("selfpaced_scores", "Probabilities of the rows", buckets=SHARES)
alerts = Counter("selfpaced_alerts", "Rows that were alerts")
refusals = Counter("selfpaced_refusals", "Refused requests", ["status"])
new_categories = Counter("selfpaced_new_categories", "Rows with a category that is new to the model", ["column"])
shadow_scores = Histogram("selfpaced_shadow_scores", "Probabilities of the shadow model", buckets=SHARES)
shadow_failures = Counter("selfpaced_shadow_failures", "Rows that the shadow model could not score, or skipped")
shadow_differences = Counter("selfpaced_shadow_differences", "Rows whose alert is another with the shadow model")
reloads = Counter("selfpaced_reloads", "Model files that were loaded after the start", ["result"])
in_progress = Gauge("selfpaced_requests_in_progress", "Requests being answered", multiprocess_mode="livesum")
log_problem = Gauge("selfpaced_log_problem", "1 if the log cannot be written", multiprocess_mode="livemax")
log_dropped = Gauge("selfpaced_log_dropped_rows", "Rows that are not in the log", multiprocess_mode="livesum")
state_rows = Gauge("selfpaced_state_rows", "Rows in the state of the history", multiprocess_mode="livemax")


class DriftCounts:
    """Counts of the values since the start, in the bins of the model's reference. The size does not grow with the rows.

    The counts of each process are a file in a common folder: any process can add them all up.
    """

    def __init__(self, model: ServedModel, folder: Path) -> None:
        reference, reader = model.card.reference, model.model.model_.reader
        known = frozenset(reader.names or ()) - {"score"}
        features = [] if reference is None else [*(x for x in reference.features if x.name in known), reference.scores]
        self._places = {name: place for place, name in enumerate(reader.names or ())}
        self._sources = {} if reader.schema is None else {one.name: one.source for one in reader.schema.columns}
        self._features = {one.name: one for one in features}
        ends = np.cumsum([0, *(len(one.counts) + 1 for one in features)])
        self._spans = {one.name: slice(ends[at], ends[at + 1]) for at, one in enumerate(features)}
        self._folder, self._pattern, self._lock = folder, f"drift-{model.version}-*.counts", Lock()
        self._counts: Any = None
        if features:
            file = folder / self._pattern.replace("*", str(os.getpid()))
            self._counts = np.memmap(file, dtype=np.int64, mode="w+", shape=(int(ends[-1]),))
        self._waiting: list[tuple[ReadRow, float]] = []

    def add_row(self, row: ReadRow, score: float) -> None:
        """Take a row in. Rows are counted many at a time, because each count costs."""
        if self._counts is None or row.numbers is None:
            return
        with self._lock:
            self._waiting.append((row, score))
        if len(self._waiting) >= MOST_WAITING:
            self.count_waiting()

    def add_batch(self, batch: Any, found: Floats) -> None:
        """Count the rows of a batch of `score_arrow`."""
        if self._counts is None or not hasattr(batch, "features"):  # a model without a schema
            return
        features, columns = batch.features(), {one.name: one for one in batch.schema.columns}
        values: dict[str, Any] = {"score": found}
        for name in self._features.keys() & columns.keys():
            if columns[name].categories is not None:
                values[name] = plain(batch.batch.column(columns[name].source)).to_pylist()
            else:
                values[name] = np.asarray(features.column(name).to_numpy(zero_copy_only=False), dtype=np.float64)
        with self._lock:
            self._add(values)

    def drifts(self) -> Mapping[str, float]:
        """The stability index of each column, over the rows of all processes."""
        if self._counts is None:
            return {}
        self.count_waiting()
        files = [np.fromfile(file, dtype=np.int64) for file in self._folder.glob(self._pattern)]
        total = np.sum([one for one in files if one.size == self._counts.size], axis=0)
        if int(total[self._spans["score"]].sum()) < FEWEST_ROWS:
            return {}
        counts = {name: total[span] for name, span in self._spans.items()}
        return {one.name: one.psi for one in drift_of_counts([*self._features.values()], counts)}

    def count_waiting(self) -> None:
        """Count the rows that wait, so that other processes see them."""
        with self._lock:
            waiting, self._waiting = self._waiting, []
        if not waiting:
            return
        numbers = np.array([row.numbers for row, _ in waiting])
        values: dict[str, Any] = {"score": np.array([score for _, score in waiting])}
        for name, feature in self._features.items():
            if feature.kind == "category":
                source = self._sources.get(name, name)
                own = [row.values.get(source) for row, _ in waiting]
                values[name] = [one if isinstance(one, str) else None for one in own]
            elif name in self._places:
                values[name] = numbers[:, self._places[name]]
        with self._lock:
            self._add(values)

    def _add(self, values: Mapping[str, Any]) -> None:
        for name, own in values.items():
            if name in self._features and self._features[name].fits(own):
                self._counts[self._spans[name]] += count_values(self._features[name], own)


def exposition(drifts: Mapping[str, float]) -> bytes:
    """All metrics, of all processes, in the text format of Prometheus."""
    registry = REGISTRY
    if FOLDER in os.environ:
        registry = CollectorRegistry()
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    # The drift of now. A gauge would keep that of a model that is served no more.
    drift = GaugeMetricFamily("selfpaced_drift_psi", "Stability index of a column since the start", labels=["column"])
    for name, psi in drifts.items():
        drift.add_metric([name], psi)
    of_now: Any = SimpleNamespace(collect=lambda: [drift])
    return generate_latest(registry) + generate_latest(of_now)
