"""sar, mpstat, vmstat and perfmon: who recognises what, time across midnight, long logs in bounded memory."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.errors import ParseError
from pipeline.parse._source import Source
from pipeline.parse.monitors import mpstat_json, mpstat_text, perfmon, sadf_json, sar_text, vmstat
from pipeline.parse.monitors._sysstat_clock import Clock, read_stamp
from pipeline.parse.monitors._sysstat_dated import seconds_of
from pipeline.parse.monitors._sysstat_groups import GROUPS, metric
from pipeline.parse.monitors._sysstat_layout import layout_of
from pipeline.parse.monitors._sysstat_sheet import numbers
from pipeline.tidy import tables_of
from pipeline.tools import load_reader, readers_of

READERS = [*readers_of("iostat"), *readers_of("mpstat"), *readers_of("sar"), *readers_of("vmstat"), "perfmon"]


def tables(reader, text):
    reports = reader.parse(Source("log", text.encode()))
    for number, report in enumerate(reports):
        report.describe(run_id=f"run#{number}")
    return tables_of(reports)


@pytest.mark.parametrize(
    ("head", "reader"),
    [
        ("10:00:00  CPU  %usr %nice %sys %iowait %irq %soft %steal %guest %gnice %idle\n", "mpstat_text"),
        ("10:00:00  CPU CORE SOCK NODE %usr %nice %sys %iowait %irq %soft %steal %idle\n", "mpstat_text"),
        ("10:00:00  NODE  %usr %nice %sys %iowait %irq %soft %steal %guest %gnice %idle\n", "mpstat_text"),
        ("10:00:00  CPU    24/s    NMI/s\n", "mpstat_text"),
        ("10:00:00 PM  CPU    intr/s\n", "mpstat_text"),
        ("10:00:00        CPU     %user     %nice   %system   %iowait    %steal     %idle\n", "sar_text"),
        ("10:00:00  CPU %usr %nice %sys %iowait %steal %irq %soft %guest %gnice %idle\n", "sar_text"),
        ("10:00:00  CPU   total/s   dropd/s squeezd/s  rx_rps/s flw_lim/s\n", "sar_text"),
        ("10:00:00   DEV   tps   rkB/s   wkB/s   areq-sz   aqu-sz   await   %util\n", "sar_text"),
        ("10:00:00   tps   rkB/s   wkB/s   areq-sz   aqu-sz   await   %util DEV\n", "sar_text"),
        ("10:00:00          tps      rtps      wtps   bread/s   bwrtn/s\n", "sar_text"),
        ("Device:            tps    kB_read/s    kB_wrtn/s    kB_read    kB_wrtn\n", "iostat_text"),
        ("Device            r/s     w/s     rkB/s     wkB/s  await  %util\n", "iostat_text"),
        ("procs -----memory----- ---swap--\n r  b   swpd   free\n 1  0      0      1\n", "vmstat"),
        ('"(PDH-CSV 4.0)","\\\\A\\Memory\\Available MBytes"\n', "perfmon"),
        ("(PDH-TSV 4.0) (UTC)(0)\t\\\\A\\Memory\\Available MBytes\n", "perfmon"),
        ("# hostname;interval;timestamp;proc/s;cswch/s\n", "sadf_csv"),
        ("vm\t1\t2026-11-20 23:07:35 UTC\t-\tproc/s\t1.00\n", "sadf_text"),
        ('{"sysstat": {"hosts": [{"statistics": [{"timestamp": "1", "cpu-load": [{"cpu": "all"}]}]}]}}', "mpstat_json"),
        ('{"sysstat": {"hosts": [{"statistics": [{"disk": [{"disk-device": "sda", "tps": 1}]}]}]}}', "sadf_json"),
        ('{"sysstat": {"hosts": [{"statistics": [{"avg-cpu": {"user": 1}}]}]}}', "iostat_json"),
        ("\x96Õu!\x0c\x06", "sar_binary"),
    ],
)
def test_one_reader_claims_a_head(head, reader):
    assert [name for name in READERS if load_reader(name).recognise(head)] == [reader]


@pytest.mark.parametrize(
    ("line", "second"),
    [
        ("23:07:34     CPU", 83254), ("12:00:01 AM  CPU", 1), ("12:00:01 PM  CPU", 43201), ("23時07分34秒  CPU", 83254),
        ("23.07.34  CPU", 83254), ("下午 11时07分34秒  CPU", 83254), ("1591016000  CPU", 1591016000),
        ("Average:  CPU", None), ("Moyenne :  CPU", None), ("平均値:  CPU", None), ("Trung bình:  CPU", None),
    ],
)  # fmt: skip
def test_stamps(line, second):
    stamp = read_stamp(line)
    assert stamp is not None
    assert (stamp.second, stamp.word) == (second, "" if second else "average")


@pytest.mark.parametrize("line", ["25:00:00  CPU", "Device:   tps", "avg-cpu:  %user", "nvme0n1  1.00", "10:00  CPU"])
def test_no_stamps(line):
    assert read_stamp(line) is None


def test_midnight_is_a_fall_of_half_a_day():
    clock = Clock()
    times = [clock.elapsed("cpu", read_stamp(f"{text} ")) for text in ("23:59:58", "23:59:59", "00:00:01", "00:00:00")]
    assert times == [0, 1, 3, 2]
    assert clock.n_falls == 1
    clock.restart()
    assert clock.elapsed("cpu", read_stamp("00:00:00 ")) == 2
    assert clock.elapsed("device", read_stamp("00:00:01 ")) == 3, "each family of tables goes through the time itself"


@pytest.mark.parametrize(
    ("stamp", "seconds"),
    [
        ("1970-01-01 00:00:10 UTC", (10, True)), ("1970-01-01 00:00:10", (10, False)),
        ("1555593639", (1555593639, True)),
        ("1970-01-02 00:00:00 CEST", (86400, False)), ("2026-02-30 00:00:00 UTC", None), ("x", None),
    ],
)  # fmt: skip
def test_dates(stamp, seconds):
    assert seconds_of(stamp) == seconds


def test_every_column_has_one_metric_of_its_own():
    groups = {group: columns for group, columns in GROUPS.items() if group != "device"}  # which has iostat's names
    older = ("rxbyt/s", "txbyt/s")  # where later versions have kB
    names = [
        metric(group, column).name for group, columns in groups.items() for column in columns if column not in older
    ]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("group", [name for name in GROUPS if name not in ("cpu", "device")])
def test_columns_find_their_activity(group):
    columns = [column for column in GROUPS[group] if column != "retrans/s"]
    layout = layout_of(tuple(columns))
    assert {field.name.startswith(f"{group}_") for field in layout.fields} == {True}


printed = st.floats(allow_nan=False).flatmap(
    lambda value: st.sampled_from([f"{value:.17g}", f"{value:.3e}", f"{value:.1E}", repr(value)])
)


@given(st.lists(printed | st.text("0123456789.,eE+-_ kM%", max_size=8), min_size=1, max_size=4))
@settings(max_examples=300, deadline=None)
def test_a_column_reads_the_same_beside_a_cell_that_is_odd(cells):
    """A blank in the column changes the way it is read: cell by cell instead of all at once."""
    alone = [numbers([cell], 2.0, may_be_negative=True)[0][0] for cell in cells]
    beside = numbers([*cells, ""], 2.0, may_be_negative=True)[0][:-1]
    assert np.array_equal(alone, beside, equal_nan=True)


@pytest.mark.parametrize(
    ("cell", "value"),
    [("9.2000000000000000279e-05", 9.2e-05), ("4.5e-005", 4.5e-05), ("1.25E+2", 125), ("9,2e-05", 9.2e-05), (".5", 0.5),
     ("5.", 5), ("1e", None), ("e5", None), ("1e5e5", None), ("1_0", None), ("1e999", None), ("7.8k", None)],
)  # fmt: skip
def test_numbers_of_a_cell(cell, value):
    for cells in ([cell], [cell, ""]):
        found = numbers(cells, 1.0)[0][0]
        assert np.isnan(found) if value is None else found == value


hundredths = st.integers(0, 10**6).map(lambda n: f"{n / 100:.2f}")


@given(st.lists(st.lists(hundredths, min_size=3, max_size=3), min_size=1, max_size=20), st.integers(0, 86399))
@settings(max_examples=30, deadline=None)
def test_every_figure_of_sar_is_a_row(rows, start):
    """Whatever the values and the time of day: a row a cell, in order, the windows one second long."""

    def stamp(second):
        second %= 86400
        return f"{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}"

    text = f"Linux 6.1 (vm) \t11/20/26\n\n{stamp(start)}    runq-sz   ldavg-1  newcol/s\n"
    for number, row in enumerate(rows, 1):
        text += f"{stamp(start + number)} " + " ".join(f"{cell:>12}" for cell in row) + "\n"
    text += "Average:  " + " ".join(rows[0]) + "\n"
    found = tables(sar_text, text)
    assert list(found.runs["is_complete"]) == [True]
    assert found.runs["duration_s"].iloc[0] == len(rows)
    for place, name in enumerate(("queue_runq_sz", "queue_ldavg_1", "queue_newcol_per_s")):
        series = found.metric_series[found.metric_series["metric"] == name]
        assert list(series["value"]) == [float(row[place]) for row in [*rows, rows[0]]]
        assert list(series["time_s"])[:-1] == list(range(1, len(rows) + 1))
        assert series["time_s"].isna().iloc[-1]


class Sink:
    """Where rows go that are too many: counted and forgotten."""

    def __init__(self):
        self.n = 0

    def take(self, *to):
        blocks = to[-1]
        self.n += sum(len(block["time_s"]) for block in blocks)


def mpstat_lines(n_samples, n_cpus):
    yield "Linux 6.1.0 (vm) \t11/20/26 \t_x86_64_\t(64 CPU)\n"
    values = "    1.00" * 9 + "   91.00\n"
    for second in range(n_samples):
        before, after = (f"{t // 3600:02}:{t // 60 % 60:02}:{t % 60:02}" for t in (second, second + 1))
        yield f"\n{before}     CPU    %usr   %nice    %sys %iowait    %irq   %soft  %steal  %guest  %gnice   %idle\n"
        for cpu in ["all", *range(n_cpus)]:
            yield f"{after}  {cpu:>6}{values}"


def test_a_long_log_takes_bounded_memory(tmp_path):
    """200,000 rows, of which no more than the block at hand and those of a table in memory stay."""
    path = tmp_path / "mpstat.txt"
    peaks = []
    for n_samples in (1500, 3000):
        path.write_text("".join(mpstat_lines(n_samples, 64)))
        source = Source(path)
        source.spill = sink = Sink()
        tracemalloc.start()
        (report,) = mpstat_text.parse(source)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        kept = sum(len(block["time_s"]) for block in report.blocks.get("cpu_usage", []))
        assert sink.n + kept == n_samples * 65
    assert peaks[1] < peaks[0] * 1.5


def test_a_cut_in_the_averages_is_seen():
    text = "".join(mpstat_lines(2, 3)).replace("00:00:02", "Average:").replace("00:00:01     CPU", "Average:     CPU")
    assert tables(mpstat_text, text).runs["is_complete"].all()
    lines = text.splitlines(keepends=True)
    for n in range(4, len(lines)):
        assert not tables(mpstat_text, "".join(lines[:n])).runs["is_complete"].any(), n


@pytest.mark.parametrize("reader", [mpstat_json, sadf_json])
def test_a_sample_larger_than_a_block_is_read(reader):
    stamp = '"10:00:00"' if reader is mpstat_json else '{"date": "2026-01-01", "time": "10:00:00", "interval": 1}'
    rows = ",\n".join(f'{{"cpu": "{i}", "usr": 1.00, "idle": 99.00}}' for i in range(150_000))
    text = f'{{"sysstat": {{"hosts": [{{"statistics": [{{"timestamp": {stamp}, "cpu-load": [{rows}]}}\n]}}]}}}}\n'
    assert len(text) > 6 << 20
    found = tables(reader, text)
    assert len(found.cpu_usage) == 150_000
    assert found.runs["is_complete"].all()


@pytest.mark.parametrize("reader", [mpstat_text, sar_text, vmstat, perfmon])
@pytest.mark.parametrize("text", ["", "\n", "\0" * 100, "10:00:00 \n" * 1000, "Linux 1 (a) b\n" * 100])
def test_nothing_to_read_is_one_error(reader, text):
    with pytest.raises(ParseError):
        reader.parse(Source("log", text.encode()))
