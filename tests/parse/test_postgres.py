"""pgbench, pg_test_fsync, pg_stat_wal: statistics are exact, cut files are never whole, only ParseError escapes."""

from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.errors import ParseError
from pipeline.parse._source import Source
from pipeline.parse.postgres import pg_stat_wal, pg_test_fsync, pgbench, pgbench_log
from pipeline.tidy import tables_of

HERE = Path(__file__).parent


def tables(reader, data):
    reports = reader.parse(Source("log", data))
    for number, report in enumerate(reports):
        report.describe(run_id=f"run#{number}")
    return tables_of(reports)


def is_whole(reader, data):
    """Whether a text gives reports that all are complete."""
    try:
        return all(report.run["is_complete"] and report.alone is None for report in reader.parse(Source("log", data)))
    except ParseError:
        return False


def raw(case):
    (path,) = (path for path in (HERE / case).iterdir() if path.suffix != ".yaml")
    return path.read_bytes()


latencies = st.lists(st.integers(1, 10**6), min_size=2, max_size=60)


@given(latencies)
@settings(max_examples=40, deadline=None)
def test_statistics_of_a_log_are_those_of_its_lines_and_of_its_aggregate(micros):
    ends = 1_795_216_271_000_000 + np.cumsum(micros)
    lines = [
        f"0 {i} {t} 0 {end // 10**6} {end % 10**6}" for i, (t, end) in enumerate(zip(micros, ends, strict=True), 1)
    ]
    log = tables(pgbench_log, "\n".join([*lines, ""]).encode())
    halves = [micros[: len(micros) // 2], micros[len(micros) // 2 :]]
    rows = [(1_795_216_271 + i, len(h), sum(h), sum(t * t for t in h), min(h), max(h)) for i, h in enumerate(halves)]
    aggregate = tables(pgbench_log, "".join(" ".join(map(str, row)) + "\n" for row in rows).encode())
    expected = {
        "latency_mean_s": np.mean(micros) / 1e6,
        "latency_stddev_s": np.std(micros, ddof=1) / 1e6,
        "latency_min_s": min(micros) / 1e6,
        "latency_max_s": max(micros) / 1e6,
    }
    for operations in (log.operations, aggregate.operations):
        assert operations["n_ops"].tolist() == [len(micros)]
        for name, value in expected.items():
            assert operations[name].item() == pytest.approx(value, rel=1e-9, abs=1e-12)
    assert log.operations["duration_s"].item() == pytest.approx(sum(micros) / 1e6)
    for row in log.latency_percentiles.itertuples():
        # the smallest latency that this share does not exceed, in integers
        rank = next(k for k in range(1, len(micros) + 1) if k * 10_000 >= round(row.percentile * 100) * len(micros))
        assert row.latency_s == pytest.approx(sorted(micros)[rank - 1] / 1e6, rel=1e-12)
    assert log.latency_series["latency_s"].sum() == pytest.approx(sum(micros) / 1e6)


@pytest.mark.parametrize(
    ("reader", "case"),
    [
        (pgbench, "pgbench/two_runs_in_one_file"),
        (pgbench, "pgbench/two_scripts"),
        (pgbench, "pgbench/stderr_alone"),
        (pg_test_fsync, "pg_test_fsync/write_has_no_latency"),
        (pg_test_fsync, "pg_test_fsync/version_9_1_without_latency"),
        (pg_stat_wal, "pg_stat_wal/pg15_timing_on"),
        (pg_stat_wal, "pg_stat_wal/timing_off_table"),
        (pg_stat_wal, "pg_stat_wal/pg18_without_writes"),
    ],
)
def test_a_cut_file_is_never_whole(reader, case):
    data = raw(case)
    # The first of two runs, all scripts without their statements (-r), a record without its footer are whole as well.
    optional = (b"pgbench (", b"- statement latencies", b"(1 row)")
    for cut in range(len(data.rstrip())):
        is_optional = data[cut:].lstrip().startswith(optional) and data[:cut].rstrip(b" ").endswith((b"\n", b")"))
        assert is_optional or not is_whole(reader, data[:cut]), f"whole although cut after {data[:cut][-30:]!r}"


def test_a_cut_line_of_a_log_is_left_out_and_told():
    data = raw("pgbench_log/first_2000_lines")[:400]
    for cut in range(1, len(data)):
        is_between_lines = data[:cut].endswith(b"\n")
        assert is_whole(pgbench_log, data[:cut]) == is_between_lines


@pytest.mark.parametrize(
    ("reader", "case"),
    [
        (pgbench, "pgbench/rate_limit_with_skips"),
        (pgbench, "pgbench/two_scripts"),
        (pgbench_log, "pgbench_log/lag_and_skipped"),
        (pgbench_log, "pgbench_log/aggregated_with_lag"),
        (pg_test_fsync, "pg_test_fsync/write_has_no_latency"),
        (pg_stat_wal, "pg_stat_wal/pg15_timing_on"),
    ],
)
@given(data=st.data())
@settings(max_examples=30, deadline=None)
def test_damage_gives_tables_or_a_parse_error(reader, case, data):
    content = bytearray(raw(case))
    scraps = st.sampled_from([b"", b"9" * 400, b"9" * 25, b"-1", b"nan", b"\n", b"\x00", b"1e999", b" ", b"\xff"])
    for _ in range(data.draw(st.integers(1, 5))):
        at = data.draw(st.integers(0, max(0, len(content) - 1)))
        content[at : at + data.draw(st.integers(0, 30))] = data.draw(scraps)
    with suppress(ParseError):
        tables(reader, bytes(content))


@pytest.mark.parametrize("n_columns", [3, 4, 5, 6, 10])
def test_other_logs_of_integers_are_not_claimed(n_columns):
    rows = "".join(" ".join(str(i * 7 + column) for column in range(n_columns)) + "\n" for i in range(50))
    fio = "".join(f"{i}, {180 + i}, 1, 4096, {i * 4096}, 0\n" for i in range(50))
    for text in (rows, fio, rows.replace(" ", ","), ""):
        assert not pgbench_log.recognise(text)


def test_statements_with_wal_columns_are_not_claimed():
    text = "-[ RECORD 1 ]----+--\nqueryid | 1\ncalls | 2\nwal_records | 3\nwal_bytes | 4\nwal_buffers_full | 5\n\n"
    assert not pg_stat_wal.recognise(text)
