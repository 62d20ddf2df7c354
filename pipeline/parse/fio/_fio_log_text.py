"""Private to ``fio_log`` and ``fio_hist_log``: a log's lines as numbers, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pipeline.parse._report import Report
from pipeline.parse._source import Source
from pipeline.parse.fio._fio_log_compiled import Kernels, kernels_for
from pipeline.parse.fio._fio_log_kernel import BAD_END, BAD_LINE, BAD_START, N_BAD, N_LINES, STATE_SIZE, Integers

BLOCK_BYTES = 1 << 20  # what the processor's cache holds together with its numbers
ROWS = 1 << 18  # that are worth a block of a table
_SHOWN = 60


class Lines:
    """The whole lines of a log; what is no line of it is counted."""

    def __init__(self, source: Source, n_columns: int) -> None:
        self.source = source
        self.n_columns = n_columns
        self.n_lines = 0
        self.n_rows = 0
        self.n_bad = 0
        self.first_bad: tuple[int, str] | None = None
        self.is_torn = False

    def _texts(self) -> Iterator[tuple[Kernels, bytes]]:
        for block in self.source.blocks(BLOCK_BYTES):
            text = block
            if not text.endswith(b"\n"):  # the last line is not whole: a number in it may be the beginning of one
                self.is_torn = True
                text = text[: text.rfind(b"\n") + 1]
            if text:
                yield kernels_for(len(text)), text
        self.is_torn |= self.source.damage is not None

    def rows(self, op_column: int, hex_column: int) -> Iterator[tuple[Kernels, Integers]]:
        """Yield the numbers of many lines, column × row; they hold until the next ones are asked for."""
        out = np.empty((self.n_columns, 0), np.int64)
        n_rows = 0
        kernels = None
        for kernels, text in self._texts():
            n_most = n_rows + len(text) // (2 * self.n_columns) + 1
            if out.shape[1] < n_most:
                grown = np.empty((self.n_columns, n_most + ROWS), np.int64)
                grown[:, :n_rows] = out[:, :n_rows]
                out = grown
            state = np.zeros(STATE_SIZE, np.int64)
            before, n_rows = (
                n_rows,
                kernels.parse_rows(kernels.text(text), out, n_rows, state, self.n_columns, op_column, hex_column),
            )
            self._note(text, state)
            self.n_rows += n_rows - before
            if n_rows >= ROWS:
                yield kernels, out[:, :n_rows]
                n_rows = 0
        if n_rows and kernels:
            yield kernels, out[:, :n_rows]

    def histograms(self) -> Iterator[tuple[Integers, Integers]]:
        """Yield of each block the heads of its lines (line × 4) and the counts that are not 0 (count × 2).

        They hold until the next ones are asked for.
        """
        heads, cells = np.empty((0, 4), np.int64), np.empty((0, 2), np.int64)
        for kernels, text in self._texts():
            # Room for whatever may come (a count is a digit and a comma): the compiled loop does not look at bounds.
            n_most = len(text) // 2 + 1
            if len(cells) < n_most:
                heads = np.empty((n_most // self.n_columns + 1, 4), np.int64)
                cells = np.empty((n_most, 2), np.int64)
            state = np.zeros(STATE_SIZE, np.int64)
            n_rows, n_cells = kernels.parse_histograms(kernels.text(text), self.n_columns - 3, heads, cells, state)
            self._note(text, state)
            self.n_rows += n_rows
            if n_rows:
                yield heads[:n_rows], cells[:n_cells]

    def _note(self, text: bytes, state: Integers) -> None:
        if state[N_BAD] and self.first_bad is None:
            shown = text[state[BAD_START] : state[BAD_END]][:_SHOWN].decode("utf-8", errors="replace")
            self.first_bad = (self.n_lines + int(state[BAD_LINE]) + 1, shown)
        self.n_bad += int(state[N_BAD])
        self.n_lines += int(state[N_LINES])

    def report_damage(self, report: Report, what: str) -> None:
        """Add the warnings of bad lines and of a torn end."""
        if self.first_bad is not None:
            line, shown = self.first_bad
            message = f"expected {what}, found {self.n_bad} other lines, the first: {shown!r}"
            report.incomplete(line, "bad_line", message)
        if self.is_torn:
            message = "expected a line feed, found the end of the file: the last line is left out"
            report.incomplete(self.n_lines + 1, "truncated", message)
