"""One value a run of everything that two sides can be compared by: rates, latencies, bogo operations, counters."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from pipeline.analyse.distributions.histogram import Histogram
from pipeline.analyse.select import KEYS, summable_operations

COLUMNS = [*KEYS, "op", "phase", "part", "measure", "unit", "value"]
PERCENTILES = {50.0: "latency_p50_s", 99.0: "latency_p99_s", 99.9: "latency_p99.9_s"}
HIGHER, LOWER, UNKNOWN = 1, -1, 0
# Which way is better. What a counter counts (cycles, page faults) is neither good nor bad by itself.
DIRECTIONS = {
    "ops_per_s": HIGHER, "bytes_per_s": HIGHER, "latency_mean_s": LOWER, **dict.fromkeys(PERCENTILES.values(), LOWER),
    "bogo_ops_per_real_s": HIGHER, "bogo_ops_per_cpu_s": HIGHER, "count": UNKNOWN,
}  # fmt: skip
_PART = [*KEYS, "op", "part"]
_ROW = [*KEYS, "job", "target", "op", "scope", "interval_start_s", "interval_end_s"]
NARROW = 0.1  # width of a bin, relative to its upper edge, up to which its middle may stand for a percentile
RECONCILED = 0.01  # relative, as for every count that a report states twice
_PHASES = {"total": 0, "completion": 1}  # what is preferred where a tool states several


def run_values(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """A row a run × tool × op × phase × part × measure, with ``unit`` and ``value``; COLUMNS.

    * ``ops_per_s``, ``bytes_per_s``: summed over the jobs that ran together; null where one of them states none.
    * ``latency_mean_s``: of the total phase, the jobs' means weighted by their operations. Where the tool computed it
      from the rate it is no measurement of its own, and left out.
    * ``latency_p50_s``, ``…_p99_s``, ``…_p99.9_s``: the tool's own, of the total phase or, where it has none, of the
      completion. Of several jobs, or where the tool states none, the bins are added and the middle of the percentile's
      bin is taken, unless the bin is wider than NARROW; percentiles are never averaged. A percentile q of fewer than
      1 / (1 − q) operations would be their maximum, and is left out.
    * ``bogo_ops_per_real_s`` and ``bogo_ops_per_cpu_s`` of each stressor, ``bytes_per_s`` of a network test by role
      (all streams together), ``count`` of each perf event over the whole run (all CPUs together).

    ``op`` is the operation, stressor, role or event; ``part`` is null, or what ran at a time where rates must not be
    added (an interval, a job). Null values stay null: the comparison leaves them out and says so.
    """
    chosen = summable_operations(tables).rename(columns={"group": "part"})
    frames = [
        _rates(chosen),
        _latency_means(chosen, tables["warnings"]),
        _percentiles(chosen, tables),
        _stressors(tables["stressors"]),
        _network(tables["network_streams"]),
        _counters(tables["perf_counters"]),
    ]
    filled = [frame.reindex(columns=COLUMNS).astype({"value": float}) for frame in frames if len(frame)]
    return pd.concat(filled, ignore_index=True) if filled else pd.DataFrame(columns=COLUMNS)


def _rates(chosen: pd.DataFrame) -> pd.DataFrame:
    units = {"ops_per_s": "1/s", "bytes_per_s": "B/s"}
    values = chosen[list(units)].astype(float)
    keyed = chosen[_PART].join(values).groupby(_PART, dropna=False, sort=False)
    sums = keyed.sum(min_count=1).where(keyed.count().eq(keyed.size(), axis=0)).reset_index()
    return _long(sums, units)


def _latency_means(chosen: pd.DataFrame, warnings: pd.DataFrame) -> pd.DataFrame:
    computed = pd.MultiIndex.from_frame(warnings.loc[warnings["code"] == "latency_from_rate", KEYS])
    kept = chosen[~pd.MultiIndex.from_frame(chosen[KEYS]).isin(computed)]
    worked = kept[~(kept["n_ops"].eq(0).fillna(False) & kept["latency_mean_s"].isna()).astype(bool)]
    weight = worked["n_ops"].astype(float).fillna(worked["ops_per_s"].astype(float))
    is_alone = worked.groupby(_PART, dropna=False)["op"].transform("size").eq(1)
    weight = weight.where(~is_alone, 1.0)
    product = weight * worked["latency_mean_s"].astype(float)
    keyed = worked[_PART].assign(w=weight, x=product).groupby(_PART, dropna=False, sort=False)
    sums = keyed.sum().where(keyed.count().eq(keyed.size(), axis=0))
    means = (sums["x"] / sums["w"].where(sums["w"] > 0)).rename("latency_mean_s").reset_index()
    return _long(means, {"latency_mean_s": "s"})


def _percentiles(chosen: pd.DataFrame, tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """The tool's own where one worker did a run's operations of a kind, otherwise those of the added bins."""
    rows = chosen[[*_ROW, "part", "n_ops"]].astype({"n_ops": float})
    is_alone = rows.groupby(_PART, dropna=False)["op"].transform("size").eq(1)
    stated = tables["latency_percentiles"]
    stated = stated.assign(percentile=stated["percentile"].round(3)).rename(columns={"latency_s": "value"})
    own = rows[is_alone].merge(stated[stated["percentile"].isin(list(PERCENTILES))], on=_ROW, how="inner")
    has_own = pd.MultiIndex.from_frame(rows[_PART]).isin(pd.MultiIndex.from_frame(own[_PART]))
    binned = _binned_percentiles(rows[~has_own], tables["latency_bins"])
    columns = [*_PART, "phase", "percentile", "n_ops", "value"]
    frames = [frame[columns] for frame in (own, binned) if len(frame)]
    if not frames:
        return pd.DataFrame()
    found = pd.concat(frames, ignore_index=True)
    found["preference"] = found["phase"].map(_PHASES).fillna(len(_PHASES))
    best = found.groupby(_PART, dropna=False)["preference"].transform("min")
    is_few = found["n_ops"] * (1 - found["percentile"] / 100) < 1 - 1e-9
    found = found[(found["preference"] == best) & ~is_few]
    return found.assign(measure=found["percentile"].map(PERCENTILES), unit="s")


def _binned_percentiles(rows: pd.DataFrame, bins: pd.DataFrame) -> pd.DataFrame:
    """Percentiles of added bins, where these hold the operations of all jobs and the percentile's bin is narrow.

    The bins may differ from the number of operations by RECONCILED: fio counts in its bins also what was in flight when
    its ramp time ended.
    """
    n_run = rows.groupby(_PART, dropna=False)["n_ops"].transform(lambda counts: counts.sum(skipna=False))
    joined = rows.assign(n_run=n_run).merge(bins[bins["count"].notna()], on=_ROW, how="inner")
    group = [*_PART, "phase"]
    found = []
    for key, part in joined.groupby(group, dropna=False, sort=False):
        histogram = Histogram.of_bins(part)
        n = histogram.n_ops
        if n == 0 or not abs(n / part["n_run"].iloc[0] - 1) <= RECONCILED:
            continue
        for percentile, low, high in zip(PERCENTILES, *histogram.percentile_bounds(list(PERCENTILES)), strict=True):
            if high - low <= NARROW * high < np.inf:
                found.append((*key, percentile, n, (low + high) / 2))
    return pd.DataFrame(found, columns=[*group, "percentile", "n_ops", "value"])


def _stressors(stressors: pd.DataFrame) -> pd.DataFrame:
    units = {"bogo_ops_per_real_s": "1/s", "bogo_ops_per_cpu_s": "1/s"}
    return _long(_once(stressors.assign(op=stressors["stressor"], part=None), _PART), units)


def _network(streams: pd.DataFrame) -> pd.DataFrame:
    whole = streams[streams["time_s"].isna()].assign(part=None)
    whole = whole.assign(op=whole["role"])
    n_streams = whole.groupby(_PART, dropna=False)["stream"].transform("nunique")
    return _long(_once(whole[(whole["stream"] == "SUM") | (n_streams == 1)], _PART), {"bytes_per_s": "B/s"})


def _counters(counters: pd.DataFrame) -> pd.DataFrame:
    """Counts over the whole run: perf's own, or the sum of its windows; per CPU and not counted ones are left out."""
    together = counters[counters[["aggregate", "cgroup", "task"]].isna().all(axis=1) & counters["event"].notna()]
    together = together.assign(op=together["event"], part=None)
    whole = together[together["time_s"].isna()]
    has_whole = pd.MultiIndex.from_frame(together[_PART]).isin(pd.MultiIndex.from_frame(whole[_PART]))
    kept = pd.concat([_once(whole, _PART), _once(together[~has_whole], [*_PART, "time_s"])])
    keyed = kept.assign(value=kept["value"].astype(float)).groupby(_PART, dropna=False, sort=False)
    sums = keyed["value"].sum().where(keyed["value"].count() == keyed.size())
    units = keyed["unit"].first()
    return pd.DataFrame({"value": sums, "unit": units}).reset_index().assign(measure="count")


def _once(frame: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """Rows whose keys stand once: of two with one name nobody knows which is meant."""
    return frame[~frame.duplicated(keys, keep=False)]


def _long(frame: pd.DataFrame, units: dict[str, str]) -> pd.DataFrame:
    """A row a measure; ``units`` names the columns that are measures."""
    parts = [frame[_PART].assign(measure=name, unit=unit, value=frame[name]) for name, unit in units.items()]
    return pd.concat(parts, ignore_index=True)
