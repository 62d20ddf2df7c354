"""Private to ``fio_log`` and ``fio_hist_log``: the kernels as machine code for long logs, else as plain Python.

Importing numba and loading its code costs about a second of CPU: more than reading some hundred KiB in plain Python.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import SimpleNamespace

import numpy as np

from pipeline.parse._compiled import compiled
from pipeline.parse.fio import _fio_log_kernel as plain
from pipeline.parse.fio._fio_log_kernel import Bytes

PLAIN_BYTES = 3 << 18  # that a process reads without numba; less than a block
_NAMES = ("parse_rows", "summarise", "seconds_of", "parse_histograms")


class Kernels(SimpleNamespace):
    """The functions of ``_fio_log_kernel``, compiled or not, and how they want the text."""

    parse_rows: Callable[..., int]
    summarise: Callable[..., None]
    seconds_of: Callable[..., int]
    parse_histograms: Callable[..., tuple[int, int]]
    is_compiled: bool

    def text(self, block: bytes) -> Bytes:
        """The block as the parsers take it."""
        return np.frombuffer(block, np.uint8) if self.is_compiled else block


class Budget:
    """How much of the process's reading was done in plain Python."""

    n_bytes = 0


def kernels_for(n_bytes: int) -> Kernels:
    """The kernels for a block of ``n_bytes``: compiled, unless the process has read little so far."""
    if Budget.n_bytes + n_bytes > PLAIN_BYTES:
        return compiled_kernels()
    Budget.n_bytes += n_bytes
    return plain_kernels()


def plain_kernels() -> Kernels:
    """The kernels as Python runs them."""
    return Kernels(is_compiled=False, **{name: getattr(plain, name) for name in _NAMES})


@cache
def compiled_kernels() -> Kernels:
    """The kernels as numba compiles them."""
    return Kernels(is_compiled=True, **{name: compiled(getattr(plain, name)) for name in _NAMES})
