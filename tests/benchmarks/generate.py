"""Long logs for the benchmarks of the readers: the tools' grammar, invented figures, the same bytes each time.

``python tests/benchmarks/generate.py act_log /tmp/act.log 86400`` writes one; the number is the length, if any.
"""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

_ACT_HEADER = """
ACT version 6.6
Storage device IO test
Copyright 2020 by Aerospike. All rights reserved.

detected 16 CPUs

ACT-STORAGE CONFIGURATION
device-names: {device}
num-devices: 1
service-threads: 80
test-duration-sec: {seconds}
report-interval-sec: 1
microsecond-histograms: no
read-reqs-per-sec: 2000
write-reqs-per-sec: 1000
record-bytes: 1536
record-bytes-range-max: 0
large-block-op-kbytes: 128
replication-factor: 1
update-pct: 0
defrag-lwm-pct: 50
no-defrag-reads: no
compress-pct: 100
disable-odsync: no
commit-to-device: no
tomb-raider: no
tomb-raider-sleep-usec: 0
max-lag-sec: 10

DERIVED CONFIGURATION
record-stored-bytes: 1536 ... 1536
internal-read-reqs-per-sec: 2000
internal-write-reqs-per-sec: 0
large-block-reads-per-sec: 23.53
large-block-writes-per-sec: 23.53

{device} size = 960197124096 bytes, 7325723 large blocks, minimum IO size = 512 bytes

HISTOGRAM NAMES
reads
{device}-reads
large-block-reads
large-block-writes

"""


def act_log(path: Path, seconds: int = 86_400) -> None:
    """Write a log of act_storage 6.6 at the standard load: one device, ms, a block a second, some 0.8 KiB each."""
    device, rng = "/dev/nvme0n1", np.random.default_rng(66)
    shares = [[0.8749, 0.04, 0.04, 0.028, 0.0104, 0.0043, 0.0015, 0.0006, 0.0002, 0.0001],
              [0.818, 0.055, 0.0524, 0.0367, 0.0193, 0.0104, 0.0049, 0.0017, 0.0012, 0.0004],
              [0.491, 0.141, 0.141, 0.11, 0.054, 0.031, 0.016, 0.008, 0.0038, 0.0042]]  # fmt: skip
    names = [["reads", f"{device}-reads"], ["large-block-reads"], ["large-block-writes"]]
    counts = [rng.multinomial(n, p, seconds).cumsum(axis=0) for n, p in zip((2000, 24, 24), shares, strict=True)]
    with path.open("w", encoding="ascii") as file:
        file.write(_ACT_HEADER.format(device=device, seconds=seconds))
        for second, rows in enumerate(zip(*(array.tolist() for array in counts), strict=True), 1):
            lines = [f"after {second} sec:"]
            for of_one, row in zip(names, rows, strict=True):
                cells = [f" ({bucket:02}: {count:010})" for bucket, count in enumerate(row) if count]
                buckets = ["".join(cells[i : i + 4]) for i in range(0, len(cells), 4)]
                for name in of_one:
                    lines += [f"{name} ({sum(row)} total)", *buckets]
            file.write("\n".join(lines) + "\n\n")


def fio_log(path: Path, n_rows: int = 10_000_000, first_ms: int = 0) -> None:
    """Write a folder with a latency log of fio 3.x of 4 columns: 4 KiB reads, some 12 500 a second, ns, rare stalls."""
    import pyarrow as pa
    from pyarrow import csv

    path.mkdir()
    rng = np.random.default_rng(3)
    options = csv.WriteOptions(include_header=False, quoting_style="none")
    with (path / "run_lat.1.log").open("wb") as file:
        for first in range(0, n_rows, 1 << 20):
            n = min(1 << 20, n_rows - first)
            stamps_ms = first_ms + np.arange(first, first + n) * 2 // 25
            latencies_ns = rng.lognormal(11, 0.5, n) * np.where(rng.random(n) < 1e-4, 50, 1)
            block = io.BytesIO()
            csv.write_csv(pa.table({"a": stamps_ms, "b": latencies_ns.astype(int)}), block, options)
            file.write(block.getvalue().replace(b",", b", ").replace(b"\n", b", 0, 4096\n"))


def fio_histogram_logs(path: Path, n_bytes: int = 55_000_000) -> None:
    """Write a folder with the completion histogram logs of 8 jobs, fio 3.x: a line of 1856 counts a second."""
    path.mkdir()
    rng = np.random.default_rng(37)
    zeros = np.zeros(1856, int)
    bins = np.arange(600, 1000)
    shares = np.exp(-((bins - 740) ** 2) / 3000.0)
    for job in range(1, 9):
        n_written = second = 0
        with (path / f"run_clat_hist.{job}.log").open("w", encoding="ascii") as file:
            while n_written < n_bytes / 8:
                second += 1
                counts = zeros.copy()
                counts[bins] = rng.multinomial(12_000, shares / shares.sum())
                n_written += file.write(f"{second * 1000}, 0, 4096, {', '.join(map(str, counts.tolist()))}\n")


def fio_json(path: Path, n_files: int = 500) -> None:
    """Write a folder of JSON+ reports of fio 3.x: four jobs of mixed reads and writes, some 250 bins a phase."""
    path.mkdir()
    rng = np.random.default_rng(12)
    for number in range(n_files):
        jobs = [_fio_json_job(rng, job) for job in range(4)]
        options = {"ioengine": "libaio", "runtime": "60"}
        document = {"fio version": "fio-3.36", "timestamp": 1795216271 + number, "time": "Sat Nov 21 01:11:11 2026",
                    "global options": options, "jobs": jobs, "disk_util": []}  # fmt: skip
        (path / f"run{number:03}.json").write_text(json.dumps(document, indent=2), "utf-8")


def _fio_json_job(rng: np.random.Generator, number: int) -> dict[str, object]:
    options = {"name": f"job{number}", "rw": "randrw", "bs": "4k", "iodepth": "8", "numjobs": "1"}
    directions = {op: _fio_json_direction(rng) for op in ("read", "write")}
    return {"jobname": f"job{number}", "groupid": 0, "error": 0, "eta": 0, "elapsed": 61, "job options": options,
            **directions, "usr_cpu": 5.1, "sys_cpu": 11.2, "ctx": 12345, "majf": 0, "minf": 12,
            "iodepth_level": {"8": 100.0}, "latency_ns": {}, "latency_us": {"100": 60.0, "250": 40.0},
            "latency_ms": {}}  # fmt: skip


def _fio_bin_middles(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """What fio names the bins of values: their middles, of 64 bins for each power of two above 128."""
    width = 1 << np.maximum(np.log2(np.maximum(values, 1)).astype(int) - 6, 0)
    return values // width * width + width // 2


def _fio_json_direction(rng: np.random.Generator) -> dict[str, object]:
    n_ops = int(rng.integers(200_000, 400_000))
    phases = {}
    for phase, middle in (("slat_ns", 2_000), ("clat_ns", 90_000), ("lat_ns", 92_000)):
        edges = np.unique(_fio_bin_middles((middle * rng.lognormal(0, 0.6, 900)).astype(int)))
        counts = rng.multinomial(n_ops, np.full(len(edges), 1 / len(edges)))
        total = int((edges * counts).sum())
        phases[phase] = {
            "min": int(edges[0]), "max": int(edges[-1]), "mean": total / n_ops, "stddev": middle * 0.6, "N": n_ops,
            "percentile": {f"{p:.6f}": int(np.percentile(edges, p)) for p in (1, 5, 10, 50, 90, 95, 99, 99.9, 99.99)},
            "bins": dict(zip(map(str, edges.tolist()), counts.tolist(), strict=True)),
        }  # fmt: skip
    return {"io_bytes": n_ops * 4096, "io_kbytes": n_ops * 4, "bw_bytes": n_ops * 4096 // 60, "bw": n_ops * 4 // 60,
            "iops": n_ops / 60, "runtime": 60_000, "total_ios": n_ops, "short_ios": 0, "drop_ios": 0, **phases,
            "bw_min": 1, "bw_max": 9, "bw_agg": 100.0, "bw_mean": 5.0, "bw_dev": 1.0, "bw_samples": 119,
            "iops_min": 1, "iops_max": 9, "iops_mean": 5.0, "iops_stddev": 1.0, "iops_samples": 119}  # fmt: skip


def perf_script(path: Path, n_bytes: int = 109 << 20) -> None:
    """Write samples of perf script with call graphs: 12 000 stacks of 4 to 40 frames, two events, 20 commands.

    A stack is met as often as Zipf's law has it, so that some are met once. There are some 8 000 different stacks and
    frames, as in a recording of fio on a machine of two processors.
    """
    rng = np.random.default_rng(61)
    symbols = [f"{'_' * (i % 3)}symbol_{i:04d}_{'of_the_kernel' if i % 2 else 'user'}" for i in range(4000)]
    stacks = []
    for depth in rng.integers(4, 40, 12_000).tolist():
        frames = []
        for i in rng.integers(0, len(symbols), depth).tolist():
            place, name = ("([kernel.kallsyms])", 0xFFFFFFFF81000000) if i % 2 else ("(/usr/bin/fio)", 0x401000)
            offset = 16 + depth % 2 * 16  # a symbol calls from a few places
            frames.append(f"\t{name + i * 512 + offset:16x} {symbols[i]}+0x{offset:x} {place}\n")
        stacks.append("".join(frames) + "\n")
    commands = [f"{name} {1000 + i}" for i, name in enumerate(["fio", "postgres", "kworker/0:1", "V8 Worker"] * 5)]
    events = ["cpu-clock", "cycles"]
    time_us, n_written = 10_000_000, 0
    with path.open("w", encoding="ascii") as file:
        while n_written < n_bytes:
            picks = np.minimum(rng.zipf(1.2, 4096), 1 << 30) % len(stacks)
            periods = rng.integers(1, 5_000_000, 4096).tolist()
            for number, (pick, period) in enumerate(zip(picks.tolist(), periods, strict=True)):
                time_us += 37
                time = f"{time_us // 1_000_000}.{time_us % 1_000_000:06d}"
                head = f"{commands[pick % 20]} [{number % 8:03d}] {time}: {period:10d} {events[number % 2]}: \n"
                n_written += file.write(head + stacks[pick])


def pgbench_log(path: Path, n_rows: int = 10_000_000) -> None:
    """Write a log of pgbench -l: 8 clients, a transaction some 0.2 ms, ends in their order as pgbench writes them."""
    import pyarrow as pa
    from pyarrow import csv

    rng = np.random.default_rng(15)
    options = csv.WriteOptions(include_header=False, delimiter=" ", quoting_style="none")
    start_us = end_us = 1_795_216_271_000_000
    with path.open("wb") as file:
        for first in range(0, n_rows, 1 << 20):
            n = min(1 << 20, n_rows - first)
            numbers = np.arange(first, first + n)
            latencies = rng.lognormal(5.2, 0.4, n) + (rng.random(n) < 1e-4) * rng.integers(1000, 3_000_000, n)
            ends = end_us + rng.integers(5, 45, n).cumsum()
            end_us = int(ends[-1])
            latencies = np.minimum(latencies.astype(int), ends - start_us)  # no transaction began before the run
            columns = [numbers % 8, numbers // 8, latencies, np.zeros(n, int), ends // 1_000_000, ends % 1_000_000]
            csv.write_csv(pa.table({str(i): column for i, column in enumerate(columns)}), file, options)


def prometheus(path: Path, n_bytes: int = 100_000_000) -> None:
    """Write a query_range document: rates of 17 digits, whole counters, some NaN; 11 000 samples a series."""
    rng = np.random.default_rng(9)
    times = range(1_795_216_287, 1_795_216_287 + 11_000)
    n_written = 0
    with path.open("w", encoding="ascii") as file:
        file.write('{"status":"success","data":{"resultType":"matrix","result":[')
        while n_written < n_bytes:
            number = n_written % 1000
            kind, values = "rate", (repr(value) for value in rng.random(len(times)).tolist())
            if n_written % 3 == 0:
                kind, values = (
                    "bytes_total",
                    (str(value) for value in rng.integers(0, 999, len(times)).cumsum().tolist()),
                )
            pairs = (
                f'[{time},"{"NaN" if time % 1009 == 0 else value}"]' for time, value in zip(times, values, strict=True)
            )
            labels = f'{{"__name__":"node_{kind}","device":"vd{number}","instance":"127.0.0.1:9100","job":"node"}}'
            comma = "," if n_written else ""
            n_written += file.write(f'{comma}{{"metric":{labels},"values":[{",".join(pairs)}]}}')
        file.write("]}}")


if __name__ == "__main__":
    globals()[sys.argv[1]](Path(sys.argv[2]), *map(int, sys.argv[3:]))
