"""What in a spec must fit together: names that exist, one meaning a machine, paths of the host's own kind."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pipeline.collect.spec.document import Problem, shown
from pipeline.collect.spec.fields import is_windows

if TYPE_CHECKING:
    from pipeline.collect.spec import Entry, Host, Spec

WINDOWS_TOOLS = frozenset({"diskspd"})


def problems_of(spec: Spec) -> Iterator[Problem]:
    """Everything that does not fit, in a spec whose values are each as they must be."""
    if not spec.hosts:
        yield Problem(("hosts",), "expected at least one host, found none")
    if not spec.runs:
        yield Problem(("runs",), "expected at least one tool to run, found none")
    yield from _repeated_hosts(spec)
    for host in spec.hosts.values():
        yield from _problems_of_host(host)
    for number, entry in enumerate(spec.runs):
        yield from _problems_of_entry(spec, entry, number)


def _repeated_hosts(spec: Spec) -> Iterator[Problem]:
    """Two names of one machine would measure side by side on it, and spoil each other's figures."""
    names: dict[str, str] = {}
    aliases: dict[str, str] = {}
    for name, host in spec.hosts.items():
        first = names.setdefault(name.casefold(), name)
        if first != name:
            yield Problem(("hosts", name), f"expected names that differ by more than their case, found {first!r} too")
        first = aliases.setdefault(host.ssh.casefold(), name)
        if first != name:
            yield Problem(
                ("hosts", name, "ssh"),
                f"expected an alias of its own, found {host.ssh!r}, which {first!r} has too",
            )


def _problems_of_host(host: Host) -> Iterator[Problem]:
    keys = ("hosts", host.name)
    kind = r"a Windows path such as D:\bench" if host.windows else "a path such as /mnt/bench (or `windows: true`)"
    if host.spool[0] != "~" and is_windows(host.spool) != host.windows:
        yield Problem((*keys, "spool"), f"expected {kind}, found {shown(host.spool)}")
    for name, directory in host.directories.items():
        place = (*keys, "directories", name, "path")
        if is_windows(directory.path) != host.windows:
            yield Problem(place, f"expected {kind}, found {shown(directory.path)}")
        if f"{directory.path}/".startswith(f"{host.spool}/"):
            yield Problem(place, f"expected a directory outside the spool {host.spool}, found {shown(directory.path)}")
    seen: dict[str, str] = {}
    for name, device in host.devices.items():
        if host.windows:
            yield Problem((*keys, "devices", name), "expected files only on a Windows host, found a device")
        first = seen.setdefault(device.id, name)
        if first != name:
            yield Problem(
                (*keys, "devices", name, "id"),
                f"expected each device once, found it as {first!r} already",
            )


def _problems_of_entry(spec: Spec, entry: Entry, number: int) -> Iterator[Problem]:
    keys = ("runs", number)
    if not entry.hosts:
        yield Problem((*keys, "hosts"), "expected at least one host (or no key `hosts`, for all), found none")
    if len(set(entry.hosts)) < len(entry.hosts):
        yield Problem((*keys, "hosts"), "expected each host once, found one twice")
    for name in dict.fromkeys(entry.hosts):
        host = spec.hosts.get(name)
        if host is None:
            yield Problem((*keys, "hosts"), f"expected one of {', '.join(spec.hosts)}, found {shown(name)}")
        else:
            yield from _problems_on_host(entry, number, host)


def _problems_on_host(entry: Entry, number: int, host: Host) -> Iterator[Problem]:
    keys = ("runs", number)
    if host.windows != (entry.tool in WINDOWS_TOOLS):
        system, tools = ("Windows", ", ".join(sorted(WINDOWS_TOOLS))) if host.windows else ("Linux", "the other tools")
        yield Problem((*keys, "tool"), f"expected {tools} on {system} host {host.name!r}, found {entry.tool}")
    if host.windows and entry.monitors:
        yield Problem(
            (*keys, "monitors"), f"expected none on Windows host {host.name!r}, found {entry.monitors[0].name}"
        )
    if entry.binary is not None and is_windows(entry.binary) != host.windows:
        yield Problem((*keys, "binary"), f"expected a path of host {host.name!r}, found {shown(entry.binary)}")
    if isinstance(entry.target, str) and entry.target not in host.devices:
        found = f"found no {shown(entry.target)} on host {host.name!r}"
        if entry.target in host.directories:
            found += f" (for a file: {{directory: {entry.target}, file: NAME, size_bytes: 1G}})"
        yield Problem((*keys, "target"), f"expected {_one_of('device', list(host.devices))}, {found}")
    elif entry.target is not None and not isinstance(entry.target, str):
        name = entry.target.directory
        if name not in host.directories:
            expected = _one_of("directory", list(host.directories))
            yield Problem(
                (*keys, "target", "directory"), f"expected {expected}, found no {shown(name)} on host {host.name!r}"
            )


def _one_of(what: str, names: list[str]) -> str:
    return f"the name of a {what}: {', '.join(names)}" if names else f"a {what} below this host in `hosts`"
