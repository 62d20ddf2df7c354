"""PostgreSQL pgbench: its summary on stdout, its progress lines on stderr, or both in one file.

Grammar
    ``pgbench (VERSION)`` (from 14), settings as ``name: value``, ``number of transactions actually processed: N[/M]``,
    ``latency average = X ms`` (``:`` up to 9.5), ``latency stddev``, ``tps = X (which connections count)``. Then, with
    several scripts, ``SQL script N: NAME`` with `` - `` lines, and with -r ``statement latencies in milliseconds …:``
    with a line a statement: latency, failures (from 15), retries (with --max-tries), text. Before all of it, with -P,
    ``progress: T s, X tps, lat L ms stddev S[, N failed (15+)][, lag …][, N skipped][, N retried, N retries]``.
Versions
    8.1 to 18.
Traps
    * Without ``latency stddev`` no latency was taken: the average is clients × time / transactions, so that N = X·W
      with it says nothing. Warned as latency_from_rate.
    * There are two tps up to 13, with and without the time to connect: the one without is taken. From 14 there is one.
    * Under -R the latency counts from the scheduled start, and so includes the schedule lag; the clients are then not
      the operations outstanding, so queue_depth is null.
    * ``progress: 0.0 tps, lat 0.000 ms`` has no latency; --progress-timestamp prints seconds since 1970.
    * An aborted client leaves a whole summary: "Run was aborted; the above results are incomplete."
Sample
    tests/parse/pgbench/insert_with_progress/
Gives
    operations: op ``transaction``, scope ``total`` (queue_depth = clients, duration_s as configured by -T) and, a
    row a script, scope ``job``; op ``statement``, scope ``job``, job = its text. latency_summary only of latencies
    that were taken (phase ``total``; ``schedule_lag`` under -R). Progress: throughput_series and latency_series (a
    row a window), its stddev and counts in metric_series, and there the time of ``-i`` by its steps. A report for
    each run; progress lines without a summary make an incomplete one, since a run that was killed leaves the same
    lines.
"""

from __future__ import annotations

import json
import re

from pipeline.parse._report import Report
from pipeline.parse._source import Source
from pipeline.parse.postgres._pgbench_blocks import (
    Block,
    Progress,
    add_progress,
    count,
    milliseconds,
    number,
    read_progress,
)

EXPECTED = "pgbench's `number of transactions actually processed:` or `progress: … tps`"
FORM = "summary and progress lines"
VERSIONS = "8.1 – 18"
NOT_READ = ""
UNSEEN_CUTS = "progress lines without a summary; behind tps a summary may go on with scripts and statements"
_SIGN = re.compile(
    r"^[ \t]*(?:number of transactions actually processed: \d|tps = \S+ \((?:including|excluding|without) "
    r"|pgbench \(\d|progress: \S+ s, \S+ tps, lat |done in \d+\.\d\d s \((?:drop tables|create tables) \d)",
    re.MULTILINE,
)
_BANNER = re.compile(r"pgbench \((\d.*?)(?:, server (.*))?\)")
_SETTING = re.compile(
    r"(transaction type|scaling factor|partition method|partitions|query mode|number of [^:=]+|maximum number of tries"
    r"|total number of retries|duration|latency (?:average|stddev)|(?:initial|average) connection time"
    r"|rate limit schedule lag|weight)\s*[:=]\s*(.*)"
)
_LAG = re.compile(r"avg (\S+) \(max (\S+)\) ms")
_TPS = re.compile(r"tps = (\S+) \((.+)\).*")
_SCRIPT = re.compile(r"SQL script \d+: (.*)")
_STATEMENTS = re.compile(r"statement latencies in milliseconds(.*)")
_TARGET = re.compile(r"\d+ \(targets (\d+(?:\.\d+)?)% of total\)")
_ABORTED = re.compile(r"(?i)\bclient \d+(?: script \d+)? aborted\b|run was aborted")
_SEED = re.compile(r"(?:pgbench: )?setting random seed to (\d{1,20})")
_INITIALISED = re.compile(r"done in (\d+\.\d+) s \((.*)\)\.")
_INIT_STEP = re.compile(r"([a-z][a-z -]*) (\d+\.\d+) s")
_PROBLEM = re.compile(r"pgbench: |(?:ERROR|FATAL|PANIC):|Connection to database .* failed")
_NOISE = ("starting vacuum", "script statistics", "vacuuming", "end.", "dropping old tables", "creating tables",
          "generating data", "NOTICE: ", "creating primary keys", "creating foreign keys", "creating ")  # fmt: skip
_TUPLES = re.compile(r"\d+ (?:of \d+ )?tuples \(\d+%\)(?: of \S+)? done.*|\d+ tuples done\.|set primary key\.*|done\.")
_PROCESSED = "number of transactions actually processed"
_RESULTS = {_PROCESSED, "number of failed transactions", "latency average", "latency stddev", "rate limit schedule lag",
            "transactions"}  # fmt: skip


def recognise(head: str) -> bool:
    """Whether a line is one that only pgbench prints."""
    return _SIGN.search(head) is not None


def parse(source: Source) -> list[Report]:
    """Return a report for each run in the file; ParseError when there is neither a figure nor a setting."""
    runs = [_Run()]
    held: tuple[int, str] | None = None  # the file may end anywhere in its last line
    for index, line in source.numbered_lines():
        if held:
            _feed(runs, *held)
        held = index, line.strip()
    if held and held[1]:
        is_whole = source.ends_with_newline
        if is_whole or _TPS.fullmatch(held[1]):
            _feed(runs, *held)
        runs[-1].cut = None if is_whole else held[0]
    last = runs[-1]
    if len(runs) > 1 and last.progress and not last.totals.values and not runs[-2].progress:
        runs[-2].progress = last.progress  # stdout, and stderr behind it
        runs.pop()
    if not any(run.progress or run.totals.values or run.init_steps for run in runs):
        raise source.error(1, EXPECTED, source.head or "an empty file")
    return [run.report(source) for run in runs]


def _feed(runs: list[_Run], number: int, text: str) -> None:
    """Read a line; it may begin a run."""
    if runs[-1].is_over(text):
        runs.append(_Run())
    if text:
        runs[-1].read(number, text)


class _Run:
    """One run of pgbench, read line by line."""

    def __init__(self) -> None:
        self.version: str | None = None
        self.server: str | None = None
        self.totals = Block()
        self.scripts: list[Block] = []
        self.progress: list[Progress] = []
        self.aborted: list[int] = []
        self.problems: list[int] = []
        self.unread: list[int] = []
        self.seed: str | None = None
        self.init_steps: list[tuple[str, str]] = []
        self.cut: int | None = None  # the line in which the file ends
        self.last_line = 1

    def is_over(self, text: str) -> bool:
        """Whether this line begins the next run."""
        if text.startswith("transaction type:"):
            return "transaction type" in self.totals.values
        begins = _BANNER.fullmatch(text) or text.startswith(("progress: ", "starting vacuum"))
        return bool(begins and self.totals.values)

    def read(self, line: int, text: str) -> None:
        """Read one line without its indentation."""
        self.last_line = line
        block = self.scripts[-1] if self.scripts else self.totals
        item = text.removeprefix("- ")  # as a script's lines begin
        start = text[:500]  # of a message: a search within a long line would take quadratic time
        if _ABORTED.search(start):
            self.aborted.append(line)
        elif progress := read_progress(text):
            self.progress.append(progress)
        elif match := _SEED.fullmatch(text):
            self.seed = match[1]
        elif match := _INITIALISED.fullmatch(start):
            self.init_steps = [("total", match[1]), *_INIT_STEP.findall(match[2])]
        elif _PROBLEM.search(start):
            self.problems.append(line)
        elif match := _STATEMENTS.fullmatch(item):
            block.statements_header = match[1]
        elif match := _BANNER.fullmatch(text):
            self.version, self.server = match[1], match[2]
        elif match := _SCRIPT.fullmatch(text):
            self.scripts.append(Block(match[1]))
        elif match := _TPS.fullmatch(text):
            self.totals.tps.append((match[2], number(match[1])))
            self.totals.values[f"tps ({match[2]})"] = match[1]
        elif match := _SETTING.fullmatch(item):
            block.values.setdefault(match[1].strip(), match[2])
        elif not (block.read_script_line(item) or (block.statements_header is not None and block.read_statement(text))
                  or text.startswith(_NOISE) or _TUPLES.fullmatch(start)):  # fmt: skip
            self.unread.append(line)

    def report(self, source: Source) -> Report:
        """The report of this run."""
        totals = self.totals
        report = Report("pgbench", source, tool_version=self.version, duration_s=number(totals.values.get("duration")))
        if self.server:
            report.parameter("server_version", self.server)
        if self.seed:
            report.parameter("random seed", self.seed)
        for block in (totals, *self.scripts):
            for name, value in block.values.items():
                if name not in _RESULTS:
                    report.parameter(name, value, block.name)
        self._warn(report)
        if totals.n_ops is not None:
            self._add_total(report, totals.n_ops)
        totals.add_statements(report, "")
        for index, block in enumerate(self.scripts, 1):
            block.add_script(report)
            block.add_statements(report, f"script {index}: ")
        add_progress(report, self.progress)
        for step, seconds in self.init_steps:
            report.add("metric_series", metric="initialisation_s", labels=json.dumps({"step": step}),
                       value=number(seconds), unit="s")  # fmt: skip
        return report

    def _warn(self, report: Report) -> None:
        for code, lines, expected in (
            ("tool_error", self.problems, "no messages of pgbench"),
            ("unknown_line", self.unread, "pgbench's lines"),
        ):
            if lines:
                report.warn(lines[0], code, f"expected {expected}, found {len(lines)}, the first here")
        if self.aborted:
            report.incomplete(self.aborted[0], "aborted", "expected all clients to finish, found that some aborted")
        if count(self.totals.values.get("number of transactions skipped")):
            report.warn(None, "transactions_skipped", "expected all scheduled transactions to run, found some skipped")
        if not self.totals.values and not (self.init_steps and not self.progress):
            found = "none: this is the stderr of a run, or the run was killed"
            report.supplement(self.last_line, "no_summary", f"expected pgbench's summary, found {found}")
        elif self.totals.values and (missing := self._missing()):
            report.incomplete(self.cut or self.last_line, "truncated", f"expected {missing}, found the end")

    def _missing(self) -> str | None:
        """What a summary lacks that was cut; None when it is whole."""
        totals = self.totals
        is_empty = totals.n_ops == 0  # then there are no latencies and rates
        if not is_empty and not any(
            kind.startswith(("excluding", "without", "including reconnection")) for kind, _ in totals.tps
        ):
            return "`tps = … (excluding or without connection time)`"
        blocks = (totals, *self.scripts)
        lacks = {
            "whole lines": self.cut is not None,
            "as many transactions as clients were to run": not self.aborted and self._lacks_transactions(),
            "a block for each script": not is_empty and self._lacks_scripts(),
            "the script's latency": any(b.n_ops and "latency stddev" not in b.values for b in self.scripts),
            "latencies of statements": any(b.statements_header is not None and not b.statements for b in blocks),
        }
        return next((what for what, is_missing in lacks.items() if is_missing), None)

    def _lacks_transactions(self) -> bool:
        """Whether ``N/M`` (with -t) says that fewer were run than configured, beside those that failed."""
        values = self.totals.values
        done, _, wanted = values.get(_PROCESSED, "").partition("/")
        others = [
            count(values.get(f"number of {kind}")) or 0 for kind in ("failed transactions", "transactions skipped")
        ]
        return (count(done) or 0) + sum(others) < (count(wanted) or 0)

    def _lacks_scripts(self) -> bool:
        """Whether the scripts' shares do not add up to 100 %."""
        if self.totals.values.get("transaction type") != "multiple scripts":
            return False
        targets = [float(m[1]) for b in self.scripts if (m := _TARGET.fullmatch(b.values.get("weight", "")))]
        lacks_share = bool(targets) and sum(targets) < 99.9 - 0.05 * len(targets)
        return not self.scripts or lacks_share or any("transactions" not in block.values for block in self.scripts)

    def _add_total(self, report: Report, n_ops: int) -> None:
        values, tps = self.totals.values, dict(reversed(self.totals.tps))
        rate = next((tps[kind] for start in ("excluding", "without", "including") for kind in tps
                     if kind.startswith(start)), None)  # fmt: skip
        mean, stddev = milliseconds(values.get("latency average")), milliseconds(values.get("latency stddev"))
        lag = _LAG.fullmatch(values.get("rate limit schedule lag", ""))
        report.add("operations", op="transaction", scope="total", n_ops=n_ops, ops_per_s=rate,
                   duration_s=number(values.get("duration")),
                   latency_mean_s=mean if n_ops else None, latency_stddev_s=stddev if n_ops else None,
                   queue_depth=number(values.get("number of clients")) if lag is None else None,
                   n_errors=count(values.get("number of failed transactions")))  # fmt: skip
        row = {"op": "transaction", "scope": "total", "n_ops": n_ops}
        if n_ops and mean is not None and stddev is not None:
            report.add("latency_summary", **row, phase="total", mean_s=mean, stddev_s=stddev)
        elif n_ops and mean is not None:
            found = "none: the average is clients × time / transactions"
            report.warn(None, "latency_from_rate", f"expected `latency stddev`, found {found}")
        if n_ops and lag is not None:
            report.add("latency_summary", **row, phase="schedule_lag", mean_s=milliseconds(lag[1]),
                       max_s=milliseconds(lag[2]))  # fmt: skip
