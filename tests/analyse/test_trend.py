"""The trend test: against scipy where nothing is corrected, and by simulation where the truth is known."""

import numpy as np
import pytest
from scipy.signal import lfilter
from scipy.stats import kendalltau, theilslopes
from simulation import N_DRAWS

from pipeline.analyse.steadiness.trend import trend
from pipeline.errors import AnalysisError


def ar1(phi, shape, seed=1, before=100):
    """Series of a first-order autoregression with innovations of variance 1, a row a draw."""
    noise = np.random.default_rng(seed).normal(size=(shape[0], shape[1] + before))
    return lfilter([1], [1, -phi], noise, axis=1)[:, before:]


def test_score_and_slope_are_kendalls_and_sens():
    y = np.round(np.random.default_rng(4).normal(size=60).cumsum(), 1)  # with ties
    found, x = trend(y), np.arange(60)
    tau, p = kendalltau(x, y)
    assert found.tau == pytest.approx(tau, rel=1e-12)
    assert found.uncorrected_p_value == pytest.approx(p, rel=0.05)  # scipy has no correction for continuity
    assert found.slope == pytest.approx(theilslopes(y, x)[0], rel=1e-12)


def test_the_corrected_variance_is_that_of_the_scores():
    """Var S of an AR(1), simulated, against the factor: the p-value of a z that is known."""
    from pipeline.analyse.steadiness.trend import _hamed_rao_factor

    n, phi = 60, 0.5
    x = ar1(phi, (20_000, n), seed=5)
    scores = sum(np.sign(x[:, k:] - x[:, :-k]).sum(1) for k in range(1, n))
    assert scores.var() / (n * (n - 1) * (2 * n + 5) / 18) == pytest.approx(_hamed_rao_factor(phi, n), rel=0.05)


@pytest.mark.parametrize(("n", "phi"), [(30, 0.0), (40, 0.3), (50, 0.6), (60, -0.3), (100, 0.6)])
def test_false_positives_and_coverage(n, phi):
    slope, wrong, held, done = 0.02, 0, 0, 0
    for x in ar1(phi, (N_DRAWS, n), seed=n):
        try:
            found = trend(x + slope * np.arange(n))
        except AnalysisError:
            continue
        done += 1
        held += found.slope_low <= slope <= found.slope_high
        # the interval and the test are one: a trend is claimed where the interval leaves out 0
        wrong += not found.slope_low <= slope <= found.slope_high
    assert done >= 0.98 * N_DRAWS  # few series are refused, so that refusing does not choose the easy ones
    assert 0.93 <= held / done <= 0.97
    assert wrong / done <= 0.07


@pytest.mark.parametrize(("n", "phi"), [(50, 0.0), (50, 0.6), (100, 0.6)])
def test_false_positives_of_the_test_itself(n, phi):
    claims, naive, done = 0, 0, 0
    for x in ar1(phi, (N_DRAWS, n), seed=n + 1):
        try:
            found = trend(x)
        except AnalysisError:
            continue
        done += 1
        claims += found.has_trend
        naive += found.uncorrected_p_value < 0.05
    assert 0.035 <= claims / done <= 0.065
    if phi == 0.6:
        assert naive / done > 0.2  # what the correction is there for


def test_a_real_trend_is_found():
    found = sum(trend(x + 0.03 * np.arange(100)).has_trend for x in ar1(0.3, (200, 100)))
    assert found >= 0.9 * 200


def test_slope_has_the_unit_of_the_times_and_outliers_do_not_move_it():
    t = np.arange(50) * 0.1
    y = 100 - 2 * t + np.random.default_rng(2).normal(0, 0.01, 50)
    y[17] = 1e6
    found = trend(y, t)
    assert found.slope == pytest.approx(-2, abs=0.01)
    assert found.has_trend
    assert found.change_ratio == pytest.approx(-2 * 4.9 / np.median(y), rel=0.01)
    assert "falls" in found.sentence()
    assert "n = 50" in found.sentence()


def test_a_period_is_no_autoregression_and_is_said_so():
    t = np.arange(200)
    found = trend(np.sin(t) + np.random.default_rng(1).normal(0, 0.1, 200))
    assert found.ar1_p_value < 0.01
    assert "rough" in found.warnings[0]


def test_degenerate_input():
    equal = trend([3.0] * 40)
    assert (equal.slope, equal.p_value, equal.has_trend) == (0, 1, False)
    assert trend([0.0] * 40).change_ratio is None
    zeros = trend([0.0] * 39 + [1.0])
    assert zeros.slope == 0
    assert not zeros.has_trend
    holed = np.random.default_rng(1).normal(size=40)
    holed[3] = np.nan
    assert "1 of 40" in trend(holed).warnings[0]
    assert not trend(holed).numbers()["has_trend"]
    for values, times, message in (
        ([1.0], None, "≥ 30"), (np.arange(29.0), None, "≥ 30"), (np.arange(5000.0), None, "longer windows"),
        (np.arange(40.0), np.zeros(40), "increase"), (np.arange(40.0), np.arange(39.0), "a time a value"),
        (np.sin(np.arange(40) / 6), None, "need ≥"),
    ):  # fmt: skip
        with pytest.raises(AnalysisError, match=message):
            trend(values, times)
