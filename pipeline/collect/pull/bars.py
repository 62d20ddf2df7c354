"""How far a pull is, a line a host, on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager


@contextmanager
def bars(n_bytes: Mapping[str, int]) -> Iterator[Callable[[str, int], None]]:
    """Show bytes, rate and remaining time of each host; what is given hears of a host's bytes as they come.

    ``n_bytes`` is what each host has to send. Without a terminal nothing is shown.
    """
    if not sys.stderr.isatty():
        yield lambda *_: None
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as progress:
        tasks = {host: progress.add_task(escape(host), total=total) for host, total in n_bytes.items()}
        yield lambda host, n_came: progress.advance(tasks[host], n_came)
