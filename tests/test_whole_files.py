"""Files that appear whole or not at all."""

import pytest

from selfpaced.storage import whole_file, write_whole


def interrupted(path):
    with whole_file(path) as temporary:
        temporary.write_text("half")
        raise KeyboardInterrupt


def test_an_error_leaves_the_earlier_file_and_no_other(tmp_path):
    path = write_whole(tmp_path / "a.txt", "before")
    with pytest.raises(KeyboardInterrupt):
        interrupted(path)
    assert [(found.name, found.read_text()) for found in tmp_path.iterdir()] == [("a.txt", "before")]


def test_nothing_is_renamed_when_the_block_removes_the_temporary_file(tmp_path):
    with whole_file(tmp_path / "a.txt") as temporary:
        temporary.write_text("half")
        temporary.unlink()
    assert not list(tmp_path.iterdir())


def test_a_symbolic_link_is_followed(tmp_path):
    target, link = tmp_path / "target.txt", tmp_path / "link.txt"
    target.write_text("before")
    link.symlink_to(target)
    write_whole(link, "after")
    assert link.is_symlink()
    assert target.read_text() == "after"


def test_a_missing_folder_is_the_error_type_that_was_asked_for(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nowhere does not exist. Create it first"):
        write_whole(tmp_path / "nowhere" / "a.txt", "text")
    with pytest.raises(ValueError, match=r"a\.txt cannot be written: the folder .*nowhere does not exist"):
        write_whole(tmp_path / "nowhere" / "a.txt", "text", ValueError)


def test_the_temporary_file_has_the_mode_that_was_asked_for_from_its_first_byte(tmp_path):
    with whole_file(tmp_path / "a.txt", mode=0o600) as temporary:
        assert temporary.stat().st_mode & 0o777 == 0o600
        temporary.write_text("secret")
    assert (tmp_path / "a.txt").stat().st_mode & 0o777 == 0o600
