"""Runs over a number of devices: how many there were, what was offered, what came of it."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from pipeline.analyse.linearity import x_rating
from pipeline.analyse.select import KEYS, published_row, summable_operations
from pipeline.errors import AnalysisError

# ACT's unit of load on a device: 1x is 2,000 reads and 1,000 writes a second (Aerospike ACT documentation).
ACT_READS_PER_X = 2000


def device_sweep(
    tables: Mapping[str, pd.DataFrame], points: str, *, op: str | None = None, offered: str | None = None
) -> pd.DataFrame:
    """A row a run whose point matches the regular expression ``points``, in the order of devices and repeats.

    Columns: run_id, tool, point, repeat, is_complete, n_devices (distinct targets that the run measured), ops_per_s
    (of ``op`` alone, or all), offered_ops_per_s (the parameter ``offered``, null without),
    is_aborted (the tool gave up). AnalysisError when no run
    matches.
    """
    runs = tables["runs"]
    chosen = runs.loc[runs["point"].str.fullmatch(points).fillna(False).astype(bool)]
    chosen = chosen[[*KEYS, "point", "repeat", "is_complete"]]
    rates = summable_operations(tables)
    rates = rates if op is None else rates[rates["op"] == op]
    rates = rates.groupby(KEYS)["ops_per_s"].sum(min_count=1).reset_index()
    targets = tables["operations"].groupby(KEYS)["target"].nunique().rename("n_devices").reset_index()
    frame = chosen.merge(targets, on=KEYS).merge(rates, on=KEYS)
    if frame.empty:
        raise AnalysisError(
            f"expected runs whose point matches {points!r}, found {sorted(runs['point'].dropna())[:10]}"
        )
    settings = tables["parameters"]
    value = settings.loc[settings["name"] == offered, [*KEYS, "value"]]
    value = value.assign(offered_ops_per_s=pd.to_numeric(value.pop("value"), errors="coerce"))
    frame = frame.merge(value, on=KEYS, how="left")
    gave_up = pd.MultiIndex.from_frame(tables["warnings"].loc[tables["warnings"]["code"] == "aborted", KEYS])
    frame["is_aborted"] = pd.MultiIndex.from_frame(frame[KEYS]).isin(gave_up)
    return frame.sort_values(["n_devices", "repeat", "run_id"], ignore_index=True)


def highest_held(search: pd.DataFrame) -> pd.DataFrame:
    """Of ACT runs at rising rates, the highest that was held, a row a number of devices.

    ``search`` is of ``device_sweep`` with the offered reads; numbers of devices at which ACT never gave up are left
    out, for their limit is not known. Columns: n_devices, held_x (a device), given_up_x (the lowest at which ACT gave
    up), held_x_total, efficiency (the total over n times that of the first number of devices). AnalysisError when
    ACT never gave up.
    """
    x = search["offered_ops_per_s"] / search["n_devices"] / ACT_READS_PER_X
    search = search.assign(x=x, is_complete=search["is_complete"].astype(bool))
    rows = []
    for n_devices, group in search.groupby("n_devices"):
        failed = group.loc[group["is_aborted"], "x"]
        held = group.loc[group["is_complete"] & (group["x"] < failed.min()), "x"]
        if len(failed) and len(held):
            rows.append({"n_devices": n_devices, "held_x": held.max(), "given_up_x": failed.min()})
    if not rows:
        raise AnalysisError("expected runs in which ACT gave up beside runs that it held, found none")
    frame = pd.DataFrame(rows)
    frame["held_x_total"] = frame["held_x"] * frame["n_devices"]
    first = frame.iloc[0]
    frame["efficiency"] = frame["held_x_total"] / (first["held_x_total"] * frame["n_devices"] / first["n_devices"])
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
