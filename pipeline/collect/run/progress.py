"""How far hosts are: a line a host on a terminal, plain lines when something changed elsewhere; and text at the end."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from types import TracebackType
from typing import TYPE_CHECKING, Protocol

from pipeline.collect.run.overview import duration, status_table, summary
from pipeline.collect.run.overview import one_line as _one_line

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.live import Live
    from rich.table import Table

__all__ = ["HostState", "Progress", "duration", "remaining_s", "status_table", "summary"]

_QUIET_S = 60.0  # without a terminal: between two lines of a host that tell only of further runs
_REFRESHES_A_SECOND = 2
_BAR = 16
_OUR_LINES = 3  # of a terminal: totals, hosts that are not shown, the cursor
_SLOWEST, _FASTEST = 10.0, 0.1  # what runs took, as a factor of their estimates, is believed between these


@dataclass(frozen=True)
class HostState:
    """How far a host is. ``n_failed``: runs whose last attempt was not complete; times are of the host's own clock."""

    host: str
    n_runs: int
    n_done: int
    n_failed: int
    current: str | None = None
    started_at: datetime | None = None  # of the current run
    now: datetime | None = None
    remaining_s: float | None = None
    problem: str | None = None

    @property
    def is_over(self) -> bool:
        """Whether nothing is left to wait for."""
        return self.n_done + self.n_failed >= self.n_runs and self.current is None

    @property
    def elapsed_s(self) -> float | None:
        """Since the start of the current run."""
        if self.current is None or self.started_at is None or self.now is None:
            return None
        return max(0.0, (self.now - self.started_at).total_seconds())


class Timed(Protocol):
    """What of a planned run counts here, in s."""

    @property
    def estimate_s(self) -> float:
        """From its preparation to its packing."""

    @property
    def cool_down_s(self) -> float:
        """The rest after it."""


def remaining_s(
    left: Sequence[Timed], elapsed_s: float | None = None, done: Sequence[tuple[float, float]] = ()
) -> float:
    """Seconds until the runs that are ``left`` are over, the first of them begun ``elapsed_s`` ago (None: not yet).

    ``done``: of each run that is over its estimate and what it took. Their ratio corrects the estimates; one more run
    that took as long as was thought is assumed, so that a single odd one does not decide.
    """
    if not left:
        return 0.0
    expected, took = sum(max(0.0, pair[0]) for pair in done), sum(max(0.0, pair[1]) for pair in done)
    usual = expected / len(done) if done else 0.0
    ratio = (took + usual) / (expected + usual) if expected > 0 else 1.0
    ratio = min(max(ratio, _FASTEST), _SLOWEST)
    first, *others = left
    current = max(0.0, first.estimate_s * ratio - (elapsed_s or 0.0)) + first.cool_down_s
    return current + sum(run.estimate_s * ratio + run.cool_down_s for run in others)


class Progress:
    """Shows the state of hosts while they work: ``with Progress() as progress: progress.show(host, state)``."""

    def __init__(self, console: Console | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        from rich.console import Console

        self._console = console or Console(stderr=True)
        self._clock = clock
        self._states: dict[str, tuple[HostState, float]] = {}
        self._live: Live | None = None
        self._said: dict[str, tuple[tuple[object, ...], float]] = {}

    def __enter__(self) -> Progress:
        if self._console.is_terminal:
            from rich.live import Live

            self._live = Live(
                console=self._console, get_renderable=self.picture, refresh_per_second=_REFRESHES_A_SECOND,
                redirect_stdout=False, redirect_stderr=False,
            )  # fmt: skip
            self._live.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._live:
            self._live.stop()

    def show(self, host: str, state: HostState) -> None:
        """Show the state of a host from now on."""
        self._states = {**self._states, host: (state, self._clock())}  # replaced whole: another thread draws it
        if self._live is None:
            self._say(host, state)

    def picture(self) -> RenderableType:
        """What a terminal shows now."""
        from rich.console import Group
        from rich.text import Text

        states, now = self._states, self._clock()
        held = [_later(state, now - since) for state, since in states.values()]
        room = max(1, self._console.height - _OUR_LINES)
        shown = held if len(held) <= room else sorted(held, key=_rank)[:room]
        lines: list[RenderableType] = [_table(shown)]
        if len(shown) < len(held):
            lines.append(Text(_hidden(held, shown), style="dim", no_wrap=True, overflow="ellipsis"))
        if held:
            lines.append(Text(_totals(held), style="bold", no_wrap=True, overflow="ellipsis"))
        return Group(*lines)

    def _say(self, host: str, state: HostState) -> None:
        """A plain line, when something changed: failures, problems and ends at once, mere progress now and then."""
        news = (state.n_failed, re.sub("[0-9]+", "", state.problem or ""), state.is_over, state.current is None)
        now = self._clock()
        said = self._said.get(host)
        key = (*news, state.n_done)
        if said and said[0] == key:
            return
        if said and said[0][:-1] == news and now - said[1] < _QUIET_S:
            return
        self._said[host] = key, now
        print(
            f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ} {_plain(state)}", file=self._console.file or sys.stderr, flush=True
        )


def _later(state: HostState, seconds: float) -> HostState:
    """The state some seconds after it was seen: clocks go on between two looks."""
    from dataclasses import replace
    from datetime import timedelta

    now = state.now + timedelta(seconds=seconds) if state.now else None
    left = max(0.0, state.remaining_s - seconds) if state.remaining_s is not None else None
    return replace(state, now=now, remaining_s=left)


def _rank(state: HostState) -> int:
    """Problems first, then who works, then who waits, then who is done."""
    if state.problem:
        return 0
    return 3 if state.is_over else 1 if state.current else 2


def _table(states: Sequence[HostState]) -> Table:
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 1), expand=True)
    table.add_column(no_wrap=True, overflow="ellipsis", max_width=20)
    table.add_column(width=_BAR, no_wrap=True)
    table.add_column(no_wrap=True, justify="right")
    table.add_column(no_wrap=True, overflow="ellipsis", ratio=1)
    table.add_column(no_wrap=True, justify="right")
    for state in states:
        over = state.n_done + state.n_failed
        style = "red" if state.n_failed or state.problem else "green"
        bar = ProgressBar(
            max(1, state.n_runs), min(over, state.n_runs), _BAR, complete_style=style, finished_style=style
        )
        counts = f"{over}/{state.n_runs}" + (f" {state.n_failed} failed" if state.n_failed else "")
        # Text is taken as it is: nothing in a name is markup.
        middle = Text(_doing(state), style="red" if state.problem else "")
        table.add_row(Text(_one_line(state.host)), bar, Text(counts), middle, Text(_left(state)))
    return table


def _doing(state: HostState) -> str:
    if state.problem:
        return _one_line(state.problem)
    if state.current is None:
        return ("complete" if not state.n_failed else "over") if state.is_over else "waits"
    elapsed_s = state.elapsed_s
    name = _one_line(state.current.removeprefix(f"{state.host}-"))
    return name if elapsed_s is None else f"{duration(elapsed_s)} in {name}"


def _left(state: HostState) -> str:
    if state.is_over or state.remaining_s is None:
        return ""
    step_s = 10 if state.remaining_s > 60 else 1  # an estimate: no more digits than it is worth
    return f"~{duration(round(state.remaining_s / step_s) * step_s)} left"


def _totals(states: Sequence[HostState]) -> str:
    n_over = sum(state.is_over for state in states)
    n_failed = sum(state.n_failed for state in states)
    parts = [
        f"{sum(state.n_done for state in states)} of {sum(state.n_runs for state in states)} runs complete",
        f"{n_over} of {len(states)} hosts done",
    ]
    parts += [f"{n_failed} failed"] if n_failed else []
    left = [state.remaining_s for state in states if not state.is_over and state.remaining_s is not None]
    parts += [f"~{duration(max(left))} left"] if left else []
    return ", ".join(parts) + "; Ctrl-C detaches"


def _hidden(states: Sequence[HostState], shown: Sequence[HostState]) -> str:
    names = {id(state) for state in shown}
    hidden = [state for state in states if id(state) not in names]
    n_over = sum(state.is_over for state in hidden)
    return f"and {len(hidden)} more hosts: {n_over} done, {len(hidden) - n_over} at work or waiting"


def _plain(state: HostState) -> str:
    parts = [f"{state.n_done} of {state.n_runs} runs complete"]
    parts += [f"{state.n_failed} failed"] if state.n_failed else []
    parts += [_doing(state)] if state.problem or state.current else []
    parts += [_left(state)] if _left(state) else []
    return f"{_one_line(state.host)}: {', '.join(parts)}"
