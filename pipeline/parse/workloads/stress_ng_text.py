r"""stress-ng, text: what ``stress-ng … --metrics`` or ``--metrics-brief`` prints.

Grammar
    ``stress-ng: info:  [PID] dispatching hogs: 1 cpu, 2 matrix``, and behind ``info:`` (from 0.14.04 ``metrc:``) a
    table: ``stressor  bogo ops real time  usr time  sys time   bogo ops/s     bogo ops/s [CPU used per [RSS Max]]``,
    a line a stressor; ``miscellaneous metrics:`` (``NAME  FIGURE WHAT (harmonic mean of 6 instances)``, up to 0.13
    ``(average per stressor)`` between the table's lines); with --perf, --tz, --rapl, --cstates and --iostat a part a
    stressor under ``NAME:``; with --times ``for a 60.06s run time:``; ``skipped: 0``, ``passed: 6: flock (6)``,
    ``failed: 0`` (from 0.16); ``successful run completed in 60.06s``.
Versions
    0.01 to 0.22: --log-brief (no prefix), --timestamp, --sn (1.005e+00), --sequential.
Traps
    * Up to 0.14 ``run completed`` stands above the table: then nothing marks the end.
    * --metrics-brief leaves out stressors without operations.
    * real time is the mean of the instances, usr and sys time and the operations are their sums. ``bogo ops/s (usr+sys
      time)`` is for a second of CPU.
    * CPU used per instance is in %, RSS in KB of 1024 bytes.
    * Miscellaneous metrics name their unit in words of their own (``nanosecs per …``, ``MB/sec …``): the figure stays
      as printed, its name in snake_case. The YAML gives the arithmetic mean of the same, so that both differ with
      several instances.
    * Counters of --perf have the separators of the locale; figures behind them may have a comma as decimal sign.
Sample
    tests/parse/stress_ng_text/metrics_brief/
Gives
    stressors; metric_series: cpu_used_per_instance (a ratio), rss_max, the miscellaneous metrics (labels stressor,
    mean, instances), --times, temperatures …; perf_counters (task: the stressor; the rate a second is left out).
    Other messages are parameters named ``info``. A report for each run in the file.
"""

from __future__ import annotations

import re

from pipeline.parse._report import Report
from pipeline.parse._source import Source
from pipeline.parse.workloads._stress_ng_run import COMPLETED, DISPATCHING, HEADER, SETTING, Run, duration

EXPECTED = "stress-ng's `stress-ng: info:  [PID] dispatching hogs: …`"
FORM = "text"
VERSIONS = "0.01 – 0.22"
NOT_READ = "the lines of --vmstat, --thermalstat, --iostat S, --status, --ftrace and --smart"
UNSEEN_CUTS = "up to 0.14 the table stands below `run completed`: it may be cut behind any line"
_PREFIX = re.compile(r"stress-ng: (?:[0-9x][0-9x][:-][0-9x][0-9x][:-][0-9x][0-9x]\.[0-9x]{1,6} )?"
                     r"(info|metrc|metrics|error|debug|fail|warn): {0,2}\[[0-9]{1,10}\] ?(.*)")  # fmt: skip
_SIGN = re.compile(rf"stress-ng: .{{0,40}}\[[0-9]{{1,10}}\] |^{HEADER.pattern}|^{DISPATCHING.pattern}", re.MULTILINE)
_COMMAND = re.compile(r"(?:^|\s|/)(stress-ng -.{1,2000})")
LONGEST_LINE = 10_000
MINUTE_S = 60  # from which on the time in minutes stands behind the time in seconds


def recognise(head: str) -> bool:
    """Whether a line is a message of stress-ng, or its table's header without a prefix (--log-brief)."""
    return _SIGN.search(head) is not None


def parse(source: Source) -> list[Report]:
    """Return a report for each run; ParseError when there is neither a figure nor a setting."""
    if not recognise(source.head):
        raise source.error(1, EXPECTED, source.head or "an empty file")
    runs = [Run(source, 1)]
    for line in source.whole_lines():
        _read_line(runs, *line)
    cut = None
    if source.torn is not None and runs[-1].has_figures and _is_end(source.torn[1]):
        _read_line(runs, *source.torn)
    elif source.torn is not None:
        cut = source.torn[0]
    if not any(run.has_content for run in runs):
        raise source.error(runs[0].line, EXPECTED, source.head)
    return [run.finish(cut=cut if run is runs[-1] else None) for run in runs]


def _read_line(runs: list[Run], line: int, text: str) -> None:
    match = _PREFIX.search(text, 0, LONGEST_LINE)
    level, message = (match[1], match[2]) if match else (None, text)
    run = runs[-1]
    if match is None and (command := _COMMAND.search(text, 0, LONGEST_LINE)) and "unrecognized option" not in text:
        if run.is_dispatched or run.has_figures:
            run = Run(run.report.source, line)
            runs.append(run)
        run.take_command(command[1].strip())
        return
    begins = (run.is_dispatched and DISPATCHING.match(message)) or (
        (run.is_dispatched or run.is_completed) and SETTING.match(message)
    )
    if begins:
        run = Run(run.report.source, line)
        runs.append(run)
    run.read(line, level, message)


def _is_end(text: str) -> bool:
    """Whether a last line without a line feed is the end mark as a whole."""
    match = _PREFIX.search(text, 0, LONGEST_LINE)
    found = COMPLETED.fullmatch((match[2] if match else text).strip())
    if found is None:
        return False
    text, seconds = found[2], duration(found[2])
    if "(" in text or text.endswith(" secs"):
        return text.endswith(")") or "(" not in text
    return text.endswith("s") and seconds is not None and seconds < MINUTE_S
