"""The two insert campaigns as nested mean latencies: which measurement is which level, and of what quality."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import pandas as pd
from uncertainties import UFloat, ufloat

from pipeline.analyse.breakdown import Level, device_commit_times, published_quantity, series_mean
from pipeline.errors import AnalysisError

Frames = Mapping[str, pd.DataFrame]
DISKSPD_RESOLUTION_S = 1e-6  # prints milliseconds with three decimals
WAL_RESOLUTION_S = 1e-6  # pg_stat_wal prints milliseconds with three decimals
IOSTAT_RESOLUTION_S = 1e-5  # prints milliseconds with two


@dataclass(frozen=True)
class Case:
    """An insert as nested levels, the elapsed time an insert from a count of its own, and further figures by name."""

    levels: tuple[Level, ...]
    elapsed: UFloat
    figures: dict[str, float] = field(default_factory=dict)

    def levels_frame(self) -> pd.DataFrame:
        """A row a level: what was measured, its mean and standard uncertainty."""
        rows = [(level.source, level.latency) for level in self.levels]
        rows.append(("elapsed time an insert", self.elapsed))
        return pd.DataFrame(
            [{"measured": s, "latency_mean_s": v.nominal_value, "uncertainty_s": v.std_dev} for s, v in rows]
        )

    def numbers(self) -> dict[str, float]:
        """The further figures."""
        return self.figures


def article_case(tables: Frames) -> Case:
    """The article's insert: 385 µs, of which the disk's busy share, DISKSPD's 4 KiB write, the controller's write."""
    insert = published_quantity(tables, "Result of the insert loop", "insert latency")
    busy = published_quantity(tables, "perfmon sample", "disk busy")
    controller = published_quantity(tables, "Contribution to SQL insert latency", "Latency of CVM replicated write")
    diskspd = _mean(tables, "diskspd", "write", DISKSPD_RESOLUTION_S)
    elapsed = published_quantity(tables, "Result of the insert loop", "elapsed time")
    inserts = published_quantity(tables, "Result of the insert loop", "inserts").nominal_value  # a count, exact
    levels = (
        Level("not I/O: SQL Server and OS code", insert, "SQL insert, as stated"),
        Level("I/O between SQL Server and Windows", busy * insert, "I/O of the insert: disk busy (perfmon) × insert"),
        Level("4 KiB write from Windows to the controller", diskspd, "4 KiB write in the guest (DISKSPD report)"),
        Level("replicated write in the controller", controller, "write in the storage controller, as stated"),
    )
    return Case(levels, elapsed / inserts)


def postgres_case(tables: Frames, first_samples: int, last_samples: int) -> Case:
    """The PostgreSQL insert: pgbench's log, the server's WAL counters, iostat without its samples outside the run."""
    log = tables["latency_series"]
    log = log[log["tool"] == "pgbench_log"]
    if log["run_id"].nunique() != 1:
        raise AnalysisError(f"expected one run with a pgbench log, found {sorted(log['run_id'].unique())}")
    run_id = log["run_id"].iloc[0]
    of_run = {name: frame[frame["run_id"] == run_id] for name, frame in tables.items()}
    insert = series_mean(log["latency_s"], log["time_s"], tag="insert")
    pgbench = _operation(of_run, "pgbench", "transaction")
    n_inserts, tps = float(pgbench["n_ops"]), float(pgbench["ops_per_s"])
    write, sync = (_wal(of_run, op, n_inserts) for op in ("wal_write", "wal_sync"))
    samples = of_run["device_series"].sort_values("time_s", kind="stable")
    device = samples.iloc[first_samples : len(samples) - last_samples]
    data_write, flush = device_commit_times(device, IOSTAT_RESOLUTION_S)
    levels = (
        Level("client, protocol, SQL and PostgreSQL code", insert, "insert (pgbench, log of every transaction)"),
        Level("write() of the log into the page cache", write + sync, "WAL write and fdatasync (pg_stat_wal)"),
        Level("file system, block layer, wake-ups", sync, "WAL fdatasync (pg_stat_wal)"),
        Level("device: data write", data_write + flush, "data write and flush of the device (iostat)"),
        Level("device: flush", flush, "flush of the device (iostat f_await)"),
    )
    figures = {
        "insert_s": insert.nominal_value, "wal_write_s": write.nominal_value, "wal_fdatasync_s": sync.nominal_value,
        "transactions_per_s": tps, "n_inserts": n_inserts,
        "device_writes_per_insert": float(device["writes_per_s"].mean()) / tps,
        "device_flushes_per_insert": float(device["flushes_per_s"].mean()) / tps,
    }  # fmt: skip
    # The count may be off by one transaction at either end.
    return Case(levels, ufloat(1 / tps, 1 / tps / n_inserts, tag="elapsed"), figures)


def same_write_by_fio(tables: Frames, postgres: Case) -> pd.DataFrame:
    """Mean write, sync and their sum for each fio run of the campaign, beside PostgreSQL's write and fdatasync."""
    operations = tables["operations"]
    fio = operations[(operations["tool"] == "fio") & (operations["scope"] == "job")]
    means = fio.pivot_table(index="run_id", columns="op", values="latency_mean_s", aggfunc="mean")
    means = means.reindex(columns=["write", "sync"]).reset_index()
    points = tables["runs"].drop_duplicates("run_id").set_index("run_id")["point"]
    wal_s = postgres.figures["wal_write_s"] + postgres.figures["wal_fdatasync_s"]
    both = means["write"] + means["sync"].fillna(0)
    return pd.DataFrame(
        {"point": means["run_id"].map(points), "write_mean_s": means["write"], "sync_mean_s": means["sync"],
         "write_and_sync_s": both, "of_wal_write_and_fdatasync_ratio": both / wal_s}
    )  # fmt: skip


def _operation(tables: Frames, tool: str, op: str) -> pd.Series:
    """The one whole-run row of an operation at the tool's own total."""
    operations = tables["operations"]
    is_whole = operations["interval_start_s"].isna() & (operations["scope"] == "total")
    found = operations[is_whole & (operations["tool"] == tool) & (operations["op"] == op)]
    if len(found) != 1:
        raise AnalysisError(f"expected one row of operations for {tool} {op}, found {len(found)}")
    return found.iloc[0]


def _mean(tables: Frames, tool: str, op: str, resolution_s: float) -> UFloat:
    """A tool's mean latency with σ/√n and the resolution of its print."""
    row = _operation(tables, tool, op)
    standard_error = float(row["latency_stddev_s"]) / math.sqrt(float(row["n_ops"]))
    return ufloat(row["latency_mean_s"], math.hypot(standard_error, resolution_s / math.sqrt(12)), tag=f"{tool} {op}")


def _wal(tables: Frames, op: str, n_inserts: float) -> UFloat:
    """Time an insert in a WAL operation; the counters hold no spread, so that only their resolution can be stated."""
    row = _operation(tables, "pg_stat_wal", op)
    time_s = float(row["latency_mean_s"]) * float(row["n_ops"])
    return ufloat(time_s / n_inserts, WAL_RESOLUTION_S / math.sqrt(12) / n_inserts, tag=op)
