"""perf bench: ``perf bench [-r N] COLLECTION BENCHMARK …`` in its default format.

Grammar
    ``# Running 'sched/pipe' benchmark:``, comments with settings, then by benchmark: ``Total time: 0.116 [sec]``,
    ``5.817500 usecs/op``, ``171895 ops/sec``; ``# function 'x' (…)`` and ``8.245310 GB/sec``; ``[thread  0] … [
    1707008 ops/sec ]`` and ``Averaged 1609728 operations/sec (+- 6.04%), total secs = 1``; ``[Run 1]: Wokeup 8 of 8
    threads in 0.0170 ms``; ``main,  6.801, secs,  runtime-max/thread``; ``Average X took: 1.2 usec (+- 0.1 usec)``.
Versions
    3.x – 6.15.
Traps
    KB, MB and GB of perf are powers of 1024. ``Averaged`` is the mean of the threads, not their sum. The simple format
    (``-f simple``) has numbers without names and can't be told from other files, but for that of the threads.
Sample
    tests/parse/perf_bench/memory-functions/
Gives
    operations: the benchmark as op (``sched_pipe``), of threads with the thread as job, of memory functions with the
    function; the time in all is ``duration_s``. latency_summary of the wake-ups' mean. metric_series: what is left,
    ``ops_per_s_mean``, ``stderr_ratio``, times of single runs, the figures of ``numa mem``. parameters: the comments.
    A benchmark is a report.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from pipeline.parse._report import Report
from pipeline.parse._source import Source
from pipeline.parse.perf._perf_lines import Lines, printable
from pipeline.units import PERCENT, SECONDS, byte_size, seconds

EXPECTED = "perf bench's `# Running 'sched/pipe' benchmark:`"
FORM = "perf bench"
VERSIONS = "3.x – 6.15"
NOT_READ = "the simple format, which has numbers without names"
UNSEEN_CUTS = "between two figures of a benchmark, between two benchmarks: nothing closes them"

_N = r"(\d{1,15}(?:\.\d{1,12})?)"
_RUNNING = re.compile(r"# Running '?([\w/-]{1,60})'? benchmark(?::|\.\.\.)[ \t]*$", re.MULTILINE)
_SUMMARY = re.compile(r"Run summary \[PID \d+\]: (.{1,200})$", re.MULTILINE)
_NUMBER_OF = re.compile(r"\s*(Number of [\w ]{1,40}):\s+(\S.{0,60})$")
_SETTING = re.compile(r"(\d+ operations \d+ bits set of \d+ bits)\s*$")
_PROSE = ("Computing performance of ", "synthesizing events on ")
_FUNCTION = re.compile(r"# function '([^']{1,60})'")
_EXECUTED = re.compile(r"# Executed ([\d,]{1,20}) ")
_TIME = re.compile(r"\s*Total time: +([\d,]{1,20}(?:\.\d{1,12})?) \[?(sec|usecs|msec)\]?\s*$")
_PER_OP = re.compile(rf"\s*{_N} (nsecs|usecs|msecs)/op(/cpu)?\s*$")
_RATE = re.compile(r"\s*([\d,]{1,20}) ops/sec\s*$")
_BYTES = re.compile(rf"\s*{_N} (bytes|[KMGT]B)/sec(?: .*)?$")
_THREAD = re.compile(rf"\[thread +(\d+)\] .{{0,120}}\[ {_N} ops/sec +\]")
_CONTROL = re.compile(r"\[thread +(\d+)\] .{0,120}\[ add: (\d{1,15}) ops; mod: (\d{1,15}) ops; del: (\d{1,15}) ops \]")
_AVERAGED = re.compile(rf"Averaged {_N} (?:(\w+) )?operations(?:/sec)? \(\+- {_N}%\)(?:, total secs = (\d{{1,9}}))?")
_WAKE = re.compile(
    r"(?:\[Run (\d+)\]: )?(?:(Wokeup|Requeued) (\d+) of (\d+) threads"
    r"|Avg per-thread latency \(waking (\d+)/(\d+) threads\))"
    rf"(?: to \w+)? in {_N} ms(?: \(\+-{_N}%\))?"
)
_NUMA = re.compile(rf" *([\w -]{{1,60}}?), +{_N}, ([^,]{{1,20}}), +(\S.{{0,60}})$")
_AVERAGE = re.compile(rf"\s*Average ([\w. -]{{1,60}}?)( took)?: +{_N} ?(\w*) \(\+- +{_N}(?: \w+)?\)\s*$")
_AVERAGE_TIME = re.compile(rf"\s*Average time per (\w+) {_N} (usec|nsec|msec)\s*$")
_MAX_LENGTH = 512


def recognise(head: str) -> bool:
    """Whether the head names a benchmark; of the simple format, whether it has the summary of the threads."""
    return bool(_RUNNING.search(head) or _SUMMARY.match(head))


def parse(source: Source) -> list[Report]:
    """Return a report a benchmark; ParseError where there is no figure."""
    benchmarks: list[_Benchmark] = []
    lines = Lines(source)
    for number, line in lines:
        text = line[:_MAX_LENGTH].rstrip()
        if match := _RUNNING.match(text):
            benchmarks.append(_Benchmark(source, match[1]))
        elif text:
            if not benchmarks and _SUMMARY.match(text):
                benchmarks.append(_Benchmark(source, "futex/hash" if "futexes" in text else "epoll/wait"))
            if benchmarks:
                benchmarks[-1].take(text, number)
    if not any(benchmark.n_figures for benchmark in benchmarks):
        raise source.error(1, EXPECTED, "no figures")
    for benchmark in benchmarks:
        if not benchmark.n_figures:
            benchmark.report.incomplete(None, "no_figures", "expected figures of the benchmark, found none")
    if lines.torn is not None:
        report = benchmarks[-1].report
        report.incomplete(lines.torn[0], "truncated", "expected a line feed at the end, found a torn line")
    return [benchmark.finish() for benchmark in benchmarks]


class _Benchmark:
    """One benchmark's lines."""

    def __init__(self, source: Source, name: str) -> None:
        self.report = Report("perf_bench", source)
        self.report.parameter("benchmark", name)
        self.n_figures = 0
        self._op = re.sub(r"\W+", "_", name).lower()
        self._job: str | None = None
        self._labels: dict[str, str] = {}  # what the averages belong to
        self._main: dict[str, float | int] = {}  # the columns of the row of operations
        self._n_unread = 0
        self._unread: tuple[int, str] = (0, "")
        self._takers: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], None]], ...] = (
            (_EXECUTED, self._executed), (_FUNCTION, self._function), (_TIME, self._time), (_PER_OP, self._per_op),
            (_RATE, self._rate), (_BYTES, self._bytes), (_THREAD, self._thread), (_CONTROL, self._control),
            (_AVERAGED, self._averaged),
            (_WAKE, self._wake), (_NUMA, self._numa), (_AVERAGE, self._average), (_AVERAGE_TIME, self._average_time),
        )  # fmt: skip

    def take(self, line: str, number: int) -> None:
        """Take a line below the benchmark's name."""
        for pattern, taker in self._takers:
            if match := pattern.match(line):
                self.n_figures += pattern not in (_EXECUTED, _FUNCTION)
                taker(match)
                return
        if match := _SUMMARY.match(line):
            self.report.parameter("summary", match[1])
        elif match := _NUMBER_OF.match(line):
            self.report.parameter(match[1], match[2])
        elif match := _SETTING.match(line):
            self._labels = {"setting": match[1]}
        elif line.startswith(_PROSE):
            return
        elif line.lstrip().startswith("#"):
            if text := line.strip(" #"):
                self.report.parameter("comment", text, job=self._job)
        else:
            self._unread = self._unread if self._n_unread else (number, line)
            self._n_unread += 1

    def finish(self) -> Report:
        """Write the row of operations, and warnings."""
        if set(self._main) - {"n_ops"}:
            self.report.add("operations", op=self._op, scope="total", **self._main)
        if self._n_unread:
            number, line = self._unread
            found = f"expected figures, found {self._n_unread} other lines, the first: {printable(line)}"
            self.report.warn(number, "unread_lines", found)
        return self.report

    def _executed(self, match: re.Match[str]) -> None:
        self._main["n_ops"] = int(match[1].replace(",", "") or 0)

    def _function(self, match: re.Match[str]) -> None:
        self._job = match[1]

    def _time(self, match: re.Match[str]) -> None:
        self._main["duration_s"] = seconds(float(match[1].replace(",", "")), match[2])
        self.report.describe(duration_s=self._main["duration_s"])

    def _per_op(self, match: re.Match[str]) -> None:
        time_s = seconds(float(match[1]), match[2].removesuffix("s"))
        if match[3]:
            self._metric("time_per_op_and_cpu_s", time_s, "s", {})
        else:
            self._main["latency_mean_s"] = time_s

    def _rate(self, match: re.Match[str]) -> None:
        self._main["ops_per_s"] = float(match[1].replace(",", ""))

    def _bytes(self, match: re.Match[str]) -> None:
        factor = 1.0 if match[2] == "bytes" else byte_size(f"1{match[2][0]}iB")
        self.report.add("operations", op=self._op, job=self._job, scope="job", bytes_per_s=float(match[1]) * factor)

    def _thread(self, match: re.Match[str]) -> None:
        self.report.add("operations", op=self._op, job=f"thread {match[1]}", scope="job", ops_per_s=float(match[2]))

    def _control(self, match: re.Match[str]) -> None:
        for name, count in zip(("add", "mod", "del"), match.groups()[1:], strict=True):
            self.report.add(
                "operations", op=f"{self._op}_{name}", job=f"thread {match[1]}", scope="job", n_ops=int(count)
            )

    def _averaged(self, match: re.Match[str]) -> None:
        labels = {"operation": match[2].lower()} if match[2] else {}
        self._metric("ops_per_s_mean", float(match[1]), "1/s", labels)
        self._metric("stderr_ratio", round(float(match[3]) * PERCENT, 6), "1", labels)
        if match[4]:
            self.report.describe(duration_s=float(match[4]))

    def _wake(self, match: re.Match[str]) -> None:
        run, _, n_done, n_all, n_waking, n_threads, time, deviation = match.groups()
        time_s = round(seconds(float(time), "ms"), 12)
        labels = {"run": run} if run else {}
        if run:
            self._metric("time_s", time_s, "s", labels)
        else:
            self.report.add("latency_summary", op=self._op, scope="total", phase="total", mean_s=time_s)
            self.report.parameter("threads", f"{n_done or n_waking} of {n_all or n_threads}")
        if deviation:
            self._metric("stderr_ratio", round(float(deviation) * PERCENT, 6), "1", labels)

    def _numa(self, match: re.Match[str]) -> None:
        name, value, unit, what = match.groups()
        factor, si_unit = _numa_unit(unit.strip())
        self._metric(what.strip(), float(value) * factor, si_unit, {"name": name.strip()})

    def _average(self, match: re.Match[str]) -> None:
        what, took, mean, unit, deviation = match.groups()
        factor, si_unit = (seconds(1, unit), "s") if unit in SECONDS else (1.0, unit or None)
        if took and "setting" not in self._labels:
            self._labels = {"of": what.strip()}
        self._metric(what.strip(), float(mean) * factor, si_unit, self._labels)
        self._metric(f"{what.strip()} stderr", float(deviation) * factor, si_unit, self._labels)

    def _average_time(self, match: re.Match[str]) -> None:
        self._metric(f"time per {match[1]}", seconds(float(match[2]), match[3]), "s", self._labels)

    def _metric(self, metric: str, value: float, unit: str | None, labels: dict[str, str]) -> None:
        text = json.dumps(labels) if labels else None
        self.report.add("metric_series", metric=metric, value=value, unit=unit, labels=text)


def _numa_unit(unit: str) -> tuple[float, str]:
    """Factor and SI unit; GB of ``numa mem`` are powers of ten."""
    known = {"secs": (1.0, "s"), "nsecs": (seconds(1, "ns"), "s"), "%": (PERCENT, "1"), "GB": (byte_size("1GB"), "B"),
             "GB/sec": (byte_size("1GB"), "B/s")}  # fmt: skip
    return known.get(unit, (1.0, unit))
