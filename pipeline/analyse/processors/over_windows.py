"""The mean of a series of windows with an interval that knows that neighbours are alike: batch means."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit

from pipeline.analyse.intervals import Estimate
from pipeline.errors import AnalysisError

Floats = NDArray[np.float64]
N_BATCHES = 10
MIN_WINDOWS = 60  # below, the memory of a series is hardly known
BATCH_MEMORIES = 2  # length of a batch in units of the memory
METHOD = "batch means, Student's t"


def time_mean(values: ArrayLike, confidence: float = 0.95) -> Estimate:
    """Mean over time of equally long, consecutive windows, with an interval from N_BATCHES batch means.

    The series is cut into 10 consecutive batches of ⌊W / 10⌋ windows (the first W mod 10 windows count for the mean
    alone); the means of the batches are taken as independent and normal, mean ± t(9) s / √10 (Schmeiser, 1982, "Batch
    size effects in the analysis of simulation output", Operations Research 30, 556–568: 10 to 30 batches). A batch must
    be twice as long as the series' ``memory``, otherwise there is no interval, and ``method`` says how many windows one
    needs. Of first-order autoregressive series whose batches suffice nearly always it covers 93 to 96 % at 95 %. It
    speaks of this run's time, not of other runs. Equal values: no interval. AnalysisError: no windows, or nulls.
    """
    numbers = np.asarray(values, dtype=float).ravel()
    if not len(numbers) or not np.isfinite(numbers).all():
        raise AnalysisError(f"expected windows without nulls, found {numbers.tolist()[:5]}")
    mean, n = float(numbers.mean()), len(numbers)
    reason = _refusal(numbers)
    if reason:
        return Estimate(mean, None, None, n, confidence, None, reason)
    size = n // N_BATCHES
    batches = numbers[n - size * N_BATCHES :].reshape(N_BATCHES, size).mean(axis=1)
    half = float(stdtrit(N_BATCHES - 1, (1 + confidence) / 2)) * float(batches.std(ddof=1)) / math.sqrt(N_BATCHES)
    return Estimate(mean, mean - half, mean + half, n, confidence, confidence, METHOD)


def memory(values: Floats) -> float:
    """How many windows are worth one independent one: (1 + r) / (1 − r), where r ≥ 0 is the lag-1 autocorrelation.

    Exact for a first-order autoregressive series; r is corrected for its bias, r + (1 + 3 r) / W (Kendall, 1954,
    "Note on bias in the estimation of autocorrelation", Biometrika 41, 403–404), and kept below 0.99.
    """
    centred = values - values.mean()
    r = float((centred[1:] * centred[:-1]).sum() / (centred**2).sum())
    r = min(max(r + (1 + 3 * r) / len(values), 0.0), 0.99)
    return (1 + r) / (1 - r)


def _refusal(values: Floats) -> str:
    """Why a series has no interval; empty where it has one."""
    n = len(values)
    if n < MIN_WINDOWS:
        return f"no interval: {n} windows, need ≥ {MIN_WINDOWS}"
    if (values == values[0]).all():
        return "no interval: all windows are equal"
    needed = math.ceil(N_BATCHES * BATCH_MEMORIES * memory(values))
    return "" if n >= needed else f"no interval: {n} windows that depend on each other, need ≥ {needed}"


def longest_stretch(is_set: ArrayLike) -> int:
    """Most consecutive true values."""
    flags = np.concatenate([[False], np.asarray(is_set, dtype=bool).ravel(), [False]]).astype(int)
    edges = np.diff(flags)
    starts, ends = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
    return int((ends - starts).max(initial=0))
