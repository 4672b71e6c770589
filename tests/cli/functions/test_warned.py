"""What a fit warns of is kept for the command to tell."""

import warnings

import pytest
from sklearn.exceptions import ConvergenceWarning

from selfpaced.cli.output import kept_warnings


def test_each_text_is_kept_once_also_where_warnings_are_errors():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with kept_warnings() as kept:
            for text in ("time", "rows", "time"):
                warnings.warn(text, stacklevel=1)
    assert kept == ["time", "rows"]


def test_members_that_are_not_quite_done_are_not_told():
    with kept_warnings() as kept:
        warnings.warn("not converged", ConvergenceWarning, stacklevel=1)
    assert kept == []


def test_other_kinds_are_left_to_the_users_filters():
    with pytest.raises(DeprecationWarning), kept_warnings():
        warnings.warn("old", DeprecationWarning, stacklevel=1)
