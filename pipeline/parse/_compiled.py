"""Loops over bytes: machine code for long logs, plain Python for short ones.

Importing numba costs about half a second of CPU, more than reading some hundred KiB in plain Python. The code is kept
beside the module or, where that folder is read-only, in the user's cache folder (NUMBA_CACHE_DIR); where neither can
be written, each process compiles for itself.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

PLAIN_BYTES = 1 << 17  # of a log that are read without numba
Bytes = bytes | NDArray[np.uint8]
F = TypeVar("F", bound=Callable[..., object])


@cache
def compiled(function: F) -> F:
    """The function as machine code."""
    import numba

    try:
        return numba.njit(cache=True, nogil=True)(function)  # type: ignore[no-any-return]
    except RuntimeError:  # no folder to keep the code in
        return numba.njit(nogil=True)(function)  # type: ignore[no-any-return]
