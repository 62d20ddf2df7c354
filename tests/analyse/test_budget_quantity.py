import math

import numpy as np
import pytest
from scipy.stats import t
from simulation import N_DRAWS

from pipeline.analyse.budget.quantity import Sources, exact, ratio_scores
from pipeline.errors import AnalysisError


def batches(sources, key, values):
    values = np.asarray(values, float)
    return sources.scattered(key, values.mean(), (values - values.mean()) / len(values))


def test_a_mean_of_batches_has_students_interval():
    sources = Sources()
    found = sources.expanded(batches(sources, "a", [1.0, 2.0, 4.0, 5.0]), 0.95)
    standard = math.sqrt(10 / 3) / 2  # s² = 10/3
    assert (found.value, found.standard, found.df) == pytest.approx((3, standard, 3))
    assert found.half_width == pytest.approx(t.ppf(0.975, 3) * standard)


def test_batches_in_common_are_paired():
    sources = Sources()
    whole, part = [10.0, 14.0, 12.0, 20.0], [6.0, 9.0, 8.0, 17.0]
    found = sources.expanded(batches(sources, "runs", whole) - batches(sources, "runs", part), 0.95)
    difference = np.subtract(whole, part)
    assert found.standard == pytest.approx(difference.std(ddof=1) / 2)
    assert found.df == pytest.approx(3)


def test_welch_and_satterthwaite_of_independent_means():
    sources = Sources()
    a, b = [1.0, 2.0, 4.0, 5.0], [0.5, 0.6, 0.4, 0.7, 0.6, 0.5]
    found = sources.expanded(batches(sources, "a", a) - batches(sources, "b", b), 0.95)
    ua, ub = np.var(a, ddof=1) / 4, np.var(b, ddof=1) / 6
    assert found.standard == pytest.approx(math.sqrt(ua + ub))
    assert found.df == pytest.approx((ua + ub) ** 2 / (ua**2 / 3 + ub**2 / 5))


def test_the_gums_gauge_block_has_16_degrees_of_freedom():
    # GUM H.1.6: u = 25, 9.7 (ν = 25.6 of its own), 2.9 at ν = 50, 16.6 at ν = 2; combined 32 nm, ν = 16.7.
    parts = [(25.0, 18.0), (9.7, 25.6), (2.9, 50.0), (16.6, 2.0)]
    variance = sum(u**2 for u, _ in parts)
    expected = variance**2 / sum(u**4 / df for u, df in parts)
    assert expected == pytest.approx(16.7, abs=0.6)
    sources = Sources()
    total = exact(0.0)
    for i, (u, df) in enumerate(parts):
        (variable,) = sources._of_key(i, 1, df)
        total = total + u * variable
    assert sources.expanded(total, 0.99).df == pytest.approx(expected)


def test_rounding_is_uniform_shared_and_without_end_of_degrees():
    sources = Sources()
    one = sources.rounded("w_await", 3.0, 0.5)
    found = sources.expanded(one, 0.95)
    assert (found.standard, found.df) == (pytest.approx(0.5 / math.sqrt(12)), math.inf)
    assert found.k == pytest.approx(1.959964)
    assert sources.expanded(one - sources.rounded("w_await", 1.0, 0.5), 0.95).standard == 0
    assert sources.expanded(one - sources.rounded("f_await", 1.0, 0.5), 0.95).standard == pytest.approx(
        0.5 / math.sqrt(6)
    )


def test_products_are_to_first_order_with_what_they_share():
    sources = Sources()
    total = sources.rounded("insert", 385.0, math.sqrt(12))  # u = 1
    share = sources.rounded("busy", 0.78, 0.01 * math.sqrt(12))
    found = sources.expanded(total - share * total, 0.95)
    assert found.value == pytest.approx(84.7)
    assert found.standard == pytest.approx(math.hypot(0.22, 3.85))


def test_degenerate_quantities():
    sources = Sources()
    none = sources.expanded(exact(0.0), 0.95)
    assert (none.half_width, none.standard_uncertainties, none.p_value, none.excludes_zero) == (0, 0, 1, False)
    equal = sources.expanded(batches(sources, "equal", [2.0, 2.0, 2.0]), 0.95)
    assert (equal.half_width, equal.standard_uncertainties, equal.excludes_zero) == (0, math.inf, True)
    assert equal.text() == "2000000.000 ± 0 µs"
    with pytest.raises(AnalysisError, match="at least 2 batches"):
        sources.scattered("one", 1.0, np.zeros(1))
    with pytest.raises(AnalysisError, match="all finite"):
        sources.scattered("null", 1.0, np.array([1.0, np.nan]))
    with pytest.raises(AnalysisError, match="expected 3 batches as before, found 2"):
        sources.scattered("equal", 1.0, np.zeros(2))
    with pytest.raises(AnalysisError, match="operations to divide by"):
        ratio_scores([1.0], [0.0])


@pytest.mark.parametrize(
    ("value", "half", "text"),
    [(142.04e-6, 5.64e-6, "142.0 ± 5.6 µs"), (64.2e-6, 13.1e-6, "64 ± 13 µs"), (2.04e-6, 0.0817e-6, "2.040 ± 0.082 µs"),
     (2.27e-6, 1e-12, "2.270 ± <0.001 µs"), (-1.5e-6, 0.57e-6, "-1.50 ± 0.57 µs")],
)  # fmt: skip
def test_text_shows_two_digits_of_the_uncertainty(value, half, text):
    sources = Sources()
    found = sources.expanded(sources.rounded("x", value, half * math.sqrt(12) / 1.959963984540054), 0.95)
    assert found.text() == text


def test_unequal_batches_count_by_their_operations():
    value, scores = ratio_scores([300.0, 200.0], [300.0, 100.0])
    assert value == pytest.approx(1.25)
    assert scores == pytest.approx([-75 / 400, 75 / 400])


def test_a_layers_interval_covers_95_per_cent():
    """Outer and inner level in the same repeats (correlated), a third instrument with few samples, a rounded print."""
    rng = np.random.default_rng(5)
    held = 0
    for _ in range(N_DRAWS):
        common = rng.normal(0, 20, 6)
        outer, inner = 200 + common + rng.normal(0, 3, 6), 140 + common + rng.normal(0, 3, 6)
        device = 50 + rng.normal(0, 5, 10)
        printed = np.round(rng.uniform(1.5, 2.5), 1)  # rounding error of a true value that is what was rounded
        true = printed + rng.uniform(-0.05, 0.05)
        sources = Sources()
        layer = batches(sources, "runs", outer) - batches(sources, "runs", inner) + batches(sources, "device", device)
        found = sources.expanded(layer + sources.rounded("print", printed, 0.1), 0.95)
        held += found.low <= 60 + 50 + true <= found.high
    assert 0.93 <= held / N_DRAWS <= 0.97
