"""Lines of monitors one by one, and what a line of sar or mpstat is: a header or a row."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pipeline.parse._source import Source
from pipeline.parse.monitors._sysstat_clock import read_stamp
from pipeline.parse.monitors._sysstat_layout import layout_of

NUMBER_STARTS = frozenset("0123456789-+.")
_COLOUR = re.compile(r"\x1b\[[0-9;]*[mK]")


def lines_of(source: Source) -> Iterator[tuple[int, str, bool]]:
    """Lines with their numbers, without colours; the flag says that the file ends inside the line."""
    held: tuple[int, str] | None = None
    for item in source.numbered_lines():
        if held is not None:
            yield (*held, False)
        held = item if "\x1b" not in item[1] else (item[0], _COLOUR.sub("", item[1]))
    if held is not None:
        yield (*held, not source.ends_with_newline)


def is_header(cells: list[str]) -> bool:
    """Whether the words behind a stamp are the columns of a table."""
    return bool(cells) and not any(map(is_value, cells)) and layout_of(tuple(cells)) is not None


def header_of(line: str) -> list[str]:
    """The columns, when a line is a stamp and a header; else empty."""
    stamp = read_stamp(line)
    cells = line[len(stamp.text) :].split() if stamp else []
    return cells if is_header(cells) else []


def is_value(cell: str | None) -> bool:
    """Whether a cell is a number; a column such as ``24/s`` is none."""
    return cell is not None and ((cell[0] in NUMBER_STARTS and not cell.endswith("/s")) or cell in ("nan", "inf"))
