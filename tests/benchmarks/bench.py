"""``make bench``: the readers against a named reference on the same generated file in the same run.

Each measurement is a process of its own that warms up on a small file of the same kind (libraries loaded, kernels
compiled), then does the work once, into an empty folder; CPU seconds are those of the work, user and system, child
processes included; the peak memory is the process's. Ours and the reference take turns; the least of the rounds counts
for both. A row holds when its ratio (or speed) is within the reach.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import generate
from rich.console import Console
from rich.table import Table


@dataclass(frozen=True)
class Row:
    """A line of the table: what is generated, what we do, what the reference does, and what must hold."""

    name: str
    make: Callable[[Path, float], None]  # at a scale: 1 is the benchmark, less a warm-up
    ours: Callable[[Path, Path], None]  # of the input, with a folder for output
    reference: str
    run_reference: Callable[[Path, Path], object]
    reach: str
    holds: Callable[[Figures, Figures], bool]


@dataclass(frozen=True)
class Figures:
    """CPU seconds and peak memory of one side, and the input's size."""

    cpu_s: float
    peak_bytes: float
    n_bytes: float

    @property
    def bytes_per_s(self) -> float:
        """Input over CPU time."""
        return self.n_bytes / self.cpu_s


def parse(path: Path, out: Path) -> None:
    """What ``python -m pipeline parse PATH --out DIR`` does: everything, to Parquet."""
    from pipeline import batch

    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        if batch.parse_paths([path], out / "tidy", None):
            raise SystemExit(f"{path}: not read")


def read_into_memory(path: Path, _: Path) -> None:
    """What ``pipeline.read(folder)`` does."""
    import pipeline

    pipeline.read(path)


def histograms(path: Path, out: Path) -> None:
    """Parse the logs of eight jobs, then merge them and compute percentiles of each second."""
    from pipeline import tidy
    from pipeline.analyse.distributions.over_time import merge_jobs, percentiles

    parse(path, out)
    columns = ["op", "phase", "interval_end_s", "lower_s", "upper_s", "count"]
    files = tidy.scan(out / "tidy", "latency_bins").get_fragments()  # one a job
    percentiles(merge_jobs(tidy.to_pandas(file.to_table(columns=columns)) for file in files), (50, 99, 99.9))


def arrow_csv(delimiter: str) -> Callable[[Path, Path], object]:
    """The bare ``pyarrow.csv.read_csv``, one thread."""

    def run(path: Path, _: Path) -> object:
        from pyarrow import csv

        file = next(path.glob("*.log")) if path.is_dir() else path
        options = csv.ReadOptions(use_threads=False, autogenerate_column_names=True)
        return csv.read_csv(file, options, csv.ParseOptions(delimiter=delimiter))

    return run


def loadtxt(path: Path, _: Path) -> object:
    """Reading the logs with numpy.loadtxt."""
    import numpy as np

    return [np.loadtxt(file, delimiter=",", dtype=np.int64) for file in sorted(path.glob("*.log"))]


def json_loads(path: Path, _: Path) -> object:
    """Reading each document with json.loads."""
    return [json.loads(file.read_text("utf-8")) for file in (sorted(path.iterdir()) if path.is_dir() else [path])]


def line_loop(path: Path, _: Path) -> int:
    """A plain line loop in Python."""
    n_lines = 0
    with path.open("rb") as file:
        for _line in file:
            n_lines += 1
    return n_lines


def tenth(path: Path, out: Path) -> None:
    """The same work on a tenth of the rows, which ``make`` left beside the input."""
    parse(path.with_name(f"{path.name}-tenth"), out)


def fio_logs_of_two_lengths(path: Path, scale: float) -> None:
    """A latency log of 100 million rows, and one of 10 million beside it, all rows of about the same length."""
    first_ms = 1_000_000  # 7 digits to the end of both: from 0 on, ten times the rows are 10.4 times the bytes
    generate.fio_log(path, int(1e8 * scale), first_ms)
    generate.fio_log(path.with_name(f"{path.name}-tenth"), int(1e7 * scale), first_ms)


def python_import(module: str) -> Callable[[Path, Path], None]:
    """Import a module in a fresh interpreter, five times."""

    def run(_: Path, __: Path) -> None:
        for _round in range(5):
            subprocess.run([sys.executable, "-c", f"import {module}"], check=True)

    return run


def ratio(limit: float, peak_bytes: float = float("inf")) -> Callable[[Figures, Figures], bool]:
    """CPU within a multiple of the reference's, and memory within a bound."""
    return lambda ours, reference: ours.cpu_s <= limit * reference.cpu_s and ours.peak_bytes <= peak_bytes


def _nothing(path: Path, _: float) -> None:
    path.touch()


ROWS = (
    Row("fio_log", lambda p, x: generate.fio_log(p, n_rows=int(1e7 * x)), parse, "pyarrow.csv", arrow_csv(","),
        "≤ 1.2 ×, ≤ 500 MB", ratio(1.2, 500e6)),
    Row("fio_log_100m", fio_logs_of_two_lengths, parse, "itself, 10 M rows", tenth, "≤ 10.5 ×, same memory",
        lambda a, b: a.cpu_s <= 10.5 * b.cpu_s and a.peak_bytes <= 1.1 * b.peak_bytes),
    Row("fio_histograms", lambda p, x: generate.fio_histogram_logs(p, n_bytes=int(55e6 * x)), histograms,
        "numpy.loadtxt", loadtxt, "≥ 45 MB/s", lambda a, _: a.bytes_per_s >= 45e6),
    Row("perf_script", lambda p, x: generate.perf_script(p, n_bytes=int(109e6 * x)), parse, "line loop", line_loop,
        "≥ 200 MB/s", lambda a, _: a.bytes_per_s >= 200e6),
    Row("act_24h", lambda p, x: generate.act_log(p, seconds=int(86_400 * x)), parse, "line loop", line_loop,
        "≤ 2 s", lambda a, _: a.cpu_s <= 2),
    Row("pgbench_log", lambda p, x: generate.pgbench_log(p, n_rows=int(1e7 * x)), parse, "pyarrow.csv", arrow_csv(" "),
        "≤ 1.5 ×", ratio(1.5)),
    Row("prometheus", lambda p, x: generate.prometheus(p, n_bytes=int(1e8 * x)), parse, "json.loads", json_loads,
        "≤ 2 ×", ratio(2)),
    Row("fio_json_500", lambda p, x: generate.fio_json(p, n_files=max(2, int(500 * x))), read_into_memory, "json.loads",
        json_loads, "≤ 3 ×", ratio(3)),
    Row("import", _nothing, python_import("pipeline"), "import pandas", python_import("pandas"), "≤ 1.3 ×", ratio(1.3)),
)  # fmt: skip


def main() -> int:
    """Print the table; 1 when a row does not hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "names", nargs="*", metavar="ROW", help=f"of {', '.join(row.name for row in ROWS)}; all by default"
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--side", choices=("ours", "reference"), help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    rows = [row for row in ROWS if not arguments.names or row.name in arguments.names]
    if arguments.side:
        _measure(rows[0], arguments.side, arguments.folder)
        return 0
    table = Table("input", "MB", "ours CPU s", "MB/s", "peak MB", "reference", "CPU s", "ratio", "reach", "held")
    all_hold = True
    for row in rows:
        with tempfile.TemporaryDirectory() as folder:
            ours, reference = _compare(row, Path(folder), arguments.rounds)
        holds = row.holds(ours, reference)
        all_hold &= holds
        table.add_row(row.name, *_cells(ours, reference, row.reference), row.reach, "yes" if holds else "NO")
        print(f"{row.name}: {'holds' if holds else 'DOES NOT HOLD'}", file=sys.stderr)
    Console(width=130).print(table)
    return 0 if all_hold else 1


def _cells(ours: Figures, reference: Figures, name: str) -> list[str]:
    numbers = (ours.n_bytes / 1e6, ours.bytes_per_s / 1e6, ours.peak_bytes / 1e6)
    n_bytes, speed, peak = (f"{number:.0f}" for number in numbers)
    return [n_bytes, f"{ours.cpu_s:.2f}", speed, peak, name, f"{reference.cpu_s:.2f}",
            f"{ours.cpu_s / reference.cpu_s:.2f}"]  # fmt: skip


def _compare(row: Row, folder: Path, n_rounds: int) -> tuple[Figures, Figures]:
    row.make(folder / "small", 0.05)
    row.make(folder / "input", 1)
    place = folder / "input"
    n_bytes = sum(file.stat().st_size for file in (place.rglob("*") if place.is_dir() else [place]))
    found: dict[str, list[tuple[float, float]]] = {"ours": [], "reference": []}
    for _ in range(n_rounds):
        for side, figures in found.items():
            command = [sys.executable, __file__, row.name, "--side", side, "--folder", str(folder)]
            answer = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            figures.append((answer["cpu_s"], answer["peak_bytes"]))
    return tuple(  # type: ignore[return-value]
        Figures(min(cpu_s for cpu_s, _ in figures), min(peak for _, peak in figures), n_bytes)
        for figures in found.values()
    )


def _measure(row: Row, side: str, folder: Path) -> None:
    """One side, once, in this process: prints CPU seconds and peak memory as JSON."""
    work = row.ours if side == "ours" else row.run_reference
    for place in ("small", "input"):
        out = folder / f"out-{place}"
        shutil.rmtree(out, ignore_errors=True)  # of the round before
        out.mkdir()
        before = _cpu_s()
        work(folder / place, out)
    cpu_s = _cpu_s() - before
    print(json.dumps({"cpu_s": cpu_s, "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}))


def _cpu_s() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


if __name__ == "__main__":
    sys.exit(main())
