"""One scaling curve fitted to runs: estimates, profile intervals, and the band of the curve."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import stdtrit

from pipeline.analyse.scaling import _usl
from pipeline.analyse.scaling._usl import Curve, Errors, Floats, Points

Model = Literal["linear", "amdahl", "usl"]
MEAN_PARAMETERS: dict[Model, int] = {"linear": 1, "amdahl": 2, "usl": 3}


@dataclass(frozen=True, eq=False)
class Reduced:
    """Sets of runs at the same n, reduced: points, squares of the runs about their means (draws, points), runs."""

    points: Points
    squares: Floats
    n: int

    @property
    def ss_pure(self) -> Floats:
        """Sum of squares of the runs about their means (draws,), which no curve can lessen."""
        return np.asarray(self.squares.sum(axis=1))

    @property
    def variances(self) -> Floats:
        """Of the first set: variance of the runs at each point, 0 of a single run."""
        return np.asarray(self.squares[0] / np.maximum(self.points.runs - 1, 1))


@dataclass(frozen=True, eq=False)
class Fits:
    """A model fitted to each set: (draws,) throughout; ``ends`` has (low, high) by parameter.

    ``level`` is λ; ``inverse_square`` is 1/n*² = β/(1 − α), whose ends are those of the peak turned round.
    """

    model: Model
    level: Floats
    alpha: Floats
    beta: Floats
    ss: Floats
    df: int
    ends: dict[str, tuple[Floats, Floats]]

    @property
    def inverse_square(self) -> Floats:
        """1/n*², 0 without a peak."""
        return peak_inverse_square(self.alpha, self.beta)


def reduced(xs: Floats, ys: Floats, errors: Errors) -> Reduced:
    """Reduce runs xs (n,), ys (draws, n) to the points; with relative errors ys > 0."""
    distinct, index = np.unique(xs, return_inverse=True)
    values = np.log(ys) if errors == "relative" else ys
    runs = np.bincount(index).astype(float)
    member = (index[:, None] == np.arange(len(distinct))).astype(float)
    first = values[:, [int(np.argmax(index == point)) for point in range(len(distinct))]]
    shift = (values - first[:, index]) @ member / runs
    squares = (values - first[:, index] - shift[:, index]) ** 2 @ member
    return Reduced(Points(distinct, runs, first + shift, errors), squares, len(xs))


def peak_inverse_square(alpha: Floats, beta: Floats) -> Floats:
    """β/(1 − α); very large, not infinite, where α is 1 and β > 0: the curve then falls from the start."""
    return beta / np.maximum(1 - alpha, 1e-9)


def fit(data: Reduced, model: Model, confidence: float | None = 0.95) -> Fits:
    """Least squares within the bounds and, unless ``confidence`` is None, profile intervals."""
    points, draws = data.points, len(data.squares)
    alpha = beta = np.zeros(draws)
    if model == "usl":
        theta, total, level = _best_usl(points)
        alpha, beta = theta[:, 0], theta[:, 1]
    elif model == "amdahl":
        theta, total, level = _usl.minimise(points, _usl.contention_only(points), _usl.starting_values(points)[:, :1])
        alpha = theta[:, 0]
    else:
        theta, total, level = _usl.minimise(points, _usl.straight(points), np.zeros((draws, 0)))
    df = data.n - MEAN_PARAMETERS[model]
    ss = total + data.ss_pure
    found = Fits(model, level, alpha, beta, ss, df, {})
    if confidence is not None and df > 0:
        f_quantile = float(stdtrit(df, (1 + confidence) / 2)) ** 2
        found.ends.update(_ends(points, found, total + ss * f_quantile / df))
    return Fits(model, _rate(points, level), alpha, beta, ss, df, found.ends)


def covariance(points: Points, model: Model, level: float, alpha: float, beta: float) -> tuple[Floats, list[bool]]:
    """(XᵀX)⁻¹ of (ln λ or λ, α, β) as far as they are free, and which are; α and β at a bound count as given."""
    is_free = [True, model != "linear" and 0 < alpha < 1, model == "usl" and beta > 0]
    columns = gradient(points.n, points.errors, level, alpha, beta)[:, is_free]
    normal = (columns * points.runs[:, None]).T @ columns
    scale = np.sqrt(np.diag(normal))
    return np.asarray(np.linalg.pinv(normal / np.outer(scale, scale)) / np.outer(scale, scale)), is_free


def gradient(n: Floats, errors: Errors, rate: float, alpha: float, beta: float) -> Floats:
    """Derivatives (points, 3) of ln C by (ln λ, α, β) with relative errors, of C by (λ, α, β) with absolute ones."""
    denominator = 1 + alpha * (n - 1) + beta * n * (n - 1)
    slopes = -np.column_stack([n - 1, n * (n - 1)]) / denominator[:, None]
    if errors == "relative":
        return np.column_stack([np.ones_like(n), slopes])
    return np.column_stack([n / denominator, (rate * n / denominator)[:, None] * slopes])


def rates(n: Floats, rate: float, alpha: float, beta: float) -> Floats:
    """C(n) = λ·n / (1 + α(n − 1) + β·n(n − 1))."""
    return np.asarray(rate * n / (1 + alpha * (n - 1) + beta * n * (n - 1)))


def aicc(ss: float, n: int, model: Model) -> float:
    """n·ln(ss/n) + 2k + 2k(k + 1)/(n − k − 1), k = λ, the shape's parameters and σ; n − k − 1 > 0."""
    k = MEAN_PARAMETERS[model] + 1
    return n * math.log(ss / n) + 2 * k + 2 * k * (k + 1) / (n - k - 1)


def _rate(points: Points, level: Floats) -> Floats:
    return np.exp(level) if points.errors == "relative" else level


def _best_usl(points: Points) -> tuple[Floats, Floats, Floats]:
    """The best of three starts: the linear form's values, and little and much contention."""
    curve = _usl.contention_and_coherency(points)
    square = points.n.max() ** 2
    starts = [_usl.starting_values(points), np.array([[0.02, 1 / square]]), np.array([[0.5, 1e-3 / square]])]
    found = [_usl.minimise(points, curve, start) for start in starts]
    best = np.argmin([total for _, total, _ in found], axis=0)
    rows = np.arange(len(best))
    theta, total, level = (np.stack([result[part] for result in found])[best, rows] for part in range(3))
    return theta, total, level


def _ends(points: Points, found: Fits, cutoff: Floats) -> dict[str, tuple[Floats, Floats]]:
    """Where each parameter's profile passes the cutoff: Bates and Watts, Nonlinear Regression Analysis (1988), 6.1."""
    shape = {"linear": _usl.straight, "amdahl": _usl.contention_only, "usl": _usl.contention_and_coherency}[found.model]
    theta = np.column_stack([found.alpha, found.beta])[:, : MEAN_PARAMETERS[found.model] - 1]

    def of_level(level: Floats) -> Floats:
        return _usl.minimise(points, shape(points, level=level), theta)[1]

    step = np.sqrt(np.maximum(cutoff, 0) / points.runs.sum()) + 1e-12 * np.abs(found.level)
    low = -_usl.upper_end(lambda level: of_level(-level), -found.level, cutoff, np.inf, step)
    high = _usl.upper_end(of_level, found.level, cutoff, np.inf, step)
    ends = {"rate": (_rate(points, low), _rate(points, high))}
    if found.model == "amdahl":
        ends["alpha"] = _both(lambda a: _alone(points, 1 + a[:, None] * points.contention), found.alpha, cutoff, 1.0)
    if found.model == "usl":
        ends |= _usl_ends(points, found, cutoff)
    return ends


def _usl_ends(points: Points, found: Fits, cutoff: Floats) -> dict[str, tuple[Floats, Floats]]:
    alpha, beta = found.alpha[:, None], found.beta[:, None]

    def profile(curve: Curve, start: Floats) -> Floats:
        return _usl.minimise(points, curve, start)[1]

    return {
        "alpha": _both(lambda a: profile(_usl.given_contention(points, a), beta), found.alpha, cutoff, 1.0),
        "beta": _both(lambda b: profile(_usl.given_coherency(points, b), alpha), found.beta, cutoff, np.inf, points),
        "inverse_square": _both(
            lambda q: profile(_usl.given_peak(points, q), 1 - alpha), found.inverse_square, cutoff, np.inf, points
        ),
    }


def _alone(points: Points, base: Floats) -> Floats:
    return _usl.minimise(points, _usl.given_denominators(base), np.zeros((len(base), 0)))[1]


def _both(
    profile: _usl.Profile, best: Floats, cutoff: Floats, bound: float, points: Points | None = None
) -> tuple[Floats, Floats]:
    scale = np.maximum(best, 1e-3 / points.n.max() ** 2 if points else 0.0)
    return _usl.lower_end(profile, best, cutoff, 0.0), _usl.upper_end(profile, best, cutoff, bound, scale)
