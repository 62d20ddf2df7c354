"""Quantities of a latency budget: a value, what its uncertainty comes from, and its expanded interval.

A quantity is a number of the package ``uncertainties``: linear in input variables with mean 0, so that correlations
are kept without being asked for: two layers that share a measurement, or the same seconds of a run, share variables.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtr, stdtrit
from uncertainties import UFloat, ufloat

from pipeline.errors import AnalysisError
from pipeline.units import microseconds

FloatArray = NDArray[np.float64]


@dataclass
class Sources:
    """The input variables of one budget by what they stand for, each with the degrees of freedom of its group."""

    _variables: dict[Hashable, list[UFloat]] = field(default_factory=dict)
    _groups: dict[UFloat, tuple[Hashable, float]] = field(default_factory=dict)

    def scattered(self, key: Hashable, value: float, scores: FloatArray) -> UFloat:
        """``value`` with the type A uncertainty of n batches (windows, samples or repeats) that ``key`` names.

        ``scores``, in the value's unit, is what each batch moves the value by, their sum 0; of a mean of equal batches
        (yᵢ − ȳ) / n. u² = n / (n − 1) · Σ scoresᵢ², for a mean s² / n, with n − 1 degrees of freedom (GUM 4.2.3). Two
        quantities of one key are paired batch by batch: their covariance n / (n − 1) · Σ scoresᵢ · scoresᵢ′ is kept.
        AnalysisError with fewer than two batches, scores that are not finite, or another number of batches than the
        key had before.
        """
        n = len(scores)
        if n < 2 or not np.isfinite(scores).all() or not math.isfinite(value):
            raise AnalysisError(f"expected a value and at least 2 batches, all finite, found {n} batches of {key}")
        variables = self._of_key(key, n, n - 1.0)
        factor = math.sqrt(n / (n - 1))
        terms = [float(score) * factor * variable for score, variable in zip(scores, variables, strict=True) if score]
        return sum(terms, start=exact(value))

    def rounded(self, key: Hashable, value: UFloat | float, width: float) -> UFloat:
        """``value`` with the type B uncertainty of what was rounded: uniform over ``width``, |width| / √12.

        The bounds are known, so that the degrees of freedom are infinite (GUM 4.3.7, G.4.3). The sign of ``width``
        counts where two quantities share what was rounded, which ``key`` names.
        """
        if not width:
            return value + exact(0.0)
        (variable,) = self._of_key(("rounding", key), 1, math.inf)
        return value + width / math.sqrt(12) * variable

    def expanded(self, quantity: UFloat, confidence: float) -> Expanded:
        """The expanded uncertainty of a quantity by Welch–Satterthwaite.

        ν = u⁴ / Σ u_g⁴ / ν_g over the groups of variables, U = t(ν, (1 + confidence) / 2) · u (GUM, JCGM 100:2008,
        G.4.1 and G.6.4; for batches that correlate, each group taken together: Willink, Metrologia 44 (2007) 340).
        ν is not rounded. A quantity without any uncertainty has U = 0 and infinite ν.
        """
        squares: defaultdict[tuple[Hashable, float], float] = defaultdict(float)
        for variable, component in quantity.error_components().items():
            if component:
                squares[self._groups[variable]] += component**2
        variance = sum(squares.values())
        weight = sum(square**2 / df for (_, df), square in squares.items())
        df = variance**2 / weight if weight else math.inf
        k = float(stdtrit(df, (1 + confidence) / 2)) if math.isfinite(df) else float(ndtri((1 + confidence) / 2))
        return Expanded(quantity.nominal_value, math.sqrt(variance), df, k, confidence)

    def _of_key(self, key: Hashable, n: int, df: float) -> list[UFloat]:
        variables = self._variables.get(key)
        if variables is None:
            variables = self._variables[key] = [ufloat(0.0, 1.0) for _ in range(n)]
            self._groups.update(dict.fromkeys(variables, (key, df)))
        if len(variables) != n:
            raise AnalysisError(f"{key}: expected {len(variables)} batches as before, found {n}")
        return variables


@dataclass(frozen=True)
class Expanded:
    """A value, its standard uncertainty u, and U = k · u, all in the value's unit; ``df`` may be infinite."""

    value: float
    standard: float
    df: float
    k: float
    confidence: float

    @property
    def half_width(self) -> float:
        """U, half the length of the interval."""
        return self.k * self.standard

    @property
    def low(self) -> float:
        """Lower end of the interval."""
        return self.value - self.half_width

    @property
    def high(self) -> float:
        """Upper end of the interval."""
        return self.value + self.half_width

    @property
    def standard_uncertainties(self) -> float:
        """How many standard uncertainties the value is from 0; infinite without uncertainty, 0 at 0."""
        if not self.value:
            return 0.0
        return abs(self.value) / self.standard if self.standard else math.inf

    @property
    def p_value(self) -> float:
        """Two-sided probability of a value this far from 0 if 0 were true, by Student's t with ``df``."""
        distance = self.standard_uncertainties
        return 2 * float(stdtr(self.df, -distance)) if math.isfinite(self.df) else math.erfc(distance / math.sqrt(2))

    @property
    def excludes_zero(self) -> bool:
        """Whether the interval lies on one side of 0."""
        return abs(self.value) > self.half_width

    def percent(self) -> str:
        """A share: ``35.3 ± 7.3 %``."""
        digits = min(_decimals(100 * self.half_width), 1)
        return f"{100 * self.value:.{digits}f} ± {100 * self.half_width:.{digits}f} %"

    def text(self, unit: str = "s") -> str:
        """``142.0 ± 0.4 µs``: the value and U, to the digits that U has; of a count, without a unit."""
        value, half, name = self.value, self.half_width, ""
        if unit == "s":
            value, half, name = microseconds(value), microseconds(half), " µs"
        digits = _decimals(half)
        least = 10.0**-MOST_DECIMALS
        shown = "0" if not half else f"{half:.{digits}f}" if half >= least / 2 else f"<{least:g}"
        return f"{value + 0.0:.{digits}f} ± {shown}{name}"


MOST_DECIMALS = 3
_UNIT = ufloat(0.0, 1.0)


def exact(value: float) -> UFloat:
    """A quantity without uncertainty."""
    return value + 0.0 * _UNIT


def _decimals(half: float) -> int:
    """Decimals that show two digits of an uncertainty (GUM 7.2.6), none to ``MOST_DECIMALS``."""
    return min(max(1 - math.floor(math.log10(half)), 0), MOST_DECIMALS) if half else MOST_DECIMALS


def ratio_scores(
    numerators: Sequence[float] | FloatArray, denominators: Sequence[float] | FloatArray
) -> tuple[float, FloatArray]:
    """Σ numerators / Σ denominators, and what each batch moves it by: (numerator − ratio · denominator) / Σ.

    The mean of operations counted in batches of unequal size (Cochran, Sampling Techniques, 2.11: linearised ratio).
    AnalysisError where the denominators sum to 0.
    """
    top, bottom = np.asarray(numerators, float), np.asarray(denominators, float)
    total = float(bottom.sum())
    if not total > 0:
        raise AnalysisError(f"expected operations to divide by, found {total:g}")
    ratio = float(top.sum()) / total
    return ratio, (top - ratio * bottom) / total
