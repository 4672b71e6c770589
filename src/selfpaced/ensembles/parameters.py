"""Constructors of classes that have the parameters of an ensemble and a few more."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping, Sequence
from inspect import Parameter
from typing import Any


def parameters_of(kind: type[Any]) -> Mapping[str, Parameter]:
    """The named parameters of a constructor, in order."""
    named = Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY
    _, *parameters = inspect.signature(kind.__init__).parameters.values()  # the first one is self
    return {each.name: each for each in parameters if each.kind in named}


def summaries_of(kind: type[Any]) -> Mapping[str, str]:
    """What the numpydoc of a class says about each parameter, up to the first full stop.

    >>> from selfpaced.ensembles import SelfPacedEnsembleClassifier
    >>> summaries_of(SelfPacedEnsembleClassifier)["estimator"]
    'The base model.'
    """
    _, _, entries = (inspect.getdoc(kind) or "").partition("Parameters\n----------\n")
    texts = re.findall(r"(?m)^(\w+) : .*\n((?:    .*\n)+)", entries.partition("\n\n")[0] + "\n")
    return {name: re.split(r"(?<=\.)\s", " ".join(text.split()))[0] for name, text in texts}


def give_constructor(kind: type[Any], parameters: Sequence[Parameter]) -> None:
    """Make the constructor of a class take exactly these parameters. It passes them to the constructor above it.

    scikit-learn, `help` and editors read the parameters from its signature.
    """
    signature = inspect.Signature([Parameter("self", Parameter.POSITIONAL_OR_KEYWORD), *parameters])

    def __init__(self: Any, *values: Any, **named: Any) -> None:  # noqa: N807
        signature.bind(self, *values, **named)  # raises TypeError
        super(kind, self).__init__(*values, **named)

    __init__.__signature__ = signature  # type: ignore[attr-defined]
    __init__.__qualname__ = f"{kind.__qualname__}.__init__"
    kind.__init__ = __init__
