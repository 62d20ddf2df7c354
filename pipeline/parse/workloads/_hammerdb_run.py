"""One run of HammerDB: its messages, its result, its queries and its counter."""

from __future__ import annotations

import json
import re
from datetime import datetime

from pipeline import units
from pipeline.parse._figures import number, positive
from pipeline.parse._report import Report
from pipeline.parse._row_blocks import RowBlocks
from pipeline.parse._source import Source
from pipeline.parse.workloads._hammerdb_profile import Profile

_RESULT = re.compile(r"System achieved (?:(\d{1,15}) NOPM from (\d{1,15}) ([\w /.-]{1,40}?) TPM"
                     r"|(\d{1,15}) ([\w /.-]{1,40}?) TPM at (\d{1,15}) NOPM)")  # fmt: skip
_USER = re.compile(r"Vuser (\d{1,6}):(.*)")
_QUERY = re.compile(r"query (\d{1,3}) completed in (\S{1,30}) seconds")
_SET = re.compile(r"Completed (?:(\d{1,6}) )?query set(?:\(s\))? in (\S{1,30}) seconds")
_MEAN = re.compile(r"Geometric mean of query times returning rows \((\d{1,6})\) is \"?(\S{1,30}?)\"?")
_COUNTER = re.compile(r"(\d{1,15}) ([A-Za-z]{2,20}) tpm(?: @ (.{1,40}))?")
_STAMP = re.compile(r"[A-Z][a-z]{2} ([A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d) (\S{1,6}) (\d{4})")
_CHANGED = re.compile(r"Changed (\w{1,40}:\w{1,60}) from .* to (.*) for .*")
_SAME = re.compile(r"Value (.*) for (\w{1,40}:\w{1,60}) is the same as existing value .*")
_ENTRY = re.compile(r"(\w{1,60}) += +(.*)")
_PROBLEM = re.compile(r"(?i)error|fail")
_SECRET = re.compile(r"(?i)pass")
_PER_MINUTE = 1 / units.SECONDS["m"]


def stamp_of(text: str) -> tuple[datetime, bool] | None:
    """``Thu Jun 30 22:43:41 UTC 2022`` and whether it is UTC; None when it is none."""
    match = _STAMP.fullmatch(text.strip())
    if match is None:
        return None
    try:
        return datetime.strptime(f"{match[1]} {match[3]} +0000", "%b %d %H:%M:%S %Y %z"), match[2] in ("UTC", "GMT")
    except ValueError:
        return None


class Run:
    """The lines of one run."""

    def __init__(self, source: Source) -> None:
        self.report = Report("hammerdb", source)
        self.settings: dict[str, str] = {}
        self.result: tuple[int, int, str] | None = None  # NOPM, TPM, database
        self.profile = Profile()
        self.cut: int | None = None
        self.last_line = 1
        self._blocks = RowBlocks(self.report)
        self._n_queries = 0
        self._n_counts = 0
        self._counted: datetime | None = None  # the counter's last stamp
        self._began: datetime | None = None
        self._sets: dict[str, int] = {}  # query sets done, a virtual user
        self._state = {"running": 0, "finished": 0, "failed": 0}
        self._is_over = False
        self._is_driven = False  # a timed run began, so that a result must come
        self._n_users: int | None = None
        self._minutes: float | None = None
        self._notes: dict[str, tuple[int, int, str]] = {}

    @property
    def has_figures(self) -> bool:
        """Whether anything was measured."""
        return self.result is not None or self._n_queries > 0 or self._n_counts > 0 or self.profile.has_figures

    def read(self, line: int, text: str) -> None:
        """Read a line."""
        self.last_line = line
        user = _USER.fullmatch(text)
        job, message = (f"Vuser {user[1]}", user[2]) if user else (None, text)
        if match := _RESULT.search(message[:1000]):
            nopm, tpm, database = (match[1], match[2], match[3]) if match[1] else (match[6], match[4], match[5])
            self.result = (int(nopm), int(tpm), database)
        elif match := _COUNTER.fullmatch(text):
            self._count(int(match[1]), match[3])
        elif self.profile.read(job, message) or (job is not None and self._read_user(line, job, message)):
            pass
        elif "Transaction Counter Log @" in text or "Time Profile Report @" in text:
            self._read_title(text)
        elif text.startswith("HammerDB CLI v"):
            self.report.describe(tool_version=text.removeprefix("HammerDB CLI v")[:40])
        elif text.startswith("ALL VIRTUAL USERS COMPLETE"):
            self._is_over = True
        elif not self._read_setting(text) and text.startswith(("Error", "ERROR")):
            self._note("tool_error", line, text)

    def _read_setting(self, text: str) -> bool:
        for pattern, name, value in ((_CHANGED, 1, 2), (_SAME, 2, 1), (_ENTRY, 1, 2)):
            match = pattern.fullmatch(text[:2000])
            if match is not None:
                if not _SECRET.search(match[name]):
                    self.settings[match[name]] = match[value].strip()
                return True
        return False

    def _read_title(self, text: str) -> None:
        stamp = stamp_of(text.partition(" @ ")[2])
        if stamp is not None:
            if stamp[1] and "Counter" in text:
                self.report.describe(started_at=stamp[0])
            self._began = stamp[0] if "Counter" in text else self._began

    def _read_user(self, line: int, job: str, message: str) -> bool:
        """Read a message of a virtual user."""
        if match := _QUERY.fullmatch(message):
            self._add_query(job, f"query_{match[1]}", match[2], n_ops=1)
        elif match := _SET.fullmatch(message):
            self._add_query(job, "query_set", match[2], n_ops=None)
            self._sets[job] = self._sets.get(job, 0) + 1
        elif (match := _MEAN.fullmatch(message)) and (value := positive(match[2])) is not None:
            labels = json.dumps({"job": job, "set": max(1, self._sets.get(job, 1)), "n_queries": int(match[1])})
            self.report.add("metric_series", metric="query_time_geometric_mean", labels=labels, value=value, unit="s")
        elif message == "RUNNING":
            self._state["running"] += 1
        elif message.startswith("FINISHED"):
            self._state["finished" if message.endswith("SUCCESS") else "failed"] += 1
        elif message.startswith("Beginning rampup") or message.startswith("Timing test period of "):
            self._is_driven = True
            self._minutes = number(re.sub(r"[^\d.]", "", message[:60])) if "Timing" in message else self._minutes
        elif match := re.match(r"(\d{1,9}) Active Virtual Users configured", message):
            self._n_users = int(match[1])
        elif _PROBLEM.search(message[:500]):
            self._note("tool_error", line, f"{job}: {message}")
        else:
            return False
        return True

    def _add_query(self, job: str, op: str, text: str, *, n_ops: int | None) -> None:
        seconds = positive(text)
        if seconds is None:
            return
        self._n_queries += 1
        number_of_set = self._sets.get(job, 0) + 1
        worker = job if number_of_set == 1 else f"{job} set {number_of_set}"
        self.report.add("operations", op=op, job=worker, scope="job", n_ops=n_ops, duration_s=seconds)

    def _count(self, tpm: int, text: str | None) -> None:
        """Take a line of the counter: its figure is the mean since the line before, a minute."""
        stamp = stamp_of(text) if text else None
        self._n_counts += 1
        if stamp is None:
            self._blocks.put("throughput_series", op="transaction", time_s=None, window_s=None,
                             ops_per_s=tpm * _PER_MINUTE)  # fmt: skip
            return
        now = stamp[0]
        before = self._counted or self._began
        self._began = self._began or now
        time_s = (now - self._began).total_seconds()
        window = (now - before).total_seconds() if before is not None else None
        self._counted = now
        self._blocks.put("throughput_series", op="transaction", time_s=time_s if time_s >= 0 else None,
                         window_s=window if window is not None and window > 0 else None,
                         ops_per_s=tpm * _PER_MINUTE)  # fmt: skip

    def _note(self, code: str, line: int, text: str) -> None:
        first, count, shown = self._notes.get(code, (line, 0, text[:200]))
        self._notes[code] = (first, count + 1, shown)

    def finish(self) -> Report:
        """Add the rows of the whole run, and what was noticed."""
        report = self.report
        self._blocks.flush()
        for name, value in self.settings.items():
            report.parameter(name, value)
        if self._n_users is not None:
            report.parameter("active_virtual_users", self._n_users)
        if self.result is not None:
            self._add_result(*self.result)
        self.profile.add(report)
        for code, (line, count, text) in self._notes.items():
            report.warn(line, code, f"expected no messages of errors, found {count}, the first: {text}")
        if self._state["failed"]:
            failed = self._state["failed"]
            report.incomplete(None, "failed", f"expected all virtual users to succeed, found {failed} that failed")
        missing = "a whole last line" if self.cut else self._missing()
        if missing:
            report.incomplete(self.cut or self.last_line, "truncated", f"expected {missing}, found the end of the run")
        return report

    def _add_result(self, nopm: int, tpm: int, database: str) -> None:
        duration = None if self._minutes is None else self._minutes * units.SECONDS["m"]
        depth = None if self._n_users is None else float(self._n_users)
        self.report.parameter("database", database)
        self.report.describe(duration_s=duration)
        for op, metric, value in (("transaction", "tpm", tpm), ("new_order", "nopm", nopm)):
            self.report.add("operations", op=op, scope="total", ops_per_s=value * _PER_MINUTE, duration_s=duration,
                            queue_depth=depth if op == "transaction" else None)  # fmt: skip
            self.report.add("metric_series", metric=metric, value=float(value), unit="1/min")

    def _missing(self) -> str | None:
        """What a run lacks that was cut."""
        if self._is_driven and self.result is None:
            return "`TEST RESULT`"
        running = self._state["running"]
        if running and not self._is_over and sum(self._state.values()) - running < running:
            return "the end of every virtual user"
        return self.profile.missing
