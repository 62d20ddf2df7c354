"""Bands and diagnostics: the hat matrix by its definition, fits without a row, and coverage where truth is known."""

import math

import numpy as np
import pytest
import scipy.stats
from simulation import N_DRAWS

from pipeline.analyse.scaling.fit_checks import band, fit_checks
from pipeline.analyse.scaling.linest import linest
from pipeline.errors import AnalysisError

X3, Y3 = [1, 2, 4], [192000, 354000, 708000]
X = np.array([1.0, 2, 3, 5, 8, 13, 21])
Y = np.array([2.1, 3.8, 6.4, 9.7, 16.5, 25.2, 43.0])
W = np.array([1.0, 3, 2, 5, 1, 0.5, 4])


def test_band_of_three_points_by_hand():
    """h = 1/3 + (x − 7/3)²/(14/3); t(1) = 12.7062047, s = 8017.837257."""
    frame = band(linest(Y3, X3), [0, 4, 8])
    t, s = 12.706204736174707, math.sqrt(64285714.2857142857)
    for row, x in zip(frame.itertuples(), (0, 4, 8), strict=True):
        h = 1 / 3 + (x - 7 / 3) ** 2 / (14 / 3)
        assert row.fitted == pytest.approx(15000 + 1209000 / 7 * x)
        assert row.confidence_high - row.fitted == pytest.approx(t * s * math.sqrt(h))
        assert row.fitted - row.prediction_low == pytest.approx(t * s * math.sqrt(1 + h))


def test_band_at_zero_is_the_interval_of_the_intercept():
    fit = linest(Y, X)
    row = band(fit, [0]).iloc[0]
    assert (row["confidence_low"], row["confidence_high"]) == pytest.approx(fit.intercept_interval)


def test_band_of_a_weighted_line_with_several_predictors():
    design = np.column_stack([np.ones(7), X, np.sqrt(X)])
    fit = linest(Y, design[:, 1:], weights=W, confidence=0.9)
    inverse = np.linalg.inv(design.T @ (design * W[:, None]))
    at = np.array([1.0, 10, math.sqrt(10)])
    row = band(fit, [[10, math.sqrt(10)]], weight=4).iloc[0]
    h, t = float(at @ inverse @ at), scipy.stats.t.ppf(0.95, 4)
    assert row["confidence_high"] - row["fitted"] == pytest.approx(t * fit.s_y * math.sqrt(h))
    assert row["prediction_high"] - row["fitted"] == pytest.approx(t * fit.s_y * math.sqrt(h + 1 / 4))
    assert list(row.index[:2]) == ["x1", "x2"]


def test_a_collinear_predictor_changes_no_band():
    alone, twice = linest(Y, X), linest(Y, np.column_stack([X, 2 * X + 1]))
    assert band(twice, [[4, 9]])["prediction_low"][0] == pytest.approx(band(alone, [4])["prediction_low"][0])
    assert fit_checks(twice).rows["leverage"].sum() == pytest.approx(2)


def test_band_of_all_x_together_is_wider():
    fit = linest(Y, X)
    each, together = band(fit, X), band(fit, X, simultaneous=True)
    ratio = math.sqrt(2 * scipy.stats.f.ppf(0.95, 2, 5)) / scipy.stats.t.ppf(0.975, 5)
    reach = together["confidence_high"] - together["fitted"]
    assert reach.to_numpy() == pytest.approx((each["confidence_high"] - each["fitted"]).to_numpy() * ratio)
    assert (together["prediction_low"] == each["prediction_low"]).all()


def test_no_degree_of_freedom_has_no_band_and_no_residuals():
    fit = linest([3, 7], [1, 2])
    assert band(fit, [1, 5]).drop(columns=["x", "fitted"]).isna().all(axis=None)
    checks = fit_checks(fit)
    assert checks.rows[["standardised", "studentised", "cooks_distance"]].isna().all(axis=None)
    assert checks.outlier_p is None
    assert "cannot be judged: n = 2, 0 degrees of freedom, nothing" in checks.sentence()


def test_an_exact_fit_has_no_standardised_residuals():
    checks = fit_checks(linest(0.1 * X, X))
    assert checks.rows["standardised"].isna().all()
    assert checks.outlier_p is None


@pytest.mark.parametrize(
    ("x", "options", "message"),
    [([[1, 2]], {}, r"shape \(m, 1\)"), ([math.nan], {}, "finite x"), ([1], {"confidence": 95}, "found 95"),
     ([1], {"weight": 0}, "weight above 0")],
)  # fmt: skip
def test_bands_that_cannot_be(x, options, message):
    with pytest.raises(AnalysisError, match=message):
        band(linest(Y, X), x, **options)


@pytest.mark.parametrize("weights", [None, W])
@pytest.mark.parametrize("with_constant", [True, False])
def test_diagnostics_by_their_definitions(weights, with_constant):
    fit = linest(Y, X, weights=weights, with_constant=with_constant)
    rows = fit_checks(fit).to_frame()
    w = np.ones(7) if weights is None else weights
    design = np.column_stack([np.ones(7), X])[:, 0 if with_constant else 1 :]
    root = np.sqrt(w)[:, None] * design
    hat = root @ np.linalg.inv(root.T @ root) @ root.T
    assert rows["leverage"].to_numpy() == pytest.approx(np.diag(hat))
    p = design.shape[1]
    for i in range(7):
        others = np.delete(np.arange(7), i)
        less = linest(Y[others], X[others], weights=None if weights is None else W[others], with_constant=with_constant)
        residual = (Y[i] - fit.fitted[i]) * math.sqrt(w[i])
        left = 1 - hat[i, i]
        assert rows["standardised"][i] == pytest.approx(residual / fit.s_y / math.sqrt(left))
        assert rows["studentised"][i] == pytest.approx(residual / less.s_y / math.sqrt(left), rel=1e-9)
        moved = fit.fitted - (less.intercept + less.slope * X)
        assert rows["cooks_distance"][i] == pytest.approx(float((w * moved**2).sum()) / p / fit.s_y**2, rel=1e-9)


def test_an_outlier_is_named_and_counted_against_n():
    y = Y.copy()
    y[2] += 5
    checks = fit_checks(linest(y, X))
    worst = checks.rows["studentised"].abs()
    assert worst.idxmax() == 2
    assert checks.outlier_p == pytest.approx(7 * 2 * scipy.stats.t.sf(worst.max(), 4))
    assert checks.warnings[0].startswith("row 2 (from 0) is an outlier: studentised residual")
    assert fit_checks(linest(Y, X)).outlier_p > 0.05
    assert checks.numbers()["studentised_max"] == worst.max()
    assert "Bonferroni" in checks.sentence()


def test_a_row_that_alone_determines_the_slope():
    checks = fit_checks(linest([1, 2, 1.5, 9], [1, 1, 1, 5]))
    assert checks.rows["leverage"][3] == pytest.approx(1)
    assert math.isnan(checks.rows["studentised"][3])
    assert "rows 3 (from 0) determine a coefficient alone: leverage 1, no residual" in checks.warnings
    far = fit_checks(linest([1, 2, 1.5, 1.8, 9], [1, 1.2, 1.1, 1.3, 5]))
    assert [text for text in far.warnings if text.startswith("rows 4 (from 0) move the line by themselves")]


def test_bands_cover_a_mean_and_a_further_run():
    """2,000 draws of 1 + 2x with s = 0.5: the mean at x = 10 and one further observation there."""
    rng = np.random.default_rng(2)
    unit = linest(Y, X)  # only x enters the factor
    frame = band(unit, [10.0])
    h = ((frame["confidence_high"] - frame["fitted"])[0] / unit.s_y / scipy.stats.t.ppf(0.975, 5)) ** 2
    design = np.column_stack([np.ones(7), X])
    ys = 1 + 2 * X + 0.5 * rng.standard_normal((N_DRAWS, 7))
    values = ys @ np.linalg.pinv(design).T
    s = np.sqrt(((ys - values @ design.T) ** 2).sum(axis=1) / 5)
    t = scipy.stats.t.ppf(0.975, 5)
    at = values @ [1, 10]
    assert 0.93 <= (np.abs(at - 21) <= t * s * math.sqrt(h)).mean() <= 0.97
    further = 21 + 0.5 * rng.standard_normal(N_DRAWS)
    assert 0.93 <= (np.abs(at - further) <= t * s * math.sqrt(1 + h)).mean() <= 0.97
