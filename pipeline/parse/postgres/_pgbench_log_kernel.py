"""Private to ``pgbench_log``: the loops over bytes and rows, written in the part of Python that numba compiles."""

# Kernels are long and take many arrays: numba compiles one function best.
# ruff: noqa: PLR0912, PLR0915, PLR0917

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pipeline.parse._compiled import Bytes

Integers = NDArray[np.int64]
Reals = NDArray[np.float64]
Codes = NDArray[np.int32]

CLIENT, NUMBER, LATENCY, SCRIPT, EPOCH, STAMP = range(6)  # columns of a line; STAMP in µs since 1970 once it is read
LAG, RETRIES = 6, 7
DONE, SKIPPED, FAILED = range(3)  # states of a transaction
N_LINES, N_BAD = range(2)  # of what parsing leaves in ``counts``
MAX_CLIENTS, MAX_SCRIPTS = 1 << 20, 1 << 10
EPOCH_S, LAST_EPOCH_S = 10**8, 10**10  # 1973 to 2286
_MAX_FIELD = 10**13  # a latency of 115 days
_MAX_DIGITS = 18  # what always fits 64 bits
_MASK = (1 << 56) - 1


def word_code(word: bytes) -> int:
    """What the parser makes of a word: a number that none of the other words shares."""
    code = 0
    for byte in word:
        code = (code * 31 + byte) & _MASK
    return code


_SKIPPED = word_code(b"skipped")
_FAILED = word_code(b"failed")
_SERIALIZATION = word_code(b"serialization")
_DEADLOCK = word_code(b"deadlock")
_OTHER = word_code(b"other")

# Of a group's row in ``sums``: transactions, their sum, the smallest and the largest.
G_COUNT, G_SUM, G_MINIMUM, G_MAXIMUM, N_SUMS = range(5)
LAG_GROUP = MAX_SCRIPTS  # the groups before it are the scripts
# Of ``totals``: first start, last end, failed, skipped, sum of retries, largest lag, lags above their latency, lines
# with number 0, clients.
T_START, T_END, T_FAILED, T_SKIPPED, T_RETRIES, T_MAX_LAG, T_LONG_LAGS, T_ZEROS, T_CLIENTS, N_TOTALS = range(10)
FINE_US, COARSE_US, COARSE_BITS = 1 << 20, 1 << 31, 10  # bins of 1 µs up to a second, of 1.024 ms up to 36 minutes
N_BINS = FINE_US + ((COARSE_US - FINE_US) >> COARSE_BITS)


def parse_lines(text: Bytes, out: Integers, states: Integers, counts: Integers, n_columns: int, of_one: int) -> int:
    """Read lines of ``n_columns`` numbers that single spaces part into the columns of ``out``; returns the rows.

    Every line ends with a line feed. With ``of_one`` (lines of one transaction each) the third field may be a word,
    which goes to ``states``, and the stamp becomes µs since 1970; a value that none of these can have makes a bad
    line, as do other bytes and numbers of more than 18 digits. ``counts`` gets the lines and the bad ones.
    """
    row = n_lines = i = 0
    n_bytes = len(text)
    while i < n_bytes:
        start = i
        state = column = 0
        is_bad = False
        while column < n_columns:
            first = i
            value = 0
            digit = int(text[i]) - 48
            while digit >= 0 and digit <= 9 and i - first < _MAX_DIGITS:
                value = value * 10 + digit
                i += 1
                digit = int(text[i]) - 48
            if i == first and column == 2 and of_one > 0:
                code = 0
                letter = int(text[i])
                while letter >= 97 and letter <= 122 and i - first < _MAX_DIGITS:
                    code = (code * 31 + letter) & _MASK
                    i += 1
                    letter = int(text[i])
                is_failed = code in (_FAILED, _SERIALIZATION, _DEADLOCK, _OTHER)
                is_bad |= not is_failed and code != _SKIPPED
                state = 1 if code == _SKIPPED else 2
            out[column, row] = value
            column += 1
            if i == first or text[i] != (10 if column == n_columns else 32):
                is_bad = True
                break
            i += 1
        n_lines += 1
        if i == start or text[i - 1] != 10:  # the rest of a line that was given up
            while text[i] != 10:
                i += 1
            i += 1
        if not is_bad and of_one > 0:
            epoch, micro = out[4, row], out[5, row]
            is_bad = epoch < EPOCH_S or epoch >= LAST_EPOCH_S or micro >= 1000000
            is_bad |= out[0, row] >= MAX_CLIENTS or out[3, row] >= MAX_SCRIPTS
            for other in range(2, n_columns):
                is_bad |= out[other, row] >= _MAX_FIELD
            if not is_bad:
                out[5, row] = epoch * 1000000 + micro
        if not is_bad:
            states[row] = state
            row += 1
        elif i - start > 1:  # a blank line holds nothing
            counts[1] += 1
    counts[0] += n_lines
    return row


def add_up(
    rows: Integers, states: Integers, n_rows: int, n_extra: int, totals: Integers, last_numbers: Integers,
    sums: Integers, spreads: Reals, bins: Integers, lag_bins: Integers,
) -> None:  # fmt: skip
    """Add lines to the totals of the log and to the statistics of each script, and of the lag, in ``sums``.

    ``last_numbers`` (a client) grows to the largest transaction number + 1; ``spreads`` is set to Σ (value - mean)² of
    these lines alone, as ``sums`` is; ``bins`` and ``lag_bins`` grow, values above the last bin are left out there.
    """
    sums[:, 0:2] = 0
    sums[:, 2] = 1 << 62
    sums[:, 3] = -1
    spreads[:] = 0.0
    lag_group = len(sums) - 1
    for i in range(n_rows):
        client, number, stamp = rows[0, i], rows[1, i], rows[5, i]
        if last_numbers[client] == 0:
            totals[8] += 1
        last_numbers[client] = max(last_numbers[client], number + 1)
        if number == 0:
            totals[7] += 1
        totals[1] = max(totals[1], stamp)
        lag = 0
        if n_extra > 0:
            lag = rows[6, i]
            totals[5] = max(totals[5], lag)
        if n_extra > 1:
            totals[4] += rows[7, i]
        if states[i] != 0:
            totals[3 if states[i] == 1 else 2] += 1
            totals[0] = min(totals[0], stamp)
            continue
        latency, group = rows[2, i], rows[3, i]
        totals[0] = min(totals[0], stamp - latency)
        sums[group, 0] += 1
        sums[group, 1] += latency
        sums[group, 2] = min(sums[group, 2], latency)
        sums[group, 3] = max(sums[group, 3], latency)
        if latency < FINE_US:
            bins[latency] += 1
        elif latency < COARSE_US:
            bins[FINE_US + ((latency - FINE_US) >> COARSE_BITS)] += 1
        if n_extra > 0:
            if lag > latency:
                totals[6] += 1
            else:
                sums[lag_group, 0] += 1
                sums[lag_group, 1] += lag
                sums[lag_group, 2] = min(sums[lag_group, 2], lag)
                sums[lag_group, 3] = max(sums[lag_group, 3], lag)
                if lag < FINE_US:
                    lag_bins[lag] += 1
                elif lag < COARSE_US:
                    lag_bins[FINE_US + ((lag - FINE_US) >> COARSE_BITS)] += 1
    for i in range(n_rows):
        if states[i] == 0:
            group = rows[3, i]
            distance = rows[2, i] - sums[group, 1] / sums[group, 0]
            spreads[group] += distance * distance
            if n_extra > 0 and rows[6, i] <= rows[2, i]:
                distance = rows[6, i] - sums[lag_group, 1] / sums[lag_group, 0]
                spreads[lag_group] += distance * distance


def series(
    rows: Integers, states: Integers, n_rows: int, start_us: int, codes: Codes, columns: Reals, names: Codes,
    n_before: int, has_lag: int, per_second: Integers,
) -> int:  # fmt: skip
    """Append the transactions that were done: time since the start, latency and lag in s, and the client's code.

    ``n_before`` rows are there already; returns how many there are then. ``per_second`` grows by those that ended in
    each second since the start; one that ends where two meet belongs to the first.
    """
    row = n_before
    for i in range(n_rows):
        if states[i] != 0:
            continue
        since = rows[5, i] - start_us
        columns[0, row] = since * 1e-6
        columns[1, row] = rows[2, i] * 1e-6
        if has_lag > 0:
            columns[2, row] = rows[6, i] * 1e-6
        names[row] = codes[rows[0, i]]
        second = max(since - 1, 0) // 1000000
        if second < len(per_second):
            per_second[second] += 1
        row += 1
    return row
