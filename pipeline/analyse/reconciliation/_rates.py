"""Reconciliation within a row of operations: counts, bytes, durations and rates; and rates against their samples."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd

from pipeline.analyse.reconciliation._pairs import numbers, pairs, subject_of
from pipeline.analyse.reconciliation._rounding import half_digit
from pipeline.analyse.select import KEYS, whole_run
from pipeline.units import MILLI, SECONDS, seconds

SAMPLE_WINDOW_S = 0.5  # fio's bwavgtime and iopsavgtime unless set
LOGGED_SHARE = 0.5  # samples an operation from which they are single I/Os, not windows
GROUPED = 0.05  # relative: workers that are reported together need not have had the same rate
IMPLAUSIBLE = 2.0  # times the largest sample: faster than this nothing ran outside the samples
_OUTSIDE = "edges: seconds outside the windows"
_OPS_BYTES = "operations.n_ops × block_size_bytes"


def rate_checks(tables: Mapping[str, pd.DataFrame]) -> Iterable[pd.DataFrame]:
    """ops_per_s = n_ops / duration, bytes_per_s = n_bytes / duration, and bytes = operations × block size, of each row.

    A sync transfers nothing, so that it has no bytes to check. An operation without one block size is unknown.
    """
    rows = tables["operations"]
    n, n_bytes, duration, rate, byte_rate, size = numbers(
        rows, "n_ops", "n_bytes", "duration_s", "ops_per_s", "bytes_per_s", "block_size_bytes"
    )
    connecting = _connecting(rows, tables["parameters"])
    duration = (duration - connecting).where(duration > connecting)
    base = pd.Series("duration_s", rows.index, dtype=object).where(connecting == 0, "(duration_s − connection time)")
    # fio cuts a rate to a whole number; it then lies up to a unit above the figure, not half a unit around it.
    half_s, half_rate = half_digit(duration), half_digit(rate) * np.where(rate == np.floor(rate), 2, 1)
    half_bytes, half_byte_rate = half_digit(n_bytes, is_bytes=True), half_digit(byte_rate, is_bytes=True)
    yield pairs(
        rows, "op-rate", left=rate, left_from="operations.ops_per_s", right=n / duration, unit="1/s",
        right_from="operations.n_ops / " + base, rounding=half_rate + n / duration * half_s / duration,
        likely="time base: the rate was taken over another time than the duration",
    )  # fmt: skip
    yield pairs(
        rows, "byte-rate", left=byte_rate, left_from="operations.bytes_per_s", right=n_bytes / duration, unit="B/s",
        right_from="operations.n_bytes / duration_s",
        rounding=half_byte_rate + half_bytes / duration + n_bytes / duration * half_s / duration,
        likely="time base: the rate was taken over another time than the duration",
    )  # fmt: skip
    partial = "short transfers: some operations moved less than a block, or several block sizes were used"
    likely = _in_flight((n_bytes - n * size) / size, rows["queue_depth"].astype("float64")).fillna(partial)
    has_bytes = n_bytes.notna() | byte_rate.notna()
    yield pairs(
        rows[has_bytes], "bytes", left=n_bytes, left_from="operations.n_bytes", right=n * size, unit="B",
        right_from=_OPS_BYTES, rounding=half_bytes, likely=likely,
    )  # fmt: skip
    yield pairs(
        rows[has_bytes], "byte-rate-size", left=byte_rate, left_from="operations.bytes_per_s", right=rate * size,
        right_from="operations.ops_per_s × block_size_bytes", unit="B/s", rounding=half_byte_rate + half_rate * size,
        likely=likely,
    )  # fmt: skip


def _connecting(rows: pd.DataFrame, settings: pd.DataFrame) -> pd.Series:
    """Seconds of a row's duration that the tool spent connecting and leaves out of its rate (pgbench says so)."""
    named = settings[settings["name"].eq("initial connection time") & settings["value"].notna()]
    parts = named["value"].str.extract(r"^([\d.]+)\s*(\w+)$").dropna()
    named = named.loc[parts.index]
    held = {
        (run, tool): seconds(float(value), unit)
        for run, tool, value, unit in zip(named["run_id"], named["tool"], parts[0], parts[1], strict=True)
        if unit in SECONDS
    }
    return pd.Series([held.get(key, 0.0) for key in rows[KEYS].itertuples(index=False, name=None)], rows.index)


def _in_flight(excess: pd.Series, depth: pd.Series) -> pd.Series:
    """A cause where the bytes exceed the operations' by at most as many blocks as were in flight; else null."""
    is_so = excess.gt(0) & excess.le(depth) & excess.eq(excess.round())
    texts = [f"in flight: the bytes of {n:g} more blocks than operations, with {d:g} in flight when the run ended"
             for n, d in zip(excess, depth, strict=True)]  # fmt: skip
    return pd.Series(texts, excess.index, dtype=object).where(is_so, None)


def sample_checks(tables: Mapping[str, pd.DataFrame]) -> Iterable[pd.DataFrame]:
    """The mean of a tool's own rate samples against its total rate (fio's ``iops : avg=`` and ``bw : avg=`` lines).

    fio averages windows of 500 ms (bwavgtime, iopsavgtime), without weights. The windows need not cover the run: what
    lies outside may have run at any rate between the samples' smallest and largest, which is counted as rounding.
    """
    rows = tables["operations"]
    rows = rows[whole_run(rows) & rows["op"].ne("sync")]
    metrics = labelled(tables["metric_series"])
    windows = _windows(tables["parameters"])
    for quantity, unit, setting in (("ops_per_s", "1/s", "iopsavgtime"), ("bytes_per_s", "B/s", "bwavgtime")):
        names = {f"{quantity}_{suffix}": suffix for suffix in ("mean", "min", "max", "samples")}
        found = metrics[metrics["metric"].isin(names)]
        if found.empty:
            continue
        keys = [*KEYS, "job", "op"]
        wide = found.assign(metric=found["metric"].map(names)).groupby([*keys, "metric"], dropna=False)["value"].first()
        samples = wide.unstack("metric").reindex(columns=list(names.values())).reset_index()
        merged = samples.merge(rows, on=keys, how="inner")
        lengths = [windows.get((*key, setting), SAMPLE_WINDOW_S) for key in merged[KEYS].itertuples(index=False)]
        window = pd.Series(lengths, merged.index, dtype="float64")
        rate, duration = numbers(merged, quantity, "duration_s")
        slack, excuse, likely = _uncovered(merged, rate, duration, window)
        yield pairs(
            merged, "samples", subject=subject_of(merged) + f", {quantity}", left=merged["mean"], unit=unit,
            left_from=f"metric_series.{quantity}_mean", right=rate, right_from=f"operations.{quantity}",
            slack=slack, slack_from=_OUTSIDE, excuse=excuse, likely=likely,
        )  # fmt: skip


def _uncovered(
    samples: pd.DataFrame, rate: pd.Series, duration: pd.Series, window: pd.Series
) -> tuple[pd.Series, pd.Series, pd.Series]:
    """How far the time outside the samples may move their mean; excuse and likely cause where that is not enough.

    With the samples' mean m over a share c of the time, a rate r outside makes the run's m·c + r·(1 − c). A window in
    which nothing completed is no sample, and lies outside. A rate r within the samples' range is slack; one from 0 to
    IMPLAUSIBLE times the largest sample cannot be ruled out (unknown).
    """
    mean, low, high, n_samples = samples["mean"], samples["min"], samples["max"], samples["samples"]
    # Samples of workers that are reported together lie side by side, so that they cover a multiple of the run.
    n_together = (n_samples * window / duration).round().clip(lower=1)
    covered = (n_samples * window / n_together).clip(upper=duration - window)  # the last window may be cut or missed
    outside = duration - covered
    slack = np.maximum(high - mean, mean - low) * outside / duration
    needed = (rate * duration - mean * covered) / outside
    texts = [
        f"fio's mean of {n:.0f} unweighted windows is not its count over time; the {out:.3g} s outside the windows "
        f"would have to run at {need:,.0f} a second, while the windows had {a:,.0f} to {b:,.0f}"
        for n, out, need, a, b in zip(n_samples, outside, needed, low, high, strict=True)
    ]
    text = pd.Series(texts, samples.index, dtype=object)
    excuse = ("time outside the windows: " + text).where(needed.between(0, IMPLAUSIBLE * high), None)
    excuse = excuse.mask(duration <= window, "short run: it is not longer than a window")
    excuse = excuse.mask(n_samples.isna(), "windows: their number is not printed")
    is_logged = n_samples >= LOGGED_SHARE * samples["n_ops"].astype("float64")
    excuse = excuse.mask(is_logged, "windows: the run logged every I/O, so that each is a sample")
    is_of_one = n_together.gt(1) & (mean * n_together / rate - 1).abs().le(slack / mean + GROUPED)
    grouped = [f"group: fio's mean is that of one of {n:.0f} workers" for n in n_together.fillna(1)]
    return slack, excuse.mask(is_of_one, pd.Series(grouped, samples.index, dtype=object)), "window samples: " + text


def labelled(metrics: pd.DataFrame) -> pd.DataFrame:
    """Metrics of rate samples of the whole run with their labels job and op as columns."""
    found = metrics[metrics["metric"].str.fullmatch(r"(?:ops|bytes)_per_s_(?:mean|min|max|samples)").fillna(False)]
    found = found[found["time_s"].isna() & found["labels"].notna()]
    labels = {text: json.loads(text) for text in found["labels"].unique()}
    texts = pd.StringDtype(na_value=math.nan)  # as in the tables, also where no row has a job
    for name in ("job", "op"):
        held = [labels[text].get(name) for text in found["labels"]]
        found = found.assign(**{name: pd.Series(held, found.index, dtype=texts)})
    return found


def _windows(settings: pd.DataFrame) -> dict[tuple[str, str, str], float]:
    """Length of the sample windows, in seconds, where a run sets one (in ms), by run, tool and setting.

    With a log of its own (write_bw_log, write_iops_log) fio takes the smaller of the setting and log_avg_msec.
    """
    held = {}
    for name, log in (("bwavgtime", "write_bw_log"), ("iopsavgtime", "write_iops_log")):
        windows = _milliseconds(settings, name)
        averaged = _milliseconds(settings, "log_avg_msec")
        for key in settings.loc[settings["name"] == log, KEYS].itertuples(index=False, name=None):
            if key in averaged:
                windows[key] = min(averaged[key], windows.get(key, SAMPLE_WINDOW_S))
        held.update({(*key, name): window for key, window in windows.items()})
    return held


def _milliseconds(settings: pd.DataFrame, name: str) -> dict[tuple[str, str], float]:
    """A setting in ms of each run and tool that sets it above 0, in seconds."""
    named = settings[settings["name"] == name]
    value = pd.to_numeric(named["value"].str.removesuffix("ms"), errors="coerce") * MILLI
    rows = zip(named["run_id"], named["tool"], value, strict=True)
    return {(run, tool): window for run, tool, window in rows if window > 0}
