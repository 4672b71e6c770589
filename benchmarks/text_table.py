"""A compact table for the terminal."""

from __future__ import annotations

from collections.abc import Sequence


def text_table(header: Sequence[str], rows: Sequence[Sequence[str]], words: int = 1) -> str:
    """Columns as wide as their widest cell: first some of words, to the left, then numbers, to the right.

    >>> print(text_table(["who", "s"], [["ours", "1.5"]]))
    who     s
    ----  ---
    ours  1.5
    """
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    lines = [header, ["-" * width for width in widths], *rows]
    return "\n".join(_line(cells, widths, words) for cells in lines)


def _line(cells: Sequence[str], widths: Sequence[int], words: int) -> str:
    left = [cell.ljust(width) for cell, width in zip(cells[:words], widths[:words], strict=True)]
    right = [cell.rjust(width) for cell, width in zip(cells[words:], widths[words:], strict=True)]
    return "  ".join(left + right).rstrip()
