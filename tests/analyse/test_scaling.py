"""Scaling curves: another tool's published fit, brute force, and recovery and coverage where the truth is known."""

import math

import numpy as np
import pandas as pd
import pytest
import scipy.optimize
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from simulation import N_DRAWS

from pipeline.analyse.scaling import _fit as _scaling_fit
from pipeline.analyse.scaling._fit import covariance, fit, gradient, rates, reduced
from pipeline.analyse.scaling.curves import scaling
from pipeline.errors import AnalysisError

# SPEC SDM91 on a Sun SPARCcenter 2000: scripts an hour over users, the example of R's package usl (data set specsdm91).
SDM91 = {1: 64.9, 18: 995.9, 36: 1652.4, 72: 1853.2, 108: 1828.9, 144: 1775.0, 216: 1702.2}
NS = np.repeat([1.0, 2, 4, 8, 16, 32], 3)


def runs(points):
    rows = [(n, rate) for n, values in points.items() for rate in values]
    return pd.DataFrame(rows, columns=["n_devices", "ops_per_s"])


def drawn(alpha, beta, *, spread=0.03, ns=NS, seed=1, rate=1000.0):
    noise = np.random.default_rng(seed).standard_normal(len(ns))
    return pd.DataFrame({"n_devices": ns, "ops_per_s": rates(ns, rate, alpha, beta) * np.exp(spread * noise)})


def test_the_fit_that_the_usl_package_publishes():
    """github.com/smoeding/usl, README: estimates, standard errors, and the limit in limit.scalability's help."""
    result = scaling(runs({n: [rate] for n, rate in SDM91.items()}), errors="absolute")
    usl = result.fit("usl")
    assert round(usl.alpha.value, 7) == 0.0277285
    assert round(usl.beta.value, 7) == 0.0001044
    assert usl.rate.value == pytest.approx(89.9952330, abs=5e-7)
    data = reduced(np.array(list(SDM91), dtype=float), np.array([list(SDM91.values())]), "absolute")
    unit, is_free = covariance(data.points, "usl", usl.rate.value, usl.alpha.value, usl.beta.value)
    errors = usl.scatter * np.sqrt(np.diag(unit))
    assert is_free == [True, True, True]
    assert (round(errors[1], 7), round(errors[2], 7)) == (0.0091217, 0.0000199)
    assert errors[0] == pytest.approx(14.2134894, abs=5e-7)
    assert int(usl.rate.value / usl.alpha.value) == 3245
    assert usl.peak.value == pytest.approx(math.sqrt((1 - 0.0277285) / 0.0001044), rel=1e-3)
    assert usl.peak.low < 96.5 < usl.peak.high
    assert result.best == "amdahl"  # four parameters on seven runs: AICc wants more evidence than R² = 0.99
    assert usl.delta == pytest.approx(3.05, abs=0.01)
    assert [text for text in result.warnings if "β's interval excludes 0, yet AICc asks for more runs" in text]


def brute(ns, ys, errors):
    """Bounded least squares by another program."""

    def residuals(theta):
        shape = rates(ns, 1.0, theta[1], theta[2])
        return np.log(ys) - theta[0] - np.log(shape) if errors == "relative" else ys - theta[0] * shape

    first = np.log(ys[0] / ns[0]) if errors == "relative" else ys[0] / ns[0]
    starts = [(first, alpha, beta) for alpha in (0.01, 0.3, 0.9) for beta in (1e-5, 1e-3, 0.1)]
    bounds = ([-np.inf if errors == "relative" else 0, 0, 0], [np.inf, 1, np.inf])
    found = [
        scipy.optimize.least_squares(residuals, start, bounds=bounds, x_scale="jac", xtol=1e-14, ftol=1e-14, gtol=1e-14)
        for start in starts
    ]
    return min(float((result.fun**2).sum()) for result in found)


@settings(max_examples=25, deadline=None)
@given(st.floats(0, 0.9), st.sampled_from([0, 1e-4, 0.01, 0.3]), st.integers(0, 10**6), st.sampled_from([0.01, 0.3]))
def test_no_other_program_finds_less(alpha, beta, seed, spread):
    frame = drawn(alpha, beta, spread=spread, ns=np.array([1.0, 2, 3, 4, 6, 8, 12, 12]), seed=seed)
    ns, ys = frame["n_devices"].to_numpy(), frame["ops_per_s"].to_numpy()
    for errors in ("relative", "absolute"):
        ours = float(fit(reduced(ns, ys[None], errors), "usl", None).ss[0])
        assert ours <= brute(ns, ys, errors) * (1 + 1e-6)


@pytest.mark.parametrize(("alpha", "beta"), [(0.03, 0.0008), (0.0, 0.001), (0.2, 0.0), (0.0, 0.0), (1.0, 0.0)])
def test_runs_without_noise_give_the_parameters_back(alpha, beta):
    result = scaling(drawn(alpha, beta, spread=1e-9))
    usl = result.fit("usl")
    assert usl.alpha.value == pytest.approx(alpha, abs=1e-7)
    assert usl.beta.value == pytest.approx(beta, abs=1e-9)
    assert usl.rate.value == pytest.approx(1000, rel=1e-7)
    if beta:
        assert usl.peak.value == pytest.approx(math.sqrt((1 - alpha) / beta), rel=1e-5)
        assert usl.peak.has_interval


COVERAGE = [
    ("usl", 0.03, 0.0008, NS, 0.03),
    ("usl", 0.2, 0.005, np.repeat([1.0, 2, 4, 6, 8, 12], 2), 0.02),
    ("usl", 0.1, 0.0015, np.repeat([1.0, 2, 3, 4, 8, 16, 24, 32], 10), 0.10),
    ("amdahl", 0.05, 0.0, NS, 0.03),
    ("amdahl", 0.6, 0.0, np.repeat([1.0, 2, 3, 4], 10), 0.04),
    ("linear", 0.0, 0.0, NS, 0.05),
]


def draws(alpha, beta, ns, spread, seed=3):
    noise = np.random.default_rng(seed).standard_normal((N_DRAWS, len(ns)))
    return reduced(ns, rates(ns, 1000.0, alpha, beta) * np.exp(spread * noise), "relative")


@pytest.mark.parametrize(("model", "alpha", "beta", "ns", "spread"), COVERAGE)
def test_intervals_cover_the_truth(model, alpha, beta, ns, spread):
    found = fit(draws(alpha, beta, ns, spread), model)
    truth = {"rate": 1000.0, "alpha": alpha, "beta": beta, "inverse_square": beta / (1 - alpha)}
    for name, (low, high) in found.ends.items():
        covered = float(((low <= truth[name]) & (truth[name] <= high)).mean())
        assert 0.93 <= covered <= 0.97, (name, covered)
    assert float(np.median(found.level)) == pytest.approx(1000, rel=0.01)
    assert float(np.median(found.alpha)) == pytest.approx(alpha, rel=0.05)
    assert float(np.median(found.beta)) == pytest.approx(beta, rel=0.05)


def test_at_the_bound_intervals_cover_at_least_what_they_claim():
    """Where β is 0, only an interval that lies wholly above 0 misses: half as often."""
    found = fit(draws(0.05, 0.0, NS, 0.03), "usl")
    low, high = found.ends["beta"]
    assert ((low <= 0) & (high > 0)).mean() >= 0.965
    assert (found.beta == 0).mean() == pytest.approx(0.5, abs=0.04)
    low, high = found.ends["alpha"]
    assert ((low <= 0.05) & (high >= 0.05)).mean() >= 0.93


def test_the_ends_are_where_the_profile_says():
    """By brute force: the least sum of squares with α held at the end of its interval."""
    frame = drawn(0.05, 0.001, spread=0.05)
    ns, ys = frame["n_devices"].to_numpy(), frame["ops_per_s"].to_numpy()
    usl = scaling(frame).fit("usl")
    least = usl.scatter**2 * usl.df
    cutoff = least * (1 + scipy.stats.t.ppf(0.975, usl.df) ** 2 / usl.df)

    def held(alpha):
        def total(beta):
            offsets = np.log(ys) - np.log(rates(ns, 1.0, alpha, beta))
            return float(((offsets - offsets.mean()) ** 2).sum())

        return scipy.optimize.minimize_scalar(total, bounds=(0, 0.1), method="bounded", options={"xatol": 1e-12}).fun

    for end in (usl.alpha.low, usl.alpha.high):
        assert held(end) == pytest.approx(cutoff, rel=1e-6)


@pytest.mark.parametrize(("model", "alpha", "beta"), [("amdahl", 0.1, 0.0), ("usl", 0.03, 0.0008)])
def test_the_curves_band_covers_the_truth(model, alpha, beta):
    data = draws(alpha, beta, NS, 0.03)
    found = fit(data, model, None)
    at = np.array([1.0, 12, 48])
    t = scipy.stats.t.ppf(0.975, found.df)
    covered = np.zeros(3)
    for rate, a, b, ss in zip(found.level, found.alpha, found.beta, found.ss, strict=True):
        unit, is_free = covariance(data.points, model, rate, a, b)
        slopes = gradient(at, "relative", rate, a, b)[:, is_free]
        half = t * np.sqrt(np.einsum("kp,pq,kq->k", slopes, unit, slopes) * ss / found.df)
        covered += np.abs(np.log(rates(at, rate, a, b) / rates(at, 1000.0, alpha, beta))) <= half
    assert ((covered / N_DRAWS >= 0.93) & (covered / N_DRAWS <= 0.97)).all()


def test_the_band_in_the_frame_is_that_of_the_delta_method():
    result = scaling(drawn(0.05, 0.0))
    curve = result.curve([1, 20])
    amdahl = result.fit("amdahl")
    assert result.best == "amdahl"
    unit, is_free = covariance(result.data.points, "amdahl", amdahl.rate.value, amdahl.alpha.value, 0.0)
    slopes = gradient(np.array([1.0, 20]), "relative", amdahl.rate.value, amdahl.alpha.value, 0.0)[:, is_free]
    variance = np.einsum("kp,pq,kq->k", slopes, unit, slopes) * amdahl.scatter**2
    t = scipy.stats.t.ppf(0.975, amdahl.df)
    assert curve["confidence_high"].to_numpy() == pytest.approx(curve["fitted"] * np.exp(t * np.sqrt(variance)))
    further = np.sqrt(variance + amdahl.scatter**2)
    assert curve["prediction_low"].to_numpy() == pytest.approx(curve["fitted"] * np.exp(-t * further))
    with pytest.raises(AnalysisError, match="defined at n > 0"):
        result.curve([0])


def test_aicc_by_hand_and_its_choice():
    """Eight runs on a known curve: S, then n·ln(S/n) + 2k + 2k(k + 1)/(n − k − 1)."""
    frame = drawn(0.1, 0.0, ns=np.repeat([1.0, 2, 4, 8], 2))
    result = scaling(frame)
    offsets = np.log(frame["ops_per_s"] / frame["n_devices"])
    ss = float(((offsets - offsets.mean()) ** 2).sum())
    assert result.fit("linear").aicc == pytest.approx(8 * math.log(ss / 8) + 4 + 12 / 5)
    for name, k in (("amdahl", 3), ("usl", 4)):
        found = result.fit(name)
        assert found.aicc == pytest.approx(
            8 * math.log(found.scatter**2 * found.df / 8) + 2 * k + 2 * k * (k + 1) / (7 - k)
        )
    weights = [found.weight for found in result.fits]
    assert sum(weights) == pytest.approx(1)
    assert result.fit(result.best).weight == max(weights)
    assert min(found.delta for found in result.fits) == 0


@pytest.mark.parametrize(("alpha", "beta", "best"), [(0, 0, "linear"), (0.05, 0, "amdahl"), (0.03, 0.0008, "usl")])
def test_the_choice_is_mostly_the_truth(alpha, beta, best):
    data = draws(alpha, beta, NS, 0.03)
    values = {
        model: [_scaling_fit.aicc(float(ss), data.n, model) for ss in fit(data, model, None).ss]
        for model in ("linear", "amdahl", "usl")
    }
    chosen = np.array(list(values))[np.argmin(list(values.values()), axis=0)]
    assert (chosen == best).mean() >= 0.85


def test_three_points_of_an_article_are_refused_with_what_is_lacking():
    result = scaling(runs({1: [192e3], 2: [354e3], 4: [708e3]}))
    assert (result.best, result.fits) == (None, ())
    assert result.refused == {
        "linear": "needs ≥ 4 runs over ≥ 2 distinct numbers of devices: ≥ 1 more run",
        "amdahl": "needs ≥ 5 runs over ≥ 3 distinct numbers of devices: ≥ 2 more runs",
        "usl": "needs ≥ 6 runs over ≥ 4 distinct numbers of devices: ≥ 3 more runs and ≥ 1 more distinct number of "
        "devices",
    }
    assert result.linearity.outcome == "too few points"
    assert "n = 3 runs over 3 distinct numbers of devices; proportion needs" in result.sentence()
    frame = result.to_frame()
    assert list(frame["model"]) == ["linear", "amdahl", "usl"]
    assert frame["note"].str.startswith("refused: needs").all()
    assert frame["value"].isna().all()
    with pytest.raises(AnalysisError, match="the Universal Scalability Law: needs ≥ 6 runs"):
        result.fit("usl")
    with pytest.raises(AnalysisError, match="proportion: needs ≥ 4 runs"):
        result.curve([1, 2])


@pytest.mark.parametrize(
    ("points", "allowed"),
    [
        ({1: [1.0, 1.1, 1.2, 0.9, 1.0]}, []),
        ({1: [10, 11], 2: [20, 21]}, ["linear"]),
        ({1: [10, 11], 2: [20, 21], 4: [37, 36]}, ["linear", "amdahl"]),
        ({1: [10], 2: [20], 4: [37], 8: [60]}, ["linear"]),
        ({1: [10], 2: [20], 4: [37], 8: [60], 16: [70]}, ["linear", "amdahl"]),
        ({1: [10], 2: [20], 4: [37], 8: [60], 16: [70], 32: [75]}, ["linear", "amdahl", "usl"]),
    ],
)
def test_a_model_needs_runs_for_aicc_and_points_for_its_shape(points, allowed):
    result = scaling(runs(points))
    assert [found.model for found in result.fits] == allowed
    assert (result.best is None) == (len(allowed) < 2)
    assert result.sentence()


def test_no_peak_is_said_where_none_is_proved():
    result = scaling(drawn(0.05, 0.0, seed=1))
    usl = result.fit("usl")
    assert usl.beta.value == 0
    assert usl.at_bound == ("beta",)
    assert math.isinf(usl.peak.value)
    assert usl.peak.high is None
    assert [text for text in result.warnings if "no peak is seen, and one below" in text]
    assert result.to_frame().query("parameter == 'beta'")["note"].item() == "at its bound"
    assert result.to_frame().query("parameter == 'peak'")["note"].item() == "none proved"
    short = scaling(drawn(0.03, 0.0008, ns=np.repeat([1.0, 2, 4, 8], 3), seed=5))
    assert short.fit("usl").peak.high is None
    far = scaling(drawn(0.03, 0.0004, spread=0.005))
    assert [text for text in far.warnings if "lies beyond the largest measured, 32 devices" in text]


def test_a_curve_that_misses_the_means_and_unequal_scatter_are_said():
    odd = drawn(0.05, 0.0)
    odd.loc[odd["n_devices"] == 4, "ops_per_s"] *= 0.7
    assert [text for text in scaling(odd).warnings if "the means miss" in text]
    frame = drawn(0.05, 0.0, ns=np.repeat([1.0, 2, 4, 8], 8))
    wild = frame["n_devices"] == 8
    frame.loc[wild, "ops_per_s"] *= np.exp(0.3 * np.random.default_rng(2).standard_normal(wild.sum()))
    p = scipy.stats.bartlett(*[np.log(group["ops_per_s"]) for _, group in frame.groupby("n_devices")]).pvalue
    assert f"runs scatter unequally over the points (Bartlett's test, p = {p:.2g})" in " ".join(scaling(frame).warnings)


def test_growth_beyond_proportion_is_outside_the_models():
    result = scaling(runs({n: [100 * n**1.2 * f for f in (0.99, 1, 1.01)] for n in (1, 2, 4, 8)}))
    assert result.fit("usl").at_bound == ("alpha", "beta")
    assert [text for text in result.warnings if "proved above 1" in text]
    assert result.linearity.outcome == "not linear"


def test_equal_rates_are_full_contention():
    result = scaling(runs({n: [99, 100, 101] for n in (1, 2, 4, 8)}))
    assert result.best == "amdahl"
    amdahl = result.fit("amdahl")
    assert amdahl.alpha.value == pytest.approx(1, abs=0.01)
    assert amdahl.speedup_limit.value == pytest.approx(1, abs=0.01)


def test_a_single_run_is_refused():
    with pytest.raises(AnalysisError, match="1 points cannot give 2 parameters"):
        scaling(runs({1: [100.0]}))


def test_rates_that_fall_from_the_start_peak_at_nothing():
    result = scaling(
        runs({n: [rate * f for f in (0.98, 1, 1.02)] for n, rate in ((1, 100), (2, 60), (4, 40), (8, 20))})
    )
    usl = result.fit("usl")
    assert "alpha" in usl.at_bound
    assert (usl.peak.value, usl.peak.low) == (0, pytest.approx(0, abs=1e-3))
    assert usl.peak.high < 2


def test_exact_runs_have_no_aicc():
    result = scaling(runs({n: [100.0 * n] * 2 for n in (1, 2, 4, 8)}))
    assert result.best is None
    assert result.fit("linear").aicc is None
    assert result.warnings[0].startswith("a curve meets the runs exactly")
    assert "a curve meets the runs exactly" in result.sentence()


def test_words_and_numbers():
    result = scaling(drawn(0.03, 0.0008))
    assert result.best == "usl"
    assert "follows the Universal Scalability Law best (AICc weight" in result.sentence()
    assert "n = 18 runs over 6 distinct numbers of devices" in result.sentence()
    assert "peak at n* = " in result.sentence()
    assert "95 % intervals by profile likelihood, given the model." in result.sentence()
    numbers = result.numbers()
    assert numbers["usl"]["alpha"].low < 0.03 < numbers["usl"]["alpha"].high
    scatter = f"a run scatters by {result.fit('usl').scatter * 100:.2g} %"
    assert f"{scatter}, assumed the same share everywhere and independent" in result.sentence()
    assert ", assumed the same everywhere" in scaling(drawn(0.03, 0.0008), errors="absolute").sentence()


def test_units_change_nothing_but_the_rate():
    one, other = scaling(drawn(0.03, 0.0008)), scaling(drawn(0.03, 0.0008, rate=1e9))
    for name in ("alpha", "beta", "peak"):
        assert getattr(other.fit("usl"), name).value == pytest.approx(getattr(one.fit("usl"), name).value, rel=1e-6)
        assert getattr(other.fit("usl"), name).low == pytest.approx(getattr(one.fit("usl"), name).low, rel=1e-6)
    assert other.fit("usl").rate.high == pytest.approx(one.fit("usl").rate.high * 1e6, rel=1e-6)


def test_gaps_are_left_out_and_zero_is_refused():
    frame = drawn(0.03, 0.0008)
    gaps = pd.concat([frame, frame.iloc[:2].assign(ops_per_s=None)])
    assert scaling(gaps).n == 18
    zero = frame.assign(ops_per_s=frame["ops_per_s"].where(frame["n_devices"] < 32, 0.0))
    with pytest.raises(AnalysisError, match="must be > 0 where errors are relative: found 3 of 18 at 0"):
        scaling(zero)
    assert scaling(zero, errors="absolute").n == 18


def test_an_offered_load_is_said():
    frame = drawn(0.0, 0.0, spread=0.0001)
    result = scaling(frame.assign(asked=frame["ops_per_s"]), offered="asked")
    assert [text for text in result.warnings if "the curve describes the load" in text]
