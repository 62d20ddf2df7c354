"""Private to ``pgbench_log``: the lines of a log, block by block, as columns of integers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from pipeline.parse._compiled import PLAIN_BYTES, Bytes, compiled
from pipeline.parse._source import Source
from pipeline.parse.postgres import _pgbench_log_kernel as kernel
from pipeline.parse.postgres._pgbench_log_kernel import Integers

_BLOCK_BYTES = 1 << 20


@dataclass
class Block:
    """Good lines: a row of ``columns`` a field, and their states."""

    columns: Integers
    states: Integers
    n_rows: int


class Lines:
    """A log that is read as often as it is asked for: what it needs to be is known only when it was read once."""

    def __init__(self, source: Source, n_columns: int, *, of_one: bool) -> None:
        self.source = source
        self.n_columns, self.of_one = n_columns, of_one
        self.n_lines = self.n_bad = 0  # of the last reading
        self.is_torn = False  # the last line has no line feed; it is left out
        self._is_long: bool | None = None

    def function(self, name: str) -> Callable[..., Any]:
        """A loop of the kernel as it suits the log's length."""
        function: Callable[..., Any] = getattr(kernel, name)
        return compiled(function) if self._is_long else function

    def blocks(self) -> Iterator[Block]:
        """The good lines; a block is overwritten by the next."""
        counts = np.zeros(2, np.int64)
        columns, states = np.zeros((max(6, self.n_columns), 0), np.int64), np.zeros(0, np.int64)
        self.is_torn = False
        for block in self.source.blocks(_BLOCK_BYTES):
            if self._is_long is None:
                self._is_long = len(block) >= PLAIN_BYTES
            end = block.rfind(b"\n") + 1
            self.is_torn = block[end:].strip() != b""
            whole = block[:end] if end < len(block) else block
            n_most = len(whole) // (2 * self.n_columns) + 1  # a line has at least a digit and a separator a field
            if n_most > len(states):
                columns, states = np.zeros((len(columns), n_most), np.int64), np.zeros(n_most, np.int64)
            text: Bytes = np.frombuffer(whole, np.uint8) if self._is_long else whole
            parse = self.function("parse_lines")
            n_rows = parse(text, columns, states, counts, self.n_columns, int(self.of_one))
            if n_rows:
                yield Block(columns, states, n_rows)
        self.n_lines, self.n_bad = (int(n) for n in counts)
