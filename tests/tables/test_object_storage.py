"""Tables behind S3, on a real server on this machine: the same rows, and clear errors when it fails."""

from __future__ import annotations

import os

import deltalake
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from pyarrow import fs

from selfpaced.callbacks import Callback
from selfpaced.cli import main
from selfpaced.exceptions import CheckpointError, TableError
from selfpaced.persistence.files import load_model
from selfpaced.tables.sources import open_table
from tests.contracts.lake_tables import delta_table, iceberg_table
from tests.contracts.table_exam import COLUMNS, N_EARLIER, N_ROWS, ROWS
from tests.few_recipes import compare_few_methods
from tests.servers import Proxy, S3Server, free_port
from tests.tables.three_trees import fitted, members_of

pytestmark = pytest.mark.usefixtures("short_pauses")

ARROW = pa.Table.from_pandas(ROWS, preserve_index=False)
URL = "s3://bucket/shop/"


@pytest.fixture(scope="module")
def server():
    server = S3Server()
    before = dict(os.environ)
    os.environ.update(server.environment)
    yield server
    server.stop()
    os.environ.clear()
    os.environ.update(before)


@pytest.fixture
def shop(server):
    """The rows in two files."""
    return write_shop(server)


def write_shop(server):
    system = server.filesystem()
    pq.write_table(ARROW.slice(0, 150), "bucket/shop/0.parquet", filesystem=system, row_group_size=50)
    pq.write_table(ARROW.slice(150), "bucket/shop/1.parquet", filesystem=system, row_group_size=50)
    return URL


@pytest.mark.parametrize("source", [URL, "s3://bucket/shop/*.parquet", "s3a://bucket/shop"])
def test_members_are_those_of_the_same_rows_in_memory(shop, in_memory, source):
    assert members_of(fitted(open_table(source, **COLUMNS))) == members_of(in_memory)


def test_a_csv_file_is_read_too(server, in_memory, tmp_path):
    with server.filesystem().open_output_stream("bucket/text/rows.csv.gz", compression="gzip") as file:
        file.write(ROWS.to_csv(index=False).encode())
    assert members_of(fitted(open_table("s3://bucket/text/rows.csv.gz", **COLUMNS))) == members_of(in_memory)


def test_an_error_in_a_remote_csv_file_names_its_url(server):
    with server.filesystem().open_output_stream("bucket/text/short.csv") as file:
        file.write(b"a,b\n1,2\n3\n")
    with pytest.raises(TableError, match=r"s3://bucket/text/short.csv has 1 values in line 3"):
        open_table("s3://bucket/text/short.csv", target="b")


def test_a_dataset_is_read_where_its_files_are(server, shop, tmp_path, monkeypatch):
    """Not by the same path on this machine."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bucket" / "shop").mkdir(parents=True)
    for name in ("0.parquet", "1.parquet"):
        pq.write_table(ARROW.slice(0, 40), tmp_path / "bucket" / "shop" / name)
    dataset = ds.dataset("bucket/shop", filesystem=server.filesystem())
    assert open_table(dataset, **COLUMNS).labels().counts.sum() == N_ROWS


def test_a_delta_table_is_read_with_its_live_rows_only(server, in_memory):
    delta_table("s3://bucket/delta", storage_options={"AWS_S3_ALLOW_UNSAFE_RENAME": "true"})
    table = open_table("s3://bucket/delta", **COLUMNS)
    assert members_of(fitted(table)) == members_of(in_memory)
    assert table.snapshot == "version 1 of the Delta table s3://bucket/delta"
    assert open_table("s3://bucket/delta", version=0, **COLUMNS).n_rows == N_EARLIER


def test_a_delta_table_that_is_open_is_read_with_its_own_credentials(server, in_memory, monkeypatch):
    options = {**server.environment, "AWS_S3_ALLOW_UNSAFE_RENAME": "true"}
    delta_table("s3://bucket/open", storage_options=options)
    for name in server.environment:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{free_port()}")
    table = open_table(deltalake.DeltaTable("s3://bucket/open", storage_options=options), **COLUMNS)
    assert members_of(fitted(table)) == members_of(in_memory)


@pytest.mark.slow
def test_an_iceberg_table_is_read_with_the_credentials_of_its_catalog(server, in_memory, tmp_path, monkeypatch):
    for name in server.environment:
        monkeypatch.delenv(name)
    credentials = {
        "warehouse": "s3://bucket/iceberg",
        "s3.endpoint": f"http://127.0.0.1:{server.port}",
        "s3.access-key-id": "test",
        "s3.secret-access-key": "test",
        "s3.region": "us-east-1",
    }
    table = open_table(iceberg_table(tmp_path, **credentials), **COLUMNS)
    assert members_of(fitted(table)) == members_of(in_memory)
    assert all(str(file.path).startswith("s3://bucket/iceberg/") for file in table.reader.files)


def test_a_resumed_fit_may_read_copies(forwarder, in_memory, tmp_path):
    assert opened_through(forwarder).identity() == opened_through(forwarder, cache=tmp_path).identity()


def test_a_missing_bucket_and_a_missing_file_are_named(shop):
    with pytest.raises(TableError, match=r"s3://no-such-bucket/rows.parquet does not exist"):
        open_table("s3://no-such-bucket/rows.parquet", **COLUMNS)
    with pytest.raises(TableError, match=r"s3://bucket/shop/2.parquet does not exist"):
        open_table(f"{URL}2.parquet", **COLUMNS)


def test_a_password_in_the_url_is_not_shown(server):
    with pytest.raises(TableError, match=r"^s3://key@bucket/none.parquet") as raised:
        open_table("s3://key:hush@bucket/none.parquet", **COLUMNS)
    assert "hush" not in str(raised.value)


def test_a_file_that_is_replaced_between_two_rounds_is_refused_by_name(server, shop):
    class Replace(Callback):
        def on_round_end(self, *given):
            pq.write_table(
                ARROW.slice(150), "bucket/shop/1.parquet", filesystem=server.filesystem(), compression="none"
            )

    with pytest.raises(TableError, match=r"s3://bucket/shop/1.parquet has changed since the table was opened"):
        fitted(open_table(shop, **COLUMNS), callbacks=[Replace()])


@pytest.fixture
def forwarder(server, shop):
    """A proxy before the S3 server that can be told to misbehave, and counts requests and bytes."""
    proxy = Proxy(server.port)
    proxy.filesystem = server.filesystem(proxy.server_port)
    yield proxy
    proxy.shutdown()
    proxy.server_close()


def opened_through(forwarder, **options):
    return open_table("bucket/shop", filesystem=forwarder.filesystem, **COLUMNS, **options)


def test_connections_that_are_cut_are_tried_again(forwarder, in_memory):
    table = opened_through(forwarder)
    forwarder.misbehave = lambda number: "cut" if number % 5 == 0 else None
    assert members_of(fitted(table)) == members_of(in_memory)


def test_slow_down_is_tried_again(forwarder, in_memory):
    table = opened_through(forwarder)
    forwarder.misbehave = lambda number: 503 if number % 9 == 0 else None
    assert members_of(fitted(table)) == members_of(in_memory)


def test_slow_answers_are_waited_for(forwarder, in_memory):
    table = opened_through(forwarder)
    forwarder.misbehave = lambda number: "late" if number % 4 == 0 else None
    assert members_of(fitted(table)) == members_of(in_memory)


@pytest.fixture
def late(server, forwarder):
    """Answers of which some come after the file system has given them up. It counts whole seconds."""
    forwarder.filesystem = server.filesystem(forwarder.server_port, request_timeout=1)
    forwarder.seconds_late = 2.5
    return forwarder


@pytest.mark.slow
def test_an_answer_that_comes_too_late_is_asked_for_again(late, in_memory):
    table = opened_through(late)
    first = late.n_requests + 1
    late.misbehave = lambda number: "late" if number == first else None
    assert members_of(fitted(table)) == members_of(in_memory)
    assert late.paths[first - 1] == late.paths[first]


@pytest.mark.slow
def test_answers_that_always_come_too_late_are_one_error(late):
    table = opened_through(late)
    late.misbehave = lambda number: "late"
    with pytest.raises(TableError, match=r"s3://bucket/shop/0.parquet cannot be read any more: .*Timeout"):
        fitted(table)


def test_denied_access_is_one_error_that_says_where_credentials_come_from(forwarder):
    forwarder.misbehave = lambda number: 403
    with pytest.raises(TableError, match=r"s3://bucket/shop cannot be (listed|read): .*environment variables"):
        opened_through(forwarder)


def test_a_round_fetches_the_bytes_of_its_columns_only(server, forwarder):
    rng = np.random.default_rng(0)
    wide = pd.DataFrame({f"x{number}": rng.random(20_000) for number in range(8)}).assign(
        label=np.arange(20_000) % 50 == 0
    )
    system = server.filesystem()
    pq.write_table(pa.Table.from_pandas(wide), "bucket/wide/rows.parquet", filesystem=system, compression="none")
    table = open_table("bucket/wide", filesystem=forwarder.filesystem, target="label", columns=["x2", "x5"])
    table.labels()
    group = pq.read_metadata("bucket/wide/rows.parquet", filesystem=system).row_group(0)
    needed = sum(group.column(number).total_compressed_size for number in (2, 5))
    before = forwarder.n_bytes
    sum(batch.stop - batch.start for batch in table.batches())
    footer = 2 * 2**16  # Arrow fetches the last 64 kB of a file first
    assert needed <= forwarder.n_bytes - before <= needed + footer


def test_files_are_listed_once(forwarder):
    table = opened_through(forwarder)
    forwarder.paths.clear()
    fitted(table)
    assert forwarder.paths
    assert [path for path in forwarder.paths if "list-type" in path] == []


def test_with_a_cache_later_rounds_ask_the_server_for_nothing(forwarder, in_memory, tmp_path):
    told = []
    table = opened_through(
        forwarder, cache=tmp_path / "copies", progress=lambda done, total: told.append((done, total))
    )
    before = forwarder.n_requests
    assert members_of(fitted(table)) == members_of(in_memory)
    assert forwarder.n_requests == before
    assert told[-1][0] == told[-1][1]
    copies = sorted((tmp_path / "copies").iterdir())
    assert [pq.read_schema(path).names for path in copies] == [["a", "b", "label"]] * 2


def test_copies_are_used_again_until_the_file_changes(server, forwarder, tmp_path):
    opened_through(forwarder, cache=tmp_path)
    before = {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    opened_through(forwarder, cache=tmp_path)
    assert {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == before
    pq.write_table(ARROW.slice(150, 200), "bucket/shop/1.parquet", filesystem=server.filesystem())
    assert opened_through(forwarder, cache=tmp_path).n_rows == 350
    assert len(list(tmp_path.iterdir())) == 2


def test_old_copies_make_room_for_new_ones(server, forwarder, tmp_path):
    opened_through(forwarder, cache=tmp_path, weight_column="weight")
    old = set(tmp_path.iterdir())
    held = sum(path.stat().st_size for path in old)
    opened_through(forwarder, cache=tmp_path, cache_bytes=held)
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= held
    assert len(old - set(tmp_path.iterdir())) > 0


def test_a_copy_that_is_interrupted_leaves_nothing(forwarder, tmp_path):
    table = opened_through(forwarder)
    n_before = forwarder.n_requests
    forwarder.misbehave = lambda number: None if number < n_before + 12 else 403
    with pytest.raises(TableError):
        opened_through(forwarder, cache=tmp_path)
    assert table.n_rows == N_ROWS
    assert [path for path in tmp_path.iterdir() if path.suffix == ".part"] == []


@pytest.mark.slow
def test_a_server_that_dies_in_the_middle_of_a_round_is_one_error(server, in_memory, tmp_path):
    write_shop(server)

    class KillInTheMiddleOfARound(Callback):
        n_rounds = 0

        def on_round_end(self, *given):
            self.n_rounds += 1

        def on_rows_read(self, n_read, n_rows):
            if self.n_rounds == 2 and n_read < n_rows:
                server.stop()

    table = open_table("bucket/shop", filesystem=server.filesystem(), batch_rows=20, **COLUMNS)
    with pytest.raises(TableError, match=r"s3://bucket/shop/[01].parquet cannot be read"):
        fitted(table, tmp_path / "rounds", callbacks=[KillInTheMiddleOfARound()])
    assert any((tmp_path / "rounds").glob("round-*"))
    server.start()
    write_shop(server)
    again = open_table("bucket/shop", filesystem=server.filesystem(), **COLUMNS)
    with pytest.raises(ValueError, match="files"):  # written anew, the files have another time: other data
        fitted(again, tmp_path / "rounds")
    assert members_of(fitted(again)) == members_of(in_memory)


def test_a_fit_that_an_outage_stops_is_resumed(forwarder, in_memory, tmp_path):
    class Outage(Callback):
        def on_round_end(self, *given):
            forwarder.misbehave = lambda number: "cut"

    with pytest.raises(TableError, match=r"cannot be read"):
        fitted(opened_through(forwarder), tmp_path / "rounds", callbacks=[Outage()])
    forwarder.misbehave = lambda number: None
    resumed = fitted(opened_through(forwarder), tmp_path / "rounds")
    assert members_of(resumed) == members_of(in_memory)


def test_a_server_that_is_not_there_is_one_error():
    nowhere = S3Server.filesystem(None, free_port())
    with pytest.raises(TableError, match=r"s3://bucket/shop cannot be (listed|read): .*connect"):
        open_table("bucket/shop", filesystem=nowhere, **COLUMNS)


@pytest.mark.slow
def test_every_command_reads_and_writes_urls(shop, tmp_path, capsys, monkeypatch):
    compare_few_methods(monkeypatch)
    exclude = ["--exclude", "kind", "weight", "when"]
    fast = ["--base", "tree", "--members", "2", "--quiet", "--calibration", "none"]
    where = "s3://bucket/out"
    train = ["train", shop, "--target", "label", "-o", f"{where}/model.skops", "--report", f"{where}/train.html"]
    assert main([*train, *exclude, *fast, "--cache", str(tmp_path / "copies")]) == 0
    assert {tuple(pq.read_schema(path).names) for path in (tmp_path / "copies").iterdir()} == {
        ("a", "b", "label", "tx")
    }
    assert main(["predict", f"{where}/model.skops", shop, "-o", f"{where}/scores.parquet", "--keep", "tx", "-q"]) == 0
    assert main(["evaluate", f"{where}/model.skops", shop, "-q"]) == 0
    assert main(["report", f"{where}/model.skops", shop, "-o", f"{where}/page.html", "-q"]) == 0
    assert main(["inspect", f"{where}/model.skops", "-q"]) == 0
    assert main(["export", f"{where}/model.skops", "-o", f"{where}/model.onnx", "-q"]) == 0
    compare = ["compare", shop, "--target", "label", "--base", "tree", "--members", "2", "-q"]
    assert main([*compare, *exclude, "--picture", f"{where}/compare.svg"]) == 0
    scores = pq.read_table(f"{where}/scores.parquet").to_pandas()
    model = load_model(f"{where}/model.skops")
    np.testing.assert_array_equal(scores["tx"], ROWS["tx"])
    np.testing.assert_array_equal(scores["score"], model.predict_proba_table(shop))
    capsys.readouterr()


def test_an_output_in_a_missing_bucket_is_refused_before_any_work(shop, capsys):
    assert main(["train", shop, "--target", "label", "-o", "s3://no-such-bucket/model.skops"]) == 2
    assert "there is no bucket 'no-such-bucket'" in capsys.readouterr().err


def test_an_output_appears_whole_or_not_at_all(server, shop, in_memory, monkeypatch):
    model = fitted(open_table(shop, **COLUMNS))
    output = "s3://bucket/whole/scores.parquet"
    model.write_predictions(shop, output)
    before = server.filesystem().open_input_file("bucket/whole/scores.parquet").read()
    with pytest.raises(RuntimeError, match="stopped"):
        model.write_predictions(shop, output, on_scores=stop)
    names = [one.base_name for one in server.filesystem().get_file_info(fs.FileSelector("bucket/whole"))]
    assert names == ["scores.parquet"]
    assert server.filesystem().open_input_file("bucket/whole/scores.parquet").read() == before


def stop(scores):
    raise RuntimeError("stopped")


class AccidentError(Exception):
    pass


class AccidentAfterTheSecond(Callback):
    def on_round_end(self, round):
        if round.number == 2:
            raise AccidentError


def test_a_checkpoint_in_a_bucket_continues_a_fit(shop, server):
    table, folder = open_table(shop, **COLUMNS), "s3://bucket/fits/june"
    with pytest.raises(AccidentError):
        fitted(table, folder, callbacks=AccidentAfterTheSecond())
    assert members_of(fitted(table, folder)) == members_of(fitted(table))
    kept = server.filesystem().get_file_info(fs.FileSelector("bucket/fits/june"))
    assert sorted(one.base_name for one in kept) == ["plan.json", *(f"round-000{number}.skops" for number in range(4))]
    with pytest.raises(CheckpointError, match="in s3://bucket/fits/june belongs to another fit: parameter n_bins"):
        fitted(table, folder, n_bins=7)


def test_a_checkpoint_in_a_bucket_that_is_not_there_is_refused(shop):
    with pytest.raises(TableError, match="s3://nowhere/fit"):
        fitted(open_table(shop, **COLUMNS), "s3://nowhere/fit")
