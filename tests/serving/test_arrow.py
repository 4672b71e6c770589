"""Batches of Arrow: what the stream may hold, and that a log and a shadow model change no answer."""

import random

import pyarrow as pa
import pytest

from selfpaced.serving import Settings
from selfpaced.serving.answering import Service
from selfpaced.serving.bodies import RefusedError, table_in
from tests.serving.malformed import flipped
from tests.serving.running import result_of
from tests.serving.test_log import lines

LONG_AFTER = 253_402_300_800  # seconds from 1970 to the year 10000
pytestmark = pytest.mark.filterwarnings("ignore::selfpaced.exceptions.NewCategoryWarning")


@pytest.fixture(params=["alone", "with a log", "with a shadow model"])
def options(request, folder, tmp_path):
    """The options of a service."""
    more = {"alone": {}, "with a log": {"log": tmp_path / "log", "log_also": ["tx"]}}
    return Settings(folder / "model.skops", **more.get(request.param, {"shadow": folder / "other.skops"}))


def answers(settings, bodies, counts_folder):
    """The probabilities, or the status and the error, of each body."""

    async def ask():
        service, found = Service(settings, counts_folder), []
        try:
            for number, body in enumerate(bodies):
                try:
                    answer = await service.score_batch(table_in(body, 2000), f"r{number}")
                    found.append(answer.scores)
                except RefusedError as refusal:
                    found.append((refusal.status, refusal.said))
        finally:
            service.close()
        return found

    return result_of(ask())


def in_seconds(seconds, kind):
    """A column of four moments."""
    unit = {"s": 1, "ms": 1000, "us": 10**6}[kind.unit] if pa.types.is_timestamp(kind) else None
    values = [seconds * unit, 0, 1, None] if unit else [seconds // 86400, 0, 1, None]
    return pa.array(values, pa.int64()).cast(pa.int64() if unit else pa.int32()).cast(kind)


@pytest.fixture
def streamed(payments):
    """The bytes of a stream of four payments, some of whose columns are changed."""

    def write(**changed):
        table = pa.Table.from_pandas(payments[:4].drop(columns="is_fraud"), preserve_index=False)
        for name, column in changed.items():
            table = table.set_column(table.column_names.index(name), name, column)
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as stream:
            stream.write_table(table)
        return sink.getvalue().to_pybytes()

    return write


FAR = {
    "seconds": in_seconds(LONG_AFTER, pa.timestamp("s")),
    "milliseconds with a time zone": in_seconds(LONG_AFTER, pa.timestamp("ms", "Europe/Paris")),
    "microseconds before the year 1": in_seconds(-62_135_596_801, pa.timestamp("us")),
    "days": in_seconds(LONG_AFTER, pa.date32()),
    "a dictionary": in_seconds(LONG_AFTER, pa.timestamp("ms")).dictionary_encode(),
    "an unknown time zone": pa.array([0] * 4, pa.timestamp("us", "Nowhere/None")),
    "the largest number of seconds": pa.array([2**63 - 1] * 4).cast(pa.timestamp("s")),
}


@pytest.mark.parametrize("what", FAR)
def test_times_that_rows_of_json_cannot_have_are_refused(options, streamed, tmp_path, what):
    [(status, said)] = answers(options, [streamed(when=FAR[what])], tmp_path)
    assert status == 422
    assert said.startswith("Column 'when' has a time that cannot be read.")
    assert "the years 1 to 9999, and their time zone has a known name" in said


def test_nanoseconds_are_cut_off_in_every_service(options, streamed, tmp_path):
    nanoseconds = pa.array([1_700_000_000_000_000_001] * 4, pa.timestamp("ns"))
    kinds = [nanoseconds, nanoseconds.cast(pa.timestamp("us"), safe=False)]
    first, second = answers(options, [streamed(when=kind) for kind in kinds], tmp_path)
    assert all(isinstance(score, float) for score in first)
    assert first == second
    if options.log is not None:
        assert {line["when"] for line in lines(options.log)} == {"2023-11-14T22:13:20"}


def test_a_column_that_the_model_does_not_read_may_hold_anything(options, streamed, tmp_path):
    """It may be one that the log has also: then values that Python does not have are missing there."""
    twice = pa.StructArray.from_arrays([pa.array([1] * 4), pa.array([2] * 4)], names=["a", "a"])
    columns = [in_seconds(LONG_AFTER, pa.timestamp("ms")), twice, pa.array([b"\xff"] * 4)]
    first, *others = answers(options, [streamed(), *(streamed(tx=column) for column in columns)], tmp_path)
    assert others == [first] * 3
    if options.log is not None:
        assert len(lines(options.log)) == 16
        assert [line["tx"] for line in lines(options.log)[4:8]] == [
            None,
            "1970-01-01T00:00:00",
            *["1970-01-01T00:00:00.001000", None],
        ]


def test_a_column_name_that_is_not_utf_8_is_refused(folder, streamed, tmp_path):
    body = streamed().replace(b"balance", b"balanc\xff")
    [(status, said)] = answers(Settings(folder / "model.skops"), [body], tmp_path)
    assert status == 400
    assert said.startswith("The body is not an Arrow IPC stream: ")


@pytest.mark.slow
def test_streams_with_changed_bytes_are_answered_or_refused(options, streamed, tmp_path):
    """Any other error than a refusal would be an answer with status 500."""
    changed = [flipped(streamed(), random.Random(seed)) for seed in range(500)]
    found = answers(options, changed, tmp_path)
    statuses = {200 if isinstance(one, list) else one[0] for one in found}
    assert statuses == {200, 400, 422}
