"""Private to ``fio_json``: the histograms of JSON+, whose many numbers numpy reads, and the edges of fio's bins."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pipeline import units
from pipeline.parse.fio import _fio_bins as bins

PLACE = "\0"  # in the content of a document: the string "\0" + n stands for its histogram n
UNITS_A_US = {units.NANO: 1000, units.MICRO: 1}
_PAIR = b'"":,'
_DIGITS_AND_BLANKS = b"0123456789 \t\n\r"
_ZERO, _QUOTE = b'0"'
_WORD = 8  # digits that are read at once
_MAX_DIGITS = 2 * _WORD
_FIRST_DOUBLED = 64  # below, a bin is a unit wide and in no power of two
_EXPONENT = (1023 + 5) << 6  # of the doubles below it

Integers = NDArray[np.int64]
Numbers = NDArray[np.float64]


class Histogram(NamedTuple):
    """Keys and counts of a ``bins`` object, as they are printed, and the sum of the counts."""

    keys: Integers
    counts: Integers
    total: int


def histograms_of(objects: list[str]) -> list[Histogram]:
    """The histograms of texts ``"bins" : { "177" : 5, … }``; none at all where one of them is anything else."""
    contents = [text[text.index("{") + 1 :] for text in objects]
    raw = b" " * _MAX_DIGITS + "".join(contents).encode("ascii", "replace")
    text = np.frombuffer(raw, np.uint8)
    is_digit = text - _ZERO < 10  # the bytes below zero wrap round
    edges = np.flatnonzero(is_digit[1:] != is_digit[:-1]) + 1
    starts, ends = edges[::2], edges[1::2]
    places = np.searchsorted(starts, np.cumsum([_MAX_DIGITS, *map(len, contents)]))
    bounds = (places // 2).tolist()  # of the pairs of each object
    # What is left without digits and blanks, and where the keys begin and end, tells whether the form is right.
    skeleton = b"".join([(_PAIR * (end - start))[:-1] + b"}" for start, end in pairwise(bounds)])
    is_known = len(starts) == 2 * bounds[-1] and skeleton == raw.translate(None, _DIGITS_AND_BLANKS)
    if not is_known or not ((text[starts[::2] - 1] == _QUOTE) & (text[ends[::2]] == _QUOTE)).all():
        return []
    if len(starts) and (ends - starts).max() > _MAX_DIGITS:
        return []
    numbers = _numbers(raw, starts, ends)
    keys, counts = numbers[::2], numbers[1::2]
    sums = np.concatenate(([0], np.cumsum(counts)))[bounds].tolist()
    return [
        Histogram(keys[start:end], counts[start:end], above - below)
        for (start, end), (below, above) in zip(pairwise(bounds), pairwise(sums), strict=True)
    ]


def _numbers(raw: bytes, starts: Integers, ends: Integers) -> Integers:
    """The decimal numbers that stand from ``starts`` to ``ends``: at most 16 digits, and 16 bytes before the first."""
    words = np.ndarray(len(raw) - _WORD + 1, "<u8", raw, strides=(1,))  # that begin at each byte
    n_digits = ends - starts
    numbers = _eight_digits(words[ends - _WORD], np.minimum(n_digits, _WORD))
    long = np.flatnonzero(n_digits > _WORD)
    numbers[long] += 10**_WORD * _eight_digits(words[ends[long] - _MAX_DIGITS], n_digits[long] - _WORD)
    return numbers


def _eight_digits(words: NDArray[np.uint64], n_digits: Integers) -> Integers:
    """The numbers that the last ``n_digits`` bytes of words spell; the last byte is a word's highest.

    Neighbours are added up: digits to numbers of two digits, these to numbers of four, these to one of eight.
    """
    n_bits = (8 * (_WORD - n_digits)).astype(np.uint64)  # that are not of the number
    ones = (words >> n_bits << n_bits) & np.uint64(0x0F0F0F0F0F0F0F0F)
    pairs = (ones * np.uint64(10 << 8 | 1) >> np.uint64(8)) & np.uint64(0x00FF00FF00FF00FF)
    fours = (pairs * np.uint64(100 << 16 | 1) >> np.uint64(16)) & np.uint64(0x0000FFFF0000FFFF)
    return (fours * np.uint64(10_000 << 32 | 1) >> np.uint64(32)).astype(np.int64)


class Edges(NamedTuple):
    """The bins of a scale: keys in their order, and edges in s. The last one takes all above: its upper edge is NaN."""

    keys: Integers
    lower_s: Numbers
    upper_s: Numbers
    is_indexed: bool  # whether the keys are the places themselves


@cache
def edges_of(scale: float, *, is_indexed: bool) -> Edges:
    """Every bin of fio's layout (``plat_idx_to_val`` in its stat.c), by its middle or, to 2.19, by its index."""
    n_bins = bins.N_BINS[UNITS_A_US[scale]]
    index = np.arange(n_bins)
    edges_s = bins.lower_edges(n_bins) / round(1 / scale)
    upper_s = edges_s[1:].copy()
    upper_s[-1] = np.nan
    return Edges(index if is_indexed else bins.middles(index), edges_s[:-1], upper_s, is_indexed)


def places_of(keys: Integers, edges: Edges) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """The place of each key among the bins of the layout, and whether it is there."""
    places = keys
    if not edges.is_indexed:  # the exponent of a double and 6 bits of its mantissa, which are 64 bins a power of two
        places = np.where(keys < _FIRST_DOUBLED, keys, (keys.astype(float).view(np.int64) >> 46) - _EXPONENT)
    places = np.clip(places, 0, len(edges.keys) - 1)
    return places.astype(np.int32), edges.keys[places] == keys
