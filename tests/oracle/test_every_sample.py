"""Every sample gives rows, but for a written list of refusals with reasons."""

from fnmatch import fnmatch
from pathlib import Path

import pytest
import yaml

from pipeline.errors import ParseError
from pipeline.parse._source import Source
from pipeline.reading import Item, read_file
from pipeline.tidy import tables_of
from pipeline.tools import find_reader

REFUSALS = yaml.safe_load((Path(__file__).parent / "refusals.yaml").read_text("utf-8"))
OURS = ("act", "act_linearity", "diskspd", "fio", "iperf", "latency_breakdown", "perf", "prometheus", "stress-ng",
        "sysbench", "sysstat")  # fmt: skip
PUBLISHED = ("act", "aerospike", "cassandra_stress", "diskspd", "fio", "fio_extra", "hammerdb", "hdrhistogram", "iperf",
             "perf", "pgbench", "postgres", "prometheus", "scylla", "stress-ng", "sysbench", "sysstat", "uperf",
             "windows", "ycsb")  # fmt: skip


@pytest.mark.parametrize("folder", [*(f"ours/{name}" for name in OURS), *(f"published/{name}" for name in PUBLISHED)])
def test_every_sample_gives_rows_or_is_a_written_refusal(samples, folder):
    """`unknown`: no reader knows the format; `refused`: its reader gives one clear error. The first glob counts."""
    base = samples.parent
    problems, used = [], set()
    for path in sorted(path for path in (base / folder).rglob("*") if path.is_file()):
        name = path.relative_to(base).as_posix()
        kind = "unknown" if find_reader(Source(path)) is None else "refused"
        listed = next((glob for glob in REFUSALS[kind] if fnmatch(name, glob)), None)
        reading = read_file(Item(path, name))
        if isinstance(reading.error, ParseError):
            used.add(listed)
            if listed is None:
                problems.append(f"{name}: {kind}, but not on the list: {reading.error}")
            continue
        tables = tables_of(reading.reports)
        if not any(len(frame) for table, frame in tables.items() if table not in ("runs", "warnings")):
            problems.append(f"{name}: no rows")
        if kind == "refused" and listed:
            problems.append(f"{name}: is read, but on the list")
    assert not problems
    listed = {glob for globs in REFUSALS.values() for glob in globs if glob.startswith(f"{folder}/")}
    assert not listed - used, f"the list names refusals that there are not: {listed - used}"


def test_every_folder_of_samples_is_tried(samples):
    for part, folders in (("ours", OURS), ("published", PUBLISHED)):
        assert {path.name for path in (samples.parent / part).iterdir() if path.is_dir()} == set(folders)
