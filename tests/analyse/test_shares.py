"""Shares and their differences: known values, exact coverage, simulation, degenerate counts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import betainc
from scipy.stats import binom, binomtest, fisher_exact, ttest_ind

from pipeline.analyse.intervals import clopper_pearson
from pipeline.analyse.processors.shares import between_runs, mean_bounds, newcombe, wilson
from pipeline.errors import AnalysisError

N_DRAWS = 2000


def test_newcombes_own_table():
    # Newcombe (1998), table II: method 10 for 56/70 - 48/80, 9/10 - 3/10, 10/10 - 0/20; ours is second minus first.
    found = newcombe([48, 3, 0], [80, 10, 20], [56, 9, 10], [70, 10, 10])
    assert found.difference == pytest.approx([0.2, 0.6, 1.0])
    assert found.low == pytest.approx([0.0524, 0.1705, 0.6791], abs=5e-5)
    assert found.high == pytest.approx([0.3339, 0.8090, 1.0], abs=5e-5)


@pytest.mark.parametrize(("k", "n"), [(0, 12), (3, 12), (12, 12), (150, 9000), (1, 1)])
def test_intervals_of_a_share_are_scipys(k, n):
    for ours, method in ((clopper_pearson(k, n), "exact"), (wilson(k, n), "wilson")):
        theirs = binomtest(k, n).proportion_ci(0.95, method=method)
        assert (float(ours.low), float(ours.high)) == pytest.approx((theirs.low, theirs.high), abs=1e-12)


def test_clopper_pearson_against_its_definition():
    bounds = clopper_pearson([0.0, 3.0, 20.0, 0.0], [20.0, 20.0, 20.0, 0.0], 0.95)
    assert bounds.low[0] == 0
    assert bounds.high[2] == 1
    assert bounds.high[0] == pytest.approx(1 - 0.025 ** (1 / 20))
    assert binom.sf(2, 20, bounds.low[1]) == pytest.approx(0.025)
    assert binom.cdf(3, 20, bounds.high[1]) == pytest.approx(0.025)
    assert np.isnan([bounds.low[3], bounds.high[3]]).all()


def test_an_effective_number_of_samples_may_be_a_fraction():
    low, high = (float(end[0]) for end in vars(clopper_pearson([0.4], [20.5])).values())
    assert betainc(0.4, 21.1, low) == pytest.approx(0.025)
    assert betainc(1.4, 20.1, high) == pytest.approx(0.975)
    assert low < 0.4 / 20.5 < high


@pytest.mark.parametrize(
    ("share", "n"), [(0.001, 2000), (0.002, 2000), (0.01, 2000), (0.03, 500), (0.05, 2000), (0.35, 2000), (0.5, 40)]
)
def test_clopper_pearson_covers_at_least_what_it_says_and_as_often_as_computed(share, n):
    every = np.arange(n + 1)
    bounds = clopper_pearson(every, n)
    holds = (bounds.low <= share) & (share <= bounds.high)
    exact = float(binom.pmf(every, n, share)[holds].sum())
    drawn = np.random.default_rng(3).binomial(n, share, N_DRAWS)
    assert exact >= 0.95
    assert holds[drawn].mean() == pytest.approx(exact, abs=0.015)


@pytest.mark.parametrize(
    ("p1", "n1", "p2", "n2"),
    [(0.35, 2000, 0.30, 2300), (0.01, 2000, 0.01, 1500), (0.002, 2000, 0.004, 2000), (0.5, 50, 0.4, 60)],
)
def test_newcombe_covers_and_fisher_keeps_its_level(p1, n1, p2, n2):
    rng = np.random.default_rng(4)
    found = newcombe(rng.binomial(n1, p1, N_DRAWS), n1, rng.binomial(n2, p2, N_DRAWS), n2)
    covered = ((found.low <= p2 - p1) & (p2 - p1 <= found.high)).mean()
    assert 0.935 <= covered <= 0.98  # a score interval: nominal on average, above it for rare places
    equal = newcombe(rng.binomial(n1, p1, N_DRAWS), n1, rng.binomial(n2, p1, N_DRAWS), n2)
    assert (equal.p_value <= 0.05).mean() <= 0.06  # 0.01: two standard errors of the simulation


def test_fishers_p():
    for table in ([[3, 7], [9, 1]], [[0, 20], [10, 0]], [[5, 95], [7, 93]]):
        (a, b), (c, d) = table
        one_sided = min(fisher_exact(table, alternative=side)[1] for side in ("less", "greater"))
        assert newcombe(a, a + b, c, c + d).p_value == pytest.approx(min(1, 2 * one_sided))


@pytest.mark.parametrize("spread", [(1.0, 1.0), (1.0, 4.0)])
def test_welch_covers_and_agrees_with_scipy(spread):
    rng = np.random.default_rng(5)
    base, other = rng.normal(30, spread[0], (N_DRAWS, 5)) / 100, rng.normal(32, spread[1], (N_DRAWS, 5)) / 100
    found = between_runs(base, other)
    assert 0.93 <= ((found.low <= 0.02) & (found.high >= 0.02)).mean() <= 0.97
    assert found.p_value == pytest.approx(ttest_ind(other, base, axis=1, equal_var=False).pvalue)


def test_runs_that_vary_more_than_samples_make_the_samples_intervals_too_narrow():
    rng = np.random.default_rng(6)
    n, r = 2000, 5
    true = rng.normal(0.3, 0.02, (N_DRAWS, r))  # each run has its own share
    counts = rng.binomial(n, true)
    together = clopper_pearson(counts.sum(axis=1), r * n)
    between = mean_bounds(counts / n)
    assert ((together.low <= 0.3) & (together.high >= 0.3)).mean() < 0.8
    assert 0.93 <= ((between.low <= 0.3) & (between.high >= 0.3)).mean() <= 0.97


def test_degenerate_counts():
    none = clopper_pearson(0, 0)
    assert np.isnan(none.low)
    assert np.isnan(none.high)
    empty = newcombe(0, 0, 3, 10)
    assert np.isnan(empty.low)
    assert empty.p_value == 1
    one = clopper_pearson(1, 1)
    assert (float(one.low), float(one.high)) == pytest.approx((0.025, 1))
    equal = between_runs(np.full((1, 3), 0.2), np.full((1, 3), 0.2))
    assert np.isnan([equal.low[0], equal.high[0], equal.p_value[0]]).all()
    assert equal.difference[0] == 0
    assert np.isnan(mean_bounds(np.array([[0.2]])).low[0])


@pytest.mark.parametrize(("k", "n"), [(-1, 3), (4, 3), (float("nan"), 3)])
def test_impossible_counts_are_refused(k, n):
    with pytest.raises(AnalysisError, match="hits"):
        clopper_pearson(k, n)


def test_one_run_a_side_is_refused_between_runs():
    with pytest.raises(AnalysisError, match="at least 2 runs a side, found 1 and 3"):
        between_runs(np.ones((2, 1)), np.ones((2, 3)))


@given(st.integers(1, 500), st.integers(1, 500), st.data())
def test_a_difference_lies_within_its_interval_and_changes_sign_with_the_sides(n1, n2, data):
    k1, k2 = data.draw(st.integers(0, n1)), data.draw(st.integers(0, n2))
    there, back = newcombe(k1, n1, k2, n2), newcombe(k2, n2, k1, n1)
    assert -1 - 1e-12 <= there.low <= there.difference + 1e-12
    assert there.difference - 1e-12 <= there.high <= 1 + 1e-12
    assert float(there.low) == pytest.approx(-float(back.high), abs=1e-12)
    assert float(there.p_value) == pytest.approx(float(back.p_value), rel=1e-9)
