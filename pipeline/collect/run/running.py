"""``run``, ``status``, ``cancel`` and ``doctor``: a campaign's commands, from its spec to what is said at the end."""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping
from pathlib import Path

from pipeline import ledger
from pipeline.collect import plan, spec
from pipeline.collect.doctor import examination
from pipeline.collect.plan import PlannedRun
from pipeline.collect.run import consent
from pipeline.collect.run.progress import Progress, status_table, summary
from pipeline.collect.run.session import Session
from pipeline.collect.run.watching import Watch
from pipeline.collect.spool import windows
from pipeline.collect.work import DeviceTarget
from pipeline.errors import CollectError


def show_plan(slug: str, root: Path) -> int:
    """Print what ``run`` would do; no host is asked."""
    found = spec.load(root, slug)
    print(plan.describe(plan.make(found), found))
    return 0


def show_script(slug: str, root: Path, host: str) -> int:
    """Print the script that works through a Windows host's queue when a person starts it there."""
    found = spec.load(root, slug)
    plans = {held.host.name: held for held in plan.make(found) if held.host.windows}
    if host not in plans:
        raise CollectError(f"--script: expected a Windows host of {slug}: {', '.join(plans) or 'none'}, found {host!r}")
    print(windows.script(plans[host], slug), end="")
    return 0


def run(slug: str, root: Path, destroy: Collection[str], n_connections: int) -> int:
    """Give the hosts what is missing, watch them until they are done, and record it; 1 unless all runs are complete.

    Nothing is begun where a target must not be touched: CollectError lists every reason. Ctrl-C detaches: the hosts go
    on, and ``run`` again watches them.
    """
    found = spec.load(root, slug)
    with ledger.writer(root, slug) as book:
        session = Session(found, plan.make(found), root, book, n_connections)
        session.look(session.plans)
        _refuse_changed(session.changed())
        missing = session.missing()
        _refuse_targets(session.guard(missing))
        missing = {host: runs for host, runs in missing.items() if host not in session.problems}
        consent.ask(_written(missing), _serials(session), destroy, consent.terminal())
        session.submit(missing)
        watch = Watch(session)
        try:
            with Progress() as progress:
                watch.until_done(session.statuses.keys() - session.problems.keys(), progress)
        except KeyboardInterrupt:
            print(
                f"\ndetached: the hosts go on. python -m pipeline run {slug} watches them again, status {slug} shows "
                f"them, cancel {slug} stops them",
                file=sys.stderr,
            )
            return 130
        session.stop_services()
        states = [watch.state(host) for host in session.plans]
        print(summary(states, slug))
        return 0 if all(state.n_done == state.n_runs and state.problem is None for state in states) else 1


def status(slug: str, root: Path, n_connections: int) -> int:
    """Show every host and point; 1 if a host does not answer."""
    session = _session(slug, root, n_connections)
    session.look(session.plans)
    print(status_table([Watch(session).state(host) for host in session.plans], session))
    return 1 if session.problems else 0


def cancel(slug: str, root: Path, n_connections: int) -> int:
    """Stop a campaign on its hosts; what ran is packed, and recorded. 1 if a host does not answer.

    It works beside a ``run`` that watches: that one records then what was stopped.
    """
    session = _session(slug, root, n_connections)
    for host, state in session.each(session.plans, lambda _, spool: spool.cancel()):
        session.statuses[host] = state
        print(f"{host}: stopped; {len(state.done)} runs are packed there")
    try:
        with ledger.writer(root, slug) as book:
            session.ledger = book
            _record(session)
    except CollectError as error:
        print(f"not recorded here: {error}", file=sys.stderr)
    for problem in session.problems.values():
        print(f"error: {problem}", file=sys.stderr)
    return 1 if session.problems else 0


def doctor(slug: str, root: Path, n_connections: int) -> int:
    """Look at the hosts and print what would stop a run; 1 if anything would."""
    found = spec.load(root, slug)
    findings = examination.examine(found, plan.make(found), n_connections, root)
    print(examination.report(findings, slug))
    return 1 if any(finding.verdict == "stop" for finding in findings) else 0


def _record(session: Session) -> None:
    """Record what each host has done; where that fails it is the host's problem, and the others' is recorded."""
    for host, state in session.statuses.items():
        try:
            session.take(host, state)
        except CollectError as error:
            session.problems[host] = f"{host}: not recorded here: {error}"


def _session(slug: str, root: Path, n_connections: int) -> Session:
    """One that only looks: its ledger cannot be written."""
    found = spec.load(root, slug)
    return Session(found, plan.make(found), root, ledger.Ledger.load(root, slug), n_connections)


def _refuse_changed(names: Collection[str]) -> None:
    """A campaign's runs of one name are of one kind: what was measured with other settings is not what is asked for."""
    if names:
        shown = ", ".join(sorted(names)[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
        raise CollectError(
            f"expected the settings that these runs had, found others under the same names: {shown}. Give the changed "
            "entry of `runs` a `name`, or measure it in another campaign"
        )


def _refuse_targets(reasons: Mapping[str, Collection[str]]) -> None:
    """Refuse the whole campaign for one target that must not be touched: nothing is half begun."""
    lines = [f"  {host}: {reason}" for host, found in reasons.items() for reason in found]
    if lines:
        raise CollectError("nothing was begun: these targets must not be touched:\n" + "\n".join(lines))


def _serials(session: Session) -> set[str]:
    """Of every device that the campaign overwrites; the spec names them, so that no host need be asked."""
    planned = {host: {run.run_id: run for run in held.runs} for host, held in session.plans.items()}
    return {target.identity for targets in _written(planned).values() for target in targets}


def _written(missing: Mapping[str, Mapping[str, PlannedRun]]) -> dict[str, set[DeviceTarget]]:
    """The devices that runs overwrite, by host."""
    found = {
        host: {
            target
            for run in runs.values()
            for target in run.work.targets
            if isinstance(target, DeviceTarget) and target.is_written
        }
        for host, runs in missing.items()
    }
    return {host: targets for host, targets in found.items() if targets}
