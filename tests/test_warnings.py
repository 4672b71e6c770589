"""Warnings of the package point at the line of the caller."""

import warnings

import pytest

from selfpaced.exceptions import NewCategoryWarning, warn


def test_a_warning_points_at_the_line_that_called_the_package() -> None:
    with pytest.warns(NewCategoryWarning) as caught:
        warn(NewCategoryWarning({"shop": 1}, 2))
    assert caught[0].filename == __file__


def test_frames_of_the_package_are_skipped() -> None:
    """Code with a file name inside of the package stands for its modules."""
    import selfpaced

    inner = compile("def f():\n    warn('told')\ndef g():\n    f()", f"{selfpaced.__path__[0]}/made_up.py", "exec")
    names: dict = {"warn": warn}
    exec(inner, names)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        names["g"]()
    assert caught[0].filename == __file__
    assert str(caught[0].message) == "told"
