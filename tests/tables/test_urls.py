"""URLs of file systems other than S3, which has its own tests."""

from __future__ import annotations

import http.server
import threading
from functools import partial

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import fs

from selfpaced.cli import main
from selfpaced.exceptions import ModelFileError, TableError
from selfpaced.persistence import save_model
from selfpaced.persistence.files import load_model
from selfpaced.storage import RemoteFile
from selfpaced.tables.sources import open_table
from tests.contracts.table_exam import COLUMNS, N_ROWS, ROWS
from tests.tables.three_trees import fitted

ARROW = pa.Table.from_pandas(ROWS, preserve_index=False)


@pytest.fixture
def memory():
    """fsspec's file system in memory, with the rows in two partitions."""
    system = fsspec.filesystem("memory")
    system.store.clear()
    system.pseudo_dirs[:] = [""]
    for year, rows in ((2023, ARROW.slice(0, 150)), (2024, ARROW.slice(150))):
        with system.open(f"/shop/year={year}/rows.parquet", "wb") as file:
            pq.write_table(rows, file)
    return system


def test_folders_behind_urls_become_columns(memory):
    table = open_table("memory://shop", target="label", columns=["year"])
    assert table.features()["year"].tolist() == [2023] * 150 + [2024] * 250


def test_the_path_and_the_file_system_may_be_given_apart(memory):
    assert (
        open_table("/shop", filesystem=memory, **{**COLUMNS, "exclude": [*COLUMNS["exclude"], "year"]}).n_rows == N_ROWS
    )


def test_a_file_that_changes_is_refused(memory):
    table = open_table("memory://shop/year=2023/rows.parquet", **COLUMNS)
    with memory.open("/shop/year=2023/rows.parquet", "wb") as file:
        pq.write_table(ARROW.slice(0, 150), file, compression="none")
    with pytest.raises(TableError, match=r"memory://shop/year=2023/rows.parquet has changed"):
        fitted(table)


@pytest.mark.parametrize("ending", ["feather", "jsonl"])
def test_other_formats_are_read(memory, ending):
    with memory.open(f"/other/rows.{ending}", "wb") as file:
        if ending == "feather":
            with pa.ipc.new_file(file, ARROW.schema) as writer:
                writer.write_table(ARROW, max_chunksize=70)
        else:
            file.write(ROWS.to_json(orient="records", lines=True, date_format="iso").encode())
    table = open_table(f"memory://other/rows.{ending}", **COLUMNS)
    assert table.features()["b"].tolist() == pytest.approx(ROWS["b"].tolist(), abs=1e-9)


def test_a_file_url_is_a_path(tmp_path):
    pq.write_table(ARROW, tmp_path / "a b.parquet")
    (file,) = open_table((tmp_path / "a b.parquet").as_uri(), **COLUMNS).reader.files
    assert file.path == tmp_path / "a b.parquet"


class SilentHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *given):
        pass


def test_http_is_read(tmp_path):
    pq.write_table(ARROW, tmp_path / "rows.parquet")
    server = http.server.http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(SilentHandler, directory=tmp_path))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/rows.parquet?signature=hush"
    assert open_table(url, **COLUMNS).labels().counts.sum() == N_ROWS
    server.shutdown()
    server.server_close()


def test_an_unknown_protocol_is_refused():
    with pytest.raises(TableError, match=r"gopher://shop/rows.parquet cannot be opened"):
        open_table("gopher://shop/rows.parquet", **COLUMNS)


def test_another_thing_than_a_file_system_is_refused():
    with pytest.raises(TypeError, match="file system of pyarrow or fsspec; got int"):
        open_table("rows.parquet", filesystem=3, **COLUMNS)


def test_a_model_is_saved_and_loaded_by_url(memory):
    model = fitted(open_table("memory://shop", **{**COLUMNS, "exclude": [*COLUMNS["exclude"], "year"]}))
    place = save_model(model, "memory://models/model.skops")
    assert str(place) == "memory://models/model.skops"
    assert isinstance(place, RemoteFile)
    X = ROWS[["a", "b"]]
    assert (load_model("memory://models/model.skops").predict_proba(X) == model.predict_proba(X)).all()
    assert (load_model(place).predict_proba(X) == model.predict_proba(X)).all()
    with pytest.raises(ModelFileError, match=r"There is no file memory://models/other.skops"):
        load_model("memory://models/other.skops")


def test_scores_and_sources_of_one_url_are_refused(memory):
    model = fitted(open_table("memory://shop", **{**COLUMNS, "exclude": [*COLUMNS["exclude"], "year"]}))
    with pytest.raises(TableError, match="is one of the files that are read"):
        model.write_predictions("memory://shop/", "memory://shop/year=2023/rows.parquet")


def test_the_same_file_twice_is_refused(memory):
    url = "memory://shop/year=2023/rows.parquet"
    with pytest.raises(TableError, match="named more than once"):
        open_table([url, url], **COLUMNS)


def test_a_local_file_system_is_the_local_disk(tmp_path):
    pq.write_table(ARROW, tmp_path / "rows.parquet")
    table = open_table(str(tmp_path / "rows.parquet"), filesystem=fs.LocalFileSystem(), **COLUMNS)
    assert table.reader.files[0].path == tmp_path / "rows.parquet"


@pytest.mark.parametrize("url", ["foo://bucket/rows.csv", "github://rows.csv", "ftp://127.0.0.1:1/rows.csv"])
def test_a_url_that_cannot_be_opened_is_refused_with_the_schemes_that_can(url, capsys):
    with pytest.raises(
        TableError, match=rf"{url} cannot be opened: .*Supported are s3://, gs://, abfs://, file:// and"
    ):
        open_table(url, target="y")
    assert main(["train", url, "--target", "y", "-o", "model.skops"]) == 2
    assert "Supported are s3://" in capsys.readouterr().err


@pytest.mark.usefixtures("short_pauses")
@pytest.mark.parametrize("host", ["127.0.0.1:1", "no.such.host.invalid"])
@pytest.mark.parametrize("name", ["rows.csv", "rows.parquet", "folder/*.parquet"])
def test_a_server_that_cannot_be_reached_is_not_a_missing_file(host, name):
    with pytest.raises(TableError, match="Cannot connect to host") as raised:
        open_table(f"http://{host}/{name}", target="y")
    assert "does not exist" not in str(raised.value)


def test_a_page_that_is_not_there_does_not_exist():
    class NotFound(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_error(404)

        do_HEAD = do_GET  # noqa: N815

        def log_message(self, *given):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), NotFound)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with pytest.raises(TableError, match=r"rows\.csv does not exist"):
        open_table(f"http://127.0.0.1:{server.server_port}/rows.csv", target="y")
    server.shutdown()
    server.server_close()
