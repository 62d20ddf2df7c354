"""Runs over a number of devices or a queue depth: how many there were, what was offered, what came of it."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from pipeline.analyse.act.rating import x_rating
from pipeline.analyse.select import KEYS, published_row, summable_operations
from pipeline.errors import AnalysisError


def device_sweep(
    tables: Mapping[str, pd.DataFrame], points: str, *, op: str | None = None, offered: str | None = None
) -> pd.DataFrame:
    """A row a run whose point matches the regular expression ``points``, in the order of devices and repeats.

    Columns: run_id, tool, point, repeat, is_complete, n_devices (distinct targets that the run measured), ops_per_s
    (of ``op`` alone, or all), offered_ops_per_s (the parameter ``offered``, null without),
    is_aborted (the tool gave up). AnalysisError when no run
    matches.
    """
    targets = tables["operations"].groupby(KEYS)["target"].nunique().rename("n_devices").reset_index()
    frame = _rates(tables, points, op, targets)
    settings = tables["parameters"]
    value = settings.loc[settings["name"] == offered, [*KEYS, "value"]]
    value = value.assign(offered_ops_per_s=pd.to_numeric(value.pop("value"), errors="coerce"))
    frame = frame.merge(value, on=KEYS, how="left")
    gave_up = pd.MultiIndex.from_frame(tables["warnings"].loc[tables["warnings"]["code"] == "aborted", KEYS])
    frame["is_aborted"] = pd.MultiIndex.from_frame(frame[KEYS]).isin(gave_up)
    return frame.sort_values(["n_devices", "repeat", "run_id"], ignore_index=True)


def depth_sweep(tables: Mapping[str, pd.DataFrame], points: str, *, op: str | None = None) -> pd.DataFrame:
    """A row a run whose point matches ``points``, in the order of the queue depth and repeats.

    Columns: run_id, tool, point, repeat, is_complete, queue_depth (configured, of all workers of the run together),
    ops_per_s (of ``op`` alone, or all). Runs without a configured depth are left out. AnalysisError when none is left.
    """
    rows = summable_operations(tables)
    workers = rows.groupby([*KEYS, "job", "target"], dropna=False)["queue_depth"].max()  # directions share a depth
    depths = workers.groupby(KEYS).sum(min_count=1).dropna().reset_index()
    frame = _rates(tables, points, op, depths)
    return frame.sort_values(["queue_depth", "repeat", "run_id"], ignore_index=True)


def _rates(tables: Mapping[str, pd.DataFrame], points: str, op: str | None, counts: pd.DataFrame) -> pd.DataFrame:
    """The runs whose point matches, with what ``counts`` says of them and their rates."""
    runs = tables["runs"]
    chosen = runs.loc[runs["point"].str.fullmatch(points).fillna(False).astype(bool)]
    chosen = chosen[[*KEYS, "point", "repeat", "is_complete"]]
    rates = summable_operations(tables)
    rates = rates if op is None else rates[rates["op"] == op]
    rates = rates.groupby(KEYS)["ops_per_s"].sum(min_count=1).reset_index()
    frame = chosen.merge(counts, on=KEYS).merge(rates, on=KEYS)
    if frame.empty:
        raise AnalysisError(
            f"expected runs whose point matches {points!r}, found {sorted(runs['point'].dropna())[:10]}"
        )
    return frame


def published_sweep(tables: Mapping[str, pd.DataFrame], exhibit: str, devices: str, rate: str) -> pd.DataFrame:
    """Rates over a number of devices as an exhibit prints them: n_devices, ops_per_s, a row a column of the exhibit.

    ``devices`` names the row with the number of devices: of the SSDs, where partitions count as devices of their own.
    """
    n_devices, ops = published_row(tables, exhibit, devices), published_row(tables, exhibit, rate)
    return pd.DataFrame({"column": ops["column"], "n_devices": n_devices["value"], "ops_per_s": ops["value"]})


def with_x_rating(sweep: pd.DataFrame) -> pd.DataFrame:
    """Add ``x_rating``, of one device: ops_per_s / (3,000 · n_devices)."""
    ratings = [x_rating(ops, n) for ops, n in zip(sweep["ops_per_s"], sweep["n_devices"], strict=True)]
    return sweep.assign(x_rating=ratings)
