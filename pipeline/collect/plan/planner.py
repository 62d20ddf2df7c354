"""Plans the hosts of a spec: asks the tools for the work of each point, checks it, and puts the runs in order."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib import import_module
from typing import cast

from pipeline.campaign import check_run_id
from pipeline.collect.plan import sweep
from pipeline.collect.plan.planned import HostPlan, PlannedRun
from pipeline.collect.plan.safety import problems_of_work
from pipeline.collect.spec import Entry, Host, Spec
from pipeline.collect.spec.document import Keys, Problem
from pipeline.collect.work import DeviceTarget, FileTarget, Monitor, Request, Service, Target, Work
from pipeline.errors import SpecError

MAX_RUNS = 10_000  # a host
FINISH_S = 5.0  # snapshots of the host before and after a run, packing, hashing: an estimate

_PLACE = re.compile(r"[a-z_]+(\.[A-Za-z0-9._-]+)?")


def make(spec: Spec) -> tuple[HostPlan, ...]:
    """The plan of each host, also of one that only serves others; SpecError lists all that is wrong, with its lines.

    A limit of time that the estimate exceeds is refused rather than warned of: it could only lose runs, the last of a
    campaign or every one of a point. Who has less time asks for fewer runs.
    """
    problems = list(_too_many(spec))
    if problems:
        raise spec.error(problems)  # before any point is made
    points = []
    for number, entry in enumerate(spec.runs):
        try:
            points.append(sweep.points(entry))
        except SpecError as error:
            problems.append(Problem(("runs", number), str(error)))
    if problems:
        raise spec.error(problems)
    planners = [_Planner(spec, host) for host in spec.hosts.values()]
    plans = tuple(planner.plan(points) for planner in planners)
    problems = [problem for planner in planners for problem in planner.problems]
    problems += [*_shared_ids(plans), *_wrong_services(spec, plans)]
    if problems:
        raise spec.error(problems)
    return plans


def _too_many(spec: Spec) -> Iterator[Problem]:
    for name in spec.hosts:
        counts = [sweep.count(entry) * spec.repeats_of(entry) if name in entry.hosts else 0 for entry in spec.runs]
        if sum(counts) > MAX_RUNS:
            keys: Keys = ("runs", counts.index(max(counts)))
            parts = " + ".join(f"{count:,}" for count in counts if count)
            found = f"{parts} = {sum(counts):,}" if "+" in parts else parts
            yield Problem(keys, f"expected at most {MAX_RUNS:,} runs on host {name!r}, found {found}")


class _Planner:
    """Plans one host, and gathers what is wrong."""

    def __init__(self, spec: Spec, host: Host) -> None:
        self._spec, self._host = spec, host
        self.problems: list[Problem] = []
        self._addresses = {other.name: other.address for other in spec.hosts.values()}

    def plan(self, points: Sequence[Sequence[sweep.Point]]) -> HostPlan:
        """The host's plan; ``points`` are those of each entry."""
        drafts: dict[str, PlannedRun] = {}
        repeats: dict[str, int] = {}
        for number, entry in enumerate(self._spec.runs):
            if self._host.name not in entry.hosts:
                continue
            monitors, too_long = self._monitors(entry, number), list[PlannedRun]()
            self._check_ignored(entry, number, points[number][0])
            for point in points[number]:
                name = f"{entry.tool}-{point.name}".casefold()
                if name in drafts:
                    found = f"found {point.name} of {entry.tool} in an entry above too (give one a `name`)"
                    self._complain(("runs", number), f"expected points that differ in their names, {found}")
                elif draft := self._draft(entry, number, point, monitors):
                    drafts[name], repeats[name] = draft, self._spec.repeats_of(entry)
                    too_long += [draft] if draft.time_limit_s < draft.work.duration_s else []
            self._check_limit(number, too_long)
        order = sweep.ordered(repeats.items(), self._spec.seed, self._host.name)
        runs = [replace(drafts[name], run_id=_run_id(drafts[name], repeat), repeat=repeat) for name, repeat in order]
        plan = HostPlan(self._host, tuple(runs))
        limit = self._spec.time_limit_s
        if limit is not None and plan.estimate_s > limit:
            expected = f"expected at least the estimate of host {self._host.name!r}, {plan.estimate_s:.0f} s"
            self._complain(("time_limit_s",), f"{expected} for {len(runs)} runs, found {limit:g}")
        return plan

    def _draft(self, entry: Entry, number: int, point: sweep.Point, monitors: tuple[Monitor, ...]) -> PlannedRun | None:
        keys = ("runs", number)
        try:
            work = _work(self._request(entry, point))
        except SpecError as error:
            self._pass_on(keys, error)
            return None
        self.problems += problems_of_work(work, monitors, self._host, keys)
        estimate_s = work.prepare_s + work.duration_s + FINISH_S
        limit_s = entry.time_limit_s or _usual_limit_s(work.duration_s)
        return PlannedRun(
            "", self._host.name, entry.tool, point.name, 0, work, monitors, entry.warm_up_s, entry.cool_down_s,
            limit_s, estimate_s, max(limit_s, _usual_limit_s(work.prepare_s)),
        )  # fmt: skip

    def _request(self, entry: Entry, point: sweep.Point) -> Request:
        return Request(
            tool=entry.tool, point=point.name, parameters=point.parameters, target=self._target(entry),
            warm_up_s=entry.warm_up_s, precondition=entry.precondition, logs=entry.logs, binary=entry.binary,
            addresses=self._addresses, is_sudo=entry.sudo,
        )  # fmt: skip

    def _check_ignored(self, entry: Entry, number: int, point: sweep.Point) -> None:
        """Complain of keys that the tool takes no notice of: without them the work would be the same."""
        request = self._request(entry, point)
        without: dict[str, Request] = {
            "target": replace(request, target=None), "warm_up_s": replace(request, warm_up_s=0.0),
            "precondition": replace(request, precondition={}), "logs": replace(request, logs=()),
            "binary": replace(request, binary=None), "sudo": replace(request, is_sudo=False),
        }  # fmt: skip
        for key, other in without.items():
            try:
                is_ignored = other != request and _work(other) == _work(request)
            except SpecError:
                continue  # it is needed, or the request is wrong anyhow
            if is_ignored:
                self._complain(
                    ("runs", number, key), f"expected none, for {entry.tool} takes no notice of it, found one"
                )

    def _check_limit(self, number: int, too_long: Sequence[PlannedRun]) -> None:
        if too_long:
            run = max(too_long, key=lambda draft: draft.work.duration_s)
            expected = f"expected at least what {run.point} is estimated to take, {run.work.duration_s:.0f} s"
            self._complain(("runs", number, "time_limit_s"), f"{expected}, found {run.time_limit_s:g}")

    def _target(self, entry: Entry) -> Target | None:
        """The host's own device of that name, not written unless the tool says so, or the file."""
        if entry.target is None:
            return None
        if isinstance(entry.target, str):
            device = self._host.devices[entry.target]
            return DeviceTarget(device.id, device.identity, is_written=False)
        directory = self._host.directories[entry.target.directory]
        return FileTarget(directory.path, entry.target.file, entry.target.size_bytes)

    def _monitors(self, entry: Entry, number: int) -> tuple[Monitor, ...]:
        found = []
        for place, choice in enumerate(entry.monitors):
            module = import_module(f"pipeline.collect.monitors.{choice.name}")
            try:
                found.append(cast(Monitor, module.monitor(choice.options)))
            except SpecError as error:
                self._pass_on(("runs", number, "monitors", place), error)
        return tuple(found)

    def _pass_on(self, keys: Keys, error: SpecError) -> None:
        """A tool's complaint, ``parameters.iodepth: expected …``, with the line of that key."""
        where, colon, rest = str(error).partition(": ")
        if not colon or not _PLACE.fullmatch(where):
            self._complain(keys, str(error))
        elif where.startswith("monitors."):
            self._complain((*keys, *where.split(".", 2)[1:]), rest)
        else:
            self._complain((*keys, *where.split(".", 1)), rest)

    def _complain(self, keys: Keys, message: str) -> None:
        self.problems.append(Problem(keys, message))


def _work(request: Request) -> Work:
    return cast(Work, import_module(f"pipeline.collect.tools.{request.tool}").work(request))


def _usual_limit_s(estimate_s: float) -> float:
    return 3 * estimate_s + 60


def _run_id(draft: PlannedRun, repeat: int) -> str:
    return check_run_id(f"{draft.host}-{draft.tool}-{draft.point}-r{repeat}")


def _shared_ids(plans: Sequence[HostPlan]) -> Iterator[Problem]:
    """Run ids are one of a kind in a campaign: `db` + `fio-x` and `db-fio` + `x` would meet."""
    owners: dict[str, str] = {}
    for plan in plans:
        for run in plan.runs:
            owner = owners.setdefault(run.run_id.casefold(), plan.host.name)
            if owner != plan.host.name:
                yield Problem(
                    ("hosts", plan.host.name),
                    f"expected a name that gives other run ids, found {run.run_id} of {owner!r}",
                )
                break


def _wrong_services(spec: Spec, plans: Sequence[HostPlan]) -> Iterator[Problem]:
    """Services on hosts that the campaign does not have, and one by whose name two hosts mean theirs.

    Hosts measure side by side, and a service such as iperf3's answers one at a time.
    """
    users: dict[tuple[str, str], tuple[str, Service]] = {}
    for plan in plans:
        for service in dict.fromkeys(service for run in plan.runs for service in run.work.services):
            user, first = users.setdefault((service.host, service.name), (plan.host.name, service))
            if service.host not in spec.hosts:
                yield Problem(("runs",), f"expected {service.name} on a host of the campaign, found {service.host!r}")
            elif user != plan.host.name or first != service:
                expected = f"expected a service of its own on {service.host!r} for host {plan.host.name!r}"
                yield Problem(("runs",), f"{expected}, found {service.name} of {user!r} (give one another `port`)")
