"""Which reports are one run: logs join the report that they belong to, and equal names are told apart. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pipeline.parse._report import Report


@dataclass
class Run:
    """A report as far as joining is concerned; the last two fields are what ``join`` decides, with ``run_id``."""

    file: str
    run_id: str
    tool: str
    home: str | None  # the file whose report it is a log of
    needs_home: bool  # it has no summary of its own
    has_manifest: bool
    is_part: bool = False  # its rows become part of another report: it has no row in ``runs``
    is_alone: bool = False  # it needed a report that is not there

    @property
    def is_log(self) -> bool:
        """Whether it belongs to another report."""
        return self.home is not None or self.needs_home


def run_of(report: Report, file: str, *, is_only: bool) -> Run:
    """What joining must know of a report.

    A report that needs a home needs none where its file holds others: it is then a run that was killed.
    """
    has_manifest = report.run.get("campaign") is not None
    return Run(file, report.run_id, report.tool, report.home, report.alone is not None and is_only, has_manifest)


def join(runs: Iterable[Run]) -> None:
    """Decide for each run: its run id, unique with its tool (``#1``, ``#2`` …), and whether it is part of another."""
    groups: dict[tuple[str, ...], list[Run]] = {}
    runs = list(runs)
    homes = _homes(runs)
    for number, run in enumerate(runs):
        groups.setdefault(_group(run, number, homes), []).append(run)
    for group in groups.values():
        whole = next((run for run in group if not run.is_log), group[0])
        for run in group:
            run.is_part = run is not whole
            run.is_alone = run.needs_home and not run.is_part
    _number_equal(list(groups.values()))


def _homes(runs: list[Run]) -> dict[tuple[str, ...], int]:
    """The place of each report that logs may belong to: by its file, and where a manifest names the run by its folder.

    A folder that holds two such reports is no home: which one a log belongs to is not known.
    """
    homes: dict[tuple[str, ...], int] = {}
    several = set()
    for number, run in enumerate(runs):
        if not run.is_log:
            homes["file", run.file, run.run_id, run.tool] = number
            folder = ("folder", str(PurePath(run.file).parent), run.run_id, run.tool)
            several |= {folder} & homes.keys()
            homes[folder] = number
    return {key: number for key, number in homes.items() if key not in several}


def _group(run: Run, number: int, homes: dict[tuple[str, ...], int]) -> tuple[str, ...]:
    """What is one run has one key: a report with its logs, or the logs of a report that is not there."""
    folder = ("folder", str(PurePath(run.file).parent), run.run_id, run.tool)
    keys = []
    if run.home is not None:
        keys.append(("file", run.home, run.run_id, run.tool))
    if run.is_log and run.has_manifest:
        keys.append(folder)
    found = next((str(homes[key]) for key in keys if key in homes), None)
    return keys[-1] if keys and found is None else (found or str(number),)


def _number_equal(groups: list[list[Run]]) -> None:
    """Tell groups of one name apart; a name that another group has already is not given."""
    names = [(group[0].run_id, group[0].tool) for group in groups]
    count = Counter(names)
    last: Counter[tuple[str, str]] = Counter()
    for group, name in zip(groups, names, strict=True):
        if count[name] == 1:
            continue
        run_id = name[0]
        while (run_id, name[1]) in count:
            last[name] += 1
            run_id = f"{name[0]}#{last[name]}"
        count[run_id, name[1]] = 1
        for run in group:
            run.run_id = run_id
