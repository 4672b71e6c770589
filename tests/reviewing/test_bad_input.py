"""What a review refuses, with one clear answer each, and nothing is lost."""

import socket
from pathlib import Path

import pandas as pd
import pytest

from selfpaced.cli import main
from tests.reviewing.running import queue_of

HEADER = "tx,verdict,note,reviewer,time\n"
REVIEW = ("scores.parquet", "-o", "verdicts.csv")


def refusal(capsys, *options):
    assert main(["review", *options]) == 2
    return capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda rows: rows.drop(columns="tx"), "selfpaced predict --keep COL"),
        (lambda rows: rows.assign(tx=rows["score"]), "Ids are whole numbers or texts, but column 'tx'"),
        (lambda rows: rows.assign(tx="t1"), "The id 't1' occurs 8 times in column 'tx'"),
        (lambda rows: rows.assign(tx=[None, *rows["tx"][1:]]), "has a row without an id"),
        (lambda rows: rows.rename(columns={"tx": "note"}), "a file of verdicts has its own column of this name"),
    ],
)
def test_alerts_without_ids_of_their_own_are_refused(scores, capsys, change, said):
    change(pd.read_parquet("scores.parquet")).to_parquet("scores.parquet")
    assert said in refusal(capsys, *REVIEW)
    assert not Path("verdicts.csv").exists()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("t1,fraud,,Ann,now", "Line 3 of verdicts.csv is damaged: its verdict is 'fraud'"),
        ("t1,rare", "Line 3 of verdicts.csv is damaged: it has 2 values instead of 5"),
        ('t1,rare,"open,Ann,now', "Line 3 of verdicts.csv is damaged: it is not CSV"),
        ("t1,rare,,,now", "Line 3 of verdicts.csv is damaged: it has no reviewer"),
    ],
)
def test_a_damaged_line_is_named_and_the_file_stays_as_it_is(scores, capsys, line, said):
    content = f"{HEADER}t0,rare,,Ann,now\n{line}\nt2,rare,,Ann,now\n"
    Path("verdicts.csv").write_text(content)
    assert said in refusal(capsys, *REVIEW)
    assert Path("verdicts.csv").read_text() == content


def test_a_last_line_that_a_power_cut_has_torn_is_removed_and_the_rest_is_kept(scores):
    Path("verdicts.csv").write_text(f"{HEADER}t0,rare,,Ann,2024-01-01T00:00:00Z\nt1,rare,,Ann,2024-0")
    queue = queue_of(*REVIEW)
    queue.file.close()
    assert (queue.file.removed, len(queue.outcomes())) == ("t1,rare,,Ann,2024-0", 1)
    assert Path("verdicts.csv").read_text() == f"{HEADER}t0,rare,,Ann,2024-01-01T00:00:00Z\n"


def test_verdicts_of_a_spreadsheet_and_about_unknown_rows_are_kept(scores):
    Path("verdicts.csv").write_bytes(b"\xef\xbb\xbf" + f"{HEADER}t0,rare,,Ann,1.1.24\nold,rare,,Ann,1.1.24\n".encode())
    queue = queue_of(*REVIEW)
    queue.record(1, "Ann", "common", "")
    queue.file.close()
    assert (queue.n_unknown, len(queue.outcomes()), len(Path("verdicts.csv").read_text().splitlines())) == (1, 2, 4)


def test_what_cannot_be_reviewed_here_is_refused(scores, capsys):
    Path("verdicts.csv").write_text("card,verdict,note,reviewer,time\n")
    said = refusal(capsys, *REVIEW)
    assert (
        "instead of 'tx,verdict,note,reviewer,time', so it belongs to another review, or was begun with other" in said
    )
    assert "Give --id and --model as before, or choose another file: -o FILE." in said
    Path("verdicts.csv").unlink()
    queue = queue_of(*REVIEW)
    assert "Another process reviews into verdicts.csv" in refusal(capsys, *REVIEW)
    queue.file.close()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        assert "is in use" in refusal(capsys, *REVIEW, "--port", str(taken.getsockname()[1]))
    assert "--audit 33 is more than the 32 rows" in refusal(capsys, *REVIEW, "--audit", "33")
    past = ("--past", "payments.parquet", "--entity", "card", "--time-column", "when")
    for some in (past[:2], past[:4], past[4:], past[:2] + past[4:]):
        assert "--past, --entity and --time-column go together" in refusal(capsys, *REVIEW, *some)
    pd.read_parquet("payments.parquet")[:2].to_parquet("payments.parquet")
    assert "6 of 8 rows to review are not in payments.parquet" in refusal(capsys, *REVIEW, "--rows", "payments.parquet")


def test_a_file_without_alerts_has_nothing_to_review(scores, capsys):
    pd.read_parquet("scores.parquet").assign(alert=False).to_parquet("scores.parquet")
    assert main(["review", *REVIEW]) == 0
    assert capsys.readouterr().out == "scores.parquet has no alerts, so there is nothing to review.\n"
