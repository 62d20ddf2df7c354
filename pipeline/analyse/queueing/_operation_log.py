"""The operations of a run one by one, and the rate at which they were to start."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pipeline.errors import AnalysisError
from pipeline.units import byte_size, plain_number

Floats = NDArray[np.float64]


def rate_of(tables: Mapping[str, pd.DataFrame], run_id: str, op: str) -> float:
    """The intended rate in 1/s that the report states for one worker process; AnalysisError where it states none.

    fio: ``rate_iops``, one number or read,write,trim; else ``rate`` in bytes over ``bs``.
    """
    iops, rate, bs = (setting(tables, run_id, name) for name in ("rate_iops", "rate", "bs"))
    if iops:
        return plain_number(_of_direction(iops, op))
    if rate and bs:
        return byte_size(_of_direction(rate, op)) / byte_size(_of_direction(bs, op))
    raise AnalysisError(
        f"{run_id}: a response time needs the rate at which operations were to start, and the report states none: "
        "measure with rate_iops (fio) or -R (pgbench), or give rate_per_s"
    )


def log_of(tables: Mapping[str, pd.DataFrame], run_id: str, op: str | None) -> pd.DataFrame:
    """The run's operations one by one: tool, job, op, time_s, latency_s and, where logged, lag_s."""
    series = tables["latency_series"]
    mine = series[(series["run_id"] == run_id) & series["window_s"].isna()]
    mine = mine[mine["op"] == op] if op else mine
    total = mine[mine["phase"] == "total"]
    if total.empty:
        raise AnalysisError(
            f"{run_id}: a response time needs each operation's latency, found none: measure with fio's write_lat_log "
            "without log_avg_msec, or pgbench -l"
        )
    if total["latency_s"].isna().any() or total["time_s"].isna().any():
        raise AnalysisError(f"{run_id}: the log lacks latencies or stamps")
    lag = mine[mine["phase"] == "schedule_lag"]
    n_series = total.groupby(["tool", "target", "op"], dropna=False).ngroups
    if n_series > 1 or (lag.empty and total["job"].nunique(dropna=False) > 1):
        raise AnalysisError(f"{run_id}: several jobs or directions, each with a schedule of its own: choose one")
    total = total.reset_index(drop=True)
    if lag.empty:
        return total
    if len(lag) != len(total) or (lag["time_s"].to_numpy() != total["time_s"].to_numpy()).any():
        raise AnalysisError(f"{run_id}: expected a schedule lag for each of {len(total)} operations, found {len(lag)}")
    return total.assign(lag_s=lag["latency_s"].to_numpy(dtype=float))


def setting(tables: Mapping[str, pd.DataFrame], run_id: str, name: str) -> str | None:
    settings = tables["parameters"]
    values = settings.loc[(settings["run_id"] == run_id) & (settings["name"] == name), "value"].dropna().unique()
    if len(values) > 1:
        raise AnalysisError(f"{run_id}: expected one value of {name}, found {', '.join(map(str, values))}")
    return str(values[0]) if len(values) else None


def _of_direction(text: str, op: str) -> str:
    """Of ``read,write,trim`` the part of a direction; one number stands for all."""
    parts = re.split(r"[,/]", text)
    index = {"read": 0, "write": 1, "trim": 2}.get(op, 0)
    part = parts[min(index, len(parts) - 1)].strip() or parts[0].strip()
    return part or "0"


def rate_of_arrivals(arrivals: Floats) -> float:
    span = float(arrivals[-1] - arrivals[0])
    if len(arrivals) < 2 or span <= 0:
        raise AnalysisError(f"a rate needs two scheduled starts that differ, found {len(arrivals)}")
    return (len(arrivals) - 1) / span
