"""Hosts over SSH: connect to one, or work on many side by side, a thread for each connection that is open."""

from __future__ import annotations

import queue
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Generic, TypeVar

from pipeline.collect.ssh import routes
from pipeline.collect.ssh.connection import Remote, Result
from pipeline.collect.ssh.hops import Limits
from pipeline.errors import CollectError

__all__ = ["Limits", "Remote", "Result", "connect", "each"]

T = TypeVar("T")
_JOIN_S = 2.0


def connect(alias: str, limits: Limits | None = None) -> Remote:
    """A connection to a host, open; use it in ``with``. UnreachableError, or CollectError that says what to do."""
    remote = Remote(routes.route(alias), limits)
    try:
        remote.open()
    except BaseException:
        remote.close()
        raise
    return remote


def each(
    aliases: Iterable[str],
    work: Callable[[str, Remote], T],
    n_connections: int = 16,
    per_gateway: int = 4,
    *,
    limits: Limits | None = None,
    is_opened: bool = True,
) -> Iterator[tuple[str, T | CollectError]]:
    """Work on hosts side by side; each host's result, or why there is none, as it comes.

    At most ``n_connections`` are open at once, and ``per_gateway`` through the same first jump host. With ``is_opened``
    false ``work`` gets connections that open at their first use, so that it sees what fails there. Leaving the loop,
    also by Ctrl-C, closes every connection. Another exception than CollectError in ``work`` comes out of the loop.
    """
    if n_connections < 1 or per_gateway < 1:
        raise CollectError(f"expected at least 1 connection, found {n_connections}, and {per_gateway} per jump host")
    crew = _Crew(work, limits, is_opened)
    waiting = list(dict.fromkeys(aliases))
    try:
        while waiting or crew.n_running:
            while crew.n_running < n_connections and (alias := crew.next_of(waiting, per_gateway)) is not None:
                waiting.remove(alias)
                crew.start(alias)
            alias, outcome = crew.take()
            if isinstance(outcome, BaseException) and not isinstance(outcome, CollectError):
                raise outcome
            yield alias, outcome
    finally:
        crew.dismiss()


class _Crew(Generic[T]):
    """The threads of one ``each`` and their connections."""

    def __init__(self, work: Callable[[str, Remote], T], limits: Limits | None, is_opened: bool) -> None:
        self._work, self._limits, self._is_opened = work, limits, is_opened
        self._outcomes: queue.SimpleQueue[tuple[str, T | BaseException]] = queue.SimpleQueue()
        self._routes: dict[str, routes.Route | CollectError] = {}
        self._running: dict[str, tuple[threading.Thread, Remote]] = {}
        self._gateways: Counter[str] = Counter()
        self.n_running = 0

    def next_of(self, waiting: list[str], per_gateway: int) -> str | None:
        """The first host whose jump host has room."""
        return next((alias for alias in waiting if self._gateways[self._gateway(alias)] < per_gateway), None)

    def start(self, alias: str) -> None:
        """Start on a host; where no way leads there, that is its outcome."""
        self.n_running += 1
        route = self._route(alias)
        if isinstance(route, CollectError):
            self._outcomes.put((alias, route))
            return
        self._gateways[self._gateway(alias)] += len(route) > 1
        remote = Remote(route, self._limits)
        thread = threading.Thread(target=self._do, args=(alias, remote), name=f"host {alias}", daemon=True)
        self._running[alias] = thread, remote
        thread.start()

    def take(self) -> tuple[str, T | BaseException]:
        """Wait for the next host that is done; its jump host has room again."""
        alias, outcome = self._outcomes.get()
        self.n_running -= 1
        if self._running.pop(alias, None) and self._gateway(alias):
            self._gateways[self._gateway(alias)] -= 1
        return alias, outcome

    def dismiss(self) -> None:
        """Close all connections, and give the threads a moment to see it."""
        for _, remote in self._running.values():
            remote.close()
        for thread, _ in self._running.values():
            thread.join(_JOIN_S / len(self._running))

    def _do(self, alias: str, remote: Remote) -> None:
        outcome: T | BaseException
        try:
            if self._is_opened:
                remote.open()
            outcome = self._work(alias, remote)
        except BaseException as error:  # handed over to the loop, which raises it
            outcome = error
        remote.close()
        self._outcomes.put((alias, outcome))

    def _route(self, alias: str) -> routes.Route | CollectError:
        if alias not in self._routes:
            try:
                self._routes[alias] = routes.route(alias)
            except CollectError as error:
                self._routes[alias] = error
        return self._routes[alias]

    def _gateway(self, alias: str) -> str:
        """The first jump host's name; without one there is no limit, and nothing counted."""
        route = self._route(alias)
        return str(route[0]) if isinstance(route, tuple) and len(route) > 1 else ""
