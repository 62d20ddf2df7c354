import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from simulation import N_DRAWS

from pipeline.analyse.budget.matching import REST, Matched, match_operations
from pipeline.analyse.budget.quantity import Sources
from pipeline.analyse.budget.tail import tail_bounds, tail_budget, tail_means
from pipeline.errors import AnalysisError

P99 = 0.99


def operations(layers, gap=5e-6):
    """A client's log and the calls of two layers in it: a write, then a sync, on a clock that is 7 s behind."""
    write, sync, rest = layers.T
    latency = layers.sum(axis=1)
    end = np.cumsum(latency + gap)
    start = end - latency
    calls = {}
    for name, begin, time in (("write", start + rest / 2, write), ("sync", start + rest / 2 + write, sync)):
        calls[name] = pd.DataFrame({"issued_s": begin - 7, "time_s": begin + time - 7, "latency_s": time})
    return pd.DataFrame({"time_s": end, "latency_s": latency}), calls


def drawn(rng, n):
    """Layers of known conditional means: the rest is constant, the sync is exponential, the write a tenth of it."""
    sync = rng.exponential(100e-6, n) + 50e-6
    return np.column_stack([0.1 * sync, sync, np.full(n, 80e-6)])


def test_calls_find_their_operations_on_another_clock():
    layers = drawn(np.random.default_rng(1), 3000)
    outer, inner = operations(layers)
    found = match_operations(outer.sample(frac=1, random_state=1), inner, "sync")
    assert found.layers == ("write", "sync", REST)
    assert found.layers_s == pytest.approx(layers)
    assert (found.n_without, found.n_unassigned) == (0, 0)
    assert found.slack_s == pytest.approx(80e-6 + 0.1 * layers[:, 1].min(), rel=0.01)


def test_an_extra_call_is_added_and_a_call_of_none_is_counted():
    layers = drawn(np.random.default_rng(2), 3000)
    outer, inner = operations(layers)
    at = inner["sync"].iloc[500]
    extra = pd.DataFrame([{"issued_s": at.time_s, "time_s": at.time_s + 1e-6, "latency_s": 1e-6}])
    early = pd.DataFrame([{"issued_s": -9.0, "time_s": -8.9, "latency_s": 0.1}])
    inner = {"write": pd.concat([inner["write"], early]), "sync": pd.concat([inner["sync"], extra])}
    found = match_operations(outer, inner, "sync")
    assert found.layers_s[500] == pytest.approx(layers[500] + [0, 1e-6, -1e-6])
    assert (found.n_without, found.n_unassigned) == (0, 1)


def test_operations_logged_as_nothing_are_left_out_and_counted():
    layers = drawn(np.random.default_rng(3), 3000)
    outer, inner = operations(layers)
    outer.loc[[700, 1500], "latency_s"] = 0.0
    found = match_operations(outer, inner, "sync")
    assert found.n_without == 2
    assert found.layers_s == pytest.approx(np.delete(layers, [700, 1500], axis=0))
    warnings = tail_budget({"r": found}, P99).warnings
    assert any(text.startswith("contradiction: 2 operations") for text in warnings)
    outer.loc[::50, "latency_s"] = 0.0
    with pytest.raises(AnalysisError, match=r"in each operation, found 6. without"):
        match_operations(outer, inner, "sync")


def test_what_cannot_be_matched_is_refused():
    outer, inner = operations(drawn(np.random.default_rng(4), 3000))
    with pytest.raises(AnalysisError, match=r"one call of 'sync' an operation \(3,000\), found 2,900"):
        match_operations(outer, inner | {"sync": inner["sync"].iloc[:2900]}, "sync")
    shifted = inner["sync"].copy()
    shifted.iloc[2000:, :2] += 0.01  # a clock that jumps
    with pytest.raises(AnalysisError, match=r"without|would have to be"):
        match_operations(outer, inner | {"sync": shifted}, "sync")
    with pytest.raises(AnalysisError, match="two that overlap"):
        match_operations(outer.assign(latency_s=outer["latency_s"] * 3), inner, "sync")
    with pytest.raises(AnalysisError, match="found nulls"):
        match_operations(outer, inner | {"write": inner["write"].assign(issued_s=np.nan)}, "sync")
    with pytest.raises(AnalysisError, match="found 0 of which"):
        match_operations(outer.iloc[:0], {"sync": inner["sync"].iloc[:0]}, "sync")


def test_conditional_means_of_known_layers():
    layers = drawn(np.random.default_rng(5), 200_000)
    outer, inner = operations(layers)
    found = tail_budget({"r": match_operations(outer, inner, "sync")}, P99)
    rows = {row.layer: row for row in found.layers}
    # Above its p99 an exponential has mean μ (1 + ln 100); the sync's is shifted by 50 µs.
    sync = 50e-6 + 100e-6 * (1 + np.log(100))
    for name, value in (
        ("sync", sync),
        ("write", 0.1 * sync),
        (REST, 80e-6),
        ("the whole operation", 1.1 * sync + 80e-6),
    ):
        assert rows[name].tail.low - 1e-12 <= value <= rows[name].tail.high + 1e-12, name
    assert found.n_tail == 2000
    parts = [row for row in found.layers if row.layer != "the whole operation"]
    assert sum(row.tail.value for row in parts) == pytest.approx(rows["the whole operation"].tail.value)
    assert sum(row.share.value for row in parts) == pytest.approx(1)
    assert rows["sync"].share.value == pytest.approx(1 / 1.1)
    assert "1 % of the operations (n = 2,000 of 200,000; " in found.sentence()
    assert "is in “sync” (90.9" in found.sentence()


def test_tail_intervals_cover_95_per_cent():
    """20 windows of 200 operations; the layer is a part of the outer latency that moves with it."""
    rng = np.random.default_rng(6)
    n, n_windows = 200, 20
    group = np.repeat(np.arange(n_windows), n)
    # X and Y normal with correlation ρ: E[X | X > x_p] = φ(z)/(1 − p), E[Y | X > x_p] = ρ of it.
    z = norm.ppf(0.95)
    shortfall = norm.pdf(z) / 0.05
    held = np.zeros(2)
    for _ in range(N_DRAWS):
        x = rng.normal(size=n * n_windows)
        y = 0.6 * x + 0.8 * rng.normal(size=n * n_windows)
        found = tail_means(x, y[:, None], 0.95)
        sources = Sources()
        for column, truth in enumerate((shortfall, 0.6 * shortfall)):
            scores = np.bincount(group, found.tail_influence_s[:, column]) / len(x)
            value = sources.expanded(sources.scattered("b", found.tail_means_s[column], scores), 0.95)
            held[column] += value.low <= truth <= value.high
    assert ((held / N_DRAWS >= 0.93) & (held / N_DRAWS <= 0.97)).all(), held / N_DRAWS


def test_repeats_are_the_unit_of_several_runs():
    rng = np.random.default_rng(7)
    runs = {}
    for run in range(4):
        layers = drawn(rng, 4000) * (1 + 0.2 * run)
        outer, inner = operations(layers)
        runs[f"r{run}"] = match_operations(outer, inner, "sync")
    found = tail_budget(runs, P99)
    tails = [m.latency_s[m.latency_s > np.sort(m.latency_s)[3959]].mean() for m in runs.values()]
    assert found.layers[0].tail.value == pytest.approx(np.mean(tails))
    assert found.layers[0].tail.standard == pytest.approx(np.std(tails, ddof=1) / 2)
    assert found.layers[0].tail.df == pytest.approx(3)
    outer, inner = operations(drawn(rng, 500))
    with_short = tail_budget({**runs, "short": match_operations(outer, inner, "sync")}, P99)
    assert with_short.layers[0].tail.value == pytest.approx(found.layers[0].tail.value)
    assert with_short.warnings == ("left out, short: 500 operations, need ≥ 2,000",)


def test_too_few_operations_or_equal_ones_have_no_tail():
    rng = np.random.default_rng(8)
    with pytest.raises(AnalysisError, match="found 10 of 1,000; need ≥ 2,000"):
        tail_means(rng.normal(size=1000), np.empty((1000, 0)), P99)
    with pytest.raises(AnalysisError, match="found 0 of 5,000"):
        tail_means(np.zeros(5000), np.zeros((5000, 1)), P99)
    with pytest.raises(AnalysisError, match="found 0 of 0"):
        tail_means(np.empty(0), np.empty((0, 1)), P99)
    one = Matched(np.full(4000, 0.1), rng.exponential(size=4000), ("a",), np.ones((4000, 1)), 0.0, 0)
    with pytest.raises(AnalysisError, match="at least 2 batches"):
        tail_budget({"r": one}, P99)
    with pytest.raises(AnalysisError, match="same layers"):
        tail_budget({}, P99)


def test_bounds_hold_and_can_be_reached():
    latency = np.concatenate([np.full(9900, 100e-6), np.full(100, 1000e-6)])
    found = (
        tail_bounds(latency, {"small": 2e-6, "large": 105e-6, "whole": 109e-6}, P99, "why")
        .to_frame()
        .set_index("layer")
    )
    assert found.loc["small", ["tail_low_s", "tail_high_s"]].tolist() == pytest.approx([0, 200e-6])
    # 99 µs at most are in the others: 6 µs of 105 must be in one in a hundred.
    assert found.loc["large", ["tail_low_s", "tail_high_s"]].tolist() == pytest.approx([600e-6, 1000e-6])
    assert found.loc["whole", ["tail_low_s", "tail_high_s"]].tolist() == pytest.approx([1000e-6, 1000e-6])
    with pytest.raises(AnalysisError, match="between 0 and that of the operation"):
        tail_bounds(latency, {"more": 110e-6}, P99, "why")


def test_bounds_hold_for_any_dependence():
    rng = np.random.default_rng(9)
    latency = rng.exponential(1.0, 20_000)
    for power in (0.0, 0.5, 3.0):
        layer = latency * rng.uniform(0, 1, 20_000) ** power * (latency > 1 if power else 0.5)
        row = tail_bounds(latency, {"layer": layer.mean()}, P99, "why").to_frame().iloc[0]
        tail = layer[latency > np.sort(latency)[19799]].mean()
        assert row["tail_low_s"] <= tail <= row["tail_high_s"]
