"""`setX` and `getX` of parameters, as everywhere in Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any


def give_accessors(kind: type[Any], names: Iterable[str]) -> None:
    """Give a class `setX` and `getX` of some parameters, unless it has them."""
    for name in names:
        for accessor in (_setter(name), _getter(name)):
            if not hasattr(kind, accessor.__name__):
                accessor.__qualname__ = f"{kind.__qualname__}.{accessor.__name__}"
                setattr(kind, accessor.__name__, accessor)


def _setter(name: str) -> Callable[..., Any]:
    def set_value(self: Any, value: Any) -> Any:
        return self._set(**{name: value})

    set_value.__name__ = f"set{in_camel_case(name)}"
    set_value.__doc__ = f"Set `{name}`, and return the estimator."
    return set_value


def _getter(name: str) -> Callable[..., Any]:
    def get_value(self: Any) -> Any:
        return self.getOrDefault(name)

    get_value.__name__ = f"get{in_camel_case(name)}"
    get_value.__doc__ = f"The value of `{name}`, or its default."
    return get_value


def in_camel_case(name: str) -> str:
    """
    >>> in_camel_case("n_estimators"), in_camel_case("labelCol")
    ('NEstimators', 'LabelCol')
    """
    return "".join(part[:1].upper() + part[1:] for part in name.split("_"))
