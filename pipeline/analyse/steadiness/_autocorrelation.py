"""First-order autocorrelation of a short series, corrected for its bias, and what it does to the variance of a mean."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, ndtri
from scipy.stats import rankdata

from pipeline.errors import AnalysisError

Floats = NDArray[np.float64]

MIN_EFFECTIVE_N = 4.0
LARGEST = 0.97  # |φ| is kept below: at 1 the series has no mean to speak of


def lag_one(residuals: Floats, n_fitted: int) -> float:
    """φ of an AR(1) from residuals about a mean (``n_fitted`` = 1) or a line (2), corrected for its bias.

    The lag-1 coefficient r is too small by about (n_fitted + (2 + …)φ)/n: φ = (n r + 1)/(n − 3) about a mean (Kendall
    1954; Marriott and Pope, Biometrika 41, 1954), (n r + 2)/(n − 4) about a line. Equal residuals: 0.
    """
    n = len(residuals)
    centred = residuals - residuals.mean()
    power = float(centred @ centred)
    if n <= n_fitted + 2 or power == 0:
        return 0.0
    r = float(centred[1:] @ centred[:-1]) / power
    return float(np.clip((n * r + n_fitted) / (n - n_fitted - 2), -LARGEST, LARGEST))


def normal_scores(values: Floats) -> Floats:
    """Normal quantiles of the mean ranks, Φ⁻¹(rank / (n + 1)): one outlier no longer hides the autocorrelation."""
    scores: Floats = ndtri(rankdata(values) / (len(values) + 1))
    return scores


def variance_factor(phi: float, n: int) -> float:
    """Variance of a mean of n values of an AR(1) over that of n independent ones.

    1 + 2 Σ (1 − k/n) φᵏ over k = 1 … n − 1 = (1 + φ)/(1 − φ) − 2 φ (1 − φⁿ)/(n (1 − φ)²).
    """
    return (1 + phi) / (1 - phi) - 2 * phi * (1 - phi**n) / (n * (1 - phi) ** 2)


def effective_n(phi: float, n: int) -> float:
    """How many independent values n autocorrelated ones are worth, at most n: n (1 − φ)/(1 + φ)."""
    return min(float(n), n * (1 - phi) / (1 + phi))


def enough_effective_n(phi: float, n: int, purpose: str) -> float:
    """``effective_n``; AnalysisError where it is below MIN_EFFECTIVE_N, with the windows that ``purpose`` needs."""
    found = effective_n(phi, n)
    if found >= MIN_EFFECTIVE_N:
        return found
    raise AnalysisError(
        f"{n} windows with a lag-1 autocorrelation of {phi:.2f} are worth {found:.1f} independent ones: need "
        f"≥ {math.ceil(n * MIN_EFFECTIVE_N / found)} windows of this length {purpose}"
    )


def ljung_box_p(residuals: Floats, phi: float, n_lags: int = 10) -> float:
    """p-value that what an AR(1) leaves over is white: Q = n (n + 2) Σ r²ₖ/(n − k), χ² with n_lags − 1 degrees.

    Ljung and Box, Biometrika 65 (1978). A small p: the series is not an AR(1) (a period, a longer memory). Equal
    residuals: 1.
    """
    left = residuals[1:] - phi * residuals[:-1]
    left = left - left.mean()
    n, power = len(left), float(left @ left)
    n_lags = min(n_lags, n // 4)
    if power == 0 or n_lags < 2:
        return 1.0
    r = np.array([left[k:] @ left[:-k] for k in range(1, n_lags + 1)]) / power
    q = n * (n + 2) * float((r**2 / (n - np.arange(1, n_lags + 1))).sum())
    return float(chdtrc(n_lags - 1, q))
