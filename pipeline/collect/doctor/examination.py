"""``doctor``: looks at a campaign's hosts, and says what would stop the run, before it is begun; nothing is changed.

Each host is asked a few times for its clock and once for everything else, side by side with the others.
"""

from __future__ import annotations

import re
import shutil
import textwrap
import time
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path

from pipeline.collect.doctor import facts as _facts
from pipeline.collect.doctor.facts import Clock, Needs
from pipeline.collect.doctor.judging import Finding, judge
from pipeline.collect.plan.planned import HostPlan
from pipeline.collect.spec import Spec
from pipeline.collect.ssh import remote
from pipeline.collect.ssh.remote import Remote
from pipeline.errors import CollectError, printable

__all__ = ["Finding", "examine", "judge", "report"]

_FACTS_S, _CLOCK_S = 400.0, 20.0  # guard.sh alone may take 300 s
_N_CLOCKS = 3
_FREE_HERE = 1 << 30  # bytes
_WIDTH, _MANY_HOSTS = 110, 8
_ORDER = {"stop": 0, "warning": 1, "ok": 2}


def examine(spec: Spec, plans: Sequence[HostPlan], n_connections: int = 16, root: Path | None = None) -> list[Finding]:
    """All findings about the plan's hosts, in the plan's order; ``root``: also about room on this machine."""
    of_alias = {plan.host.ssh: plan for plan in plans}
    found: dict[str, list[Finding]] = {}

    def look(alias: str, connection: Remote) -> list[Finding]:
        return _look(connection, of_alias[alias], plans, spec.slug)

    for alias, result in remote.each(of_alias, look, n_connections):
        plan = of_alias[alias]
        found[plan.host.name] = [_unreached(plan, result)] if isinstance(result, CollectError) else result
    findings = [finding for plan in plans for finding in found.get(plan.host.name, [])]
    return findings + (_here(root) if root else [])


def report(findings: Iterable[Finding], slug: str) -> str:
    """The findings as text, a host a block, and what to do next; of many hosts what is well is only counted."""
    blocks, stops = [], dict[str, int]()
    grouped = [(host, list(held)) for host, held in groupby(findings, key=lambda finding: finding.host)]
    for host, held in grouped:
        shown = sorted(held, key=lambda finding: _ORDER[finding.verdict])
        n_well = sum(finding.verdict == "ok" for finding in held)
        if len(grouped) > _MANY_HOSTS and n_well:
            shown = [finding for finding in shown if finding.verdict != "ok"]
            shown.append(Finding(host, "checks", "ok", f"{n_well} are as they must be"))
        blocks.append("\n".join([printable(host), *(line for finding in shown for line in _lines(finding))]))
        if n_stops := sum(finding.verdict == "stop" for finding in held):
            stops[host] = n_stops
    n_stops = sum(stops.values())
    if not n_stops:
        return "\n\n".join([*blocks, f"ready; next: python -m pipeline run {slug}"])
    things = "1 thing" if n_stops == 1 else f"{n_stops} things"
    places = ", ".join(f"{count} on {printable(host)}" for host, count in stops.items())
    return "\n\n".join([*blocks, f"{things} would stop the run: {places}"])


def _lines(finding: Finding) -> list[str]:
    head = f"  {finding.verdict:<9}{printable(finding.subject):<11}"
    text = [printable(line, 2000) for line in finding.message.splitlines()] or [""]
    body = [piece for line in text for piece in textwrap.wrap(line, _WIDTH - len(head), break_on_hyphens=False) or [""]]
    return [f"{head if number == 0 else ' ' * len(head)}{piece}".rstrip() for number, piece in enumerate(body)]


def _look(connection: Remote, plan: HostPlan, plans: Sequence[HostPlan], slug: str) -> list[Finding]:
    name = plan.host.name
    if plan.host.windows:
        return [
            Finding(name, "reachable", "ok", "answers"),
            Finding(name, "system", "warning", "Windows: only its answering was checked"),
        ]
    needs = Needs.of(plan, plans)
    asked = _facts.questions(plan, needs)
    clock = _clock(connection)
    text = _facts.script(plan, needs, asked, slug)
    found = connection.run("exec sh -s", input=text, timeout_s=_FACTS_S)
    facts = _facts.read(found.stdout, found.stderr, asked, clock)
    return judge(facts, plan, needs, slug)


def _clock(connection: Remote) -> Clock | None:
    """The best of a few looks: the one that took least time."""
    found: list[Clock] = []
    for _ in range(_N_CLOCKS):
        before, started = time.time(), time.monotonic()
        said = connection.run("date +%s.%N", timeout_s=_CLOCK_S).stdout
        took_s = time.monotonic() - started
        match = re.fullmatch(rb"\s*([0-9]{1,12})(\.[0-9]{9})?(?:\.?%?N)?\s*", said[:100])
        if match:
            there = float(match[1] + (match[2] or b""))
            # Where there are only whole seconds, the middle of the second is meant.
            there, rough_s = (there, 0.0) if match[2] else (there + 0.5, 0.5)
            found.append(Clock(there - (before + took_s / 2), took_s / 2 + rough_s))
    return min(found, key=lambda clock: clock.uncertainty_s, default=None)


def _unreached(plan: HostPlan, error: CollectError) -> Finding:
    """A Windows host may do without ssh: a person can start its script there."""
    if plan.host.windows:
        text = f"{error}\nWithout ssh its script is started by hand, and its folder comes back by `import`."
        return Finding(plan.host.name, "reachable", "warning", text)
    return Finding(plan.host.name, "reachable", "stop", str(error))


def _here(root: Path) -> list[Finding]:
    free = shutil.disk_usage(root).free
    if free >= _FREE_HERE:
        return []
    return [Finding("this machine", "space", "warning", f"{free // 10**6} MB are free in {root}: raw logs may not fit")]
