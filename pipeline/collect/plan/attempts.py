"""Attempts at runs: their ids, and which runs still lack a complete one."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from pipeline.collect.plan.planned import HostPlan, PlannedRun
from pipeline.ledger import Entry

_ATTEMPT = re.compile(r"(?P<run>.+-r[0-9]+)(?:\+a(?P<number>[1-9][0-9]{0,5}))?")


def missing(
    plans: Sequence[HostPlan], entries: Mapping[str, Entry], known: Collection[str]
) -> dict[str, dict[str, PlannedRun]]:
    """What each host has yet to be given: host → attempt id → run, in the plan's order.

    ``entries`` are the ledger's by attempt id; ``known`` are the attempts that hosts know of. A run of which an attempt
    is known and not in the ledger is in hand, and not missing. A new attempt's number is above all that were seen, in
    the ledger or on a host, so that no id is ever used twice.
    """
    complete = {
        (held.host, held.tool, held.point, held.repeat) for held in entries.values() if held.state == "complete"
    }
    highest: dict[str, int] = {}
    for attempt in {*entries, *known}:
        if match := _ATTEMPT.fullmatch(attempt):  # what is none is not of our making
            highest[match["run"]] = max(int(match["number"] or 1), highest.get(match["run"], 0))
    in_hand = {match["run"] for attempt in known if attempt not in entries and (match := _ATTEMPT.fullmatch(attempt))}
    return {
        plan.host.name: {
            attempt_id(run.run_id, highest.get(run.run_id, 0) + 1): run
            for run in plan.runs
            if (run.host, run.tool, run.point, run.repeat) not in complete and run.run_id not in in_hand
        }
        for plan in plans
    }


def attempt_id(run_id: str, number: int) -> str:
    """The id of a run's first, second … attempt."""
    return run_id if number == 1 else f"{run_id}+a{number}"


def run_of(attempt: str) -> str:
    """The run that it is an attempt of; what is no attempt stands for itself."""
    match = _ATTEMPT.fullmatch(attempt)
    return match["run"] if match else attempt


def number_of(attempt: str) -> int:
    """Which attempt it is, from 1; ValueError for what is none."""
    match = _ATTEMPT.fullmatch(attempt)
    if match is None:
        raise ValueError(f"expected an attempt such as db1-fio-randread-r1+a2, found {attempt!r}")
    return int(match["number"] or 1)
