"""A review over HTTP: who gets which row, what is saved, and who may ask."""

import http.client
import signal
from pathlib import Path

import pandas as pd
import pytest

from selfpaced.cli.commands.review import OF_SCORES
from tests.reviewing.conftest import HOSTILE
from tests.reviewing.running import InProcess, queue_of

ROWS = ("--rows", "payments.parquet", "--past", "payments.parquet", "--entity", "card", "--time-column", "when")


def lines():
    return Path("verdicts.csv").read_text().splitlines()


@pytest.mark.slow
def test_a_review_goes_on_after_kill_9_and_ends_with_its_figures_after_ctrl_c(scores):
    first = InProcess("scores.parquet", "-o", "verdicts.csv")
    for number in range(5):
        first.post("verdict", number=number, verdict="rare", note='two\nlines, "quoted"')
    first.end(signal.SIGKILL)
    assert len(lines()) == 1 + 5
    assert lines()[1].startswith('t0,rare,"two lines, ""quoted""",Ann,')
    second = InProcess("scores.parquet", "-o", "verdicts.csv")
    _, state = second.post("next")
    assert (state["item"]["id"], state["summary"]["n_reviewed"]) == ("t5", 5)
    code, said = second.end()
    assert (code, said) == (
        0,
        "\n5 of 8 rows have a verdict: 5 rare.\n5 of 5 alerts with a verdict are rare.\n",
    )


def test_a_reviewer_sees_the_row_its_reasons_and_earlier_rows_of_the_entity(reviewing):
    item = reviewing(*ROWS).post("row", number=5)[1]["item"]
    assert (item["id"], item["reasons"][0]["text"]) == ("t5", HOSTILE)
    assert dict(item["row"])["when"] == "2024-01-01 05:00:00"
    assert dict(item["row"])["channel"] is None
    assert [row[0] for row in item["past"]["rows"]] == ["2024-01-01 01:00:00"]


def test_two_reviewers_get_other_rows_and_their_disagreement_is_kept_and_shown(reviewing):
    review = reviewing()
    numbers = [review.post("next", who)[1]["item"]["number"] for who in ("Ann", "Bob", "Ann")]
    assert numbers == [0, 1, 0]
    review.post("verdict", "Ann", number=0, verdict="rare")
    assert review.post("row", "Bob", number=0)[1]["item"]["others"] == []  # what Ann said would sway Bob
    _, state = review.post("verdict", "Bob", number=0, verdict="common", note="a gift")
    assert (state["item"]["outcome"], state["item"]["others"][0]["verdict"]) == ("disagreed", "rare")
    assert state["summary"]["counts"]["disagreed"] == 1
    review.post("verdict", "Bob", number=0, verdict="common", note="a gift")  # sent again after a lost answer
    assert len(lines()) == 1 + 2


def test_an_audit_is_blind_and_its_recall_is_told_at_the_end(reviewing):
    review = reviewing("--audit", 12)
    _, state = review.post("next")
    shown = []
    while state["item"] is not None:
        assert state["summary"]["found"] is None
        shown.append(state["item"])
        verdict = "rare" if state["item"]["id"] in ("t0", "t1", "t2", "t39") else "common"
        _, state = review.post("verdict", number=state["item"]["number"], verdict=verdict)
    assert len(shown) == 20
    assert all(item["score"] is None and item["reasons"] == [] for item in shown)
    assert "of 8 alerts with a verdict are rare" in state["summary"]["found"]
    assert "of 12 rows that were drawn at random from the 32 others" in state["summary"]["found"]


def judged(n_verdicts, *options, reviewers=("Ann",)):
    """What a review with these options says after some more verdicts: those about t0, t1, t2 and t39 are rare."""
    queue = queue_of("scores.parquet", "-o", "verdicts.csv", *options)
    for at in range(n_verdicts):
        number = queue.next_for(reviewers[at % len(reviewers)])
        verdict = "rare" if queue.items[number].id in ("t0", "t1", "t2", "t39") else "common"
        queue.record(number, reviewers[at % len(reviewers)], verdict, "")
    queue.file.close()
    return queue.findings()


@pytest.mark.parametrize("before", [(), ("--audit", 32, "--seed", 1), ("--audit", 12)])
def test_an_audit_that_goes_on_from_other_verdicts_has_no_estimate_until_all_rows_have_one(scores, before):
    judged(4, *before)
    said = judged(16, "--audit", 32)
    assert said.startswith("There is no estimate of the recall yet: rows had verdicts before this audit began")
    assert said.endswith("until the 20 rows that are left have a verdict.")
    assert "3 of 8 alerts with a verdict are rare, and 1 of 32 rows" in judged(20, "--audit", 32)


@pytest.mark.parametrize(("n_before", "before"), [(8, ()), (20, ("--audit", 12))])
def test_an_audit_after_all_alerts_or_a_smaller_audit_has_an_estimate_before_it_ends(scores, n_before, before):
    judged(n_before, *before)
    said = judged(15, "--audit", 32)
    assert said.startswith("3 of 8 alerts with a verdict are rare, and ")
    assert f" of {n_before + 15 - 8} rows that were drawn at random from the 32 others. So the estimated" in said


def test_verdicts_about_rows_outside_of_an_audit_leave_its_estimate_to_the_end(scores):
    rows = pd.read_parquet("scores.parquet")
    judged(8)
    rows.assign(alert=rows["alert"] & (rows["score"] < rows["score"][2])).to_parquet("scores.parquet")
    # Now three rare rows are no alerts. An audit that happens to draw none of them is no sample of all others.
    queue = queue_of("scores.parquet", "-o", "verdicts.csv", "--audit", 3)
    assert queue.n_unknown == 3
    queue.record(queue.next_for("Ann"), "Ann", "common", "")
    queue.file.close()
    assert queue.findings().startswith("There is no estimate of the recall yet: rows had verdicts before this audit")


def test_an_audit_that_is_stopped_and_resumed_has_an_estimate_at_any_time(scores):
    judged(10, "--audit", 32)
    assert "So the estimated recall is" in judged(20, "--audit", 32)


def test_a_row_that_one_of_two_reviewers_leaves_open_widens_the_interval_of_a_stopped_audit(scores):
    judged(10, "--audit", 32, reviewers=("Ann", "Bob"))
    queue = queue_of("scores.parquet", "-o", "verdicts.csv", "--audit", 32)
    open_row, ahead = queue.next_for("Ann"), queue.next_for("Bob")
    queue.record(ahead, "Bob", "common", "")
    queue.file.close()
    assert ahead > open_row
    assert "1 more without a clear verdict may be rare or common: the interval allows for both" in queue.findings()


def test_an_audit_in_which_all_drawn_rows_are_unsure_does_not_pass_over_the_recall(scores):
    queue = queue_of("scores.parquet", "-o", "verdicts.csv", "--audit", 5)
    for number, item in enumerate(queue.items):
        queue.record(number, "Ann", "rare" if item.place == 0 else "unsure", "")
    queue.file.close()
    assert "That is too little to estimate the recall: it has a 90% interval from 20% to 100%." in queue.findings()


def test_only_this_page_in_a_browser_of_this_machine_gets_rows(reviewing):
    review = reviewing()
    good = {"Content-Type": "application/json", "Authorization": f"Bearer {review.token}"}
    origin = {"Origin": "http://evil.example"}

    def status(headers, host=None, body=b'{"reviewer": "Ann"}', path="/next"):
        connection = http.client.HTTPConnection(*review.address.removeprefix("http://").split(":"), timeout=30)
        connection.request("POST" if body else "GET", path, body, {**headers, **({"Host": host} if host else {})})
        answer = connection.getresponse()
        found = answer.status, dict(answer.headers), answer.read()
        connection.close()
        return found

    assert status(good)[0] == 200
    assert status({**good, "Authorization": "Bearer guess"})[0] == 401
    assert status({**good, "Content-Type": "text/plain"})[0] == 415
    assert status({**good, **origin})[0] == 403
    assert status(good, host="evil.example")[0] == 403
    assert status(good, host="[")[0] == 403
    assert status(good, body=b"[" * 100)[0] == 422
    assert status(good, body=b" " * 100_000)[0] == 413
    code, headers, page = status({}, body=None, path="/")
    assert code == 200
    assert "default-src 'none'" in headers["content-security-policy"]
    assert b"t0" not in page


@pytest.mark.parametrize(
    ("sent", "status", "said"),
    [
        ({"number": 8, "verdict": "rare"}, 404, "There is no row 8 in this review."),
        ({"number": 0, "verdict": "fraud"}, 409, "A verdict is rare, common or unsure; got 'fraud'."),
        ({"number": 0, "verdict": "rare", "note": "x" * 2001}, 409, "2,001 characters"),
        ({"number": 0, "verdict": "rare", "reviewer": " "}, 409, "needs a name"),
    ],
)
def test_a_wrong_verdict_is_refused_and_not_saved(reviewing, sent, status, said):
    found, answer = reviewing().post("verdict", **sent)
    assert (found, said in answer["error"]) == (status, True)
    assert len(lines()) == 1


def test_a_file_that_another_program_changes_is_not_written(reviewing):
    review = reviewing()
    changed = Path("verdicts.csv").read_text() + "t1,common,,Bob,now\n"
    Path("verdicts.csv").write_text(changed)
    status, answer = review.post("verdict", number=0, verdict="rare")
    assert (status, "Restart the review" in answer["error"]) == (409, True)
    assert Path("verdicts.csv").read_text() == changed


@pytest.mark.parametrize("name", ["score", "score_worm", "alert", "zone", "threshold", "model_id", "reason_2_column"])
def test_a_row_does_not_show_what_predict_wrote(name):
    assert OF_SCORES.fullmatch(name)
    assert not OF_SCORES.fullmatch(f"my_{name}")
