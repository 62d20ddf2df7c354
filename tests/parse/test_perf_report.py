"""perf report, sched and trace: long lines, long logs, other tools' output, and tables that must agree."""

import random

import pytest

from pipeline.errors import ParseError
from pipeline.parse._source import Source
from pipeline.tidy import tables_of
from pipeline.tools import load_reader

READERS = ("perf_report", "perf_sched", "perf_trace")
HEADERS = {
    "perf_report": "# Samples: 8K of event 'cycles'\n#\n# Overhead  Command  Symbol\n# ........  .......  ......\n#\n",
    "perf_sched": (
        "           time    cpu  task name                       wait time  sch delay   run time\n"
        "   12920.962251 [0000]  perf[25685]                         0.000      0.000      0.000 \n"
    ),
    "perf_trace": (
        "     0.060 ( 0.013 ms): ls/1 brk() = 0x5\n\n Summary of events:\n\n ls (1), 2 events, 97.3%\n\n"
        "   syscall            calls  errors  total       min       avg       max       stddev\n"
    ),
}
ENDLESS = (
    "{} ", "{}-", "({}", "{}(", "1 ", "1.000 ", " ", " x", "    1.00%  ", "# . ", "#.", "-- ", "| ", "a:",
    "\x1b[", "   syscall calls ",
    "     0.060 (", "     0.060 ( 0.013 ms): a", "   12920.962251 [0000]  a ", "1.00% a;", "{ a, ", "}:",
    "no entry >= 1",
    "  avg: 1.000 ms |", ", 1 events", "# a : ", "  a  ", "[k] ", "  [", "7 ", "- 3 4 5 ",
)  # fmt: skip


def parsed(reader, text):
    reports = load_reader(reader).parse(Source("x.txt", text.encode("utf-8", "replace")))
    for i, report in enumerate(reports):
        report.describe(run_id=f"x#{i}")
    return tables_of(reports)


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("piece", ENDLESS)
def test_endless_lines_take_no_time(reader, piece):
    header = HEADERS[reader]
    line = (piece * 60000)[:60000]
    short = (piece * 900)[:900]
    for text in (f"{header}{line}\n", f"{header}{line}x\n{line}\n", f"{header}   {line}", header + f"{short}\n" * 700):
        try:
            parsed(reader, text)
        except ParseError as error:
            assert len(str(error)) < 500


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(
    "head",
    [
        "# ========\n# captured on    : Fri Nov 20 23:06:47 2026\n# ========\n#\nfio 1 [000] 12.3: 1 cycles:\n",
        "fio 14205 [000] 12.345678:  250000 cycles:  ffffffff81 native_write_msr ([kernel.kallsyms])\n",
        " Performance counter stats for 'true':\n\n              1.05 msec task-clock   #    0.736 CPUs utilized\n",
        "#           time             counts unit events\n     1.000100000             12.50 msec cpu-clock\n",
        "# Running 'sched/messaging' benchmark:\n     Total time: 0.310 [sec]\n",
        "12:00:01 AM all 1.20 0.00 3.40 0.00 95.40\nAverage: all 5 1.20 0.00\n",
        "main;read;vfs_read 12\nmain;write 3\n",
        "# Samples: 12 of something\n",
        "     1.00%  a\n     2.00%  b\n     3.00%  c\n",
        "brk(NULL) = 0x5584456ea000\nread(3, 0x55, 10) = 10 <0.000012>\n",
        "12:00:01.123 read(3, 0x55, 10) = 10\n",
        "\n Summary of events:\n\n 12 meetings\n",
        "",
    ],
)
def test_other_outputs_are_left_alone(reader, head):
    assert not load_reader(reader).recognise(head)


def entries(numbers, n_rows):
    return [
        (numbers.randrange(10_001), numbers.randrange(10**6), f"c{numbers.randrange(9)}", f"f{i}<a, b>::g(int)")
        for i in range(n_rows)
    ]


def test_the_same_table_in_three_forms_gives_the_same_rows():
    rows = entries(random.Random(3), 200)
    head = "# Samples: 8K of event 'cycles'\n# Event count (approx.): 1\n#\n"
    spans = "".join(f"  {share / 100:7.2f}%  {n:12}  {c:<7}  [.] {f}\n" for share, n, c, f in rows)
    bars = "".join(f" {share / 100:.2f}% | {n} |{c:<7}|[.] {f}\n" for share, n, c, f in rows)
    text = {
        "columns": f"{head}# Overhead       Samples  Command  Symbol\n# ........  ............  .......  ......\n#\n"
        f"{spans}\n\n",
        "separator": f"{head}# Overhead|     Samples|Command|Symbol\n{bars}\n\n",
        "reversed": f"{head}# Command  Overhead       Samples  Symbol\n# .......  ........  ............  ......\n#\n"
        + "".join(f"  {c:<7}  {share / 100:7.2f}%  {n:12}  [.] {f}\n" for share, n, c, f in rows)
        + "\n\n",
    }
    columns, separator, backwards = (parsed("perf_report", text[form]).perf_hotspots for form in text)
    assert columns.equals(separator)
    assert columns.equals(backwards)
    assert list(columns["overhead_ratio"]) == pytest.approx([share / 10000 for share, *_ in rows])
    assert list(columns["n_samples"]) == [n for _, n, *_ in rows]
    assert list(columns["symbol"]) == [f for *_, f in rows]


LONG = {
    "perf_report": ("     1.00%  dd       [k] f{i}\n", "perf_hotspots", 1),
    "perf_sched": (
        "   {t:12.6f} [0001]  task {i}[{i}]              1.000      2.000      3.000 \n",
        "latency_series",
        3,
    ),
    "perf_trace": ("   {t:10.3f} ( 0.013 ms): ls/1 read(fd: 3, buf: 0x7f, count: 8) = 8\n", "latency_series", 1),
}


@pytest.mark.parametrize("reader", READERS)
def test_long_logs_leave_memory(reader, monkeypatch):
    monkeypatch.setattr("pipeline.parse._report.ROWS_IN_MEMORY", 4000)
    for module in ("_perf_report_rows", "_perf_sched_timehist", "_perf_trace_lines"):
        name = "_BLOCK_ROWS" if module == "_perf_report_rows" else "_BLOCK_LINES"
        monkeypatch.setattr(f"pipeline.parse.perf.{module}.{name}", 500)
    line, table, n_rows = LONG[reader]
    n_lines = 20_000
    text = HEADERS[reader].partition("\n\n")[0].rstrip("\n") + "\n"
    text += "".join(line.format(i=i % 50, t=12921 + i / 1000) for i in range(n_lines)) + "\n\n"
    sizes = []

    class Spill:
        def take(self, *given):
            _, name, _, blocks = given
            assert name == table
            sizes.append(sum(max(map(length, block.values())) for block in blocks))

    source = Source("x", text.encode())
    source.spill = Spill()
    load_reader(reader).parse(source)
    assert sum(sizes) > 0.8 * n_rows * n_lines
    assert max(sizes) < 8000


def length(column):
    return len(column) if hasattr(column, "__len__") and not isinstance(column, str) else 0
