"""Numerics of the scaling curves: bounded least squares and profile intervals, for many sets of data at once.

A curve is λ·n / D(n) with D(n) = d₀(n) + Σ θ·φ(n), which holds Amdahl's law and the Universal Scalability Law in all
parametrisations used here. Data come reduced to the points (distinct n): that loses nothing, for the scatter of the
repeats about their own mean does not depend on the curve. Arrays have the draws in front: (draws, points).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Errors = Literal["relative", "absolute"]
Profile = Callable[[Floats], Floats]  # the value of one parameter, a draw each → the least sum of squares there

MAX_STEPS = 100
MOST_CUTS = 40
NARROW = 1e-10  # part of an interval's end to which it is found
DOUBLINGS = 60
FLAT = 1e-13  # a step that moves every parameter by less than this part of it ends the search


@dataclass(frozen=True, eq=False)
class Points:
    """Distinct n (points,), runs at each (points,), and their means (draws, points).

    With relative errors the means are of ln y (the curve is fitted to ln y), with absolute ones of y itself.
    """

    n: Floats
    runs: Floats
    means: Floats
    errors: Errors

    @property
    def contention(self) -> Floats:
        """φ of α: n − 1."""
        return self.n - 1

    @property
    def coherency(self) -> Floats:
        """φ of β: n (n − 1)."""
        return self.n * (self.n - 1)


@dataclass(frozen=True, eq=False)
class Curve:
    """d₀ (draws or 1, points), φ (draws or 1, points, parameters), bounds of θ, and ln λ or λ (draws,) where fixed."""

    base: Floats
    terms: Floats
    lower: Floats
    upper: Floats
    level: Floats | None = None


def contention_and_coherency(points: Points, *, level: Floats | None = None) -> Curve:
    """USL in θ = (α, β) with 0 ≤ α ≤ 1 and β ≥ 0."""
    terms = np.stack([points.contention, points.coherency], axis=-1)[None]
    return Curve(np.ones((1, len(points.n))), terms, np.zeros(2), np.array([1, np.inf]), level)


def contention_only(points: Points, *, level: Floats | None = None) -> Curve:
    """Amdahl's law, θ = (α,) with 0 ≤ α ≤ 1."""
    return Curve(
        np.ones((1, len(points.n))), points.contention[None, :, None], np.zeros(1), np.ones(1), level
    )  # fmt: skip


def straight(points: Points, *, level: Floats | None = None) -> Curve:
    """Proportion, without parameters beside λ."""
    k = len(points.n)
    return Curve(np.ones((1, k)), np.zeros((1, k, 0)), np.zeros(0), np.zeros(0), level)


def given_contention(points: Points, alpha: Floats) -> Curve:
    """USL at a given α (draws,), free in θ = (β,)."""
    base = 1 + alpha[:, None] * points.contention
    return Curve(base, points.coherency[None, :, None], np.zeros(1), np.array([np.inf]))


def given_coherency(points: Points, beta: Floats) -> Curve:
    """USL at a given β (draws,), free in θ = (α,)."""
    base = 1 + beta[:, None] * points.coherency
    return Curve(base, points.contention[None, :, None], np.zeros(1), np.ones(1))


def given_peak(points: Points, inverse_square: Floats) -> Curve:
    """USL at a given 1/n*² = β/(1 − α) (draws,), free in θ = (1 − α,): D = n + θ·(n(n − 1)/n*² − (n − 1)).

    In 1 − α rather than α, so that nothing cancels where α is near 1 and n* near 0.
    """
    terms = inverse_square[:, None] * points.coherency - points.contention
    return Curve(points.n[None], terms[:, :, None], np.zeros(1), np.ones(1))


def given_denominators(base: Floats) -> Curve:
    """Nothing free but λ; ``base`` is D(n) (draws, points)."""
    return Curve(base, np.zeros((*base.shape, 0)), np.zeros(0), np.zeros(0))


def minimise(points: Points, curve: Curve, start: Floats) -> tuple[Floats, Floats, Floats]:
    """θ (draws, parameters), the sum of squares about the points' means, and ln λ or λ, at the least of the former.

    Levenberg–Marquardt (Nocedal and Wright, Numerical Optimization, 10.3) with the level eliminated (Golub and
    Pereyra's variable projection, Kaufman's derivative) and projection on the bounds: a parameter at a bound that the
    gradient pushes outwards is held there.
    """
    draws, count = len(points.means), len(curve.lower)
    theta = np.clip(np.broadcast_to(start, (draws, count)), curve.lower, curve.upper).astype(float)
    residuals, jacobian, level = _residuals(points, curve, theta)
    total = (points.runs * residuals**2).sum(axis=1)
    damping = np.full(draws, 1e-4)
    is_done = np.zeros(draws, dtype=bool)
    for _ in range(MAX_STEPS if count else 0):
        gradient = np.einsum("k,bk,bkp->bp", points.runs, residuals, jacobian)
        step = _step(curve, theta, gradient, np.einsum("k,bkp,bkq->bpq", points.runs, jacobian, jacobian), damping)
        moved = np.clip(theta - step, curve.lower, curve.upper)
        new_residuals, new_jacobian, new_level = _residuals(points, curve, moved)
        new_total = (points.runs * new_residuals**2).sum(axis=1)
        is_better = ~is_done & (new_total <= total)
        is_small = (np.abs(moved - theta) <= FLAT * np.abs(theta) + 1e-300).all(axis=1)
        theta = np.where(is_better[:, None], moved, theta)
        residuals = np.where(is_better[:, None], new_residuals, residuals)
        jacobian = np.where(is_better[:, None, None], new_jacobian, jacobian)
        level, total = np.where(is_better, new_level, level), np.where(is_better, new_total, total)
        is_done |= is_small | (damping > 1e12)
        damping = np.where(is_better, np.maximum(damping * 0.2, 1e-12), damping * 8)
        if is_done.all():
            break
    return theta, total, level


def _step(curve: Curve, theta: Floats, gradient: Floats, normal: Floats, damping: Floats) -> Floats:
    """The damped Gauss–Newton step of the parameters that are free to move, 0 of the others."""
    is_held = ((theta <= curve.lower) & (gradient >= 0)) | ((theta >= curve.upper) & (gradient <= 0))
    diagonal = np.einsum("bpp->bp", normal)
    is_held |= diagonal <= 0
    is_free = ~is_held
    system = normal * (is_free[:, :, None] & is_free[:, None, :])
    own = np.eye(theta.shape[1], dtype=bool)
    scale = np.where(is_free, diagonal, 1.0)
    # Scaled to a unit diagonal, so that α and β of very different sizes are treated alike.
    root = np.sqrt(scale)
    system = system / root[:, :, None] / root[:, None, :] + own * np.where(is_free, damping[:, None], 1.0)[:, :, None]
    right = np.where(is_free, gradient, 0.0) / root
    return np.asarray(np.linalg.solve(system, right[:, :, None])[:, :, 0] / root)


def _residuals(points: Points, curve: Curve, theta: Floats) -> tuple[Floats, Floats, Floats]:
    """Residuals (draws, points), their derivatives by θ, and the level ln λ or λ (draws,)."""
    denominator = curve.base + (curve.terms * theta[:, None, :]).sum(axis=2)
    if points.errors == "relative":
        offsets = points.means - np.log(points.n) + np.log(denominator)
        slopes = curve.terms / denominator[:, :, None]
        if curve.level is not None:
            return offsets - curve.level[:, None], slopes, curve.level
        share = points.runs / points.runs.sum()
        level = offsets @ share
        return offsets - level[:, None], slopes - np.einsum("k,bkp->bp", share, slopes)[:, None], level
    shape = points.n / denominator
    change = -(shape / denominator)[:, :, None] * curve.terms
    weight = points.runs * shape
    length = (weight * shape).sum(axis=1)
    level = (weight * points.means).sum(axis=1) / length if curve.level is None else curve.level
    if curve.level is None:
        along = np.einsum("bk,bkp->bp", weight, change) / length[:, None]
        change = change - shape[:, :, None] * along[:, None, :]
    return points.means - level[:, None] * shape, -level[:, None, None] * change, level


def starting_values(points: Points) -> Floats:
    """(α, β) (draws, 2) from the linear form n/y = 1/λ + (α/λ)(n − 1) + (β/λ) n(n − 1), relative errors weighed alike.

    Gunther, Guerrilla Capacity Planning (2007), chapter 5, fits this form. Below its bound a value is set to the bound.
    """
    rates = np.exp(points.means) if points.errors == "relative" else points.means
    rates = np.maximum(rates, 1e-9 * rates.max(axis=1, keepdims=True))
    columns = np.stack([np.ones_like(points.n), points.contention, points.coherency], axis=-1)
    scaled = columns[None] * (rates / points.n)[:, :, None] / rates.max(axis=1)[:, None, None]
    weighted = scaled * np.sqrt(points.runs)[None, :, None]
    right = np.broadcast_to(np.sqrt(points.runs), rates.shape)[:, :, None]
    found = (np.linalg.pinv(weighted) @ right)[:, :, 0]
    first = np.where(found[:, 0] > 0, found[:, 0], np.inf)
    start = np.column_stack([found[:, 1] / first, found[:, 2] / first])
    return np.asarray(np.clip(start, [1e-3, 1e-4 / points.n.max() ** 2], [0.9, 1.0]))


def lower_end(profile: Profile, best: Floats, cutoff: Floats, bound: float) -> Floats:
    """The end below ``best`` where the profile passes ``cutoff``; ``bound`` where it does not before."""
    outside = np.full_like(best, bound)
    height = profile(outside) - cutoff
    return np.where(height <= 0, bound, _crossing(profile, best, outside, height, cutoff))


def upper_end(profile: Profile, best: Floats, cutoff: Floats, bound: float, scale: Floats) -> Floats:
    """The end above ``best``; ``bound``, which may be ∞, where the profile does not pass ``cutoff`` before."""
    if np.isfinite(bound):
        return -lower_end(lambda value: profile(-value), -best, cutoff, -bound)
    inside, reach = best.copy(), scale.copy()
    outside = best + reach
    height = profile(outside) - cutoff
    for _ in range(DOUBLINGS):
        is_inside = height <= 0
        if not is_inside.any():
            break
        inside = np.where(is_inside, outside, inside)
        reach = np.where(is_inside, reach * 2, reach)
        outside = np.where(is_inside, best + reach, outside)
        height = profile(outside) - cutoff
    return np.where(height <= 0, np.inf, _crossing(profile, inside, outside, height, cutoff))


def _crossing(profile: Profile, inside: Floats, outside: Floats, height: Floats, cutoff: Floats) -> Floats:
    """Regula falsi with the Illinois rule (Dowell and Jarratt, BIT 11 (1971) 168), for all draws together."""
    left, right = inside, outside
    low, high = np.minimum(profile(left) - cutoff, 0), np.maximum(height, 0)
    last = np.zeros(len(left))
    for _ in range(MOST_CUTS):
        width = high - low
        middle = np.where(width > 0, left - low * (right - left) / np.where(width > 0, width, 1), (left + right) / 2)
        value = profile(middle) - cutoff
        is_inside = value <= 0
        high = np.where(is_inside & (last > 0), high / 2, high)  # the same end twice: the other's height counts half
        low = np.where(~is_inside & (last < 0), low / 2, low)
        last = np.where(is_inside, 1, -1)
        moved = np.abs(middle - np.where(is_inside, left, right))
        left, low = np.where(is_inside, middle, left), np.where(is_inside, value, low)
        right, high = np.where(is_inside, right, middle), np.where(is_inside, high, value)
        if (np.minimum(moved, np.abs(right - left)) <= NARROW * np.abs(middle)).all():
            break
    return middle
