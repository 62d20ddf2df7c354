"""Private to ``hdr_log``: a histogram as HdrHistogram encodes it (V0, V1 and V2, compressed, in base 64)."""

from __future__ import annotations

import base64
import binascii
import math
import struct
import zlib
from dataclasses import dataclass

import numpy as np
import pyhdrh
from numpy.typing import NDArray

Integers = NDArray[np.int64]

_MAX_TEXT = 1 << 24  # characters of base 64
_MAX_INFLATED = 64 << 20  # what the largest histogram takes: 5 digits, words of 8 bytes
_SIZE_MASK = 0xF0  # of a cookie: the size of a word
_COMPRESSED = {0x1C849309: 0, 0x1C849302: 1, 0x1C849304: 2}  # cookie without that size: version
_ENCODED = {0x1C849308: 0, 0x1C849301: 1, 0x1C849303: 2}
_WORDS = {2: ">i2", 4: ">i4", 8: ">i8"}
_MAX_DIGITS, _MAX_SHIFT, _MAX_BINS = 5, 62, 1 << 23


@dataclass(frozen=True)
class Histogram:
    """The bins that are not empty: lower edge (inclusive), upper edge (exclusive), count; values as recorded."""

    lower: Integers
    upper: Integers
    counts: Integers


def decode(text: str) -> Histogram:
    """Decode a histogram; ValueError says what is wrong with it."""
    if len(text) > _MAX_TEXT:
        raise ValueError(f"a histogram of {len(text)} characters")
    try:
        data = base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError) as error:
        raise ValueError(f"base 64: {error}") from None
    if len(data) < 8:
        raise ValueError("a histogram that ends in its header")
    cookie, length = struct.unpack(">II", data[:8])
    version = _COMPRESSED.get(cookie & ~_SIZE_MASK)
    if version is None:
        raise ValueError(f"an unknown encoding (cookie {cookie:#x})")
    if len(data) - 8 < length:
        raise ValueError(f"{len(data) - 8} of {length} compressed bytes")
    inflater = zlib.decompressobj()
    try:
        payload = inflater.decompress(data[8 : 8 + length], _MAX_INFLATED)
    except zlib.error as error:
        raise ValueError(f"compressed bytes: {error}") from None
    if inflater.unconsumed_tail or not inflater.eof:
        raise ValueError("compressed bytes that do not end" if inflater.eof else "compressed bytes without their end")
    return _histogram(payload)


def _histogram(payload: bytes) -> Histogram:
    if len(payload) < 40 and not (len(payload) >= 32 and payload[3] & 0x0F == 0x08):
        raise ValueError("a histogram that ends in its header")
    (cookie,) = struct.unpack(">I", payload[:4])
    version = _ENCODED.get(cookie & ~_SIZE_MASK)
    if version is None:
        raise ValueError(f"an unknown encoding (cookie {cookie:#x})")
    offset = 0
    if version == 0:
        digits, lowest, highest = struct.unpack(">iqq", payload[4:24])
        body = payload[32:]  # a total count stands before it
    else:
        n_bytes, offset, digits, lowest, highest = struct.unpack(">iiiqq", payload[4:32])
        if not 0 <= n_bytes <= len(payload) - 40:
            raise ValueError(f"{len(payload) - 40} of {n_bytes} bytes of counts")
        body = payload[40 : 40 + n_bytes]
    if not 0 <= digits <= _MAX_DIGITS or lowest < 1 or highest < 2 * lowest:
        raise ValueError(f"{digits} digits from {lowest} to {highest}")
    n_bins = _n_bins(digits, lowest, highest)
    index, counts = _variable(body, n_bins) if version == 2 else _fixed(body, (cookie & _SIZE_MASK) >> 4 & 0xE)
    if offset:
        index = (index + offset) % n_bins
        order = np.argsort(index)
        index, counts = index[order], counts[order]
    return _with_edges(index, counts, digits, lowest)


def _fixed(body: bytes, size: int) -> tuple[Integers, Integers]:
    """Counts as words of one size (V0, V1)."""
    if size not in _WORDS:
        raise ValueError(f"counts of {size} bytes")
    counts = np.frombuffer(body[: len(body) // size * size], _WORDS[size]).astype(np.int64)
    if (counts < 0).any():
        raise ValueError("a negative count")
    index = np.flatnonzero(counts)
    return index, counts[index]


def _variable(body: bytes, n_bins: int) -> tuple[Integers, Integers]:
    """Counts as ZigZag LEB128, a negative one standing for that many zeros (V2), as the hdrhistogram package decodes.

    It reads V2 only, and from its own header makes as large an array as that says: hence the bound here.
    """
    if not 0 < n_bins <= _MAX_BINS:
        raise ValueError(f"{n_bins} bins")
    counts = np.zeros(n_bins, np.int64)
    try:
        pyhdrh.decode(body, 0, counts.ctypes.data, n_bins, counts.itemsize)
    except (IndexError, OverflowError, ValueError) as error:
        raise ValueError(f"counts: {error}") from None
    if (counts < 0).any():
        raise ValueError("a negative count")
    index = np.flatnonzero(counts)
    return index, counts[index]


def _sub_bits(digits: int) -> int:
    """Binary logarithm of half the values that the first bucket tells apart."""
    return max(0, math.ceil(math.log2(2 * 10**digits)) - 1)


def _n_bins(digits: int, lowest: int, highest: int) -> int:
    bits, unit = _sub_bits(digits), lowest.bit_length() - 1
    n_buckets = max(1, highest.bit_length() - unit - bits)
    return int((n_buckets + 1) << bits)


def _with_edges(index: Integers, counts: Integers, digits: int, lowest: int) -> Histogram:
    """The values that each bin stands for: 2^bits bins a power of two, the first one has twice as many."""
    bits, unit = _sub_bits(digits), lowest.bit_length() - 1
    bucket = np.maximum((index >> bits) - 1, 0)
    within = np.where(index >> bits, (index & ((1 << bits) - 1)) + (1 << bits), index)
    shift = bucket + unit
    if len(shift) and int(shift.max()) + bits + 1 > _MAX_SHIFT:
        raise ValueError("values that exceed 64 bits")
    lower = within << shift
    return Histogram(lower, lower + (np.int64(1) << shift), counts)
