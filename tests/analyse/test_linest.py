"""LINEST against NIST's certified values in matching digits, against exact cases, and against other implementations."""

from __future__ import annotations

import io
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.stats
import yaml
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pipeline.analyse.scaling import _least_squares
from pipeline.analyse.scaling.linest import Linest, linest
from pipeline.errors import AnalysisError

NIST = Path(__file__).parent / "nist"
EXTENDED = np.finfo(np.longdouble).eps < 2e-19
# Digits that must match in the coefficients, in their standard errors, and in s_y, R², both sums and F: below what is
# reached by one and more, for that moves with the processor and the build of LAPACK. NIST certifies 15. Filip's powers
# of x are rounded before any fit, which alone leaves 7 to 8.
DIGITS = {
    "norris": (13, 13, 13),
    "pontius": (12.5, 13, 12.5),
    "noint1": (14, 14, 14),
    "noint2": (14, 14, 14),
    "longley": (13.5, 11.5, 14),
    "wampler1": (13, 15, 14),
    "wampler2": (12.5, 15, 14),
    "wampler3": (12.5, 12.5, 14),
    "wampler4": (10, 12.5, 14),
    "wampler5": (8.5, 12.5, 14),
    "filip": (7, 7, 8),
}
DIGITS_WITHOUT_EXTENDED_PRECISION = {
    "norris": (12, 12.5, 12),
    "pontius": (12, 12, 12),
    "noint1": (14, 14, 14),
    "noint2": (14, 14, 14),
    "longley": (9, 10.5, 10.5),
    "wampler1": (9, 9, 9),
    "wampler2": (12, 14, 14),
    "wampler3": (9, 11.5, 12),
    "wampler4": (7, 11.5, 12),
    "wampler5": (5, 11.5, 11),
    "filip": (7, 7, 7),
}


def load(name: str) -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load((NIST / f"{name}.yaml").read_text())
    return content


def fitted(name: str) -> Linest:
    content = load(name)
    table = np.loadtxt(io.StringIO(content["data"]), ndmin=2)
    x = np.hstack([table[:, 1:] ** power for power in range(1, content["degree"] + 1)])
    return linest(table[:, 0], x, with_constant=content["with_constant"])


def matching_digits(found: float | None, certified: float) -> float:
    """The log relative error (McCullough 1998), absolute where the certified value is 0; at most 15."""
    assert found is not None
    if found == certified:
        return 15.0
    return min(15.0, -math.log10(abs(found - certified) / (abs(certified) or 1.0)))


def digits_reached(name: str) -> tuple[float, float, float]:
    fit, certified = fitted(name), load(name)["certified"]
    values, errors = list(fit.coefficients), list(fit.standard_errors)
    if fit.with_constant:
        values, errors = [fit.intercept, *values], [fit.intercept_standard_error, *errors]
    rest = [
        (fit.s_y, certified["residual_standard_deviation"]),
        (fit.r_squared, certified["r_squared"]),
        (fit.ss_reg, certified["ss_regression"]),
        (fit.ss_resid, certified["ss_residual"]),
        (fit.f_statistic, certified["f_statistic"]),
    ]
    return (
        min(matching_digits(*pair) for pair in zip(values, certified["estimates"], strict=True)),
        min(matching_digits(*pair) for pair in zip(errors, certified["standard_deviations"], strict=True)),
        min(matching_digits(*pair) for pair in rest),
    )


def test_every_data_set_has_a_threshold() -> None:
    assert sorted(DIGITS) == sorted(DIGITS_WITHOUT_EXTENDED_PRECISION) == sorted(path.stem for path in NIST.iterdir())


@pytest.mark.skipif(not EXTENDED, reason="long double is double on this platform")
@pytest.mark.parametrize("name", DIGITS)
def test_nist_certified_values(name: str) -> None:
    reached = digits_reached(name)
    assert all(found >= wanted for found, wanted in zip(reached, DIGITS[name], strict=True)), reached


@pytest.mark.parametrize("name", DIGITS_WITHOUT_EXTENDED_PRECISION)
def test_nist_certified_values_where_long_double_is_double(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_least_squares, "WIDE", np.float64)
    reached = digits_reached(name)
    wanted = DIGITS_WITHOUT_EXTENDED_PRECISION[name]
    assert all(found >= least for found, least in zip(reached, wanted, strict=True)), reached


@pytest.mark.skipif(not EXTENDED, reason="long double is double on this platform")
def test_powers_in_long_double_give_filip_ten_digits() -> None:
    content = load("filip")
    table = np.array([[np.longdouble(text) for text in line.split()] for line in content["data"].splitlines()])
    fit = linest(table[:, 0], np.hstack([table[:, 1:] ** power for power in range(1, 11)]))
    assert not [text for text in fit.warnings if "set to 0" in text]
    found = zip([fit.intercept, *fit.coefficients], content["certified"]["estimates"], strict=True)
    assert min(matching_digits(*pair) for pair in found) >= 9.5
    assert matching_digits(fit.s_y, content["certified"]["residual_standard_deviation"]) >= 10


@pytest.mark.parametrize(("name", "limit"), [("wampler1", 1e-7), ("wampler2", 1e-13)])
def test_exact_fits_by_absolute_residuals(name: str, limit: float) -> None:
    """y to 2·10⁶ and to 11: what is left of each is below 10⁻¹³ of the largest."""
    content = load(name)
    table = np.loadtxt(io.StringIO(content["data"]), ndmin=2)
    fit = fitted(name)
    powers = np.column_stack([table[:, 1] ** power for power in range(1, content["degree"] + 1)])
    left = table[:, 0] - fit.intercept - powers @ np.array(fit.coefficients)
    assert np.abs(left).max() <= limit
    assert (fit.ss_resid, fit.s_y, fit.f_statistic, fit.r_squared) == (0, 0, math.inf, 1)


@pytest.mark.parametrize("name", DIGITS)
def test_the_certified_values_belong_to_the_data(name: str) -> None:
    """Normal equations in rational numbers, without any rounding: a wrong digit in a data file cannot hide."""
    content = load(name)
    rows = [[Fraction(text) for text in line.split()] for line in content["data"].splitlines()]
    y = [row[0] for row in rows]
    design = [
        [Fraction(1)] * content["with_constant"]
        + [value**power for power in range(1, content["degree"] + 1) for value in row[1:]]
        for row in rows
    ]
    columns = range(len(design[0]))
    system = [
        [sum(row[i] * row[j] for row in design) for j in columns]
        + [sum(row[i] * value for row, value in zip(design, y, strict=True))]
        for i in columns
    ]
    for i in columns:
        system[i] = [value / system[i][i] for value in system[i]]
        for j in set(columns) - {i}:
            system[j] = [a - system[j][i] * b for a, b in zip(system[j], system[i], strict=True)]
    exact = [row[-1] for row in system]
    ss_resid = sum(
        (value - sum(a * b for a, b in zip(row, exact, strict=True))) ** 2 for row, value in zip(design, y, strict=True)
    )
    certified = content["certified"]
    assert [float(value) for value in exact] == pytest.approx(certified["estimates"], rel=1e-14)
    assert float(ss_resid) == pytest.approx(certified["ss_residual"], rel=1e-14)
    assert len(y) - len(exact) == certified["df_residual"] == fitted(name).df
    assert certified["df_regression"] == fitted(name).df_regression


X3, Y3 = [1, 2, 4], [192000, 354000, 708000]


def test_three_points_with_a_constant() -> None:
    fit = linest(Y3, X3)
    assert fit.slope == pytest.approx(172714.2857142857, rel=1e-14)
    assert fit.intercept == pytest.approx(15000, rel=1e-13)
    assert fit.r_squared == fit.r_squared_centred == pytest.approx(0.9995384160901997, rel=1e-14)
    assert fit.slope_standard_error == pytest.approx(3711.537444790452, rel=1e-12)
    assert fit.slope_interval == pytest.approx((125554.731055, 219873.840374), abs=1e-5)  # t(1) = 12.70620473617471
    assert fit.residuals == pytest.approx([4285.714285714286, -6428.571428571428, 2142.857142857143], rel=1e-11)
    assert (fit.n, fit.df, fit.df_regression, fit.r_squared_kind) == (3, 1, 1, "centred")
    assert len(fit.warnings) == 1
    assert fit.warnings[0].startswith("n = 3: one degree of freedom; a 95 % interval reaches 12.7 standard errors")
    assert fit.sentence() == (
        "Line with a constant: slope 172714 (125555 … 219874), intercept 15000 (-109772 … 139772), "
        "R² 0.99954 (centred), residual standard deviation 8017.84, F 2165.45 on 1 and 1 (p = 0.014); "
        "n = 3, 1 degree of freedom, 95 % intervals."
    )


def test_three_points_through_the_origin() -> None:
    fit = linest(Y3, X3, with_constant=False)
    assert fit.slope == pytest.approx(3732000 / 21, rel=1e-14)  # Σxy / Σx²
    assert fit.intercept == 0.0
    assert fit.intercept_standard_error is fit.intercept_interval is fit.intercept_p_value is None
    assert (fit.df, fit.r_squared_kind) == (2, "uncentred")
    assert fit.r_squared == pytest.approx(3732000**2 / 21 / 663444e6, rel=1e-14)  # (Σxy)²/Σx² over Σy²
    assert fit.r_squared_centred == pytest.approx(1 - 1500 / 7 / 139272, rel=1e-13)  # 1 − rss/Σ(y − ȳ)²
    assert "R² 0.99968 (uncentred; centred 0.99846)" in fit.sentence()


def test_the_frame_has_a_row_a_coefficient() -> None:
    frame = linest(Y3, X3).to_frame()
    assert list(frame) == ["name", "value", "standard_error", "interval_low", "interval_high", "t", "p"]
    assert list(frame["name"]) == ["intercept", "x"]
    assert frame["t"][1] == pytest.approx(172714.2857142857 / 3711.537444790452)
    assert frame["p"][1] == pytest.approx(2 * scipy.stats.t.sf(frame["t"][1], 1))
    assert list(linest(Y3, X3, with_constant=False).to_frame()["name"]) == ["x"]


def test_two_points_give_a_line_but_no_judgement() -> None:
    fit = linest([3, 7], [1, 2])
    assert (fit.slope, fit.intercept, fit.df) == (pytest.approx(4), pytest.approx(-1), 0)
    nothing = (fit.s_y, fit.f_statistic, fit.f_p_value, fit.slope_standard_error, fit.slope_interval, *fit.p_values)
    assert nothing == (None,) * 6
    assert fit.intercept_standard_error is fit.intercept_interval is None
    assert (fit.ss_resid, fit.r_squared) == (0, 1)
    assert "no standard errors, intervals or F; need ≥ 5 points" in fit.warnings[0]
    assert fit.to_frame().drop(columns=["name", "value"]).isna().all(axis=None)
    assert "no intervals" in fit.sentence()


def test_one_point_through_the_origin() -> None:
    fit = linest([6], [2], with_constant=False)
    assert (fit.slope, fit.df, fit.s_y) == (3, 0, None)


@pytest.mark.parametrize("with_constant", [True, False])
def test_an_exact_fit_is_said_to_be_one(with_constant: bool) -> None:
    x = np.arange(1, 7)
    fit = linest(0.1 * x, x, with_constant=with_constant)
    assert fit.slope == pytest.approx(0.1, rel=1e-15)
    assert (fit.ss_resid, fit.s_y, fit.slope_standard_error, fit.r_squared) == (0, 0, 0, 1)
    assert (fit.f_statistic, fit.f_p_value, fit.p_values) == (math.inf, 0, (0,))
    assert (fit.residuals == 0).all()
    assert [warning for warning in fit.warnings if "exact fit" in warning]
    assert fit.intercept == 0.0


def test_a_constant_y_has_no_r_squared() -> None:
    fit = linest([3.3] * 5, [1, 2, 3, 4, 5])
    assert (fit.slope, fit.intercept, fit.r_squared, fit.r_squared_centred, fit.f_statistic) == (
        0,
        3.3,
        None,
        None,
        None,
    )
    assert "y does not vary: R² and F are not defined" in fit.warnings
    assert "R²" not in fit.sentence()


@pytest.mark.parametrize(
    ("x", "zeros", "df"),
    [
        ([[1, 3], [2, 5], [4, 9], [5, 11], [7, 15], [8, 17]], [1], 4),  # x2 = 2·x1 + 1
        ([[0, 1], [0, 2], [0, 4], [0, 5], [0, 7], [0, 8]], [0], 4),  # nothing in x1
        ([[2, 1], [2, 2], [2, 4], [2, 5], [2, 7], [2, 8]], [0], 4),  # x1 is the constant
        ([[1, 1e9, 3], [2, 2e9, 5], [4, 4e9, 9], [5, 5e9, 10], [7, 7e9, 15], [8, 8e9, 17]], [1], 3),  # units differ
    ],
)
def test_collinear_predictors_as_a_spreadsheet_reports_them(x: list[list[float]], zeros: list[int], df: int) -> None:
    y = [3.1, 4.9, 9.2, 10.8, 15.1, 17.2]
    fit = linest(y, x)
    kept = linest(y, np.delete(np.array(x, dtype=float), zeros, axis=1))
    assert fit.df == kept.df == df
    for zero in zeros:
        assert (fit.coefficients[zero], fit.standard_errors[zero]) == (0, 0)
        assert fit.intervals[zero] is fit.p_values[zero] is None
        assert [warning for warning in fit.warnings if warning.startswith(f"collinear predictor {zero + 1} set to 0")]
    others = [value for number, value in enumerate(fit.coefficients) if number not in zeros]
    assert others == pytest.approx(kept.coefficients, rel=1e-12)
    assert (fit.s_y, fit.f_statistic, fit.r_squared) == pytest.approx((kept.s_y, kept.f_statistic, kept.r_squared))


def test_all_x_equal_is_the_mean() -> None:
    fit = linest([1, 2, 6], [4, 4, 4])
    assert (fit.slope, fit.intercept, fit.df, fit.f_statistic, fit.r_squared) == (0, pytest.approx(3), 2, None, 0)


def test_several_predictors_have_no_single_slope() -> None:
    fit = linest([1, 2, 4, 3], [[1, 1], [2, 3], [3, 1], [4, 8]])
    assert fit.names == ("x1", "x2")
    for name in ("slope", "slope_standard_error", "slope_interval"):
        with pytest.raises(AnalysisError, match="use coefficients"):
            getattr(fit, name)
    assert "coefficient of x2" in fit.sentence()


@pytest.mark.parametrize(
    ("y", "x", "options", "message"),
    [
        ([1], [1], {}, "1 points cannot give 2 parameters: need ≥ 2, and ≥ 5"),
        ([], [], {"with_constant": False}, "0 points cannot give 1 parameters"),
        ([], [], {}, "need ≥ 2"),
        ([1, 2, 3], [[1, 2, 3], [2, 3, 5], [3, 4, 1]], {}, "3 points cannot give 4 parameters"),
        ([1, math.nan, 3], [1, 2, 3], {}, r"row 1 \(from 0\) holds NaN or infinity: drop"),
        ([1, 2, 3], [math.inf, 2, math.nan], {}, "row 0 and 1 more"),
        ([1, 2], [1, 2, 3], {}, "x has 3 rows and y 2"),
        ([[1], [2]], [1, 2], {}, r"found \(2, 1\) and \(2,\): pass y as one column"),
        ([1, 2], np.zeros((2, 0)), {}, "must have the shape"),
        ([1, 2], np.zeros((2, 1, 1)), {}, "must have the shape"),
        (5, 6, {}, "must have the shape"),
        (["a", "b"], [1, 2], {}, "must be numbers"),
        ([1, pd.NA], [1, 2], {}, "drop or fill the missing rows"),
        ([1, 2], [[1], [2, 3]], {}, "must be numbers"),
        (Y3, X3, {"confidence": 95}, "between 0 and 1, such as 0.95, found 95"),
        (Y3, X3, {"confidence": math.nan}, "between 0 and 1"),
        ([1e300, 3e300, 2e300], X3, {}, "another unit"),
        ([1e-300, 3e-300, 2e-300], X3, {}, "another unit"),
        ([1e150, 3e150, 2e150], [1e-200, 2e-200, 4e-200], {}, "in other units"),
    ],
)
def test_what_cannot_be_fitted_says_what_to_do(y: Any, x: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(AnalysisError, match=message):
        linest(y, x, **options)


def test_results_cannot_be_changed() -> None:
    fit = linest(Y3, X3)
    with pytest.raises(ValueError, match="read-only"):
        fit.residuals[0] = 1
    with pytest.raises(AttributeError):
        fit.df = 7  # type: ignore[misc]


def test_a_large_common_offset_costs_no_digits() -> None:
    x = np.array([0, 1, 2, 3, 5, 8])
    y = np.array([1.0, 3.5, 4.5, 7.5, 11.0, 16.5])
    near, far = linest(y, x), linest(y, x + 1_700_000_000)
    assert far.slope == pytest.approx(near.slope, rel=1e-9)
    assert far.slope_standard_error == pytest.approx(near.slope_standard_error, rel=1e-6)
    assert [warning for warning in far.warnings if "subtract the means" in warning]


coordinates = st.floats(-1e3, 1e3).map(lambda value: round(value, 3))
points = st.lists(st.tuples(coordinates, coordinates), min_size=4, max_size=20)


def columns(pairs: list[tuple[float, float]]) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    table = np.array(pairs)
    assume(np.ptp(table[:, 0]) > 1 and np.ptp(table[:, 1]) > 1)
    return table[:, 0], table[:, 1]


@settings(max_examples=100, deadline=None)
@given(points)
def test_agrees_with_scipy_and_numpy(pairs: list[tuple[float, float]]) -> None:
    x, y = columns(pairs)
    fit, other = linest(y, x), scipy.stats.linregress(x, y)
    size = float(np.abs(y).max())
    assert fit.slope == pytest.approx(other.slope, rel=1e-9, abs=1e-9 * size)
    assert fit.intercept == pytest.approx(other.intercept, rel=1e-9, abs=1e-9 * size)
    assert fit.slope_standard_error == pytest.approx(other.stderr, rel=1e-6, abs=1e-6 * size / np.ptp(x))
    assert fit.intercept_standard_error == pytest.approx(other.intercept_stderr, rel=1e-6, abs=1e-6 * size)
    assert fit.r_squared == pytest.approx(other.rvalue**2, abs=1e-9)
    through_origin = linest(y, x, with_constant=False)
    assert through_origin.slope == pytest.approx(np.linalg.lstsq(x[:, None], y)[0][0], rel=1e-9, abs=1e-12 * size)


@settings(max_examples=100, deadline=None)
@given(points, st.sampled_from([True, False]))
def test_residuals_are_orthogonal_to_the_predictors(pairs: list[tuple[float, float]], with_constant: bool) -> None:
    x, y = columns(pairs)
    fit = linest(y, np.column_stack([x, x**2]), with_constant=with_constant)
    scale = np.abs(y).max() * len(y)
    for column, is_used in [(np.ones_like(x), with_constant), (x, True), (x**2, True)]:
        assert not is_used or abs(column @ fit.residuals) <= 1e-9 * scale * np.abs(column).max()
    assert fit.fitted + fit.residuals == pytest.approx(y, rel=1e-12, abs=1e-12 * scale)
    assert fit.r_squared is not None
    assert 0 <= fit.r_squared <= 1


@settings(max_examples=100, deadline=None)
@given(points, st.integers(-(10**4), 10**4), st.integers(-8, 8))
def test_shifts_and_units_change_nothing_else(pairs: list[tuple[float, float]], shift: int, power: int) -> None:
    x, y = columns(pairs)
    unit = 10.0**power
    fit, moved = linest(y, x), linest((y + shift) * unit, (x + shift) / unit)
    size = float(np.abs(y).max() + abs(shift))
    near = 1e-9 * size / np.ptp(x)
    assert moved.slope / unit**2 == pytest.approx(fit.slope, rel=1e-9, abs=near)
    assert moved.df == fit.df
    assert moved.r_squared == pytest.approx(fit.r_squared, abs=1e-9)
    assert fit.slope_standard_error is not None
    assert moved.slope_standard_error is not None
    assert moved.slope_standard_error / unit**2 == pytest.approx(fit.slope_standard_error, rel=1e-6, abs=near)
