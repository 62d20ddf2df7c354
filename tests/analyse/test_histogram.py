"""Exact histograms: adding them is adding operations, and what is read from them holds the truth."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom
from simulation import N_DRAWS

from pipeline.analyse.distributions.histogram import Histogram, sum_of
from pipeline.analyse.distributions.repeats import between_runs
from pipeline.analyse.intervals import quantile_ranks
from pipeline.errors import AnalysisError

LAYOUTS = {
    "powers": np.concatenate([[0.0], 2.0 ** np.arange(-20, 3), [np.inf]]),
    "tenths": np.concatenate([[0.0], np.arange(1, 40) / 10, [np.inf]]),
    "one": np.array([0.0, np.inf]),
}
LATENCIES = st.one_of(st.integers(0, 40).map(lambda n: n / 10), st.floats(0, 5))  # edges of bins are met, too
PERCENTILES = st.one_of(st.sampled_from([0.0, 50.0, 99.0, 99.9, 100.0]), st.floats(0, 100).map(lambda p: round(p, 3)))


def binned(values, edges):
    """A histogram of values in bins of the given edges."""
    place = np.searchsorted(edges, values, "right") - 1
    count = np.bincount(place, minlength=len(edges) - 1)
    return Histogram(edges[:-1], edges[1:], count)


PARTS = st.lists(
    st.tuples(st.lists(LATENCIES, max_size=12), st.sampled_from([*LAYOUTS, "exact"])), min_size=1, max_size=4
)


def histogram_of(part):
    values, layout = part
    return Histogram.of_values(values) if layout == "exact" else binned(np.array(values), LAYOUTS[layout])


def rank(n, percentile):
    """By whole numbers: three decimals of a per cent."""
    return max(-(-n * round(percentile * 1000) // 100_000), 1)


@given(PARTS, PERCENTILES)
@settings(deadline=None, max_examples=300)
def test_merged_parts_hold_the_percentile_of_the_pooled_operations(parts, percentile):
    pooled = np.sort(np.concatenate([values for values, _ in parts]))
    merged = sum_of(histogram_of(part) for part in parts)
    assert merged.n_ops == len(pooled)
    if not len(pooled):
        return
    truth = pooled[rank(len(pooled), percentile) - 1]
    bounds = merged.percentile(percentile)
    assert bounds.lower_s <= truth <= bounds.upper_s
    if {layout for _, layout in parts} == {"exact"}:
        assert bounds.is_exact
        assert bounds.lower_s == truth
    if "exact" not in {layout for _, layout in parts}:
        assert truth < bounds.upper_s
    mean = merged.mean()
    assert mean.lower_s - 1e-12 <= pooled.mean() <= mean.upper_s + 1e-12
    assert merged.minimum().lower_s <= pooled[0] <= merged.minimum().upper_s
    assert merged.maximum().lower_s <= pooled[-1] <= merged.maximum().upper_s
    share = merged.share_above(float(truth))
    assert share.share_low <= (pooled >= truth).mean() <= share.share_high


@given(st.lists(LATENCIES, min_size=1, max_size=40), PERCENTILES)
@settings(deadline=None)
def test_one_layout_gives_the_bin_itself(values, percentile):
    edges = LAYOUTS["tenths"]
    truth = np.sort(values)[rank(len(values), percentile) - 1]
    place = np.searchsorted(edges, truth, "right") - 1
    bounds = binned(np.array(values), edges).percentile(percentile)
    assert (bounds.lower_s, bounds.upper_s) == (edges[place], edges[place + 1])


@given(PARTS, PARTS, PARTS)
@settings(deadline=None)
def test_adding_is_additive_commutative_and_associative(a, b, c):
    x, y, z = (sum_of(histogram_of(part) for part in parts) for parts in (a, b, c))
    assert x + y == y + x
    assert hash(x + y) == hash(y + x)
    assert (x + y) + z == x + (y + z) == sum_of([z, x, y])
    assert (x + y).n_ops == x.n_ops + y.n_ops
    assert x + sum_of([]) == x


@given(PARTS)
@settings(deadline=None)
def test_the_distribution_function_encloses_that_of_the_operations(parts):
    pooled = np.sort(np.concatenate([values for values, _ in parts]))
    frame = sum_of(histogram_of(part) for part in parts).cdf()
    at_most = np.searchsorted(pooled, frame["latency_s"], "right")
    assert (frame["n_at_most_low"] <= at_most).all()
    assert (at_most <= frame["n_at_most_high"]).all()


def test_nested_layouts_stay_what_they_are():
    fine, coarse = Histogram([1.0, 2.0], [2.0, 3.0], [1, 1]), Histogram([1.0], [3.0], [2])
    merged = fine + coarse
    assert merged.to_frame().to_numpy().tolist() == [[1, 2, 1], [1, 3, 2], [2, 3, 1]]
    assert [merged.percentile(p).lower_s for p in (50, 100)] == [1, 2]
    assert [merged.percentile(p).upper_s for p in (25, 100)] == [2, 3]


def test_it_cannot_be_changed():
    histogram = Histogram.of_values([1.0, 2.0])
    with pytest.raises(ValueError, match="read-only"):
        histogram.count[0] = 5
    with pytest.raises(AttributeError):
        histogram.count = histogram.count


def test_ranks_are_whole_numbers():
    histogram = Histogram.of_values(np.arange(1, 1001) / 1000)
    assert histogram.percentile(99.9).lower_s == 0.999  # 0.999 * 1000 is 999.0000000000001 in binary
    assert histogram.percentile(7).lower_s == 0.07
    assert histogram.percentile(0).lower_s == 0.001
    assert histogram.percentile(100).lower_s == 1.0


def test_degenerate_input():
    one = Histogram.of_values([0.0])
    assert one.percentile(99.9).is_exact
    estimate = one.percentile_estimate(50)
    assert (estimate.low_s, estimate.high_s, estimate.coverage) == (None, None, None)
    assert "need ≥ 6 operations" in estimate.sentence()
    assert (one.share_above(0).share_low, one.share_above(1e-9).share_high) == (1.0, 0.0)
    equal = Histogram.of_values(np.full(100, 2e-3))
    estimate = equal.percentile_estimate(50)
    assert (estimate.low_s, estimate.high_s) == (2e-3, 2e-3)
    overflow = Histogram([0.0, 1.0], [1.0, np.inf], [1, 9])
    assert str(overflow.percentile(99)) == "≥ 1.00 s"
    assert overflow.mean().upper_s == np.inf
    assert np.isnan(overflow.ladder([99])["upper_s"].iloc[0])
    assert overflow.cdf()["share_at_most_low"].max() == 0.1
    with pytest.raises(AnalysisError, match="without operations"):
        sum_of([]).percentile(50)
    with pytest.raises(AnalysisError, match="0 to 100"):
        one.percentile(101)


@pytest.mark.parametrize(
    ("lower", "upper", "count"),
    [(-1, 1, 1), (2, 1, 1), (0, 1, -1), (np.nan, 1, 1), (0, np.nan, 1), (np.inf, np.inf, 1)],
)
def test_bins_that_cannot_be(lower, upper, count):
    with pytest.raises(AnalysisError, match="a bin must have"):
        Histogram([lower], [upper], [count])


def test_nulls_are_refused():
    bins = pd.DataFrame({"lower_s": [0.0], "upper_s": [None], "count": pd.array([None], "Int64")})
    with pytest.raises(AnalysisError, match="without a count"):
        Histogram.of_bins(bins)
    with pytest.raises(AnalysisError, match="a bin must have"):
        Histogram.of_values([1.0, np.nan])


def test_averages_are_refused_and_the_log_that_serves_is_named():
    series = pd.DataFrame({"window_s": [None, 1.0], "latency_s": [1e-3, 2e-3]})
    with pytest.raises(AnalysisError, match=r"1 of 2 .* windows of 1 s.*json\+.*write_hist_log.*log_avg_msec=0"):
        Histogram.of_series(series)


@given(st.lists(st.floats(0, 5), min_size=1, max_size=40), PERCENTILES)
@settings(deadline=None)
def test_bounds_between_exact_percentiles(values, percentile):
    table = [0, 25, 50, 90, 99, 100]
    exact = Histogram.of_values(values)
    printed = [round(exact.percentile(p).lower_s, 3) for p in table]
    bounds = Histogram.of_percentiles(table, printed, len(values), 1e-3).percentile(percentile)
    assert bounds.lower_s - 1e-12 <= exact.percentile(percentile).lower_s <= bounds.upper_s + 1e-12


def test_percentiles_must_reach_both_ends():
    with pytest.raises(AnalysisError, match="0 to 100"):
        Histogram.of_percentiles([0, 50], [1.0, 2.0], 10, 1e-6)
    with pytest.raises(AnalysisError, match="rising"):
        Histogram.of_percentiles([0, 50, 100], [1.0, 3.0, 2.0], 10, 1e-6)


def shares_of_intervals(n, percentile, edges, seed=1):
    """Share of the draws whose interval holds the true percentile of Exp(1): of values, and of the same in bins."""
    rng = np.random.default_rng(seed)
    truth = -np.log(1 - percentile / 100)
    held = np.zeros((N_DRAWS, 2), bool)
    for row in held:
        values = rng.exponential(size=n)
        for column, histogram in enumerate((Histogram.of_values(values), binned(values, edges))):
            found = histogram.percentile_estimate(percentile)
            row[column] = found.low_s <= truth < found.high_s
    return held.mean(axis=0)


@pytest.mark.parametrize(("n", "percentile"), [(30, 50.0), (200, 90.0), (500, 99.0)])
def test_intervals_cover_as_they_say(n, percentile):
    q, edges = percentile / 100, np.concatenate([np.arange(0, 60) / 4, [np.inf]])
    of_values, of_bins = shares_of_intervals(n, percentile, edges)
    ranks = quantile_ranks(n, q)
    # A bin's interval misses only if fewer than l values lie below the end of the bin that holds the quantile, or at
    # least u below its beginning: two binomials.
    place = np.searchsorted(edges, -np.log(1 - q), "right")
    below, above = 1 - np.exp(-edges[place - 1]), 1 - np.exp(-edges[place])
    exact_bins = 1 - binom.cdf(ranks.low - 1, n, above) - binom.sf(ranks.high - 1, n, below)
    for share, exact in ((of_values, ranks.coverage), (of_bins, exact_bins)):
        assert exact >= 0.95
        assert share == pytest.approx(exact, abs=0.015)
    assert of_bins >= of_values


@pytest.mark.parametrize(("n", "p"), [(50, 0.02), (400, 0.01)])
def test_the_share_above_a_threshold_is_covered(n, p):
    rng = np.random.default_rng(2)
    threshold = -np.log(p)
    held = []
    exact_k = np.arange(n + 1)
    ends = [Histogram([0.0, 2.0], [1.0, 3.0], [n - k, k]).share_above(2.0) for k in exact_k]
    covered = np.array([e.interval_low <= p <= e.interval_high for e in ends])
    exact = binom.pmf(exact_k, n, p)[covered].sum()
    for _ in range(N_DRAWS):
        found = Histogram.of_values(rng.exponential(size=n)).share_above(threshold)
        held.append(found.interval_low <= p <= found.interval_high)
    assert exact >= 0.95
    assert np.mean(held) == pytest.approx(exact, abs=0.015)


def test_a_threshold_inside_a_bin_leaves_bounds():
    share = Histogram([0.0, 1.0, 2.0], [1.0, 2.0, 3.0], [90, 6, 4]).share_above(1.5)
    assert share.sentence().startswith("4 to 10 % took 1.50 s or longer (n = 100 operations; 95 % interval 1.1")
    assert (share.share_low, share.share_high) == (0.04, 0.10)
    assert share.interval_low < share.share_low
    assert share.interval_high > share.share_high


def test_over_runs_the_run_is_the_unit():
    rng = np.random.default_rng(3)
    truth = np.log(2)  # median of a run's own scale, whose runs differ by a lognormal factor of median 1
    held = []
    for _ in range(N_DRAWS):
        runs = [Histogram.of_values(scale * np.full(3, truth)) for scale in rng.lognormal(sigma=0.3, size=6)]
        found = between_runs(runs, 50)
        held.append(found.low_s <= truth <= found.high_s)
    assert np.mean(held) == pytest.approx(1 - 2 / 2**6, abs=0.015)


def test_over_runs_in_bins_and_too_few():
    runs = [Histogram([low], [low + 1.0], [5]) for low in (1.0, 4.0, 2.0, 3.0, 0.0, 5.0)]
    found = between_runs(runs, 50)
    assert (found.bounds.lower_s, found.bounds.upper_s) == (2.5, 3.5)
    assert (found.low_s, found.high_s) == (0.0, 6.0)
    few = between_runs(runs[:5], 50)
    assert few.low_s is None
    assert "need ≥ 6 runs" in few.sentence()
    open_above = between_runs([*runs[:5], Histogram([9.0], [np.inf], [1])], 50)
    assert "∞" in open_above.sentence()
    with pytest.raises(AnalysisError, match="runs"):
        between_runs([], 50)
