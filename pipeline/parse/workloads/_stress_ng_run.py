"""Private to ``stress_ng_text``: the messages of a run as rows."""

from __future__ import annotations

import re
from collections import Counter

from pipeline import units
from pipeline.parse._figures import integer, number, snake
from pipeline.parse._report import Report
from pipeline.parse._source import Source
from pipeline.parse.workloads import _stress_ng_rows as rows

HEADER = re.compile(r"stressor\s{1,20}bogo ops\s{1,9}real time\s{1,9}usr time\s{1,9}sys time\s{1,20}bogo ops/s")
DISPATCHING = re.compile(r"dispatching hogs: ?(.{1,7500})")
SETTING = re.compile(r"(?:setting|defaulting) to a (.{1,60}) run per stressor")
COMPLETED = re.compile(r"(successful|unsuccessful) run completed in (.{1,60})")
_UNITS_ROW = re.compile(r"\(secs\)\s{1,9}\(secs\)\s{1,9}\(secs\)")
_FIGURE = r"-?(?:[0-9][0-9.,]{0,30}(?:[eE][-+]?[0-9]{1,3})?|nan|inf)"
_ROW = re.compile(r"(\S{1,60})\s{1,30}([0-9]{1,19})\s{1,30}(.{1,200})")
_MISC = re.compile(rf"(\S{{1,60}})\s{{1,30}}({_FIGURE}) (.{{1,200}}?) \((?:(geom?etr?ic|harmonic|arithmetic)"
                   rf" mean of|(total|maximum) of)"
                   r" ([0-9]{1,9}) instances?\)")  # fmt: skip
_AVERAGE = re.compile(rf"(\S{{1,60}})\s{{1,30}}({_FIGURE}) (.{{1,200}}?) \(average per stressor\)")
_OLDEST = re.compile(rf"(\S{{1,60}}): ([0-9]{{1,19}}) in ({_FIGURE}) secs, rate: ({_FIGURE})")
_TIME = re.compile(rf"({_FIGURE})s (available CPU|user|system|total) time(?:\s{{1,9}}\(\s{{0,9}}{_FIGURE}%\))?")
_RUN_TIME = re.compile(rf"for a ({_FIGURE})s run time:")
_LOAD = re.compile(rf"load average: ({_FIGURE}) ({_FIGURE}) ({_FIGURE})")
_COUNTER = re.compile(
    r"([0-9][0-9.,'\s’\u00a0\u202f]{0,30}?) ([A-Z].{0,40}?)\s{1,30}[0-9.,]{1,20}"
    r" [A-Z]?/sec\s{0,9}(?:\(\s{0,9}([0-9.,]{1,20})(%| .{1,40})\))?"
)
_SECTION = re.compile(r"([a-z0-9][a-z0-9_-]{0,40}): ?")
_THERMAL = re.compile(rf"(\S{{1,40}})\s{{1,30}}({_FIGURE}) C \({_FIGURE} K\)")
_WATTS = re.compile(rf"(\S{{1,40}})\s{{1,30}}({_FIGURE}) W")
_STATE = re.compile(rf"(\S{{1,10}})\s{{1,30}}({_FIGURE})%.{{0,60}}")
_IO = re.compile(rf"(read|write):\s{{1,30}}({_FIGURE}) K/s")
_SUMMARY = re.compile(r"(skipped|passed|failed|metrics untrustworthy): ([0-9]{1,9})(?:: ?(.{0,7500}))?")
_MONITOR = re.compile(r"(vmstat|therm|iostat|status|raplstat|buddystat|dentrystat|ftrace): ")
_DURATION = re.compile(r"([0-9]{1,12}(?:[.,][0-9]{1,6})?) ?(years?|days?|hours?|mins?|seconds?|secs?|s)\b")
_SECONDS = {
    "year": 365.0 * 86400,
    "day": units.SECONDS["d"],
    "hour": units.SECONDS["h"],
    "min": units.SECONDS["m"],
    "second": 1.0,
    "sec": 1.0,
    "s": 1.0,
}
_LEVELS = {"error": "tool_error", "fail": "stressor_failed", "warn": "tool_warning"}
MAX_MESSAGES = 1000
_LEAST_SHARE = 0.95  # of the time that was set


class Run:
    """A run, read message by message."""

    def __init__(self, source: Source, line: int) -> None:
        self.report = Report("stress_ng", source)
        self.line = line
        self.has_figures = False
        self.is_dispatched = False
        self._timeout_s: float | None = None  # as set; a default is nothing that was asked for
        self.is_completed = False
        self._columns = 0  # of the table of metrics, behind its name
        self._section: str | None = None  # the stressor that the lines below are of
        self._n_messages = 0
        self._notes: Counter[str] = Counter()
        self._first_of: dict[str, int] = {}
        self._last = line

    def read(self, line: int, level: str | None, text: str) -> None:
        """Read a message; ``level`` is None where the line has none (--log-brief, or another program's)."""
        self._last = line
        if level in _LEVELS:
            self._note(_LEVELS[level], line)
        elif level != "debug" and not self._read_figures(text.strip()) and not self._read_run(line, text.strip()):
            if level is None:
                self._note("unknown_line", line)
            elif _MONITOR.match(text):
                self._note("unread_monitor", line)
            elif self._n_messages < MAX_MESSAGES:
                self._n_messages += 1
                self.report.parameter(level, text.strip())
            else:
                self._note("many_messages", line)

    def _note(self, code: str, line: int) -> None:
        self._notes[code] += 1
        self._first_of.setdefault(code, line)

    def _read_figures(self, text: str) -> bool:
        """Read a line with figures of a stressor; False when it is none."""
        if HEADER.match(text):
            self._columns = 6 + ("CPU used per" in text) + ("RSS Max" in text)
            self._section = None
        elif match := _MISC.fullmatch(text) or _AVERAGE.fullmatch(text):
            mean = "arithmetic"
            kind, n = (match[4] or match[5], match[6]) if match.re is _MISC else (mean, None)
            kind = "geometric" if kind and kind.startswith("geo") else kind
            name, value = snake(match[3]), _number(match[2])
            rows.metric(self.report, name, value, None, stressor=match[1], mean=kind, instances=n)
        elif self._columns and (match := _ROW.fullmatch(text)):
            return self._add_stressor(match)
        elif match := _OLDEST.fullmatch(text):
            real, rate = _positive(match[3]), _positive(match[4])
            self.report.add(
                "stressors", stressor=match[1], n_bogo_ops=integer(match[2]), real_s=real, bogo_ops_per_real_s=rate
            )
        elif self._section is not None:
            return self._read_section(text)
        else:
            return False
        self.has_figures = True
        return True

    def _add_stressor(self, match: re.Match[str]) -> bool:
        cells = match[3].split()
        figures = [_number(cell) for cell in cells]
        if len(cells) not in (5, self._columns - 1) or not all(re.fullmatch(_FIGURE, cell) for cell in cells):
            return False
        real, user, system, per_real, per_cpu = (
            value if value is not None and value >= 0 else None for value in figures[:5]
        )
        self.report.add(
            "stressors",
            stressor=match[1],
            n_bogo_ops=integer(match[2]) if len(match[2]) < 19 else None,
            real_s=real,
            user_s=user,
            system_s=system,
            bogo_ops_per_real_s=per_real,
            bogo_ops_per_cpu_s=per_cpu,
        )
        percent, rss = [*figures[5:], None, None][:2]
        rows.usage(self.report, match[1], percent, rss)
        self.has_figures = True
        return True

    def _read_section(self, text: str) -> bool:
        """Read a line below ``STRESSOR:``: a perf counter, a temperature, a power, an idle state or bytes."""
        stressor = self._section or ""
        if match := _COUNTER.fullmatch(text):
            digits = re.sub(r"[^0-9]", "", match[1])  # with the separators of the locale
            relative: tuple[str | None, float | None, str | None] = (None, None, None)
            value = _number(match[3]) if match[3] else None
            if value is not None:
                is_percent = match[4] == "%"
                relative = (
                    None if is_percent else match[4].strip(),
                    value * units.PERCENT if is_percent else value,
                    "1" if is_percent else None,
                )
            rows.counter(self.report, stressor, match[2], number(digits), relative)
        elif match := _THERMAL.fullmatch(text):
            rows.metric(self.report, "temperature", _number(match[2]), "°C", stressor=stressor, zone=match[1])
        elif match := _WATTS.fullmatch(text):
            rows.metric(self.report, "power", _number(match[2]), "W", stressor=stressor, domain=match[1])
        elif match := _IO.fullmatch(text):
            value = _number(match[2])
            rows.metric(
                self.report,
                f"{match[1]}_bytes_per_s",
                value * units.KIBI if value is not None else None,
                "B/s",
                stressor=stressor,
            )
        elif match := _STATE.fullmatch(text):
            value = _number(match[2])
            rows.metric(
                self.report,
                "idle_state_ratio",
                value * units.PERCENT if value is not None else None,
                "1",
                stressor=stressor,
                state=match[1],
            )
        else:
            return False
        self.has_figures = True
        return True

    def _read_run(self, line: int, text: str) -> bool:
        """Read a line about the run as a whole; False when it is none."""
        if match := DISPATCHING.match(text):
            self.is_dispatched = True
            for item in match[1].split(","):
                n, _, name = item.strip().partition(" ")
                self.report.parameter("instances", n, name or None)
        elif match := SETTING.match(text):
            self._timeout_s = duration(match[1]) if match[0].startswith("setting") else None
            self.report.parameter("timeout", match[1])
        elif match := COMPLETED.match(text):
            self.is_completed = True
            self.report.describe(duration_s=duration(match[2]))
            self._check_duration(line, duration(match[2]))
            if match[1] == "unsuccessful":
                self._note("unsuccessful_run", line)
        elif not self._read_times(line, text):
            if match := _SECTION.fullmatch(text):
                self._section, self._columns = match[1], 0
            elif text and text != "miscellaneous metrics:" and not _UNITS_ROW.search(text):
                return False
        return True

    def _check_duration(self, line: int, found_s: float | None) -> None:
        """Warn of a run that ended before its time: after SIGINT it still says ``successful``."""
        wanted_s = self._timeout_s
        if wanted_s and found_s is not None and found_s < _LEAST_SHARE * wanted_s:
            why = "interrupted, skipped, or bounded by --…-ops"
            self.report.warn(line, "ended_early", f"expected {wanted_s:g} s, found {found_s:g} s: {why}")

    def _read_times(self, line: int, text: str) -> bool:
        """Read a line of --times or of the instances' ends; False when it is none."""
        if match := _RUN_TIME.match(text):
            self.has_figures = True
            self.report.describe(duration_s=_positive(match[1]))
        elif match := _TIME.match(text):
            rows.metric(self.report, f"{match[2].lower().replace(' ', '_')}_time", _number(match[1]), "s")
        elif match := _LOAD.match(text):
            for minutes, figure in zip((1, 5, 15), match.groups(), strict=True):
                rows.metric(self.report, f"load_average_{minutes}min", _number(figure), "1")
        elif match := _SUMMARY.fullmatch(text):
            rows.metric(self.report, f"instances_{match[1].replace(' ', '_')}", number(match[2]), "1")
            if match[3]:
                self.report.parameter(match[1], match[3].strip())
            if match[1] in ("failed", "metrics untrustworthy") and int(match[2]):
                self._note("stressor_failed" if match[1] == "failed" else "metrics_untrustworthy", line)
        else:
            return False
        return True

    @property
    def has_content(self) -> bool:
        """Whether there is a figure or a setting."""
        return self.has_figures or self.is_dispatched or self.is_completed

    def take_command(self, command: str) -> None:
        """Keep the command line that stands above the run."""
        self.report.describe(command=command)

    def finish(self, *, cut: int | None) -> Report:
        """The report, with what was noticed."""
        report = self.report
        for code, n in self._notes.items():
            report.warn(self._first_of[code], code, _MESSAGES[code].format(n))
        if cut is not None:
            report.incomplete(cut, "truncated", "expected whole lines, found the end of the file within one")
        elif not self.is_completed:
            report.incomplete(
                self._last, "truncated", "expected `successful run completed in …`, found the end of the run"
            )
        elif not self.has_figures:
            report.warn(self.line, "no_metrics", "expected the metrics of the stressors (--metrics), found none")
        return report


_MESSAGES = {
    "tool_error": "expected no errors, found {}, the first here",
    "stressor_failed": "expected no failures of stressors, found {}, the first here",
    "tool_warning": "expected no warnings, found {}, the first here",
    "unknown_line": "expected stress-ng's lines, found {} others, the first here",
    "unread_monitor": "expected no lines of --vmstat, --thermalstat, --iostat and the like, found {}, which are"
    " not read",
    "many_messages": "expected at most 1000 messages of stressors, found {} more, which are left out",
    "unsuccessful_run": "expected a successful run, found that it says unsuccessful",
    "metrics_untrustworthy": "expected metrics that can be trusted, found that stress-ng says of some that they cannot",
}


def duration(text: str) -> float | None:
    """``247.66s (4 mins, 7.66 secs)``, ``1 min, 0.00 secs`` in seconds."""
    if match := re.match(r"([0-9]{1,12}[.,][0-9]{1,6})s\b", text):
        return _positive(match[1])
    total, found = 0.0, False
    for match in _DURATION.finditer(text.split("(", maxsplit=1)[0]):
        total += float(match[1].replace(",", ".")) * _SECONDS[match[2].removesuffix("s") or "s"]
        found = True
    return total if found else None


def _number(text: str) -> float | None:
    """A figure as printed; the decimal sign may be a comma."""
    return number(text.replace(",", ".") if text.count(",") == 1 and "." not in text else text)


def _positive(text: str) -> float | None:
    value = _number(text)
    return value if value is not None and value >= 0 else None
