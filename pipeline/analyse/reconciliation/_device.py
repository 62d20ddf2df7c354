"""Reconciliation of a tool's operations with the requests that the device counted."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd

from pipeline.analyse.reconciliation._pairs import pairs
from pipeline.analyse.reconciliation._rates import labelled
from pipeline.analyse.select import KEYS, summable_operations

_SYNCS = ("fsync", "fdatasync", "sync")
_COUNTERS = {"disk_reads": "read", "disk_read_merges": "read", "disk_writes": "write", "disk_write_merges": "write"}
_DEVICE = "other requests: the device served others too, requests were split, or a cache answered some"
_BUFFERED = "buffered: the page cache stands between the tool and the device"
_SHARED = "shared device: the target is a file, and the device also served others than the tool"
_RAMP = "ramp: the device's counters run through it, and the rate then need not be that of the run"
_FLUSHES = "flushes: the kernel counts them as writes, and fio does not tell how many"
UPDATE_S = 0.25  # how often fio reads the counters (DISK_UTIL_MSEC); it leaves out the last reading
_STACKED = "stacked: more devices than targets, whose requests overlap"


def device_checks(tables: Mapping[str, pd.DataFrame]) -> Iterable[pd.DataFrame]:
    """Requests that a device completed against the operations of the tool, reads and writes apart.

    Two witnesses: the counters of the kernel's diskstats that fio prints (they run through the ramp, which is taken to
    have had the same rate), and iostat beside the run (Σ rate × window; a flush is counted among its writes and is
    taken off). Only direct I/O is comparable. More requests than operations say nothing where the target is a file on
    a device that others use too, and iostat's samples begin and end up to a window off the run: unknown.
    """
    chosen = summable_operations(tables)
    chosen = chosen[chosen["op"].isin(["read", "write"]) & chosen["n_ops"].notna()]
    if chosen.empty:
        return
    by_run = chosen.groupby([*KEYS, "op"], sort=False)
    tool = by_run.agg(
        n_ops=("n_ops", "sum"), duration_s=("duration_s", "max"),
        n_targets=("target", "nunique"), is_raw=("target", _raw),
    ).reset_index()  # fmt: skip
    tool["n_ops"], tool["n_targets"] = tool["n_ops"].astype("float64"), tool["n_targets"].clip(lower=1)
    settings = _settings(tables["parameters"])
    for name in ("direct", "ramp_time", *_SYNCS):
        values = [settings.get((*key, name), "") for key in tool[KEYS].itertuples(index=False)]
        tool[name] = pd.Series(values, tool.index, dtype=object)
    tool = tool[(tool["direct"] != "") | (tool["tool"] == "fio")]
    yield from _own_counters(tables, tool)
    yield from _iostat(tables, tool)


def _own_counters(tables: Mapping[str, pd.DataFrame], tool: pd.DataFrame) -> Iterable[pd.DataFrame]:
    """Requests and merges of fio's ``Disk stats``."""
    metrics = tables["metric_series"]
    found = metrics[metrics["metric"].isin(_COUNTERS) & metrics["time_s"].isna() & metrics["labels"].notna()]
    if found.empty:
        return
    devices = found["labels"].map({text: json.loads(text).get("device") for text in found["labels"].unique()})
    by_op = found.assign(op=found["metric"].map(_COUNTERS), device=devices).groupby([*KEYS, "op"], sort=False)
    sums = by_op.agg(n_device=("value", "sum"), n_devices=("device", "nunique")).reset_index()
    merged = tool.merge(sums, on=[*KEYS, "op"], how="inner")
    ramp_s = pd.to_numeric(merged["ramp_time"].str.removesuffix("s"), errors="coerce").fillna(0.0)
    expected = merged["n_ops"] * (merged["duration_s"] + ramp_s) / merged["duration_s"]
    edges = UPDATE_S * _highest(tables, merged)
    late = [f"edges: fio last reads the counters up to 0.25 s before the end, which may be {edge:,.0f} requests"
            for edge in edges]  # fmt: skip
    syncs = merged[list(_SYNCS)].isin(["", "0", "none"])
    excuse = _first_excuse(
        merged,
        (_is_buffered(merged), _BUFFERED), (ramp_s > 0, _RAMP), (merged["n_devices"] > merged["n_targets"], _STACKED),
        (~syncs.all(axis=1) & (merged["op"] == "write"), _FLUSHES),
        ((merged["n_device"] > expected) & ~merged["is_raw"], _SHARED),
        (merged["n_device"].between(expected - edges, expected), late),
    )  # fmt: skip
    note = pd.Series("the ramp is taken to have had the run's rate", merged.index, dtype=object).where(ramp_s > 0, None)
    yield pairs(
        merged, "device", subject=merged["op"] + ", fio's disk counters", left=merged["n_device"],
        left_from="metric_series.disk_… requests + merges", right=expected, unit="1",
        right_from="operations.n_ops × (duration_s + ramp) / duration_s", excuse=excuse, likely=_DEVICE, note=note,
    )  # fmt: skip


def _highest(tables: Mapping[str, pd.DataFrame], tool: pd.DataFrame) -> pd.Series:
    """The highest rate that a window of fio's samples had, over all jobs; the mean rate where there are no samples."""
    samples = labelled(tables["metric_series"])
    largest = samples[samples["metric"] == "ops_per_s_max"].groupby([*KEYS, "op"], sort=False)["value"].sum()
    merged = tool.merge(largest.rename("highest").reset_index(), on=[*KEYS, "op"], how="left").set_axis(tool.index)
    return np.fmax(merged["highest"].astype("float64"), tool["n_ops"] / tool["duration_s"])


def _iostat(tables: Mapping[str, pd.DataFrame], tool: pd.DataFrame) -> Iterable[pd.DataFrame]:
    """Requests a second by iostat (or sar) in the same run, of the device that served most.

    A monitor that ran for longer than the tool is taken to have seen nothing before and after it; one that stopped
    earlier gives the mean rate of its own time.
    """
    series = tables["device_series"]
    series = series[series["window_s"].notna() & series["tool"].str.contains("iostat|sar|sadf")]
    if series.empty:
        return
    flushes = series["flushes_per_s"].astype("float64").fillna(0)
    totals = []
    for op, rate in (("read", series["reads_per_s"]), ("write", series["writes_per_s"].astype("float64") - flushes)):
        rows = series[["run_id", "device"]].assign(
            n=rate * series["window_s"], rate=rate, window=series["window_s"], monitor=series["tool"]
        )
        sums = rows.groupby(["run_id", "device"], sort=False).agg(
            n=("n", "sum"), rate=("rate", "max"), window=("window", "max"), covered_s=("window", "sum"),
            monitor=("monitor", "first"),
        )  # fmt: skip
        busiest = sums.sort_values("n", ascending=False, kind="stable").reset_index().drop_duplicates("run_id")
        totals.append(busiest.assign(op=op))
    merged = tool.merge(pd.concat(totals, ignore_index=True), on=["run_id", "op"], how="inner")
    seconds = np.minimum(merged["covered_s"], merged["duration_s"])
    left, right = merged["n"] / seconds, merged["n_ops"] / merged["duration_s"]
    edges = 2 * merged["rate"] * merged["window"] / seconds
    texts = [f"edges: the samples begin and end up to {window:g} s off the run, which may be ±{edge:,.0f} a second"
             for window, edge in zip(merged["window"], edges, strict=True)]  # fmt: skip
    excuse = _first_excuse(
        merged, (_is_buffered(merged), _BUFFERED), ((left - right).abs() <= edges, texts),
        ((left > right) & ~merged["is_raw"], _SHARED),
    )  # fmt: skip
    yield pairs(
        merged, "device", subject=merged["op"] + ", " + merged["device"] + " beside the run", left=left, unit="1/s",
        left_from="device_series: requests − flushes a second", right=right, excuse=excuse, likely=_DEVICE,
        right_from="operations.n_ops / duration_s", left_tool=merged["monitor"],
    )  # fmt: skip


def _first_excuse(frame: pd.DataFrame, *rules: tuple[pd.Series, str | list[str]]) -> pd.Series:
    """The text of the first rule that holds for a row, or null."""
    excuse = pd.Series(None, frame.index, dtype=object)
    for holds, text in rules:
        texts = pd.Series(text, frame.index, dtype=object)
        excuse = excuse.where(excuse.notna() | ~np.asarray(holds, dtype=bool), texts)
    return excuse


def _is_buffered(tool: pd.DataFrame) -> pd.Series:
    return ~tool["direct"].isin(["1", "true"])


def _raw(targets: pd.Series) -> bool:
    """Whether all targets are devices, which nobody else uses, rather than files on a device that others share."""
    return bool(targets.notna().all() and targets.str.startswith(("/dev/", "\\\\.\\", "#")).all())


def _settings(parameters: pd.DataFrame) -> dict[tuple[str, str, str], str]:
    named = parameters[parameters["name"].isin(["direct", "ramp_time", *_SYNCS]) & parameters["value"].notna()]
    return {(run, tool, name): value for run, tool, name, value in
            zip(named["run_id"], named["tool"], named["name"], named["value"], strict=True)}  # fmt: skip
