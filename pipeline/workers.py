"""Run the per-file function side by side: in this process, in processes of this machine, or on a dask cluster."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager
from multiprocessing import active_children, get_context, parent_process
from pathlib import Path
from threading import Thread
from typing import Any, cast

from pipeline.errors import PipelineError
from pipeline.reading import Item
from pipeline.store import Entry, lost, read_into

Done = Generator[tuple[int, list[Entry]], None, None]  # the number of a task, and what came of its files
CHUNK_BYTES, CHUNK_FILES = 8 << 20, 32  # what one task reads, at least one file
CONNECT_S = "20s"  # to the dask scheduler
SMALL_BYTES = 64 << 20  # less is read faster than processes start


def read_all(items: Sequence[Item], store: Path, scheduler: str | None = None) -> list[Entry]:
    """Entries of all files, in their order, with progress on stderr; ``scheduler`` is a dask scheduler's address."""
    sizes = [_size(item.path) for item in items]
    chunks = list(_chunks(items, sizes))
    tasks = [chunk for chunk, _ in chunks]
    n_processes = min(_n_cores(), len(tasks))
    if scheduler:
        done = _on_cluster(scheduler, tasks, store)
    elif sum(sizes) <= SMALL_BYTES or n_processes <= 1:
        done = ((number, read_into(task, store)) for number, task in enumerate(tasks))
    else:
        done = _side_by_side(n_processes, tasks, store)
    entries: dict[int, list[Entry]] = {}
    with _progress(len(items), sum(sizes)) as advance, closing(done):
        for number, found in done:
            entries[number] = found
            advance(len(found), chunks[number][1])
    return [entry for number in range(len(tasks)) for entry in entries[number]]


def _chunks(items: Sequence[Item], sizes: Sequence[int]) -> Iterator[tuple[list[Item], int]]:
    """Files in runs of a few megabytes: a task for each of ten thousand small files would cost more than reading."""
    chunk: list[Item] = []
    n_bytes = 0
    for item, size in zip(items, sizes, strict=True):
        if chunk and (n_bytes + size > CHUNK_BYTES or len(chunk) == CHUNK_FILES):
            yield chunk, n_bytes
            chunk, n_bytes = [], 0
        chunk.append(item)
        n_bytes += size
    if chunk:
        yield chunk, n_bytes


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _n_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _side_by_side(n_processes: int, tasks: Sequence[list[Item]], store: Path) -> Done:
    """In processes of this machine.

    When one is ended from outside (memory ran out), the files that were in work are read again, each in a process of
    its own: only the file on which that ends too is lost.
    """
    waiting = list(enumerate(tasks))[::-1]
    while waiting:
        running: dict[Future[list[Entry]], tuple[int, list[Item]]] = {}
        try:
            with _pool(n_processes) as pool:
                while waiting or running:
                    while waiting and len(running) < 2 * n_processes:
                        running[pool.submit(read_into, waiting[-1][1], store)] = waiting[-1]
                        waiting.pop()
                    for future in wait(running, return_when=FIRST_COMPLETED).done:
                        entries = future.result()
                        yield running.pop(future)[0], entries
        except BrokenProcessPool:
            for number, task in running.values():
                yield number, [_alone(item, store) for item in task]


def _alone(item: Item, store: Path) -> Entry:
    try:
        with _pool(1) as pool:
            return pool.submit(read_into, [item], store).result()[0]
    except BrokenProcessPool:
        return lost(item)


@contextmanager
def _pool(n_processes: int) -> Iterator[ProcessPoolExecutor]:
    """Processes that end with the block, at once when it is left by an error or by Ctrl-C."""
    others = set(active_children())
    pool = ProcessPoolExecutor(n_processes, get_context("forkserver"), _begin)
    try:
        yield pool
    except BaseException:
        for process in set(active_children()) - others:
            process.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _begin() -> None:
    """What a process does first: leave Ctrl-C to the parent, and take care not to outlive it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _on_cluster(address: str, tasks: Sequence[list[Item]], store: Path) -> Done:
    """The same function on a cluster; a task whose worker dies is run again by another."""
    from distributed import Client, KilledWorker, as_completed

    try:
        client = Client(address, timeout=CONNECT_S, set_as_default=False)
    except (OSError, ValueError) as error:
        raise PipelineError(f"--scheduler {address}: expected a dask scheduler, found {error}") from error
    with client:
        futures = {client.submit(read_into, task, store, pure=False): number for number, task in enumerate(tasks)}
        for future in as_completed(futures, loop=client.loop):
            number = futures.pop(future)
            try:
                yield number, future.result()
            except KilledWorker:
                alone = [(item, client.submit(read_into, [item], store, pure=False)) for item in tasks[number]]
                yield number, [_result_alone(item, single) for item, single in alone]
            except (PipelineError, OSError):
                raise
            except Exception as error:
                found = f"{error!r}; is it still there, and has it the project installed?"
                raise PipelineError(f"--scheduler {address}: expected a cluster that reads, found {found}") from error


def _result_alone(item: Item, future: Any) -> Entry:
    """What came of a file that is read for itself; lost is only one on which worker after worker dies."""
    from distributed import KilledWorker

    try:
        return cast(list[Entry], future.result())[0]
    except KilledWorker:
        return lost(item)


@contextmanager
def _progress(n_files: int, n_bytes: int) -> Iterator[Callable[[int, int], None]]:
    """A bar of files, bytes and remaining time; without a terminal a plain line every ten seconds."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        yield _lines(n_files, n_bytes)
        return
    columns = (
        TextColumn("reading"),
        BarColumn(),
        DownloadColumn(),
        TextColumn("{task.fields[done]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("reading", total=n_bytes, done=f"0/{n_files} files")
        done = 0

        def advance(n_more: int, n_more_bytes: int) -> None:
            nonlocal done
            done += n_more
            progress.update(task, advance=n_more_bytes, done=f"{done}/{n_files} files")

        yield advance


def _lines(n_files: int, n_bytes: int) -> Callable[[int, int], None]:
    start = last = time.monotonic()
    done = done_bytes = 0

    def advance(n_more: int, n_more_bytes: int) -> None:
        nonlocal done, done_bytes, last
        done, done_bytes, now = done + n_more, done_bytes + n_more_bytes, time.monotonic()
        if now - last >= 10:
            last = now
            left_s = (now - start) * (n_bytes - done_bytes) / max(done_bytes, 1)
            print(f"read {done}/{n_files} files, about {left_s:.0f} s left", file=sys.stderr)

    return advance
