"""The work of a service: rows to answers, in one pass for all rows that wait, with history, shadow and log."""

import asyncio
import logging
import warnings
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from selfpaced.exceptions import NewCategoryWarning, StateError, pa
from selfpaced.history import HistoryState, beside
from selfpaced.predicting import ReadRow, score_arrow, score_together
from selfpaced.serving import metrics
from selfpaced.serving.bodies import RefusedError, check_times, values_of
from selfpaced.serving.lines import column_kinds, plain_value
from selfpaced.serving.log import RequestLog
from selfpaced.serving.served import UNFIT, Floats, ModelSlot, ServedModel, Wanted
from selfpaced.serving.settings import Settings
from selfpaced.thresholds import parse_decision

logger = logging.getLogger("selfpaced.serving")

MOST_TOGETHER = 64  # single rows that are scored in one pass of the event loop
MOST_SHADOWED = 10_000  # rows that wait for the shadow model
SECONDS_BETWEEN_LOOKS = 1.0  # at the model files


@dataclass(frozen=True)
class Answer:
    """The scores of some rows by one model."""

    model: ServedModel
    probabilities: Floats  # one column for each class
    alerts: list[bool | None]
    rows: Sequence[Any]  # as the model was given them, with the features of a history; empty for a batch of Arrow

    @property
    def scores(self) -> list[float]:
        return list(self.probabilities[:, self.model.column].tolist())

    @property
    def zones(self) -> list[str] | None:
        """The zone of each row; None if the model has no zones."""
        limits = self.model.rule.zones
        return None if limits is None else limits.of(self.scores).tolist()


class Service:
    """Scores rows with the current model. Single rows are scored in the event loop, batches in a thread.

    A pass over one row costs almost as much as over many, so rows that arrive during a pass wait for the next one.
    """

    def __init__(self, settings: Settings, counts_folder: Path) -> None:
        self._settings, self._counts_folder = settings, counts_folder
        self.state = None if settings.state is None else HistoryState.open(settings.state)
        try:
            self._also = _logged_beside(settings, self.state)
            left_out = [name for name in settings.log_without if name not in self._also]
            wanted = Wanted(settings.threshold, settings.decide, self.state, left_out)
            self.slot = ModelSlot(settings.model, wanted)
            of_shadow = replace(wanted, is_shadow=True)
            self.shadow = None if settings.shadow is None else ModelSlot(settings.shadow, of_shadow)
            self._slots = [slot for slot in (self.slot, self.shadow) if slot is not None]
            columns = column_kinds(self.slot.current.model.model_.reader)
            self.log = None
            if settings.log is not None:
                self.log = RequestLog(settings.log, leave_out=settings.log_without, columns=columns, also=self._also)
        except BaseException:
            if self.state is not None:
                self.state.close()
            raise
        self.drift = metrics.DriftCounts(self.slot.current, counts_folder)
        self.problem: str | None = None  # of the state
        self._waiting: list[tuple[Any, str, asyncio.Future[Answer]]] = []
        self._batches = ThreadPoolExecutor(1, "selfpaced batches")
        self._background = ThreadPoolExecutor(1, "selfpaced background")
        self._n_shadowed = 0

    async def watch(self) -> None:
        """Look at the model files and the log again and again, and count what waits. Never returns."""
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(SECONDS_BETWEEN_LOOKS)
            self.drift.count_waiting()
            if self.log is not None:  # not when metrics are asked for: only one of several workers would answer
                metrics.log_problem.set(self.log.problem is not None)
                metrics.log_dropped.set(self.log.dropped)
            for slot in self._slots:
                before = slot.problem
                try:
                    is_new = await loop.run_in_executor(self._background, slot.refresh)
                except Exception:
                    logger.exception("%r cannot be loaded", str(slot.path))
                    continue
                if is_new and slot is self.slot:
                    self.drift = metrics.DriftCounts(slot.current, self._counts_folder)
                    if self.log is not None:
                        self.log.use(column_kinds(slot.current.model.model_.reader))
                if is_new:
                    metrics.reloads.labels("loaded").inc()
                    logger.warning("loaded version %s of %r", slot.current.version, str(slot.path))
                elif slot.problem is not None and slot.problem != before:
                    metrics.reloads.labels("refused").inc()
                    logger.warning("%s", slot.problem)

    @property
    def problems(self) -> list[str]:
        """Why the service is not as it should be; empty if it is."""
        found = [*(slot.problem for slot in self._slots), self.problem, None if self.log is None else self.log.problem]
        return [problem for problem in found if problem is not None]

    def close(self) -> None:
        self._batches.shutdown()
        self._background.shutdown()
        if self.log is not None:
            self.log.close()
        if self.state is not None:
            self.state.close()

    def score(self, row: Any, request: str) -> asyncio.Future[Answer]:
        """The answer for one row, which is scored with all others that wait."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Answer] = loop.create_future()
        self._waiting.append((row, request, future))
        if len(self._waiting) == 1:
            loop.call_soon(self._score_waiting)
        return future

    def _score_waiting(self) -> None:
        some, self._waiting = self._waiting[:MOST_TOGETHER], self._waiting[MOST_TOGETHER:]
        if self._waiting:
            asyncio.get_running_loop().call_soon(self._score_waiting)
        model, ready = self.slot.current, []
        for row, request, future in some:
            if future.cancelled():  # it waited for too long
                continue
            try:
                ready.append((self._checked(model, row), row, request, future))
            except Exception as error:
                future.set_exception(error)
        if not ready:
            return
        try:
            numbers = model.rule.numbers([row for _, row, *_ in ready])
            answer = self._answer(model, [read for read, *_ in ready], numbers)
        except Exception as error:
            for *_, future in ready:
                future.set_exception(error)
            return
        metrics.rows_together.observe(len(ready))
        for at, (read, _, _, future) in enumerate(ready):
            own = answer.probabilities[at : at + 1]
            future.set_result(Answer(model, own, answer.alerts[at : at + 1], [read.values]))
        self._record(answer, [read.values for read, *_ in ready], [request for _, _, request, _ in ready])

    def _checked(self, model: ServedModel, row: Any) -> ReadRow:
        """A row that fits the model, and that the state has taken in."""
        model.rule.numbers([row])
        if self.state is None:
            return model.read(row)
        read = model.read({**row, **self._with_state(self.state.features, row)})
        self._with_state(self.state.update, row)
        return read

    def _with_state(self, call: Any, rows: Any) -> Any:
        """The result of a call of the state. A state that cannot be used any more is a problem of the service."""
        try:
            found = call(rows)
        except StateError as error:
            self.problem = str(error)
            raise RefusedError(503, f"The state of the history cannot be used: {error}") from None
        except (*UNFIT, pa.ArrowException) as error:
            raise RefusedError(422, " ".join(str(error).split())) from None
        self.problem = None
        return found

    def _answer(self, model: ServedModel, rows: Sequence[ReadRow], columns: Mapping[str, Floats]) -> Answer:
        found = score_together(model.scorer, rows)
        scores = found[:, model.column]
        answer = Answer(model, found, model.rule(scores, columns), [row.values for row in rows])
        for row, score in zip(rows, scores.tolist(), strict=True):
            self.drift.add_row(row, score)
            for name in model.new_categories(row.values):
                metrics.new_categories.labels(name).inc()
        self._count(answer)
        return answer

    def _count(self, answer: Answer) -> None:
        metrics.rows_scored.inc(len(answer.alerts))
        metrics.alerts.inc(sum(map(bool, answer.alerts)))
        for score in answer.scores:
            metrics.scores.observe(score)

    async def score_batch(self, rows: Any, request: str) -> Answer:
        """The answer for a list of rows or an Arrow table."""
        work = self._score_table if hasattr(rows, "column_names") else self._score_list
        answer, given = await asyncio.get_running_loop().run_in_executor(self._batches, work, rows)
        self._record(answer, given, [request] * len(answer.alerts))
        return answer

    def _score_list(self, rows: list[Any]) -> tuple[Answer, Sequence[Any]]:
        model, full, table = self.slot.current, rows, None
        columns = model.rule.numbers(rows)
        if self.state is not None:
            table = _as_table(rows)
            features = self._with_state(self.state.features, table).to_pylist()
            full = [{**row, **own} for row, own in zip(rows, features, strict=True)]
        read = [_numbered(model, number, row) for number, row in enumerate(full)]
        answer = self._answer(model, read, columns)
        if self.state is not None:
            self._with_state(self.state.update, table)
        return answer, full

    def _score_table(self, table: Any) -> tuple[Answer, Sequence[Any]]:
        model, full = self.slot.current, table
        check_times(table, {*model.columns, *(() if self.state is None else self.state.history.columns)})
        columns = model.rule.numbers(table)
        if self.state is not None:
            full = beside(table, self._with_state(self.state.features, table))
        parts = []
        try:
            for batch, found in score_arrow(model.model.model_, full, "the request"):
                parts.append(found)
                self.drift.add_batch(batch, found[:, model.column])
        except (*UNFIT, KeyError, pa.ArrowException) as error:
            raise RefusedError(422, " ".join(str(error).split())) from None
        if self.state is not None:
            self._with_state(self.state.update, table)
        found = np.concatenate(parts)
        answer = Answer(model, found, model.rule(found[:, model.column], columns), ())
        self._count(answer)
        return answer, self._rows(full, model)

    def _rows(self, table: Any, model: ServedModel) -> list[dict[str, Any]]:
        """The rows of an Arrow table for the log and the shadow model; none without them."""
        if self.log is None and self.shadow is None:
            return []
        read = {*self._also, *(name for slot in self._slots for name in slot.current.columns)}
        names = [name for name in table.column_names if name in read or not model.has_names]
        columns = [values_of(table.column(name)) for name in names]
        return [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]

    async def reasons(self, answer: Answer, top: int) -> list[dict[str, Any]]:
        """Why the row of an answer has its score."""
        (row,) = answer.rows
        explain: Any = answer.model.scorer
        work = lambda: explain.reasons(row, top=top)  # noqa: E731
        found = await asyncio.get_running_loop().run_in_executor(self._batches, work)
        names = ("feature", "log_odds", "value", "usual")
        return [{**{name: plain_value(getattr(one, name)) for name in names}, "text": str(one)} for one in found]

    def _record(self, answer: Answer, rows: Sequence[Any], requests: Sequence[str]) -> None:
        """Have the shadow model score the rows, and have both scores logged. No answer waits for it."""
        if self.shadow is None and self.log is None:
            return
        own = {"time": datetime.now(UTC), "model": answer.model.version}
        facts = zip(rows, requests, answer.scores, answer.alerts, strict=True)
        records = [
            {**own, "row": row, "request_id": request, "probability": score, "alert": alert}
            for row, request, score, alert in facts
        ]
        if self.shadow is None:
            self._write(records)
        elif self._n_shadowed + len(records) > MOST_SHADOWED:
            metrics.shadow_failures.inc(len(records))
            self._write(records)
        else:
            self._n_shadowed += len(records)
            self._background.submit(self._score_shadow, self.shadow.current, records)

    def _score_shadow(self, model: ServedModel, records: list[dict[str, Any]]) -> None:
        try:
            scored = []
            for record in records:
                with suppress(RefusedError):
                    scored.append((record, model.read(record["row"])))
            metrics.shadow_failures.inc(len(records) - len(scored))
            if not scored:
                return
            found = score_together(model.scorer, [read for _, read in scored])
            scores = found[:, model.column]
            alerts = model.rule(scores, model.rule.numbers([record["row"] for record, _ in scored]))
            for (record, _), score, alert in zip(scored, scores.tolist(), alerts, strict=True):
                record |= {"shadow_model": model.version, "shadow_probability": score}
                metrics.shadow_scores.observe(score)
                metrics.shadow_differences.inc(alert != record["alert"])
        except Exception:
            metrics.shadow_failures.inc(len(records))
            logger.exception("the shadow model failed")
        finally:
            self._n_shadowed -= len(records)
            self._write(records)

    def _write(self, records: Sequence[Mapping[str, Any]]) -> None:
        if self.log is not None:
            self.log.append(records)


def _logged_beside(settings: Settings, state: HistoryState | None) -> list[str]:
    """Columns to log that the model may not read: those of the options, the history and the decision."""
    of_history = [] if state is None else [*state.history.columns, *filter(None, [state.id_column])]
    decided = () if settings.decide is None else parse_decision(settings.decide).columns
    return list(dict.fromkeys([*settings.log_also, *of_history, *decided]))


def _numbered(model: ServedModel, number: int, row: Any) -> ReadRow:
    try:
        return model.read(row)
    except RefusedError as refusal:
        raise RefusedError(refusal.status, f"Row {number} of the batch: {refusal.said}") from None


def _as_table(rows: Sequence[Mapping[str, Any]]) -> Any:
    """Rows as an Arrow table, which a state describes together: each sees those before it."""
    names = dict.fromkeys(name for row in rows for name in row)
    try:
        return pa.table({name: [row.get(name) for row in rows] for name in names})
    except (*UNFIT, pa.ArrowException) as error:
        raise RefusedError(422, f"A column has values of several types: {error}") from None


def count_new_categories() -> None:
    """From now on, the warnings of new categories in batches are counted instead of shown."""
    warnings.simplefilter("always", NewCategoryWarning)
    shown = warnings.showwarning

    def show(message: Any, category: type[Warning], *place: Any, **more: Any) -> None:
        if not isinstance(message, NewCategoryWarning):
            shown(message, category, *place, **more)
            return
        for name, count in message.counts.items():
            metrics.new_categories.labels(name).inc(count)

    warnings.showwarning = show
