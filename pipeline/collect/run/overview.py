"""A campaign's state as plain text that fits 100 columns: every host and point, and what to type next."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from pipeline.collect.plan.attempts import run_of
from pipeline.errors import printable

if TYPE_CHECKING:
    from pipeline.collect.plan.planned import HostPlan, PlannedRun
    from pipeline.collect.run.progress import HostState
    from pipeline.collect.spool.spool import Status
    from pipeline.ledger import Entry, Ledger

    _Row = tuple[PlannedRun, str, int, datetime | None, float | None]

_POINT, _STATE = 46, 12  # columns; a row fits 100 of them


class View(Protocol):
    """What of a session is shown."""

    @property
    def plans(self) -> Mapping[str, HostPlan]:
        """By host, as the statuses."""

    @property
    def statuses(self) -> Mapping[str, Status]:
        """Of the hosts that answered."""

    @property
    def ledger(self) -> Ledger:
        """What is recorded."""


def status_table(states: Iterable[HostState], view: View) -> str:
    """Every host and point with its state, the number of attempts, and of the last one its start and how long it took.

    Of a host that did not answer it is what the ledger knows; what is on no record is ``unknown`` then.
    """
    blocks = []
    for state in states:
        rows = list(_rows(view, state.host))
        width = min(_POINT, max((len(_point(row[0])) for row in rows), default=0))
        head = f"  {'point':<{width}} {'repeat':>6} {'state':<{_STATE}} {'tries':>5} {'started (UTC)':<16} {'took':>8}"
        blocks.append("\n".join([_headline(state), *([head] if rows else []), *(_row(width, row) for row in rows)]))
    return "\n\n".join(blocks)


def summary(states: Sequence[HostState], slug: str) -> str:
    """What came of a run, and what to type next."""
    n_done, n_runs = sum(state.n_done for state in states), sum(state.n_runs for state in states)
    hosts = "1 host" if len(states) == 1 else f"{len(states)} hosts"
    lines = [f"{slug}: {n_done} of {n_runs} runs complete on {hosts}"]
    lines += [f"  {_headline(state)}" for state in states if state.problem or state.n_done < state.n_runs]
    files = [f"data/campaigns/{name}" for name in (f"{slug}.yaml", f"{slug}.ledger.json", "index.yaml")]
    commands = []
    if n_done < n_runs:
        commands.append(f"python -m pipeline run {slug}    # again: what is missing; what is complete is not repeated")
    if n_done or any(state.n_failed for state in states):
        commands.append(f"git add {' '.join(files)}")
        commands.append(f'git commit -m "Run {slug}"')
        commands.append("dvc repro    # fetches the raw logs, reads them, publishes")
    return "\n".join([*lines, "next:", *(f"  {command}" for command in commands)])


def duration(seconds: float) -> str:
    """``45 s``, ``12 min``, ``2 h 05 min``, ``3 d 4 h``."""
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min" if whole >= 600 or not whole % 60 else f"{whole // 60} min {whole % 60:02d} s"
    if whole < 86400:
        return f"{whole // 3600} h {whole // 60 % 60:02d} min"
    return f"{whole // 86400} d {whole // 3600 % 24} h"


def one_line(text: str, limit: int = 500) -> str:
    """The first line of a text, without what a terminal would obey."""
    return printable(next(iter(text.strip().splitlines()), ""), limit)


def _headline(state: HostState) -> str:
    parts = [f"{state.n_done} of {state.n_runs} runs complete"]
    parts += [f"{state.n_failed} failed"] if state.n_failed else []
    parts += ["at work"] if state.current and not state.problem else []
    parts += (
        [f"about {duration(state.remaining_s)} left"]
        if state.remaining_s and state.current and not state.problem
        else []
    )
    problem = f": {one_line(state.problem)}" if state.problem else ""
    return f"{one_line(state.host)}: {', '.join(parts)}{problem}"


def _rows(view: View, host: str) -> Iterator[_Row]:
    """Run, state, attempts, and of the last one the start and the seconds that it took, or has taken so far."""
    status = view.statuses.get(host)
    packed: dict[str, list[Entry]] = {}
    for entry in [*view.ledger.entries.values(), *(status.done.values() if status else ())]:
        held = packed.setdefault(run_of(entry.run_id), [])
        if entry.run_id not in {other.run_id for other in held}:
            held.append(entry)
    in_hand = {run_of(run.attempt): run for run in (status.runs if status else ())}
    for run in view.plans[host].runs:
        entries = sorted(packed.get(run.run_id, []), key=lambda entry: entry.attempt)
        complete = [entry for entry in entries if entry.state == "complete"]
        at = in_hand.get(run.run_id)
        if at is not None and not complete and at.attempt not in {entry.run_id for entry in entries}:
            started = at.started_at if at.status != "waiting" else None
            so_far_s = (status.now - started).total_seconds() if status and started and status.is_working else None
            yield run, at.status, len(entries) + 1, started, so_far_s
        elif entries:
            last = (complete or entries)[-1]
            begun, ended = _time(last.started_at), _time(last.stopped_at)
            yield run, last.state, len(entries), begun, (ended - begun).total_seconds() if begun and ended else None
        else:
            yield run, "not begun" if status else "unknown", 0, None, None


def _point(run: PlannedRun) -> str:
    return f"{run.tool}-{run.point}"


def _row(width: int, row: _Row) -> str:
    run, state, n_attempts, started, took_s = row
    point = _point(run)
    if len(point) > width:  # both ends tell points apart
        point = f"{point[: width // 2]}…{point[-(width - width // 2 - 1) :]}"
    begun = f"{started:%Y-%m-%d %H:%M}" if started else ""
    took = _clock(took_s) if took_s is not None else ""
    cells = f"{point:<{width}} {run.repeat:>6} {state:<{_STATE}} {n_attempts or '':>5} {begun:<16} {took:>8}"
    return f"  {cells}".rstrip()


def _clock(seconds: float) -> str:
    """``0:42``, ``1:02:03``."""
    whole = max(0, round(seconds))
    hours, minutes = whole // 3600, whole // 60 % 60
    return f"{hours}:{minutes:02d}:{whole % 60:02d}" if hours else f"{minutes}:{whole % 60:02d}"


def _time(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None
