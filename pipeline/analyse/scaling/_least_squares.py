"""Numerics of least squares: rank by order of the columns, QR, and refinement in extended precision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

Floats = NDArray[np.float64]

# x86-64 carries 64 bits of mantissa and 64-bit ARM under Linux 113. Where long double is double (Windows, Apple
# silicon) the refinement gains nothing, and the digits are those of plain QR.
WIDE: type[np.floating[Any]] = np.longdouble

# A column counts as collinear when less than this part of its length is left after the columns before it are
# projected out. Dependent columns computed in double leave up to some 200 eps = 4e-14 (measured: 1200 random designs
# of 5 to 1000 rows, magnitudes 1e-3 to 1e9); NIST's Filip, a polynomial of degree 10 that has a solution, leaves
# 5e-8 at its worst column, so that R's 1e-7 rejects it; seconds since 1970 over ten seconds leave 2e-9.
# 2**-40 = 9e-13 lies between.
RANK_TOLERANCE = 2.0**-40
# A term that nowhere reaches a quarter of the last bit of the largest y is rounding: 0 rather than 7e-20.
NEGLIGIBLE = 2.0**-54
REFINEMENTS = 2  # one brings Wampler5 from 6 digits to 9.5; from the second on, the limits of long double: 9 to 11


@dataclass(frozen=True, eq=False)
class Solution:
    """Coefficients and the square roots of diag((AᵀA)⁻¹), both 0 for dropped columns; kept columns; condition number.

    ``residuals`` is in the extended type, for the sums of squares, and multiplied by √weight where there are weights;
    ``factor`` (columns, kept) is F with (AᵀWA)⁻¹ = F·Fᵀ and ``leverages`` (n,) the diagonal of the projection on the
    kept columns; ``condition`` is that of the kept columns scaled to unit length, and so the loss of digits that no
    choice of units can cure. ``is_exact`` says that no residual is larger than the rounding of the numbers it is the
    difference of.
    """

    coefficients: Floats
    residuals: NDArray[Any]
    error_factors: Floats
    factor: Floats
    leverages: Floats
    kept: tuple[int, ...]
    condition: float
    is_exact: bool


def independent_columns(design: Floats) -> tuple[int, ...]:
    """Return the columns of ``design`` (n × p, n ≥ p) that are no linear combination of those kept before them.

    The diagonal of R is a column's distance from the span of the columns before it, which only means something as
    long as those are independent: so the first dependent column goes, and the rest is judged again. Unlike pivoting
    by size, this drops the later of two collinear columns whatever their units, and a person can foretell it.
    """
    lengths = np.linalg.norm(design, axis=0)
    kept = list(range(design.shape[1]))
    while kept:
        distances = np.abs(np.diag(np.linalg.qr(design[:, kept], mode="r")))
        dependent = np.flatnonzero(distances <= RANK_TOLERANCE * lengths[kept])
        if not dependent.size:
            break
        del kept[int(dependent[0])]
    return tuple(kept)


def solve(design: Floats, y: Floats, weights: Floats | None = None) -> Solution:
    """Minimise ‖√w·(y − design·b)‖ by Householder QR, then refine residuals and coefficients together.

    QR: Golub & Van Loan, Matrix Computations (4th ed.), 5.3.3. Refinement of the augmented system r + A·b = y,
    Aᵀr = 0 with residuals in higher precision: Björck, BIT 7 (1967) 257; Golub & Van Loan 5.3.8. All columns
    are scaled by powers of two, which rounds nothing and keeps large numbers from overflowing; the roots of the
    weights multiply in the extended type.
    """
    exponents, y_exponent = _exponents(design), int(_exponents(y[:, None])[0])
    wide_a, wide_y = np.ldexp(design, -exponents).astype(WIDE), np.ldexp(y, -y_exponent).astype(WIDE)
    if weights is not None:
        roots = np.sqrt(weights.astype(WIDE))
        wide_a, wide_y = wide_a * roots[:, None], wide_y * roots
    kept = independent_columns(wide_a.astype(float))
    wide_a, indices = wide_a[:, kept], list(kept)
    a = wide_a.astype(float)
    q, r = np.linalg.qr(a)
    b = _back(r, q.T @ wide_y.astype(float)).astype(WIDE)
    residuals = wide_y - wide_a @ b
    for _ in range(REFINEMENTS):
        f = np.asarray(wide_y - residuals - wide_a @ b, dtype=float)
        g = np.asarray(-(wide_a.T @ residuals), dtype=float)
        step = q.T @ f - _back(r, g, transposed=True)
        b = b + _back(r, step)
        residuals = residuals + (f - q @ step)
    rounding = 2 * np.finfo(float).eps * (np.abs(wide_y) + np.abs(wide_a) @ np.abs(b))
    b[np.abs(b) < NEGLIGIBLE * np.abs(wide_y).max()] = 0
    coefficients, error_factors = np.zeros(design.shape[1]), np.zeros(design.shape[1])
    factor, inverse = np.zeros((design.shape[1], len(kept))), _back(r, np.eye(len(kept)))
    with np.errstate(over="ignore", under="ignore"):  # the caller sees infinities
        coefficients[indices] = np.ldexp(b, y_exponent - exponents[indices]) + 0.0  # no −0
        factor[indices] = np.ldexp(inverse, -exponents[indices][:, None])
        error_factors[indices] = np.ldexp(np.linalg.norm(inverse, axis=1), -exponents[indices])
    return Solution(
        coefficients=coefficients,
        residuals=np.ldexp(residuals, y_exponent),
        error_factors=error_factors,
        factor=factor,
        leverages=np.minimum((q**2).sum(axis=1), 1.0),
        kept=kept,
        condition=float(np.linalg.cond(r / np.linalg.norm(a, axis=0))) if kept else 1.0,
        is_exact=bool((np.abs(residuals) <= rounding).all()),
    )


def _exponents(columns: Floats) -> NDArray[np.intc]:
    return np.asarray(np.frexp(np.abs(columns).max(axis=0))[1])


def _back(r: Floats, right: Floats, *, transposed: bool = False) -> Floats:
    """Solve r·z = right, or rᵀ·z = right; an empty system has the empty solution."""
    if not r.size:
        return np.zeros_like(right)
    return np.asarray(solve_triangular(r, right, trans="T" if transposed else "N"), dtype=float)
