"""Two numbers that must agree, their sources, and the verdict: what all checks of the reconciliation gate share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from pipeline.analyse.select import KEYS

GREEN, RED, UNKNOWN = "green", "red", "unknown"
PAIR = [*KEYS, "check", "subject", "left", "left_from", "right", "right_from", "unit", "distance_ratio", "rounding",
        "slack", "slack_from", "excuse", "void", "likely", "note", "left_tool", "right_tool"]  # fmt: skip
IDENTITY = [*KEYS, "job", "target", "op", "scope", "interval_start_s", "interval_end_s"]
# What a factor between two figures that should agree points to; those of bytes only between bytes.
_FACTORS = tuple((10.0**n, f"unit: the factor is 10^{n}, as of s, ms, µs and ns") for n in (3, 6, 9))
_BYTE_FACTORS = (
    (1.024, "unit: the factor is 1.024, as of kB and KiB"),
    (1.024**2, "unit: the factor is 1.024², as of MB and MiB"),
    (1.024**3, "unit: the factor is 1.024³, as of GB and GiB"),
    (8.0, "unit: the factor is 8, as of bits and bytes"),
)
_FACTOR_MATCHES = 1e-3  # relative


def pairs(frame: pd.DataFrame, check: str, **columns: Any) -> pd.DataFrame:
    """Rows of ``frame`` (with KEYS) as comparisons of one check; ``columns`` are the others of PAIR, rows or constants.

    Without ``subject`` the row's own op, job, target and interval are. Where neither side is there, the row is left
    out: there is nothing to hold against anything. ``distance_ratio`` replaces the relative difference where a side is
    a range; ``rounding`` is what printed digits may hide, in the unit, and ``slack`` what something else may, which
    ``slack_from`` names; ``excuse`` says why a difference is no red, ``void`` why even agreement says nothing,
    ``likely`` what would cause a red, ``note`` what a green row assumes, ``left_tool`` and ``right_tool`` whose report
    holds a side, where it is not the row's own tool.
    """
    if frame.empty:
        return pd.DataFrame(columns=PAIR)
    if "subject" not in columns:
        columns["subject"] = subject_of(frame)
    held = {**{name: frame[name] for name in KEYS}, **{name: columns.get(name) for name in PAIR[3:]}, "check": check}
    made = pd.DataFrame(held, index=frame.index, columns=PAIR)
    for name in ("left", "right", "distance_ratio", "rounding", "slack"):
        made[name] = pd.to_numeric(made[name], errors="coerce").astype("float64")
    return made[made["left"].notna() | made["right"].notna()]


def subject_of(frame: pd.DataFrame) -> pd.Series:
    """Op, phase, job, target and interval of a row as one text, as far as it has them."""
    parts = frame["op"].astype(object)
    for name, before in (("phase", ""), ("job", "job "), ("target", "")):
        if name in frame:
            parts = parts + (", " + before + frame[name].astype(object)).where(frame[name].notna(), "")
    if "scope" in frame:
        parts = parts + (" (" + frame["scope"].astype(object) + ")").where(frame["scope"] != "job", "")
    if "interval_start_s" in frame:
        start, end = frame["interval_start_s"], frame["interval_end_s"]
        interval = [f", {a:g} – {b:g} s" for a, b in zip(start, end, strict=True)]
        parts = parts + pd.Series(interval, frame.index, dtype=object).where(start.notna() | end.notna(), "")
    return parts


def judge(frame: pd.DataFrame, tolerance: float) -> pd.DataFrame:
    """Add ``status``, ``difference_ratio`` ((left − right) / right) and ``cause`` to comparisons.

    Green: within ``tolerance``, or within what the rounding of the printed digits and the slack hide. Unknown: one
    side is missing, the comparison is void, or the difference has an excuse. Red: everything else. Where right is 0
    and left is not, the difference is infinite.
    """
    left, right = frame["left"], frame["right"]
    with np.errstate(divide="ignore", invalid="ignore"):
        difference = ((left - right) / right.abs()).where(left != right, 0.0)
    difference = frame["distance_ratio"].where(frame["distance_ratio"].notna(), difference)
    is_missing = left.isna() | right.isna()
    is_close = difference.abs() <= tolerance * (1 + 1e-9)
    gap = np.where(frame["distance_ratio"].notna(), frame["distance_ratio"].abs() * right.abs(), (left - right).abs())
    slack, half = frame["slack"].fillna(0), frame["rounding"].fillna(0)
    is_rounded = ~is_close & pd.Series(gap, frame.index).le((half + slack) * (1 + 1e-9))
    has_excuse = frame["excuse"].notna()
    status = pd.Series(RED, frame.index, dtype=object)
    status = (
        status.mask(has_excuse, UNKNOWN)
        .mask(is_close | is_rounded, GREEN)
        .mask(is_missing | frame["void"].notna(), UNKNOWN)
    )
    cause = pd.Series(
        [_factor(*row) for row in zip(left, right, frame["unit"], strict=True)], frame.index, dtype=object
    )
    cause = cause.where(cause.notna() & frame["distance_ratio"].isna(), frame["likely"])
    cause = cause.mask(has_excuse, frame["excuse"]).mask(is_close, frame["note"])
    cause = cause.mask(is_rounded, _allowances(frame[is_rounded]))
    missing = ("missing: no " + frame["left_from"].astype(object)).where(
        left.isna(), "missing: no " + frame["right_from"]
    )
    cause = cause.mask(is_missing, frame["excuse"].where(has_excuse, missing)).mask(
        frame["void"].notna(), frame["void"]
    )
    return frame.assign(status=status, difference_ratio=difference.where(~is_missing), cause=cause.fillna(""))


def _allowances(frame: pd.DataFrame) -> pd.Series:
    """What explains a difference beyond the tolerance: the rounding, and the slack where the rounding is not enough."""
    texts = []
    for row in frame[["left", "right", "rounding", "slack", "slack_from"]].to_dict("records"):
        is_slack = row["slack"] > 0 and abs(row["left"] - row["right"]) > np.nan_to_num(row["rounding"])
        text = f"{row['slack_from']} leave ±{row['slack']:.3g}"
        texts.append(text if is_slack else f"rounding: the printed digits leave ±{row['rounding']:.3g}")
    return pd.Series(texts, frame.index, dtype=object)


def _factor(left: float, right: float, unit: str) -> str | None:
    """What the factor between two figures points to, if it is one that units are made of."""
    if not (left > 0 and right > 0):
        return None
    ratio = max(left, right) / min(left, right)
    factors = (*_FACTORS, *_BYTE_FACTORS) if unit.startswith("B") else _FACTORS
    return next((text for factor, text in factors if abs(ratio / factor - 1) < _FACTOR_MATCHES), None)


def joined(parts: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """One frame of comparisons of all parts that have any."""
    found = [part for part in parts if len(part)]
    return pd.concat(found, ignore_index=True) if found else pd.DataFrame(columns=PAIR)


def numbers(frame: pd.DataFrame, *names: str) -> list[pd.Series]:
    """Columns as plain floats, missing as NaN: nullable integers and floats then mix."""
    return [frame[name].astype("float64") for name in names]
