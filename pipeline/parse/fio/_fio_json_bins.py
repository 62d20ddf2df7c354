"""Private to ``fio_json``: the histograms of JSON+, whose many numbers numpy reads, and the edges of fio's bins."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pipeline import units
from pipeline.parse.fio import _fio_bins as bins

PLACE = "\0"  # in the content of a document: the string "\0" + n stands for its histogram n
UNITS_A_US = {units.NANO: 1000, units.MICRO: 1}
_LIMIT = 1 << 62
_PAIR = b'"":,'
_BLANK = bytes(code if chr(code).isdigit() and code < 128 else 32 for code in range(256))

Integers = NDArray[np.int64]
Numbers = NDArray[np.float64]


class Histogram(NamedTuple):
    """Keys and counts of a ``bins`` object, as they are printed."""

    keys: Integers
    counts: Integers


def histograms_of(objects: list[str]) -> list[Histogram]:
    """The histograms of texts ``"bins" : { "177" : 5, … }``; none at all where one of them is anything else."""
    raw = "".join([text[text.index("{") + 1 :] for text in objects]).encode("ascii", "replace")
    # What is left without digits and blanks tells at once whether the form is right, and how many pairs there are.
    skeletons = raw.translate(None, b"0123456789 \t\n\r").split(b"}")[:-1]
    lengths = [(len(skeleton) + 1) // len(_PAIR) for skeleton in skeletons]
    if any(skeleton != (_PAIR * length)[:-1] for skeleton, length in zip(skeletons, lengths, strict=True)):
        return []
    numbers = np.fromstring(raw.translate(_BLANK), dtype=np.int64, sep=" ")
    if len(numbers) != 2 * sum(lengths) or (len(numbers) and int(numbers.max()) >= _LIMIT):
        return []
    ends = np.cumsum(lengths)
    return [
        Histogram(numbers[2 * (end - length) : 2 * end : 2], numbers[2 * (end - length) + 1 : 2 * end : 2])
        for end, length in zip(ends.tolist(), lengths, strict=True)
    ]


class Edges(NamedTuple):
    """The bins of a scale: keys in their order, and edges in s. The last one takes all above: its upper edge is NaN."""

    keys: Integers
    lower_s: Numbers
    upper_s: Numbers


@cache
def edges_of(scale: float, *, is_indexed: bool) -> Edges:
    """Every bin of fio's layout (``plat_idx_to_val`` in its stat.c), by its middle or, to 2.19, by its index."""
    n_bins = bins.N_BINS[UNITS_A_US[scale]]
    index = np.arange(n_bins)
    edges_s = bins.lower_edges(n_bins) / round(1 / scale)
    upper_s = edges_s[1:].copy()
    upper_s[-1] = np.nan
    return Edges(index if is_indexed else bins.middles(index), edges_s[:-1], upper_s)


def places_of(keys: Integers, edges: Edges) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """The place of each key among the bins of the layout, and whether it is there."""
    places = np.minimum(np.searchsorted(edges.keys, keys), len(edges.keys) - 1)
    return places, edges.keys[places] == keys
