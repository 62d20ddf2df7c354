"""Linearity: verdicts on synthetic data with known answers, NIST's worked lack-of-fit test, and invariances."""

from __future__ import annotations

import io
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.stats
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from simulation import share_of_draws

from pipeline.analyse.act.rating import x_rating
from pipeline.analyse.scaling._efficiency import efficiencies
from pipeline.analyse.scaling._verdict import judge
from pipeline.analyse.scaling.linearity import linearity
from pipeline.analyse.scaling.sample_size import decision_power, repeats_needed
from pipeline.errors import AnalysisError


def runs(points: dict[float, list[float]]) -> pd.DataFrame:
    """One row a run of {n_devices: [ops_per_s, …]}."""
    rows = [(n_devices, rate) for n_devices, rates in points.items() for rate in rates]
    return pd.DataFrame(rows, columns=["n_devices", "ops_per_s"])


def scattered(points: dict[float, float], spread: float) -> pd.DataFrame:
    """Three runs a point: the value, and the value ± ``spread`` of it, whose relative deviation is ``spread``."""
    return runs({n: [rate * (1 - spread), rate, rate * (1 + spread)] for n, rate in points.items()})


LINE = {1: 1000.0, 2: 2000.0, 4: 4000.0, 8: 8000.0}
BENT = {1: 1000.0, 2: 1500.0, 3: 1600.0, 4: 1440.0}


@pytest.mark.parametrize(
    ("frame", "outcome", "words"),
    [
        (
            runs({1: [192e3], 2: [354e3], 4: [708e3]}),
            "too few points",
            "n = 3 over 3 distinct numbers of devices leaves 1 degree of",
        ),
        (
            runs({1: [192e3], 2: [354e3], 4: [708e3]}),
            "too few points",
            "interval is ± 27 %; need ≥ 4 distinct numbers of devices, ≥ 3 degrees of freedom and ≥ 19 more repeats",
        ),
        (runs({1: [1], 2: [2]}), "too few points", "leaves 0 degrees of freedom; the slope has no interval"),
        (runs({1: [1], 2: [2], 3: [3], 4: [4]}), "too few points", "leaves 2 degrees of freedom"),
        (scattered({1: 1000, 2: 2000, 4: 4000}, 0.001), "too few points", "n = 9 over 3 distinct numbers of devices"),
        (
            runs({n: [n * 500.0] for n in range(1, 6)}),
            "too few repeats",
            "no interval of the efficiency at n_devices = 2, 3, 4, 5 for want of runs that differ, there or at 1, so "
            "nothing is proved; need ≥ 3 repeats a point to learn how far runs scatter, which is not known",
        ),
        (
            runs({1: [1000], 2: [1960], 3: [2940], 4: [4080], 5: [5000]}),
            "too few repeats",
            "standard deviation is 2.4 % (about the line, for want of repeats, df 3; 95 % interval 1.3 … 8.8 %)",
        ),
        (scattered({1: 1000, 2: 1500}, 0.01), "not linear", "efficiency at 2 devices is 75 %"),
        (scattered(LINE, 0.005), "linear", "linear within 1.2 %"),  # exp(2.776 · 0.005 · √(2/3)) = 1.0114
        (scattered(LINE, 0.02), "linear", "linear within 4.7 %"),
        (
            scattered(LINE, 0.03),
            "undecided",
            "across the edge of 100 ± 5 %; need ≥ 9 more repeats a point (3 now): 12 repeats decide with a power of 80",
        ),
        (scattered(BENT, 0.01), "not linear", "efficiency at 4 devices is 36 % (35.2 … 36.8 %), outside 100 ± 5 %"),
        (
            runs({n: [rate] for n, rate in {**BENT, 5: 5000}.items()}),
            "too few repeats",
            "there or at 1, so nothing is proved",
        ),
        (scattered({1: 100, 2: 260, 3: 300, 4: 400}, 0.01), "not linear", "efficiency at 2 devices is 130 %"),
    ],
)
def test_verdicts(frame: pd.DataFrame, outcome: str, words: str) -> None:
    result = linearity(frame)
    assert result.outcome == outcome
    assert words in result.verdict
    assert result.verdict in result.sentence()
    assert "\n" not in result.sentence()


def test_both_lines_and_their_frame() -> None:
    result = linearity(runs({1: [192e3], 2: [354e3], 4: [708e3]}))
    assert result.with_constant.slope == pytest.approx(172714.2857142857)
    assert result.through_origin.slope == pytest.approx(177714.2857142857)
    frame = result.to_frame()
    assert list(frame["fit"]) == ["with constant", "with constant", "through origin"]
    assert list(frame["name"]) == ["intercept", "x", "x"]
    assert [warning for warning in result.warnings if warning.startswith("with constant: n = 3: one degree of freedom")]
    assert result.sentence().count("degree") == 2  # once in the verdict, once in its "≥ 3 degrees of freedom"
    assert "R² 0.99954 (centred)" in result.sentence()


def test_efficiency_is_relative_to_the_mean_at_the_smallest_x() -> None:
    result = linearity(runs({4: [380, 420], 2: [190, 210], 8: [600, 600], 6: [0, 0]}))
    table = result.efficiency
    assert list(table.columns) == [
        "n_devices", "n_runs", "ops_per_s", "stddev", "efficiency", "interval_low", "interval_high",
    ]  # fmt: skip
    assert list(table["n_devices"]) == [2, 4, 6, 8]
    assert list(table["n_runs"]) == [2, 2, 2, 2]
    assert list(table["ops_per_s"]) == [200, 400, 0, 600]
    assert list(table["stddev"]) == pytest.approx([math.sqrt(200), math.sqrt(800), 0, 0])
    assert list(table["efficiency"]) == pytest.approx([1, 1, 0, 0.75])
    # ln-interval: relative variances of the means 0.0025 each, df 2, t(2) = 4.302652729911275
    reach = math.exp(4.302652729911275 * math.sqrt(0.005))
    assert (table["interval_low"][1], table["interval_high"][1]) == pytest.approx((1 / reach, reach))
    # only the first mean scatters: df 1, t(1) = 12.706204736174707
    assert table["interval_high"][3] == pytest.approx(0.75 * math.exp(12.706204736174707 * 0.05))
    assert table.loc[[0, 2], ["interval_low", "interval_high"]].isna().all(axis=None)
    assert "efficiency is relative to n_devices = 2, not to 1" in result.warnings
    assert [warning for warning in result.warnings if "without an interval at n_devices = 6" in warning]


def test_single_and_identical_runs_have_no_intervals() -> None:
    for frame in (runs({n: [n * 10.0] for n in range(1, 6)}), runs({n: [n * 0.1] * 3 for n in range(1, 6)})):
        result = linearity(frame)
        assert result.efficiency["interval_low"].isna().all()
        assert result.lack_of_fit is None
        assert [text for text in result.warnings if "n_devices = 2, 3, 4, 5: need ≥ 2 runs that differ" in text]


@pytest.mark.parametrize(("repeats", "spreads"), [(3, (0.02, 0.02)), (10, (0.02, 0.02)), (5, (0.05, 0.01))])
def test_intervals_cover_the_truth(repeats: int, spreads: tuple[float, float]) -> None:
    xs = np.repeat([1.0, 2.0], repeats)

    def holds(rng: np.random.Generator) -> bool:
        ys = np.repeat([100, 194], repeats) * (1 + np.repeat(spreads, repeats) * rng.standard_normal(len(xs)))
        low, high = efficiencies(xs, ys).interval(0.95)
        return bool(low[1] <= 0.97 <= high[1])

    assert 0.93 <= share_of_draws(holds) <= 0.97


def share_judged(outcome: str, truth: list[float], repeats: int, spread: float, seed: int = 1) -> float:
    """Share of 2,000 draws judged so; 1 and ``truth`` are the efficiencies at 1, 2, 4 and 8 devices."""
    xs = np.repeat([1.0, 2, 4, 8], repeats)
    means = 1000 * xs * np.repeat([1, *truth], repeats)

    def holds(rng: np.random.Generator) -> bool:
        ys = means * (1 + spread * rng.standard_normal(len(xs)))
        return judge(efficiencies(xs, ys), len(xs) - 2, tolerance=0.05, confidence=0.95).outcome == outcome

    return share_of_draws(holds, seed)


@pytest.mark.parametrize(
    ("truth", "repeats", "spread"),
    [([0.95, 1, 1], 2, 0.005), ([0.95, 1, 1], 5, 0.02), ([1, 1.05, 1], 3, 0.01), ([0.95, 0.95, 0.95], 3, 0.01)],
)
def test_linear_is_seldom_said_at_the_edge(truth: list[float], repeats: int, spread: float) -> None:
    assert share_judged("linear", truth, repeats, spread) <= 0.035  # level 0.025, and 3 standard errors of a share


@pytest.mark.parametrize(
    ("truth", "repeats", "spread"),
    [([0.95, 0.95, 0.95], 3, 0.01), ([1.05, 1.05, 1.05], 5, 0.02), ([0.95, 1.05, 1], 2, 0.02)],
)
def test_not_linear_is_seldom_said_at_the_edge(truth: list[float], repeats: int, spread: float) -> None:
    assert share_judged("not linear", truth, repeats, spread) <= 0.035


@pytest.mark.parametrize(
    ("truth", "outcome"), [([1, 1, 1], "linear"), ([0.92, 1, 1], "not linear"), ([0.98, 1, 1], "linear")]
)
def test_the_repeats_that_are_asked_for_decide(truth: list[float], outcome: str) -> None:
    needed = repeats_needed(truth, 0.03, tolerance=0.05)
    assert needed.repeats is not None
    assert share_judged(outcome, truth, needed.repeats, 0.03) >= 0.77  # 0.8 less 3 standard errors
    assert share_judged(outcome, truth, needed.repeats // 2, 0.03) < 0.77


def test_power_on_the_noncentral_t() -> None:
    """One efficiency of 0.8 with 3 % and 2 repeats: df 2, t = 4.303, noncentrality ln(0.95/0.8)/0.03 = 5.728."""
    expected = scipy.stats.nct.sf(scipy.stats.t.ppf(0.975, 2), 2, math.log(0.95 / 0.8) / 0.03)
    assert decision_power([0.8], 0.03, 2, tolerance=0.05) == pytest.approx(expected, rel=1e-9)
    assert decision_power([0.95], 0.03, 10, tolerance=0.05) == pytest.approx(0.025, rel=1e-4)  # at the edge: the level
    assert repeats_needed([0.95], 0.03, tolerance=0.05).repeats is None
    assert "more than 10,000" in repeats_needed([0.95], 0.03, tolerance=0.05).sentence()
    for values, spread, repeats in (([], 0.1, 2), ([1.0], 0.1, 1), ([0.0], 0.1, 2), ([1.0], 0.0, 2)):
        with pytest.raises(AnalysisError, match="power needs"):
            decision_power(values, spread, repeats, tolerance=0.05)
    with pytest.raises(AnalysisError, match="expected a confidence within 0 … 1, found 95"):
        decision_power([0.8], 0.03, 2, tolerance=0.05, confidence=95)


def test_spread_is_pooled_over_repeats_or_taken_about_the_line() -> None:
    spread = linearity(scattered(LINE, 0.02)).spread
    assert spread is not None
    assert (spread.value, spread.df) == (pytest.approx(0.02), 8)
    assert spread.low == pytest.approx(0.02 * math.sqrt(8 / scipy.stats.chi2.ppf(0.975, 8)))
    assert spread.high == pytest.approx(0.02 * math.sqrt(8 / scipy.stats.chi2.ppf(0.025, 8)))
    about_line = linearity(runs({1: [192e3], 2: [354e3], 4: [708e3]})).spread
    assert about_line is not None
    assert about_line.value == pytest.approx(
        math.hypot(4285.714285714 / 187714.285714, 6428.571428571 / 360428.571429, 2142.857142857 / 705857.142857)
    )
    assert linearity(runs({n: [n * 10.0] * 3 for n in range(1, 5)})).spread is None


def test_lack_of_fit_as_in_the_handbook() -> None:
    """NIST/SEMATECH e-Handbook 4.6.1.5: a straight line through the load cell data (Pontius)."""
    content = yaml.safe_load((Path(__file__).parent / "nist" / "pontius.yaml").read_text())
    table = np.loadtxt(io.StringIO(content["data"]))
    result = linearity(pd.DataFrame({"load": table[:, 1], "deflection": table[:, 0]}), x="load", y="deflection")
    fit, test = result.with_constant, result.lack_of_fit
    assert (fit.intercept, fit.intercept_standard_error) == pytest.approx((0.614969e-2, 0.7132e-3), rel=1e-4)
    assert (fit.slope, fit.slope_standard_error) == pytest.approx((0.722103e-6, 0.3969e-9), rel=1e-4)
    assert (fit.s_y, fit.df) == (pytest.approx(0.0021712694, rel=1e-5), 38)  # printed from single precision
    assert test is not None
    assert (test.f_statistic, test.df_lack, test.df_pure) == (pytest.approx(214.7464, rel=1e-5), 18, 20)
    assert test.ss_lack + test.ss_pure == pytest.approx(fit.ss_resid, rel=1e-10)
    assert test.p_value < 1e-10
    assert result.outcome == "linear"  # a bend of 3.6 %, which the test finds and the tolerance allows
    assert [warning for warning in result.warnings if "lack of fit: F 214.747 on 18 and 20" in warning]


def test_no_lack_of_fit_where_the_means_are_on_the_line() -> None:
    test = linearity(scattered(LINE, 0.01)).lack_of_fit
    assert test is not None
    assert (test.f_statistic, test.p_value) == (pytest.approx(0, abs=1e-9), pytest.approx(1))


def test_the_offered_load_explains_a_straight_line() -> None:
    frame = scattered(LINE, 0.001)
    frame["offered_ops_per_s"] = frame["ops_per_s"] * 1.002
    result = linearity(frame, offered="offered_ops_per_s")
    assert result.outcome == "offered load"
    assert "all 12 runs achieved what was offered (within 0.2 %)" in result.verdict
    assert "says nothing about the devices' limit" in result.verdict
    assert linearity(frame).outcome == "linear"


def test_the_offered_load_is_said_even_of_few_points() -> None:
    frame = runs({1: [3000], 2: [6000]}).assign(offered=[3000, 6000])
    assert linearity(frame, offered="offered").outcome == "offered load"


@pytest.mark.parametrize(
    ("last", "words"),
    [(9000, "9 of 12 runs achieved the offered rate within 1 %"), (None, "3 of 12 runs have no offered")],
)
def test_an_offered_load_that_was_not_always_achieved(last: float | None, words: str) -> None:
    frame = scattered(LINE, 0.001)
    frame["offered"] = frame["ops_per_s"].where(frame["n_devices"] < 8, last)
    result = linearity(frame, offered="offered")
    assert result.outcome == "linear"
    assert [warning for warning in result.warnings if words in warning]


def test_rows_without_a_figure_are_left_out_and_counted() -> None:
    frame = scattered(LINE, 0.005).astype({"n_devices": "Int64", "ops_per_s": "Float64"})
    gaps = pd.concat([frame, frame.iloc[:2].assign(ops_per_s=pd.NA), frame.iloc[:1].assign(n_devices=pd.NA)])
    result = linearity(gaps)
    assert result.verdict == linearity(frame).verdict
    assert "3 of 15 rows lack n_devices or ops_per_s and are left out" in result.warnings


@pytest.mark.parametrize(
    ("frame", "options", "message"),
    [
        (runs({1: [1.0]}), {"y": "iops"}, "expected the columns iops, found n_devices, ops_per_s"),
        (runs({1: [1.0], 2: [2.0]}), {"offered": "asked"}, "expected the columns asked"),
        (runs({1: [1.0], 2: [2.0]}), {"tolerance": 5}, "such as 0.05, found 5"),
        (runs({1: [1.0], 2: [2.0]}), {"confidence": 95}, "such as 0.95, found 95"),
        (runs({0: [1.0], 2: [2.0]}), {}, "needs n_devices > 0"),
        (runs({1: [1.0], 2: [-2.0]}), {}, "ops_per_s ≥ 0, found down to 1 and -2"),
        (runs({1: [math.inf], 2: [2.0]}), {}, "holds infinity"),
        (runs({1: [0.0], 2: [2.0]}), {}, "expected runs with ops_per_s > 0 at the smallest n_devices"),
        (runs({}), {}, "expected runs with"),
        (runs({1: [math.nan], 2: [math.nan]}), {}, "expected runs with"),
        (runs({1: [1.0]}), {}, "1 points cannot give 2 parameters"),
        (pd.DataFrame({"n_devices": ["a", "b"], "ops_per_s": [1, 2]}), {}, "must be numbers"),
    ],
)
def test_what_cannot_be_judged_says_what_to_do(frame: pd.DataFrame, options: dict[str, Any], message: str) -> None:
    with pytest.raises(AnalysisError, match=message):
        linearity(frame, **options)


def test_all_runs_at_one_x_are_too_few_points() -> None:
    result = linearity(runs({2: [10, 11, 12, 13, 14]}))
    assert result.outcome == "too few points"
    assert "1 distinct numbers of devices" in result.verdict


@pytest.mark.parametrize(
    ("ops_per_s", "n_devices", "rating"), [(3000, 1, 1), (192000, 1, 64), (708000, 4, 59), (0, 2, 0)]
)
def test_x_rating(ops_per_s: float, n_devices: int, rating: float) -> None:
    assert x_rating(ops_per_s, n_devices) == rating


@pytest.mark.parametrize("n_devices", [0, -1, math.nan])
def test_x_rating_needs_a_device(n_devices: float) -> None:
    with pytest.raises(AnalysisError, match="at least one device"):
        x_rating(3000, n_devices)


rates = st.lists(st.integers(900, 1100), min_size=1, max_size=4)


@settings(max_examples=40, deadline=None)
@given(st.lists(rates, min_size=4, max_size=6), st.integers(-6, 6), st.randoms(use_true_random=False))
def test_units_and_order_change_nothing(points: list[list[int]], power: int, shuffle: Any) -> None:
    frame = runs({n: [float(n * rate) for rate in values] for n, values in enumerate(points, start=1)})
    order = list(range(len(frame)))
    shuffle.shuffle(order)
    one = linearity(frame)
    other = linearity(frame.iloc[order].assign(ops_per_s=lambda rows: rows["ops_per_s"] * 2.0**power))
    assert other.outcome == one.outcome
    for column in ("efficiency", "interval_low", "interval_high"):
        assert list(other.efficiency[column]) == pytest.approx(list(one.efficiency[column]), rel=1e-9, nan_ok=True)
    assert one.efficiency["efficiency"].iloc[0] == 1
    inside = one.efficiency.dropna()
    assert (inside["interval_low"] <= inside["efficiency"]).all()
    assert (inside["efficiency"] <= inside["interval_high"]).all()
