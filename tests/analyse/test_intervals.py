"""Intervals of means and quantiles: tables, exact coverage, simulation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom
from simulation import N_DRAWS, share_of_draws

from pipeline.analyse.intervals import dispersion, mean_estimate, median_estimate, n_needed, quantile_ranks, tail_of
from pipeline.errors import AnalysisError


@pytest.mark.parametrize(
    ("n", "low", "high", "coverage"),  # of medians at 95 %: Conover's and benchstat's tables
    [(5, 0, 6, 1.0), (6, 1, 6, 0.96875), (10, 2, 9, 0.978515625), (20, 6, 15, 0.958610534667)],
)
def test_ranks_of_a_median(n, low, high, coverage):
    ranks = quantile_ranks(n, 0.5)
    assert (ranks.low, ranks.high) == (low, high)
    assert ranks.coverage == pytest.approx(coverage, rel=1e-9)


@given(n=st.integers(1, 5000), quantile=st.floats(0.001, 0.999), confidence=st.floats(0.5, 0.999))
def test_ranks_cover_at_least_what_is_asked_and_no_narrower_ones_do(n, quantile, confidence):
    ranks = quantile_ranks(n, quantile, confidence)
    tail = (1 - confidence) / 2
    assert 0 <= ranks.low < ranks.high <= n + 1
    assert ranks.coverage >= confidence - 1e-9
    assert binom.cdf(ranks.low, n, quantile) >= tail * (1 - 1e-9)  # one rank further in leaves too much outside
    assert binom.sf(ranks.high - 2, n, quantile) >= tail * (1 - 1e-9)


@pytest.mark.parametrize(("quantile", "n"), [(0.5, 6), (0.99, 368), (0.999, 3688), (0.9, 36)])
def test_how_many_values_bound_a_quantile(quantile, n):
    assert n_needed(quantile) == n
    assert quantile_ranks(n, quantile).high == n
    assert quantile_ranks(n - 1, quantile).high == n


@pytest.mark.parametrize("n", [6, 10, 25])
def test_a_medians_interval_covers_what_it_says(n):
    def holds(rng):
        found = median_estimate(rng.lognormal(0, 1, n))
        return found.low <= 1 <= found.high

    share = share_of_draws(holds)
    assert share >= 0.95 - 0.01  # 0.01: two standard errors of the simulation itself
    assert share == pytest.approx(quantile_ranks(n, 0.5).coverage, abs=0.015)


@pytest.mark.parametrize("n", [2, 5, 30])
def test_a_means_interval_covers_95_per_cent(n):
    def holds(rng):
        found = mean_estimate(rng.normal(3, 2, n))
        return found.low <= 3 <= found.high

    assert 0.93 <= share_of_draws(holds) <= 0.97


def test_dispersion_is_about_one_for_independent_samples_and_more_where_runs_differ():
    rng = np.random.default_rng(6)
    n, r = 2000, 5
    counts = rng.binomial(n, rng.normal(0.3, 0.02, (N_DRAWS, r)))  # each run has its own share
    totals = np.full(r, float(n))
    # Variance between runs over that of samples: 1 + 2000 · 0.02² / (0.3 · 0.7).
    assert dispersion(counts, totals).mean() == pytest.approx(1 + n * 0.02**2 / 0.21, rel=0.05)
    assert dispersion(rng.binomial(n, 0.3, (N_DRAWS, r)), totals).mean() == pytest.approx(1, rel=0.05)
    windows = np.random.default_rng(3).binomial(400, 0.05, 2000).astype(float)
    assert dispersion(windows, np.full(2000, 400.0)) == pytest.approx(1, abs=0.1)


def test_dispersion_is_null_without_meaning():
    for k, size in (([5.0], [10.0]), ([0.0, 0.0], [10.0, 10.0]), ([10.0, 10.0], [10.0, 10.0]), ([], [])):
        assert np.isnan(dispersion(np.array(k), np.array(size)))
    assert np.isnan(dispersion(np.array([[0.0, 0.0]]), np.array([5.0, 5.0]))[0])


@pytest.mark.parametrize("confidence", [0, 1, 95, -0.1, float("nan")])
def test_a_confidence_outside_0_to_1_has_no_tail(confidence):
    with pytest.raises(AnalysisError, match="expected a confidence within 0 … 1"):
        tail_of(confidence)


def test_degenerate_input():
    one, equal = mean_estimate([4.0]), mean_estimate([0.1, 0.1, 0.1])
    assert (one.value, one.has_interval, one.n) == (4.0, False, 1)
    assert (equal.value, equal.low, equal.high) == (0.1, 0.1, 0.1)
    assert not median_estimate([1, 2, 3, 4, 5]).has_interval
    for values in ([], [1.0, np.nan], [np.inf]):
        with pytest.raises(AnalysisError):
            mean_estimate(values)
        with pytest.raises(AnalysisError):
            median_estimate(values)
    with pytest.raises(AnalysisError):
        quantile_ranks(10, 1.0)
