"""Whether a DISKSPD report is whole: as long as asked and, of text, every section of its settings to the last row."""

from __future__ import annotations

import re

from pipeline.parse.diskspd._diskspd_cells import seconds_of
from pipeline.parse.diskspd._diskspd_lines import Draft, Result, Table
from pipeline.parse.diskspd._diskspd_rows import Notes, Settings, count

HEADINGS = {"total": "Total IO", "read": "Read IO", "write": "Write IO"}
_PERCENTILES = ("min", "25th", "50th", "75th", "90th", "95th", "99th", *(f"{n}-nines" for n in range(3, 9)), "max")
_OF_TARGET = "Latency distribution: "
_LATENCY_OPTION = re.compile(r"\s[-/]L(?=\s|$)")
_TRACE_OPTION = re.compile(r"\s-e\w")
_MOST_SHORT_S = 1.0  # a test time below the duration; DISKSPD's are never below, but the Linux port has whole seconds
_STATISTICS_OPTION = re.compile(r"\s[-/]vs(?=\s|$)")


def check_length(settings: Settings, seconds: float | None, notes: Notes, line: int | None) -> None:
    """Note a timespan that was measured for less than its duration, as when Ctrl-C stopped it."""
    if seconds and settings.duration_s is not None and seconds < settings.duration_s - _MOST_SHORT_S:
        message = f"expected {settings.duration_s:g} s of measurement, found {seconds:g} s"
        notes.add(line, "interrupted", message, is_damage=True)


def add_stopped(stopped: tuple[int, str] | None, notes: Notes) -> None:
    """Note the line that tells of Ctrl-C."""
    if stopped:
        notes.add(stopped[0], "interrupted", f"expected a run to its end, found {stopped[1]!r}", is_damage=True)


def check(draft: Draft, settings: list[Settings], notes: Notes) -> None:
    """Note everything that is missing or not read."""
    command = draft.command or ""
    add_stopped(draft.stopped, notes)
    if not draft.settings:
        _missing(draft, notes, "no_header", "`Input parameters:`", "none")
    if len(draft.results) < max(len(settings), 1):
        _missing(draft, notes, "truncated", f"results for timespan {len(draft.results) + 1} of {len(settings)}")
    for position, result in enumerate(draft.results):
        is_asked = position < len(settings) and settings[position].measures_latency
        _check_result(draft, result, notes, is_asked or _LATENCY_OPTION.search(command) is not None)
    if len(settings) > 1 and not (draft.totals and draft.totals.last and seconds_of(draft.total_time or "")):
        _missing(draft, notes, "truncated", "`Totals:` with the total test time")
    if _TRACE_OPTION.search(command) and not draft.is_traced_to_the_end:
        _missing(draft, notes, "truncated", "the ETW session's buffers, for -e")
    for result in draft.results:
        threads = {cells.get("thread") for _, cells in result.io["total"].rows} if "total" in result.io else set()
        if _STATISTICS_OPTION.search(command) and len(result.extras.get("Wait Statistics", [])) < 1 + len(threads):
            _missing(draft, notes, "truncated", "`Wait Statistics`, for -vs")
    if draft.unread:
        found = f"found {len(draft.unread)} lines more"
        notes.add(draft.unread[0], "unread_lines", f"expected only what this reader knows, {found}")


def _check_result(draft: Draft, result: Result, notes: Notes, is_latency_asked: bool) -> None:
    for table in result.tables:
        for line in table.bad:
            notes.add(line, "bad_row", f"expected the columns {' | '.join(table.columns)}", is_damage=True)
    if result.interrupted:
        notes.add(
            result.interrupted[0], "interrupted", f"expected results, found {result.interrupted[1]!r}", is_damage=True
        )
        return
    where = f" of timespan {result.number}"
    if not any(seconds_of(result.facts.get(name, "")) for name in ("actual test time", "test time")):
        _missing(draft, notes, "no_test_time", f"`actual test time: …s`{where}", "none")
    if not result.cpu or not result.cpu.last:
        _missing(
            draft,
            notes,
            "truncated" if not result.io else "no_cpu_usage",
            f"the CPU table{where} with its avg. row",
            "none",
        )
    n_cpus = count(result.facts.get("proc count", dict(draft.system).get("cpu count")))
    if result.cpu and n_cpus is not None and n_cpus != len(result.cpu.rows):
        message = f"expected {n_cpus} rows of CPUs, found {len(result.cpu.rows)}"
        notes.add(result.cpu.line, "cpu_rows_missing", message)
    missing = [heading for op, heading in HEADINGS.items() if op not in result.io or not result.io[op].last]
    if missing:
        _missing(draft, notes, "truncated", f"the table `{missing[0]}`{where} with its total row")
        return
    for table in result.io.values():
        _check_sum(table, notes)
    if is_latency_asked or any(name.startswith("avglat") for table in result.io.values() for name in table.columns):
        _check_latency(draft, result, notes, where)


def _check_latency(draft: Draft, result: Result, notes: Notes, where: str) -> None:
    tables = result.latency
    if not tables:
        line = result.io["write"].last
        message = f"expected the latency distribution{where}, found the end of its results"
        notes.add(line[0] if line else None, "no_latency_distribution", message, is_damage=True)
    elif not all(table.last for table in tables) or all(table.heading in known_paths(result) for table in tables):
        _missing(draft, notes, "truncated", f"the total latency distribution{where} up to max")
    for table in tables:  # 9-nines came later
        if missing := set(_PERCENTILES) - {cells["%-ile"] for _, cells in table.rows}:
            message = f"expected the percentiles {', '.join(sorted(missing))}, found none"
            notes.add(table.line, "rows_missing", message, is_damage=True)


def _check_sum(table: Table, notes: Notes) -> None:
    """The total row is the sum of the threads' rows, to the last byte."""
    for column in ("i/os", "bytes"):
        found = sum(count(cells.get(column)) or 0 for _, cells in table.rows)
        line, cells = table.last or (table.line, {})
        total = count(cells.get(column))
        if total is not None and total != found:
            message = f"expected rows that add up to {total} {column}, found {found}"
            notes.add(line, "rows_missing", message, is_damage=True)
            return


def is_whole(table: Table | None) -> bool:
    """Whether the rows of an I/O table add up to its total row."""
    if table is None or table.last is None:
        return False
    return sum(count(cells.get("i/os")) or 0 for _, cells in table.rows) == count(table.last[1].get("i/os"))


def known_paths(result: Result) -> set[str]:
    """Headings of latency tables that name a target of the I/O tables: as they are, or as 2.2 writes them."""
    files = {cells.get("file", "") for table in result.io.values() for _, cells in table.rows}
    paths = {file.rpartition(" (")[0] for file in files} - {""}
    return paths | {_OF_TARGET + path for path in paths}


def _missing(draft: Draft, notes: Notes, code: str, what: str, found: str = "the end of the report") -> None:
    notes.add(draft.last, code, f"expected {what}, found {found}", is_damage=True)
