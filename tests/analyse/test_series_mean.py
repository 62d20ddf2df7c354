"""The mean of autocorrelated windows, and the warm-up cut: simulation, a brute-force search, degenerate input."""

import numpy as np
import pytest
from simulation import N_DRAWS
from test_trend import ar1

from pipeline.analyse.intervals import mean_estimate
from pipeline.analyse.steadiness._autocorrelation import effective_n, ljung_box_p, variance_factor
from pipeline.analyse.steadiness.series_mean import series_mean, warm_up
from pipeline.errors import AnalysisError


@pytest.mark.parametrize(
    ("n", "phi"),
    [(60, 0.0), (60, 0.3), (100, 0.6), (300, 0.6), (300, -0.3), (120, 0.3), (300, 0.5), (600, 0.8), (2000, 0.9)],
)
def test_a_95_per_cent_interval_covers_93_to_97(n, phi):
    held = naive = 0
    for x in ar1(phi, (N_DRAWS, n), seed=n):
        found = series_mean(x)
        held += found.estimate.low <= 0 <= found.estimate.high
        naive += found.naive_low <= 0 <= found.naive_high
    assert 0.93 <= held / N_DRAWS <= 0.97
    if phi == 0.6:
        assert naive / N_DRAWS < 0.75


def test_batch_means_cover_where_an_autoregression_does_not_fit():
    """A moving average of 10 windows plus noise: its memory ends after 10."""
    held = batches = 0
    noise = np.random.default_rng(7).normal(size=(500, 1009))
    sums = np.cumsum(np.pad(noise, ((0, 0), (1, 0))), axis=1)
    for x in (sums[:, 10:] - sums[:, :-10]) / 10 + np.random.default_rng(8).normal(0, 0.2, (500, 1000)):
        found = series_mean(x)
        batches += "batches" in found.estimate.method
        held += found.estimate.low <= 0 <= found.estimate.high
    assert batches > 490
    assert held / 500 >= 0.92


def test_the_factor_is_the_variance_of_the_mean():
    phi, n = 0.6, 50
    means = ar1(phi, (40_000, n), seed=3).mean(axis=1)
    assert means.var() / (1 / (1 - phi**2) / n) == pytest.approx(variance_factor(phi, n), rel=0.03)
    assert variance_factor(0.0, 10) == 1
    assert effective_n(0.5, 90) == pytest.approx(30)
    assert effective_n(-0.5, 90) == 90


def test_ljung_box_is_uniform_under_its_hypothesis():
    p = np.array([ljung_box_p(x, 0.0) for x in ar1(0.0, (N_DRAWS, 200), seed=6)])
    assert np.mean(p < 0.05) == pytest.approx(0.05, abs=0.03)


def test_numbers_and_sentence():
    x = 1e9 + 1e7 * ar1(0.5, (1, 200))[0]
    found = series_mean(x)
    assert found.estimate.value == pytest.approx(x.mean(), rel=1e-12)
    naive = mean_estimate(x)
    assert (found.naive_low, found.naive_high) == pytest.approx((naive.low, naive.high))
    assert found.estimate.high - found.estimate.low > naive.high - naive.low
    for part in ("MB/s", "n = 200", "assumes"):
        assert part in found.sentence("B/s")
    assert found.to_frame()["mean"][0] == found.numbers()["estimate"].value


def test_degenerate_means():
    equal = series_mean([5.0] * 80)
    assert (equal.estimate.low, equal.estimate.value, equal.estimate.high) == (5, 5, 5)
    assert series_mean([0.0] * 80).estimate.value == 0
    holed = [1.0, np.nan, *np.random.default_rng(1).normal(size=80)]
    assert "1 of 82" in series_mean(holed).warnings[0]
    for values, message in (([1.0], "≥ 60"), (np.arange(59.0), "≥ 60"), (np.arange(100.0), "need ≥")):
        with pytest.raises(AnalysisError, match=message):
            series_mean(values)


def brute_force(y):
    """MSER-5 as defined, one d after another."""
    batches = y[: len(y) // 5 * 5].reshape(-1, 5).mean(axis=1)
    k = len(batches)
    statistic = [np.sum((batches[d:] - batches[d:].mean()) ** 2) / (k - d) ** 2 for d in range(k - 4)]
    return 5 * int(np.argmin(statistic))


def test_the_cut_is_where_the_definition_puts_it():
    rng = np.random.default_rng(9)
    cuts = []
    for n in (150, 303, 600, 601, 604):
        y = 100 + 40 * np.exp(-np.arange(n) / (n / 15)) + rng.normal(0, 1, n)
        cuts.append(warm_up(y).n_dropped)
        assert cuts[-1] == brute_force(y)
    assert min(cuts) > 0


def test_a_step_is_cut_where_it_ends():
    y = np.concatenate([np.full(40, 5.0), np.full(160, 9.0)])
    found = warm_up(y, np.full(200, 0.1))
    assert (found.n_dropped, found.dropped_s, found.dropped_ratio) == (40, pytest.approx(4), pytest.approx(0.2))
    assert (found.mean_before, found.mean_after) == (pytest.approx(8.2, abs=0.01), pytest.approx(9, abs=0.01))
    assert "first 40 of 200" in found.sentence()
    assert found.to_frame()["n_dropped"][0] == found.numbers()["n_dropped"]


def test_cuts_of_steady_series_are_short():
    cuts = []
    for x in ar1(0.3, (300, 300), seed=2):
        try:
            cuts.append(warm_up(x).dropped_ratio)
        except AnalysisError:
            cuts.append(1.0)
    assert np.median(cuts) < 0.1


def test_degenerate_cuts():
    assert warm_up([7.0] * 60).n_dropped == 0
    assert warm_up([0.0] * 60).mean_after == 0
    late = np.concatenate([np.full(70, 5.0), np.full(30, 9.0)])
    for values, message in (([1.0], "≥ 50"), ([np.nan] * 60, "nulls"), (late, "last half")):
        with pytest.raises(AnalysisError, match=message):
            warm_up(values)
