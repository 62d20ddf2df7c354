"""The tidy schema: every table and column that the readers write and the analyses read.

This is the contract between all parts. A column is ``quantity[_statistic]_unit`` in SI base units; missing is
null, never 0. Tables and columns may be added; the names and units that stand here stay.
``data/README.md`` is generated from this file (``make docs``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

VERSION = 1

DType = Literal["text", "integer", "number", "flag", "time"]


@dataclass(frozen=True)
class Column:
    """A column: its name, its type, its unit (empty for none), one sentence, and the range of its values."""

    name: str
    dtype: DType
    unit: str
    description: str
    minimum: float | None = None
    maximum: float | None = None
    required: bool = False


@dataclass(frozen=True)
class Table:
    """A table: its name, what one row stands for, and its columns, the keys first."""

    name: str
    grain: str
    columns: tuple[Column, ...]

    @property
    def column_names(self) -> list[str]:
        """Names of the columns in their order."""
        return [column.name for column in self.columns]


def _text(name: str, description: str, *, required: bool = False) -> Column:
    return Column(name, "text", "", description, required=required)


def _number(name: str, unit: str, description: str, *, signed: bool = False, maximum: float | None = None) -> Column:
    return Column(name, "number", unit, description, None if signed else 0.0, maximum)


def _count(name: str, description: str, *, unit: str = "1") -> Column:
    return Column(name, "integer", unit, description, 0)


def _ratio(name: str, description: str, *, maximum: float | None = 1.0) -> Column:
    return Column(name, "number", "1", description, 0.0, maximum)


def _seconds(name: str, description: str, *, signed: bool = False) -> Column:
    return _number(name, "s", description, signed=signed)


RUN_ID = _text(
    "run_id", "The run: <host>-<tool>-<point>-r<repeat>, or the file's stem without a manifest.", required=True
)
TOOL = _text("tool", "The tool whose report gave the row; (run_id, tool) names one row of runs.", required=True)
INTERVAL = (
    _seconds("interval_start_s", "Start of the interval since the start of the run; null: the whole run."),
    _seconds("interval_end_s", "End of the interval since the start of the run; null: the whole run."),
)
JOB = _text("job", "The tool's finest worker: fio job, DISKSPD thread, ACT histogram, perf task.")
TARGET = _text("target", "The device or file that was measured.")
OP = _text("op", "read, write, trim, sync, mixed, total, or the tool's own name in snake_case.", required=True)
SCOPE = _text(
    "scope",
    "job: the finest the tool reports; device: one device; total: the tool's own total; log: summed up from a log that "
    "has a line an operation.",
    required=True,
)
PHASE = _text("phase", "Part of the latency: submission, completion, total, sync, …", required=True)

_REPORT = (RUN_ID, TOOL)
_OPERATION = (*_REPORT, *INTERVAL, JOB, TARGET, OP, SCOPE)
_LATENCY = (*_OPERATION, PHASE)
_SERIES = (*_REPORT, JOB, TARGET, OP)
TIME = _seconds("time_s", "Time since the start of the run: the end of the window, or the I/O's own stamp.")
WINDOW = _seconds("window_s", "Length of the window that ends at time_s; null: a single event.")


def _table(name: str, grain: str, *columns: Column) -> Table:
    return Table(name, grain, columns)


_ALL = (
    _table(
        "runs", "a tool report", *_REPORT,
        _text("campaign", "The campaign's slug, from the manifest."),
        _text("host", "The machine that ran the tool."),
        _text("point", "The point of the campaign's matrix, from the manifest."),
        _count("repeat", "The repeat of the point, from 1."),
        _text("tool_version", "The version as the tool prints it."),
        Column("started_at", "time", "UTC", "When the tool started."),
        _seconds("duration_s", "How long the tool measured."),
        _text("command", "The command line."),
        Column("exit_status", "integer", "1", "The tool's exit status."),
        Column("is_complete", "flag", "", "Whether the report is whole and the run ended by itself.", required=True),
        _text("source_path", "The raw file, relative to the project or as given.", required=True),
        _text("source_sha256", "SHA-256 of the raw file's bytes.", required=True),
        _count("attempt", "How often this repeat had been tried then, from 1; null: nobody counted."),
        _text("state", "How the run ended: complete, failed, timed_out, cancelled, interrupted or refused; null: not "
              "known, as of logs that were imported."),
    ),
    _table(
        "parameters", "a setting as recorded", *_REPORT, JOB,
        _text("name", "The setting, as the tool names it.", required=True),
        _text("value", "Its value as text."),
    ),
    _table(
        "warnings", "a thing the reader noticed", *_REPORT,
        _text("source_path", "The raw file.", required=True),
        Column("line", "integer", "1", "Line in the file, from 1; null: the file as a whole.", 1),
        _text("code", "A short fixed name of the kind of warning.", required=True),
        _text("message", "What was expected, what was found.", required=True),
    ),
    _table(
        "files", "a raw file of a campaign", RUN_ID,
        _text("path", "The file, relative to the campaign's raw folder.", required=True),
        _count("n_bytes", "Size of the file.", unit="B"),
        _text("sha256", "SHA-256 of its bytes.", required=True),
        _text("status", "read; not_read: no reader knows it; failed: its reader gave up; changed: not the manifest's; "
              "not_a_log: what collecting wrote beside the logs.", required=True),
        _text("tool", "The tool whose reader took it."),
    ),
    _table(
        "operations", "run × job × target × op × scope", *_OPERATION,
        _count("n_ops", "Operations completed."),
        _count("n_bytes", "Bytes transferred.", unit="B"),
        _seconds("duration_s", "Time over which they were counted."),
        _number("ops_per_s", "1/s", "Operations a second."),
        _number("bytes_per_s", "B/s", "Bytes a second."),
        _count("block_size_bytes", "Size of an operation, where it is one size.", unit="B"),
        _number("queue_depth", "1", "Configured operations outstanding in all, of this row's workers together."),
        _seconds("latency_mean_s", "Mean latency of the total phase."),
        _seconds("latency_stddev_s", "Standard deviation of the latency of the total phase."),
        _seconds("latency_min_s", "Smallest latency of the total phase."),
        _seconds("latency_max_s", "Largest latency of the total phase."),
        _count("n_errors", "Operations that failed."),
    ),
    _table(
        "latency_summary", "run × job × target × op × scope × phase", *_LATENCY,
        _count("n_ops", "Operations whose latency was taken."),
        _seconds("mean_s", "Mean."),
        _seconds("stddev_s", "Standard deviation."),
        _seconds("min_s", "Smallest."),
        _seconds("max_s", "Largest."),
    ),
    _table(
        "latency_percentiles", "run × job × target × op × scope × phase × percentile", *_LATENCY,
        Column("percentile", "number", "%", "0 … 100.", 0, 100),
        _seconds("latency_s", "The latency that this share of the operations did not exceed, as the tool reports it."),
    ),
    _table(
        "latency_bins", "run × job × target × op × scope × phase × interval × bin", *_LATENCY,
        _seconds("lower_s", "Lower edge, inclusive."),
        _seconds("upper_s", "Upper edge, exclusive; null: the overflow bin."),
        _count("count", "Operations in the bin, in this interval alone (not cumulative)."),
    ),
    _table(
        "latency_series", "an I/O, or a window", *_SERIES, PHASE, TIME, WINDOW,
        _seconds("latency_s", "Its latency; of a window, the mean."),
        _seconds("latency_max_s", "Largest latency of the window."),
        _count("block_size_bytes", "Size of the I/O.", unit="B"),
        _count("offset_bytes", "Where on the target.", unit="B"),
        _count("priority", "The I/O's priority as logged."),
        _seconds("issued_s", "When it was issued, since the start of the run."),
    ),
    _table(
        "throughput_series", "a window", *_SERIES, TIME, WINDOW,
        _number("ops_per_s", "1/s", "Operations a second in the window."),
        _number("bytes_per_s", "B/s", "Bytes a second in the window."),
    ),
    _table(
        "cpu_usage", "cpu × window", *_REPORT,
        _text("cpu", "Processor id; all: the mean over all.", required=True),
        _text("socket", "Socket id."), _text("node", "NUMA node id."),
        _text("group", "Processor group (Windows)."), _text("core", "Core id."), TIME, WINDOW,
        _ratio("user_ratio", "Share of time in user code."),
        _ratio("kernel_ratio", "Share of time in the kernel."),
        _ratio("iowait_ratio", "Share of time idle with I/O outstanding."),
        _ratio("irq_ratio", "Share of time in hardware interrupts."),
        _ratio("softirq_ratio", "Share of time in software interrupts."),
        _ratio("steal_ratio", "Share of time taken by the hypervisor."),
        _ratio("idle_ratio", "Share of time idle."),
        _ratio("busy_ratio", "Share of time not idle, waiting for I/O counted as idle; may exceed 1.", maximum=None),
        _ratio("nice_ratio", "Share of time in user code of lowered priority; part of user_ratio."),
        _ratio("guest_ratio", "Share of time running virtual processors; part of user_ratio."),
    ),
    _table(
        "device_series", "device × window", *_REPORT,
        _text("device", "The device as the tool names it.", required=True), TIME, WINDOW,
        _number("reads_per_s", "1/s", "Reads completed a second."),
        _number("writes_per_s", "1/s", "Writes completed a second; of iostat, flushes are counted here too."),
        _number("flushes_per_s", "1/s", "Flushes completed a second."),
        _number("read_bytes_per_s", "B/s", "Bytes read a second."),
        _number("write_bytes_per_s", "B/s", "Bytes written a second."),
        _seconds("read_await_s", "Mean time of a read, queue included."),
        _seconds("write_await_s", "Mean time of a write, queue included."),
        _seconds("flush_await_s", "Mean time of a flush."),
        _number("queue_depth", "1", "Mean requests outstanding."),
        _ratio("busy_ratio", "Share of time with a request outstanding.", maximum=None),
    ),
    _table(
        "perf_counters", "event × aggregate × window", *_REPORT,
        _text("event", "The event with its modifiers; null: a line that carries a metric alone."),
        _text("aggregate", "CPU, core, die, socket, node or thread id, as perf prints it; null: all together."),
        _text("cgroup", "The control group."), _text("task", "The task, as comm-pid."), TIME, WINDOW,
        _number("value", "see unit", "The count, scaled by perf for multiplexing.", signed=True),
        _text("unit", "Unit of value; null: a plain count."),
        _text("status", "counted, not_counted or not_supported."),
        _ratio("running_ratio", "Share of the time that the event was on a counter."),
        _ratio("stddev_ratio", "Relative standard deviation of the mean of the repeats.", maximum=None),
        _text("metric_name", "Name of the derived metric on the line."),
        _number("metric_value", "see metric_unit", "Its value.", signed=True),
        _text("metric_unit", "Its unit."),
    ),
    _table(
        "perf_hotspots", "event × command × object × symbol", *_REPORT,
        _text("event", "The sampled event."), _text("command", "The command."),
        _text("shared_object", "The binary or module."), _text("symbol", "The function."),
        _text("privilege", "k: kernel, .: user, g and u: of a guest, H: hypervisor, as perf prints it."),
        _ratio("overhead_ratio", "Share of the samples in the function itself."),
        _ratio("children_ratio", "Share of the samples in the function and what it called."),
        _count("n_samples", "Samples."),
        _number("period", "event", "Sum of the samples' periods."),
        _text("labels", "Other columns, such as the CPU or the source line, as JSON text as perf prints them."),
    ),
    _table(
        "perf_stacks", "event × stack", *_REPORT,
        _text("event", "The sampled event."), _text("command", "The command."),
        _text("stack", "root;…;leaf."), _count("n_samples", "Samples with this stack."),
        _number("period", "event", "Sum of the samples' periods."),
    ),
    _table(
        "network_streams", "stream × window", *_REPORT,
        _text("stream", "The stream's id; SUM: all."), _text("role", "sender or receiver."), TIME, WINDOW,
        _count("n_bytes", "Bytes transferred.", unit="B"), _number("bytes_per_s", "B/s", "Bytes a second."),
        _seconds("jitter_s", "Jitter."), _count("n_lost", "Datagrams lost."),
        _count("n_datagrams", "Datagrams sent."), _count("n_retransmits", "Segments sent again."),
    ),
    _table(
        "stressors", "a stress-ng stressor", *_REPORT,
        _text("stressor", "Its name.", required=True), _count("n_bogo_ops", "Bogus operations."),
        _seconds("real_s", "Wall time."), _seconds("user_s", "Time in user code."),
        _seconds("system_s", "Time in the kernel."),
        _number("bogo_ops_per_real_s", "1/s", "Bogus operations a second of wall time."),
        _number("bogo_ops_per_cpu_s", "1/s", "Bogus operations a second of user and system time."),
    ),
    _table(
        "metric_series", "any other metric × labels × time", *_REPORT,
        _text("metric", "Its name.", required=True), _text("labels", "Its labels as JSON text."),
        TIME, _number("value", "see unit", "Its value.", signed=True), _text("unit", "Its unit."),
    ),
    _table(
        "published", "a figure that a publication states", *_REPORT,
        _text("source", "The publication.", required=True), _text("exhibit", "Table or passage.", required=True),
        _text("row", "The row's label."), _text("column", "The column's label."),
        _text("value_text", "The figure as printed.", required=True),
        _number("value", "see unit", "The figure, scaled to the unit; of a range, null.", signed=True),
        _number("value_low", "see unit", "Lower end of a range, or of what > leaves open.", signed=True),
        _number("value_high", "see unit", "Upper end of a range, or of what < leaves open.", signed=True),
        _text("relation", "=, <, >, ~ or range."), _text("unit", "Unit of value, value_low and value_high."),
    ),
)  # fmt: skip

TABLES: dict[str, Table] = {table.name: table for table in _ALL}
