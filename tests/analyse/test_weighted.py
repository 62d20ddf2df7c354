"""Weighted lines: exact solutions in rational numbers, runs against their means, and coverage where truth is known."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import scipy.special
from simulation import N_DRAWS

from pipeline.analyse.scaling.linest import linest
from pipeline.analyse.scaling.weighted import count_weighted_line, kenward_roger, lack_of_fit, variance_weighted_line
from pipeline.errors import AnalysisError


def exact(x, y, w):
    """Slope, intercept, their variances for s = 1, and Σw·residual², without any rounding."""
    x, y, w = ([Fraction(value) for value in values] for values in (x, y, w))
    sw = sum(w)
    sx, sy = (sum(a * b for a, b in zip(w, values, strict=True)) for values in (x, y))
    sxx = sum(a * b * b for a, b in zip(w, x, strict=True)) - sx * sx / sw
    sxy = sum(a * b * c for a, b, c in zip(w, x, y, strict=True)) - sx * sy / sw
    slope = sxy / sxx
    intercept = (sy - slope * sx) / sw
    ss = sum(a * (c - intercept - slope * b) ** 2 for a, b, c in zip(w, x, y, strict=True))
    return slope, intercept, 1 / sxx, 1 / sw + (sx / sw) ** 2 / sxx, ss


def test_weighted_line_against_the_exact_solution():
    x, y, w = [1, 2, 4, 8, 9], [3, 5, 8, 19, 21], [1, 4, 2, 10, Fraction(1, 2)]
    slope, intercept, slope_unit, intercept_unit, ss = exact(x, y, w)
    fit = linest(y, x, weights=[float(value) for value in w])
    assert fit.slope == pytest.approx(float(slope), rel=1e-14)
    assert fit.intercept == pytest.approx(float(intercept), rel=1e-13)
    assert fit.ss_resid == pytest.approx(float(ss), rel=1e-12)
    assert fit.s_y == pytest.approx(float(ss / 3) ** 0.5, rel=1e-12)
    assert fit.slope_standard_error == pytest.approx(float(ss / 3 * slope_unit) ** 0.5, rel=1e-12)
    assert fit.intercept_standard_error == pytest.approx(float(ss / 3 * intercept_unit) ** 0.5, rel=1e-12)
    assert fit.residuals == pytest.approx([float(b - intercept - slope * a) for a, b in zip(x, y, strict=True)])
    mean = sum(a * b for a, b in zip(w, y, strict=True)) / sum(w)
    total = sum(a * (b - mean) ** 2 for a, b in zip(w, y, strict=True))
    assert fit.r_squared == pytest.approx(float(1 - ss / total), rel=1e-13)
    assert "with a constant, weighted:" in fit.sentence()


def test_equal_weights_are_none_and_their_scale_matters_to_s_alone():
    x, y = [1, 2, 4, 8, 9], [3, 5, 8, 19, 21]
    plain, same, large = linest(y, x), linest(y, x, weights=[1] * 5), linest(y, x, weights=[100] * 5)
    for other in (same, large):
        assert other.slope == pytest.approx(plain.slope, rel=1e-15)
        assert other.slope_standard_error == pytest.approx(plain.slope_standard_error, rel=1e-14)
        assert other.r_squared == pytest.approx(plain.r_squared, rel=1e-15)
        assert other.f_statistic == pytest.approx(plain.f_statistic, rel=1e-13)
    assert large.s_y == pytest.approx(10 * plain.s_y)


def test_through_the_origin_and_several_predictors():
    y, w = np.array([3.0, 5, 8, 19, 21]), np.array([1.0, 4, 2, 10, 0.5])
    x = np.array([[1.0, 2], [2, 1], [4, 5], [8, 2], [9, 9]])
    fit = linest(y, x, weights=w, with_constant=False)
    inverse = np.linalg.inv(x.T @ (x * w[:, None]))
    expected = inverse @ (x.T @ (w * y))
    assert fit.coefficients == pytest.approx(expected)
    s2 = float((w * (y - x @ expected) ** 2).sum()) / 3
    assert fit.standard_errors == pytest.approx(np.sqrt(s2 * np.diag(inverse)))
    assert fit.factor @ fit.factor.T == pytest.approx(inverse)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, 1], "3 finite numbers above 0, found the shape"),
        ([1, 0, 1], "values from 0: leave out"),
        ([1, -1, 1], "above 0"),
        ([1, np.nan, 1], "above 0"),
        (["a", 1, 1], "weights must be numbers"),
    ],
)
def test_weights_that_make_no_sense(weights, message):
    with pytest.raises(AnalysisError, match=message):
        linest([1, 2, 4], [1, 2, 3], weights=weights)


def runs(counts, spread, seed=5):
    rng = np.random.default_rng(seed)
    x = np.repeat(np.arange(1.0, len(counts) + 1), counts)
    return pd.DataFrame({"n": x, "rate": 10 + 3 * x + np.repeat(spread, counts) * rng.standard_normal(len(x))})


def test_weighing_means_by_their_number_gives_the_line_of_all_runs():
    frame = runs([2, 5, 3, 4], [1, 1, 1, 1])
    every, means = linest(frame["rate"], frame["n"]), count_weighted_line(frame, x="n", y="rate")
    assert means.slope == pytest.approx(every.slope, rel=1e-12)
    assert means.intercept == pytest.approx(every.intercept, rel=1e-12)
    assert (means.n, means.df, every.df) == (4, 2, 12)
    # the same matrix, and s from the means' scatter about the line alone
    ratio = means.slope_standard_error / every.slope_standard_error
    assert ratio == pytest.approx(means.s_y / every.s_y, rel=1e-10)


def test_weighing_by_variance_is_the_lines_with_those_weights():
    frame = runs([10, 12, 9, 8], [1, 2, 3, 5])
    line = variance_weighted_line(frame, x="n", y="rate")
    groups = frame.groupby("n")["rate"]
    squares = (groups.var() / groups.size()).to_numpy()
    slope, intercept, unit, _, _ = exact([1, 2, 3, 4], groups.mean(), 1 / squares)
    assert line.slope.value == pytest.approx(float(slope), rel=1e-10)
    assert line.intercept.value == pytest.approx(float(intercept), rel=1e-10)
    assert float(unit) ** 0.5 < line.slope_standard_error < 1.3 * float(unit) ** 0.5
    assert 7 < line.slope_df < 35
    assert line.points["weight_ratio"].sum() == pytest.approx(1)
    assert list(line.to_frame()["name"]) == ["intercept", "x"]
    assert "n = 39 runs at 4 points" in line.sentence()


def test_of_two_points_the_slope_is_welchs_difference():
    """With two points the line is exact, and its slope the difference of two means: Welch's test."""
    frame = runs([9, 14], [1, 4])
    line = variance_weighted_line(frame, x="n", y="rate")
    parts = [group["rate"].var() / len(group) for _, group in frame.groupby("n")]
    assert line.slope_standard_error == pytest.approx(sum(parts) ** 0.5)
    assert line.slope_df == pytest.approx(sum(parts) ** 2 / (parts[0] ** 2 / 8 + parts[1] ** 2 / 13))


def test_means_off_the_line_are_said_to_be():
    frame = runs([10, 10, 10, 10], [1, 1, 1, 1])
    straight = variance_weighted_line(frame, x="n", y="rate")
    bent = variance_weighted_line(frame.assign(rate=frame["rate"] + 2 * (frame["n"] - 2.5) ** 2), x="n", y="rate")
    assert straight.lack_of_fit_p > 0.05
    assert straight.warnings == ()
    assert bent.lack_of_fit_p < 1e-6
    assert "the means miss the line by more than the runs scatter" in bent.warnings[0]
    assert variance_weighted_line(runs([9, 14], [1, 4]), x="n", y="rate").lack_of_fit_p is None


def test_weights_from_few_repeats_are_refused():
    for counts, spread in (([8, 8, 7], [1, 1, 1]), ([8, 8, 8], [1, 0, 1]), ([9], [1])):
        with pytest.raises(AnalysisError, match="need ≥ 2 points with ≥ 8 runs that differ"):
            variance_weighted_line(runs(counts, spread).round(12), x="n", y="rate")
    with pytest.raises(AnalysisError, match="holds gaps"):
        count_weighted_line(pd.DataFrame({"n": [1, 2, None], "rate": [1, 2, 3]}), x="n", y="rate")
    with pytest.raises(AnalysisError, match="expected the columns rate"):
        count_weighted_line(pd.DataFrame({"n": [1]}), x="n", y="rate")


@pytest.mark.parametrize(
    ("spread", "x"), [([1, 2, 3, 5], [1, 2, 3, 4]), ([1, 1, 1, 1], [1, 2, 3, 4]), ([5, 1, 2, 1, 3], [1, 2, 4, 8, 16])]
)
def test_intervals_cover_the_truth(spread, x):
    """2,000 draws at once of means and variances of 8 runs a point; the truth is 10 + 3x."""
    rng = np.random.default_rng(1)
    x, spread = np.array(x, dtype=float), np.array(spread, dtype=float)
    design, truth = np.column_stack([np.ones(len(x)), x]), np.array([10.0, 3.0])
    means = design @ truth + spread / np.sqrt(8) * rng.standard_normal((N_DRAWS, len(x)))
    weights = 1 / (spread**2 / 8 * rng.chisquare(7, means.shape) / 7)
    phi = np.linalg.inv(np.swapaxes(design[None] * weights[..., None], 1, 2) @ design)
    values = (phi @ (design.T @ (weights * means)[..., None]))[..., 0]
    errors, dfs = kenward_roger(design, phi, weights, np.full(len(x), 7.0))
    covered = (np.abs(values - truth) <= scipy.special.stdtrit(dfs, 0.975) * errors).mean(axis=0)
    assert ((covered >= 0.93) & (covered <= 0.97)).all(), covered
    squares = weights * (means - values @ design.T) ** 2
    leverages = weights * np.einsum("kp,bpq,kq->bk", design, phi, design)
    assert (lack_of_fit(squares, leverages, np.full(len(x), 7.0)) < 0.05).mean() <= 0.06  # all lie on the line
    naive = (np.abs(values - truth) <= 1.96 * np.sqrt(np.diagonal(phi, axis1=1, axis2=2))).mean(axis=0)
    assert (naive < 0.93).all()  # what weights taken as known would give
