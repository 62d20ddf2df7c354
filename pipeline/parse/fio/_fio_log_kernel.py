"""Private to ``fio_log`` and ``fio_hist_log``: the loops over bytes and rows.

They are plain Python in the part of it that numba compiles: ``_fio_log_compiled`` says when that is done. Each is one
loop without calls and with its state in local variables, for speed.
"""
# ruff: noqa: PLR0912, PLR0917, PLR1714

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Bytes = bytes | NDArray[np.uint8]
Reals = NDArray[np.float64]

N_OPS = 3  # read, write, trim
N_LINES, N_BAD, BAD_LINE, BAD_START, BAD_END, STATE_SIZE = range(6)  # of what parsing leaves in ``state``
COUNT, LOW_SUM, HIGH_SUM, MINIMUM, MAXIMUM, N_TOTALS = range(6)  # of an operation's row in ``totals``
LOW_BITS = 32
_MAX_DIGITS = 18  # what always fits 64 bits
_EXPONENTS = (1023 + 5) << 6  # of fio's bins: the exponent of a double and 6 bits of its mantissa, less those of 2^5


def parse_rows(
    text: Bytes, out: Integers, first_row: int, state: Integers, n_columns: int, op_column: int, hex_column: int
) -> int:
    """Read lines of ``n_columns`` decimal numbers separated by a comma into the columns of ``out``.

    A space may follow the comma: fio writes one, a spreadsheet leaves it out. Every line ends with a line feed. A line
    of anything else is counted as bad and leaves no row: other bytes, numbers of more than 18 digits, an operation
    above 2. ``hex_column`` may hold ``0x`` and hexadecimal digits (-1: none may). Rows are written from ``first_row``
    on; returns the one behind the last. ``state`` has the numbers of lines and of bad ones, and the first bad one's
    number and place.
    """
    row = first_row
    column = value = n_digits = n_lines = start = hex_start = 0
    is_bad = False
    previous = 10
    for i in range(len(text)):
        byte = int(text[i])
        if byte >= 48 and byte <= 57:
            n_digits += 1
            if n_digits <= _MAX_DIGITS:
                value = value * 10 + (byte - 48)
        elif byte == 44 or byte == 10:
            is_bad |= n_digits == 0 or n_digits > _MAX_DIGITS
            if hex_start > 0:
                is_bad |= i - hex_start < 1 or i - hex_start > 8
                value = 0
                for j in range(hex_start, min(i, hex_start + 8)):
                    digit = int(text[j])
                    value = value * 16 + (digit - 48 if digit <= 57 else digit - 87)
                hex_start = 0
            if column < n_columns:
                out[column, row] = value
            column += 1
            value = n_digits = 0
            if byte == 10:
                if column != n_columns or is_bad or out[op_column, row] > 2:
                    if i > start:  # a blank line holds nothing
                        if state[1] == 0:
                            state[2], state[3], state[4] = n_lines, start, i
                        state[1] += 1
                else:
                    row += 1
                n_lines += 1
                column = 0
                is_bad = False
                start = i + 1
        elif byte == 32:
            is_bad |= previous != 44
        elif byte == 120 and column == hex_column and n_digits == 1 and value == 0 and hex_start == 0:
            hex_start = i + 1
        elif hex_start > 0 and byte >= 97 and byte <= 102:
            n_digits += 1
        else:
            is_bad = True
        previous = byte
    state[0] = n_lines
    return row


def summarise(
    values: Integers, ops: Integers, totals: Integers, spreads: Reals, counts: Integers, bits: Integers, floats: Reals
) -> None:
    """Add values to the statistics of their operations.

    ``totals`` (operation × statistic) gets count, the sums of the lower 32 bits and of the rest, minimum, maximum;
    ``spreads`` is set to Σ (value - mean)² of these values alone; ``counts`` (operation × bin) grows, its last bin
    takes what is above. ``floats`` and ``bits`` are one buffer, as long as the values, under two types.
    """
    n_bins = counts.shape[1]
    n = np.zeros(3, np.int64)
    shift = np.zeros(3, np.float64)
    first = np.zeros(3, np.float64)
    for i in range(len(values)):
        value, op = values[i], ops[i]
        if n[op] == 0:
            first[op] = value
        n[op] += 1
        shift[op] += value - first[op]
        totals[op, 1] += value & 0xFFFFFFFF
        totals[op, 2] += value >> 32
        totals[op, 3] = min(totals[op, 3], value)
        totals[op, 4] = max(totals[op, 4], value)
        floats[i] = value
    means = np.zeros(3, np.float64)
    for op in range(3):
        spreads[op] = 0.0
        totals[op, 0] += n[op]
        if n[op]:
            means[op] = first[op] + shift[op] / n[op]
    for i in range(len(values)):
        op = ops[i]
        distance = floats[i] - means[op]
        spreads[op] += distance * distance
        index = values[i] if values[i] < 64 else min((bits[i] >> 46) - _EXPONENTS, n_bins - 1)
        counts[op, index] += 1


def seconds_of(stamps: Integers, ops: Integers, sizes: Integers, runs: Integers) -> int:
    """Operations and bytes a second of stamps in ms: runs of (second, operation, operations, bytes); returns how many.

    A second that is met again later gives a run again. ``runs`` has room for three more rows than there are stamps.
    """
    current = np.full(3, -1, np.int64)
    row = np.zeros(3, np.int64)
    n_runs = 0
    for i in range(len(stamps)):
        second, op = stamps[i] // 1000, ops[i]
        if second != current[op]:
            current[op], row[op] = second, n_runs
            runs[n_runs, 0], runs[n_runs, 1], runs[n_runs, 2], runs[n_runs, 3] = second, op, 0, 0
            n_runs += 1
        runs[row[op], 2] += 1
        runs[row[op], 3] += sizes[i]
    return n_runs


def parse_histograms(text: Bytes, n_bins: int, heads: Integers, cells: Integers, state: Integers) -> tuple[int, int]:
    """Read lines ``stamp, operation, block size`` and ``n_bins`` counts: only the counts that are not 0 are kept.

    ``heads`` gets a row a line (stamp, operation, block size, number of its cells), ``cells`` a row a count (bin,
    count). Bad lines are treated as ``parse_rows`` does. Returns the numbers of lines and of cells.
    """
    row = column = value = n_digits = n_lines = start = cell = row_cell = 0
    is_bad = False
    previous = 10
    for i in range(len(text)):
        byte = int(text[i])
        if byte >= 48 and byte <= 57:
            n_digits += 1
            if n_digits <= _MAX_DIGITS:
                value = value * 10 + (byte - 48)
        elif byte == 44 or byte == 10:
            is_bad |= n_digits == 0 or n_digits > _MAX_DIGITS
            if column < 3:
                heads[row, column] = value
            elif value != 0:
                cells[cell, 0], cells[cell, 1] = column - 3, value
                cell += 1
            column += 1
            value = n_digits = 0
            if byte == 10:
                if column != n_bins + 3 or is_bad or heads[row, 1] > 2:
                    cell = row_cell
                    if i > start:
                        if state[1] == 0:
                            state[2], state[3], state[4] = n_lines, start, i
                        state[1] += 1
                else:
                    heads[row, 3] = cell - row_cell
                    row_cell = cell
                    row += 1
                n_lines += 1
                column = 0
                is_bad = False
                start = i + 1
        elif byte == 32:
            is_bad |= previous != 44
        else:
            is_bad = True
        previous = byte
    state[0] = n_lines
    return row, row_cell
