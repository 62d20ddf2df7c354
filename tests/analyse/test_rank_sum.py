"""Mann-Whitney, Hodges-Lehmann and Holm: published tables and examples, enumeration, simulation."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import mannwhitneyu, rankdata
from simulation import N_DRAWS

from pipeline.analyse.comparison.rank_sum import (
    EXACT_UP_TO,
    _shift_rank,
    holm,
    least_p,
    rank_sum,
    ratio_estimate,
    repeats_needed,
    shift_estimate,
)
from pipeline.errors import AnalysisError


@pytest.mark.parametrize(
    ("n_a", "n_b", "critical"),  # largest U that is significant at 5 %, two-sided: the table of Mann and Whitney's test
    [(4, 4, 0), (3, 5, 0), (5, 5, 2), (5, 8, 6), (6, 6, 5), (7, 9, 12), (8, 8, 13), (10, 10, 23), (12, 15, 49),
     (20, 20, 127)],
)  # fmt: skip
def test_critical_values_of_the_published_table(n_a, n_b, critical):
    rank, coverage = _shift_rank(n_a, n_b, 0.95)
    assert rank == critical + 1
    assert 0.95 <= coverage < 1


@pytest.mark.parametrize(("n", "p"), [(1, 1), (2, 1 / 3), (3, 0.1), (4, 2 / 70), (5, 2 / 252), (6, 2 / 924)])
def test_samples_that_do_not_overlap_give_the_smallest_p(n, p):
    test = rank_sum(np.arange(n), np.arange(n) + n)
    assert test.p == pytest.approx(p, rel=1e-12)
    assert test.p_least == pytest.approx(p, rel=1e-12)
    assert test.u == n * n


@given(st.lists(st.integers(0, 6), min_size=1, max_size=6), st.lists(st.integers(0, 6), min_size=1, max_size=6))
def test_p_is_the_share_of_all_splits_that_lie_as_far_out(a, b):
    ranks = rankdata(a + b)
    w = ranks[len(a) :].sum()
    sums = np.array([sum(chosen) for chosen in combinations(ranks, len(b))])
    tail = min((sums <= w + 1e-9).mean(), (sums >= w - 1e-9).mean())
    assert rank_sum(a, b).p == pytest.approx(min(1, 2 * tail), rel=1e-12)


@pytest.mark.parametrize(("n_a", "n_b"), [(1, 1), (1, 9), (3, 4), (10, 10), (7, 30), (50, 50)])
def test_without_ties_p_is_scipys(n_a, n_b):
    rng = np.random.default_rng(7)
    a, b = rng.normal(0, 1, n_a), rng.normal(0.4, 1, n_b)
    test = rank_sum(a, b)
    assert test.method == "exact"
    assert test.p == pytest.approx(mannwhitneyu(a, b, method="exact").pvalue, rel=1e-9)


def test_many_values_take_the_normal_approximation_as_scipy_has_it():
    rng = np.random.default_rng(8)
    a, b = rng.integers(0, 30, EXACT_UP_TO).astype(float), rng.integers(4, 34, 40).astype(float)
    test = rank_sum(a, b)
    assert test.method == "normal approximation"
    assert test.p == pytest.approx(mannwhitneyu(a, b, method="asymptotic").pvalue, rel=1e-9)


def test_the_approximation_is_close_where_it_begins():
    rng = np.random.default_rng(9)
    a, b = rng.normal(0, 1, EXACT_UP_TO // 2), rng.normal(0.4, 1, EXACT_UP_TO // 2)
    assert rank_sum(a, b).p == pytest.approx(mannwhitneyu(a, b, method="asymptotic").pvalue, abs=1e-3)


# Hollander and Wolfe (1973), p. 69: permeability of the human chorioamnion; R's wilcox.test has the same figures.
TERM = [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46]
EARLY = [1.15, 0.88, 0.90, 0.74, 1.21]


def test_hollander_and_wolfes_example():
    test = rank_sum(EARLY, TERM)
    shift = shift_estimate(EARLY, TERM)
    assert test.u == 35
    assert test.p / 2 == pytest.approx(0.1272, abs=5e-5)  # one-sided there
    assert (shift.value, shift.low, shift.high) == pytest.approx((0.305, -0.15, 0.76))


def test_the_blood_pressure_example_with_ties():
    treated, control = [94, 108, 110, 90], [80, 94, 85, 90, 90, 90, 108, 94, 78, 105, 88]  # StatXact's manual
    assert rank_sum(control, treated).p / 2 == pytest.approx(0.0542, abs=5e-5)  # one-sided there
    assert shift_estimate(control, treated).value == 9.5


def test_benchstats_output_for_a_small_example():
    # benchstat of golang.org/x/perf prints p=0.214 n=7+6 and p=0.029 n=4 for these.
    assert rank_sum([10, 11, 11, 12, 13, 15, 20], [11, 13, 14, 15, 16, 21]).p == pytest.approx(0.214, abs=5e-4)
    assert rank_sum([1, 2, 3, 4], [5, 6, 7, 8]).p == pytest.approx(0.029, abs=5e-4)
    assert repeats_needed(1, 0.05) == 4  # "need >= 4 samples to detect a difference at alpha level 0.05"


@pytest.mark.parametrize(("n_tests", "needed"), [(1, 4), (2, 5), (6, 5), (7, 6), (23, 6), (24, 7), (140, 8)])
def test_how_many_repeats_a_table_of_comparisons_needs(n_tests, needed):
    assert repeats_needed(n_tests, 0.05) == needed
    assert n_tests * least_p(needed, needed) <= 0.05 < n_tests * least_p(needed - 1, needed - 1)


@pytest.mark.parametrize(("a", "b"), [([3.0], [4.0]), ([2.0] * 5, [2.0] * 5), ([2.0] * 5, [2.0] * 4 + [3.0])])
def test_one_run_or_equal_values_show_no_difference(a, b):
    assert rank_sum(a, b).p == 1


@pytest.mark.parametrize(("a", "b"), [([], [1.0]), ([1.0], []), ([1.0, np.nan], [1.0]), ([1.0], [np.inf])])
@pytest.mark.parametrize("function", [rank_sum, shift_estimate])
def test_empty_sides_and_values_that_are_not_numbers_are_refused(function, a, b):
    with pytest.raises(AnalysisError, match="finite values on both sides"):
        function(a, b)


@pytest.mark.parametrize("function", [shift_estimate, ratio_estimate])
def test_a_confidence_in_per_cent_is_refused(function):
    with pytest.raises(AnalysisError, match="expected a confidence within 0 … 1, found 95"):
        function([1, 2, 3, 4], [11, 12, 13, 14], 95)


def test_too_few_runs_have_a_shift_without_an_interval():
    shift = shift_estimate([1, 2, 3], [11, 12, 13])
    assert (shift.value, shift.low, shift.high, shift.coverage) == (10, None, None, None)
    assert shift_estimate([1, 2, 3, 4], [11, 12, 13, 14]).has_interval


@given(
    st.lists(st.floats(-9, 9), min_size=4, max_size=9, unique=True),
    st.lists(st.floats(-9, 9), min_size=4, max_size=9, unique=True),
)
def test_the_interval_leaves_out_no_shift_just_when_the_test_rejects(a, b):
    if len(set(a) | set(b)) < len(a) + len(b):  # ties: the closed interval then holds 0 more often
        return
    shift = shift_estimate(a, b)
    assert (shift.low <= 0 <= shift.high) == (rank_sum(a, b).p > 0.05)


@given(st.lists(st.floats(0.1, 9), min_size=1, max_size=9), st.lists(st.floats(0.1, 9), min_size=1, max_size=9))
def test_the_ratio_is_the_shift_of_the_logarithms(a, b):
    ratio, shift = ratio_estimate(a, b), shift_estimate(np.log(a), np.log(b))
    assert ratio.value == pytest.approx(np.exp(shift.value))
    assert ratio.has_interval == shift.has_interval
    if shift.has_interval:
        assert (ratio.low, ratio.high) == pytest.approx((np.exp(shift.low), np.exp(shift.high)))


def test_zero_has_no_ratio():
    with pytest.raises(AnalysisError, match="above 0"):
        ratio_estimate([0.0, 1.0], [1.0])


def coverage(draw, n_a, n_b, shift=2.0):
    rng = np.random.default_rng(3)
    holds = 0
    for _ in range(N_DRAWS):
        found = shift_estimate(draw(rng, n_a), draw(rng, n_b) + shift)
        holds += found.low <= shift <= found.high
    return holds / N_DRAWS


@pytest.mark.parametrize(("n_a", "n_b"), [(4, 4), (5, 5), (10, 10), (6, 12), (60, 70)])
def test_a_shifts_interval_covers_what_it_says(n_a, n_b):
    exact = shift_estimate(np.arange(n_a), np.arange(n_b)).coverage
    share = coverage(lambda rng, n: rng.lognormal(0, 1, n), n_a, n_b)
    assert share >= 0.95 - 0.01  # 0.01: two standard errors of the simulation itself
    assert share == pytest.approx(exact, abs=0.015)


def test_with_ties_the_interval_covers_at_least_as_much():
    assert coverage(lambda rng, n: np.floor(rng.normal(0, 1.5, n)), 8, 8) >= 0.95


def test_holms_correction_of_a_worked_example():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


def test_holm_rejects_three_of_benjamini_and_hochbergs_fifteen():
    # Benjamini and Hochberg (1995), section 4.1: the Bonferroni-type procedures reject the three smallest at 5 %.
    p = [
        0.0001,
        0.0004,
        0.0019,
        0.0095,
        0.0201,
        0.0278,
        0.0298,
        0.0344,
        0.0459,
        0.3240,
        0.4262,
        0.5719,
        0.6528,
        0.7590,
        1,
    ]
    assert (holm(p) <= 0.05).tolist() == [True] * 3 + [False] * 12


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8), st.randoms())
def test_holm_is_between_p_and_bonferroni_and_knows_no_order(p, random):
    adjusted = holm(p)
    assert (adjusted >= np.asarray(p)).all()
    assert (adjusted <= np.minimum(1, len(p) * np.asarray(p)) + 1e-15).all()
    order = list(range(len(p)))
    random.shuffle(order)
    assert holm(np.asarray(p)[order]) == pytest.approx(adjusted[order])


def test_where_nothing_differs_a_table_cries_wolf_in_at_most_five_per_cent():
    """2,000 tables of 6 measures, 8 against 8 runs; the measures depend on each other as rate and latency do."""
    rng = np.random.default_rng(5)
    rate = rng.lognormal(0, 0.3, (N_DRAWS, 3, 16))
    values = np.concatenate([rate, 1 / rate + rng.normal(0, 0.05, rate.shape)], axis=1)
    p = np.array([[rank_sum(row[:8], row[8:]).p for row in table] for table in values])
    assert 0.005 < (holm(p) <= 0.05).any(axis=-1).mean() <= 0.05
    assert (p <= 0.05).any(axis=-1).mean() > 0.1  # without the correction it would be far more
