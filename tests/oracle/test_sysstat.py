"""sysstat, procps and their readers elsewhere: the same figures in other forms, compared cell by cell.

``published/sysstat`` holds pairs: sysstat's own test results in all of sadf's forms, texts with what jc made of them,
lkp's YAML beside its raw files, and pbench's tables of iostat.
"""

import json
from collections import Counter

import pandas as pd
import pytest

import pipeline
from pipeline import units

TABLES = {
    "cpu_usage": ["cpu", "time_s"],
    "device_series": ["device", "time_s"],
    "metric_series": ["metric", "labels", "time_s"],
}
SHARES = {"usr": "user_ratio", "sys": "kernel_ratio", "iowait": "iowait_ratio", "irq": "irq_ratio",
          "soft": "softirq_ratio", "steal": "steal_ratio", "idle": "idle_ratio"}  # fmt: skip


@pytest.fixture(scope="module")
def published(samples):
    return samples.parent / "published" / "sysstat"


def figures(tables):
    """Every figure behind a time stamp, by table, key and column; labels in one order."""
    found = {}
    for name, keys in TABLES.items():
        frame = tables[name][tables[name]["time_s"].notna()].drop(columns=["run_id", "tool"])
        if name == "metric_series":
            frame = frame.assign(labels=[json.dumps(json.loads(text), sort_keys=True) if isinstance(text, str) else ""
                                         for text in frame["labels"]])  # fmt: skip
        for row in frame.to_dict("records"):
            key = tuple(row[column] for column in keys)
            found |= {(name, *key, column): value for column, value in row.items() if column not in keys}
    return found


def differing(one, other):
    """Keys whose figures differ, or that only one has."""
    wrong = []
    for key in one.keys() | other.keys():
        a, b = one.get(key), other.get(key)
        same = (pd.isna(a) and pd.isna(b)) or a == b or (
            isinstance(a, float) and isinstance(b, float) and a == pytest.approx(b, rel=1e-9))  # fmt: skip
        if key not in one or key not in other or not same:
            wrong.append((key, a, b))
    return wrong


@pytest.mark.parametrize("form", ["sadf-p", "sadf-j"])
def test_sysstats_own_forms_agree(published, form):
    """The same binary file through sadf -d, -p and -j, all activities, processors going off line, two restarts."""
    folder = published / "sadf"
    one = figures(pipeline.read(folder / "sysstat__expected.sadf-d"))
    other = figures(pipeline.read(folder / f"sysstat__expected.{form}"))
    assert len(one) > 9000
    assert not differing(one, other)


def test_our_forms_agree(samples):
    folder = samples / "sysstat"
    one, other = (figures(pipeline.read(folder / name)) for name in ("sadf_dA.txt", "sadf_pA.txt"))
    assert len(one) > 7000
    assert not differing(one, other)
    of_disks = figures(pipeline.read(folder / "sadf_jd.txt"))
    assert of_disks
    assert not differing({key: value for key, value in one.items() if key in of_disks}, of_disks)


def seconds_of_day(text):
    moment = pd.to_datetime(text, format="%I:%M:%S %p" if text[-1] == "M" else "%H:%M:%S")
    return moment.hour * 3600 + moment.minute * 60 + moment.second


@pytest.mark.parametrize("name", ["centos-7.7__mpstat-A-2-5", "centos-7.7__mpstat-A", "centos-7.7__mpstat",
                                  "ubuntu-18.04__mpstat-A"])  # fmt: skip
def test_mpstat_as_jc_has_it(published, name):
    entries = json.loads((published / "mpstat" / f"jc__{name}.json").read_text("utf-8"))
    tables = pipeline.read(published / "mpstat" / f"jc__{name}.out")
    cpus = tables.cpu_usage.set_index(["cpu", "time_s"]) if len(tables.cpu_usage) else None
    metrics = Counter(tables.metric_series["value"].round(6))
    start = min(seconds_of_day(entry["time"]) for entry in entries if "time" in entry)
    first = tables.cpu_usage["time_s"].min()
    n = 0
    for entry in entries:
        if entry["type"] == "interrupts":
            values = [value for key, value in entry.items() if key not in ("cpu", "type", "time", "average", "node")]
            metrics.subtract(round(value, 6) for value in values)
        elif not entry.get("average") and entry["type"] == "cpu":
            cpu = f"node{entry['node']}" if "node" in entry else entry["cpu"]
            row = cpus.loc[(cpu, seconds_of_day(entry["time"]) - start + first)]
            shares = {key.removeprefix("percent_"): value for key, value in entry.items() if key.startswith("percent_")}
            shares["usr"] = sum(shares.get(key, 0) for key in ("usr", "nice", "guest", "gnice"))
            for key, column in SHARES.items():
                assert row[column] == pytest.approx(min(1, shares[key] * units.PERCENT), abs=1e-9), (entry, key)
                n += 1
    assert n
    assert all(count >= 0 for count in metrics.values()), "a figure of jc's is not among ours"


@pytest.mark.parametrize("number", [1, 3])
def test_mpstat_as_lkp_has_it(published, number):
    """lkp calls all processors -1, as the raw file does; its time is the sample's."""
    tables = pipeline.read(published / "mpstat" / f"lkp__mpstat__{number}")
    expected = []
    for line in (published / "mpstat" / f"lkp__mpstat__{number}.yaml").read_text("utf-8").splitlines():
        name, value = line.split(": ")
        if name == "time":
            expected.append({})
        elif name.endswith("%"):
            kind, which, share = name[:-1].split(".")
            cpu = which.replace("-1", "all") if kind == "cpu" else f"node{which}"
            expected[-1].setdefault(cpu, {})[share] = float(value)
    times = sorted(tables.cpu_usage["time_s"].unique())
    assert times
    rows = tables.cpu_usage.set_index(["cpu", "time_s"])
    for time_s, sample in zip(times, expected, strict=False):  # the raw file is an excerpt
        for cpu, shares in sample.items():
            if (cpu, time_s) not in rows.index:
                continue
            user = sum(shares[key] for key in ("usr", "nice", "guest", "gnice"))
            assert rows.loc[(cpu, time_s), "user_ratio"] == pytest.approx(user * units.PERCENT)
            assert rows.loc[(cpu, time_s), "idle_ratio"] == pytest.approx(shares["idle"] * units.PERCENT)
            assert rows.loc[(cpu, time_s), "kernel_ratio"] == pytest.approx(shares["sys"] * units.PERCENT)


JC_VMSTAT = {
    "runnable_procs": ("procs_r", 1), "uninterruptible_sleeping_procs": ("procs_b", 1),
    "virtual_mem_used": ("memory_swpd_bytes", 1024), "free_mem": ("memory_free_bytes", 1024),
    "buffer_mem": ("memory_buff_bytes", 1024), "cache_mem": ("memory_cache_bytes", 1024),
    "inactive_mem": ("memory_inact_bytes", 1024), "active_mem": ("memory_active_bytes", 1024),
    "swap_in": ("swap_si_bytes_per_s", 1024), "swap_out": ("swap_so_bytes_per_s", 1024),
    "blocks_in": ("io_bi_bytes_per_s", 1024), "blocks_out": ("io_bo_bytes_per_s", 1024),
    "interrupts": ("system_in_per_s", 1), "context_switches": ("system_cs_per_s", 1),
    "total_reads": ("disk_reads", 1), "merged_reads": ("disk_reads_merged", 1),
    "sectors_read": ("disk_read_bytes", 512), "reading_ms": ("disk_read_s", 1e-3),
    "total_writes": ("disk_writes", 1), "merged_writes": ("disk_writes_merged", 1),
    "sectors_written": ("disk_written_bytes", 512), "writing_ms": ("disk_write_s", 1e-3),
    "current_io": ("disk_requests_in_flight", 1), "io_seconds": ("disk_busy_s", 1),
}  # fmt: skip


@pytest.mark.parametrize("name", ["vmstat", "vmstat-a", "vmstat-w", "vmstat-d", "vmstat-dt"])
def test_vmstat_as_jc_has_it(published, name):
    entries = json.loads((published / "vmstat" / f"jc__centos-7.7__{name}.json").read_text("utf-8"))
    tables = pipeline.read(published / "vmstat" / f"jc__centos-7.7__{name}.out")
    metrics = tables.metric_series
    n = 0
    for entry in entries:
        rows = metrics[metrics["labels"] == json.dumps({"device": entry["disk"]})] if "disk" in entry else metrics
        values = rows.set_index("metric")["value"]
        for key, (metric, factor) in JC_VMSTAT.items():
            if entry.get(key) is not None:
                assert values[metric] == pytest.approx(entry[key] * factor), key
                n += 1
        if "idle_time" in entry:
            (row,) = tables.cpu_usage.to_dict("records")
            found = [row[f"{share}_ratio"] for share in ("user", "kernel", "idle", "iowait", "steal")]
            expected = [entry[f"{key}_time"] for key in ("user", "system", "idle", "io_wait", "stolen")]
            assert found == pytest.approx([value * units.PERCENT for value in expected])
    assert n == len(metrics)


def gold(path):
    """pbench's table: the rows' times, and by device and direction the figures as they were printed."""
    frame = pd.read_csv(path, dtype=str)
    return frame.drop(columns="timestamp_ms")


@pytest.mark.parametrize("number", [1, 2, 3])
def test_iostat_as_pbench_has_it(published, number):
    """Requests, utilization, queue and waits of every device and sample; pbench knows no window and no mean since boot.

    What pbench gives as the wait or the size of no requests is 0.00, where we have none.
    """
    tables = pipeline.read(published / "iostat" / f"pbench__iostat-{number}__iostat-stdout.txt")
    devices = tables.device_series
    n = 0
    for kind, columns, factor in (
        ("IOPS", {"read": "reads_per_s", "write": "writes_per_s"}, 1),
        ("Utilization_percent", {"": "busy_ratio"}, units.PERCENT),
        ("Queue_Size", {"": "queue_depth"}, 1),
        ("Wait_Time_msec", {"read": "read_await_s", "write": "write_await_s"}, units.MILLI),
    ):
        path = published / "iostat_gold" / f"pbench__iostat-{number}__csv__disk_{kind}.csv"
        if not path.exists():
            continue
        frame = gold(path)
        for name in frame.columns:
            device, direction = name.rsplit("-", 1) if "" not in columns else (name, "")
            rows = devices[devices["device"] == device]
            expected = pd.to_numeric(frame[name].dropna()).reset_index(drop=True) * factor
            found = rows[columns[direction]].dropna() if columns[direction] in rows else None
            if found is None or not len(found):
                assert (expected == 0).all() or len(rows) == 0, name
                continue
            if len(found) < len(expected):  # waits of no requests
                expected = expected[expected > 0]
                found = found[found > 0]
            assert list(found) == pytest.approx(list(expected), rel=1e-9), name
            n += len(expected)
    assert n > 50
