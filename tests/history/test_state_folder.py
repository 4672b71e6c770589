"""The state of a history in a folder: nothing that was acknowledged is lost or counted twice, whatever happens."""

import os
import signal
import sys
from contextlib import nullcontext
from dataclasses import replace
from itertools import count

import numpy as np
import pandas as pd
import pytest

from selfpaced.exceptions import StateError
from selfpaced.history import History, HistoryState
from selfpaced.history.journal import JournalFolder
from tests.forked import forked

HISTORY = History("step", ["card"], "amount", windows=[100], delay=5, base_rate=0.1)
NO_ROWS = pd.DataFrame({"step": [], "card": [], "amount": [], "id": []})
LATER = {"step": 90, "card": "a", "amount": 1.0}


def row_of(number):
    return {"step": number % 50, "card": "a", "amount": number / 4, "id": number}


def made(folder, n_rows=0, **options):
    state = HISTORY.state(NO_ROWS, id_column="id", folder=folder, lateness=1000, **options)
    for number in range(n_rows):
        state.update(row_of(number))
    return state


def reopened(state, folder):
    state.close()
    return HistoryState.open(folder, HISTORY)


def journal_in(folder):
    [path] = folder.glob("journal-*")
    return path


def test_a_state_is_the_same_after_it_is_opened_again(tmp_path):
    state = made(tmp_path, 20)
    state.learn(range(10), [0, 1] * 5)
    expected = state.features(LATER)
    assert expected["card_rare_100"] == 5
    for _ in range(2):
        state = reopened(state, tmp_path)
        assert (state.n_rows, state.last_time) == (20, 19)
        assert state.features(LATER) == expected
        assert state.update(row_of(3)) == 0  # the id is known
        state.compact()
    assert state.learn([3], [0]) == (1, 0)
    assert state.features(LATER)["card_rare_100"] == 4


def test_a_folder_is_for_its_owner_only_and_has_no_values_of_entities(tmp_path):
    folder = tmp_path / "made" / "state"
    state = HISTORY.state(
        pd.DataFrame([LATER | {"card": "secret card", "id": "secret id"}]), id_column="id", folder=folder
    )
    state.update(LATER | {"card": "secret card", "id": "secret other id"})
    state.close()
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {path.name: path.stat().st_mode & 0o777 for path in folder.iterdir()} == {
        "lock": 0o600,
        "snapshot": 0o600,
        "journal-1": 0o600,
    }
    assert not any(b"secret" in path.read_bytes() for path in folder.iterdir())


def updates(folder, acknowledged):
    """Update, label and compact without an end, and say what was done after it was done."""
    with open(acknowledged, "ab", buffering=0) as done:
        state = HistoryState.open(folder)
        state.learn([state.n_rows - 3], [1])  # the kill may have come between the last rows and their label
        for number in count(state.n_rows // 3):
            if number % 7 == 6:
                state.compact()
            state.update(pd.DataFrame([row_of(3 * number + one) for one in range(3)]))
            state.learn([3 * number], [1])
            done.write(b".")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The last record of")
@pytest.mark.skipif(sys.platform == "win32", reason="no kill -9 there")
def test_after_ten_kills_nothing_acknowledged_is_lost_and_nothing_is_counted_twice(tmp_path):
    folder, acknowledged = tmp_path / "state", tmp_path / "acknowledged"
    acknowledged.touch()
    made(folder).close()
    rng = np.random.default_rng(0)
    for _ in range(10):
        before = acknowledged.stat().st_size
        process = forked(updates, str(folder), str(acknowledged))
        while acknowledged.stat().st_size < before + rng.integers(1, 30):
            process.join(rng.random() / 1000)  # a kill -9 at any moment of what it does
            assert process.exitcode is None
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        n_done = acknowledged.stat().st_size
        with HistoryState.open(folder) as state:
            n_calls, rest = divmod(state.n_rows, 3)
            assert rest == 0  # a call adds all its rows or none
            assert n_calls in (n_done, n_done + 1)  # the last one may have been written but not acknowledged
            expected = HISTORY.state(pd.DataFrame([row_of(number) for number in range(state.n_rows)]), lateness=1000)
            found, wanted = state.features(LATER), expected.features(LATER)
            assert n_done <= found.pop("card_rare_100") <= n_calls
            assert n_done <= found.pop("card_known_100") <= n_calls
            assert {name: found[name] for name in found if "share" not in name} == {
                name: wanted[name] for name in found if "share" not in name
            }
        acknowledged.write_bytes(b"." * n_calls)


@pytest.mark.parametrize("left", [0, 1, 15, 16, 17, 40, -1])
def test_a_journal_that_ends_anywhere_has_a_whole_number_of_rows(tmp_path, left):
    made(tmp_path, 3).close()
    content = journal_in(tmp_path).read_bytes()
    size = len(content) // 3
    left %= size
    journal_in(tmp_path).write_bytes(content[: 2 * size + left])
    with pytest.warns(UserWarning, match=rf"its end. Its {left} bytes are removed") if left else nullcontext():
        state = HistoryState.open(tmp_path)
    assert state.n_rows == 2
    assert state.update(row_of(7)) == 1
    assert reopened(state, tmp_path).n_rows == 3


def test_zeros_after_a_power_cut_are_removed(tmp_path):
    made(tmp_path, 3).close()
    with journal_in(tmp_path).open("ab") as file:
        file.write(bytes(4096))
    with pytest.warns(UserWarning, match=r"Its 4,096 bytes are removed"):
        assert HistoryState.open(tmp_path).n_rows == 3


def test_a_damaged_last_record_is_removed(tmp_path):
    made(tmp_path, 3).close()
    content = bytearray(journal_in(tmp_path).read_bytes())
    content[-1] ^= 1
    journal_in(tmp_path).write_bytes(content)
    with pytest.warns(UserWarning, match=r"was not written to its end"):
        assert HistoryState.open(tmp_path).n_rows == 2


@pytest.mark.parametrize("name", ["snapshot", "journal-1"])
@pytest.mark.parametrize("place", [0, 7, 9, 13, 16, 30, 100])
def test_damage_elsewhere_is_an_error(tmp_path, name, place):
    made(tmp_path, 3).close()
    content = bytearray((tmp_path / name).read_bytes())
    content[place] ^= 16
    (tmp_path / name).write_bytes(content)
    with pytest.raises(StateError, match=f"{name} is damaged.*Restore the folder"):
        HistoryState.open(tmp_path)
    assert (tmp_path / name).read_bytes() == content  # nothing is removed


def test_a_record_that_is_missing_between_others_is_an_error(tmp_path):
    made(tmp_path, 3).close()
    content = journal_in(tmp_path).read_bytes()
    size = len(content) // 3
    journal_in(tmp_path).write_bytes(content[:size] + content[2 * size :] * 2)
    with pytest.raises(StateError, match=rf"journal-1 is damaged at byte {size} of {3 * size}"):
        HistoryState.open(tmp_path)


def test_a_journal_of_an_earlier_snapshot_is_not_counted_again(tmp_path):
    state = made(tmp_path, 3)
    earlier = journal_in(tmp_path)
    content = earlier.read_bytes()
    state.compact()
    earlier.write_bytes(content)  # as if the process had been killed before it removed the file
    journal_in_use = tmp_path / "journal-2"
    journal_in_use.unlink()
    (tmp_path / ".snapshot.01234567.part").write_text("half a snapshot")
    state = reopened(state, tmp_path)
    assert state.n_rows == 3
    assert sorted(path.name for path in tmp_path.iterdir()) == ["journal-2", "lock", "snapshot"]


def test_one_process_at_a_time_can_open_a_folder(tmp_path):
    state = made(tmp_path)
    with pytest.raises(StateError, match=r"is open elsewhere.*close it there first"):
        HistoryState.open(tmp_path)
    state.close()
    with pytest.raises(StateError, match=r"The state is closed"):
        state.update(row_of(1))
    with pytest.raises(StateError, match=r"has a state already"):
        made(tmp_path)
    assert HistoryState.open(tmp_path).update(row_of(1)) == 1


def test_a_fork_cannot_change_the_state_of_its_parent(tmp_path, monkeypatch):
    state = made(tmp_path, 1)
    monkeypatch.setattr(os, "getpid", lambda: 1)
    with pytest.raises(StateError, match=r"this is a fork of it"):
        state.update(row_of(1))
    assert state.n_rows == 1


def test_another_description_is_refused(tmp_path):
    made(tmp_path).close()
    with pytest.raises(StateError, match=r"another history: its windows is \[100\], and not \[50\]"):
        HistoryState.open(tmp_path, replace(HISTORY, windows=[50]))
    assert HistoryState.open(tmp_path).history == HISTORY


def test_a_folder_without_a_state_is_refused(tmp_path):
    with pytest.raises(StateError, match=r"There is no folder"):
        HistoryState.open(tmp_path / "nowhere")
    with pytest.raises(StateError, match=r"has no state"):
        HistoryState.open(tmp_path)


class FullDisk:
    """A journal that has space for some bytes of the next record."""

    def __init__(self, file):
        self._file, self.name = file, file.name

    def write(self, content):
        return self._file.write(content[:10])

    def __getattr__(self, name):
        return getattr(self._file, name)


def test_a_full_disk_adds_nothing_and_can_be_tried_again(tmp_path, monkeypatch):
    state = made(tmp_path, 2)
    folder = state._folder
    journal = folder._journal
    folder._journal = FullDisk(journal)
    with pytest.raises(StateError, match=r"the disk is full. Nothing was added"):
        state.update(row_of(2))
    assert state.n_rows == 2
    folder._journal = journal
    assert state.update(row_of(2)) == 1
    assert reopened(state, tmp_path).n_rows == 3


def test_a_change_that_is_interrupted_after_it_was_written_closes_the_state(tmp_path, monkeypatch):
    state = made(tmp_path, 2)

    def interrupted(self, n_new):
        raise KeyboardInterrupt

    monkeypatch.setattr("selfpaced.history.trails.RowLog.note", interrupted)
    with pytest.raises(KeyboardInterrupt):
        state.update(row_of(2))
    with pytest.raises(StateError, match=r"The state is closed"):
        state.features(LATER)
    assert HistoryState.open(tmp_path).n_rows == 3


def test_a_journal_larger_than_the_snapshot_is_replaced(tmp_path):
    state = made(tmp_path)
    n_rows = 20_000
    some = pd.DataFrame([row_of(number) for number in range(n_rows)])
    for start in range(0, n_rows, 1000):
        state.update(some[start : start + 1000])
    assert journal_in(tmp_path).name == "journal-2"
    assert journal_in(tmp_path).stat().st_size < (tmp_path / "snapshot").stat().st_size
    assert reopened(state, tmp_path).n_rows == n_rows


@pytest.mark.parametrize(("sync_every", "n_syncs"), [(0, 5), (3600, 0)])
def test_changes_are_synced_at_every_call_or_after_some_time(tmp_path, monkeypatch, sync_every, n_syncs):
    state = made(tmp_path, sync_every=sync_every)
    synced = []
    monkeypatch.setattr(os, "fsync", synced.append)
    for number in range(5):
        state.update(row_of(number))
    assert len(synced) == n_syncs
    state.close()
    assert len(synced) == n_syncs + 1


def test_records_have_any_shape(tmp_path):
    folder = JournalFolder(tmp_path, 0)
    folder.save({"a": 1}, np.empty((3, 0), np.int64))
    folder.append({}, np.arange(6).reshape(2, 3)[:, ::2])
    folder.close()
    [(first, none), (second, numbers)] = JournalFolder(tmp_path, 0).load()
    assert (first, none.shape, second, numbers.tolist()) == ({"a": 1}, (3, 0), {}, [[0, 2], [3, 5]])
