"""The results of alerts in sentences for readers without statistics."""

from __future__ import annotations


def headline(precision: float, recall: float, rows: str = "rare rows") -> str:
    """
    >>> headline(0.874, 0.79, rows_where("1", "is_fraud"))
    'Of 100 alerts, 87 are right; it finds 79% of all rows where is_fraud is 1.'
    """
    return "".join(headline_parts(precision, recall, rows))


def headline_parts(precision: float, recall: float, rows: str = "rare rows") -> tuple[str, ...]:
    """The headline in parts. Every second part is emphasised."""
    right = of_hundred(precision)
    verb = "is" if right in ("1", "fewer than 1") else "are"
    return "Of 100 alerts, ", right, f" {verb} right; it finds ", f"{of_hundred(recall)}%", f" of all {rows}."


def rows_where(label: str, target: str | None) -> str:
    """
    >>> rows_where("1", "is_fraud"), rows_where("'fraud'", None)
    ('rows where is_fraud is 1', "rows of the class 'fraud'")
    """
    return f"rows where {target} is {label}" if target else f"rows of the class {label}"


def of_hundred(share: float) -> str:
    """
    >>> [of_hundred(share) for share in (0, 0.001, 0.874, 0.999, 1)]
    ['0', 'fewer than 1', '87', 'more than 99', '100']
    """
    # Halves are rounded to even numbers: 0.5 of 100 to none, 99.5 to all.
    if 0 < share <= 0.005:
        return "fewer than 1"
    return "more than 99" if 0.995 <= share < 1 else f"{100 * share:.0f}"
