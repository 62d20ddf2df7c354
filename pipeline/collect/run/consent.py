"""Devices are overwritten only when a person has typed the serial of each."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Mapping

from pipeline.collect.work import DeviceTarget
from pipeline.errors import CollectError


def ask(
    written: Mapping[str, Collection[DeviceTarget]],
    known: Collection[str],
    given: Collection[str],
    read_line: Callable[[str], str] | None = None,
) -> None:
    """Have the serial of every device typed that is to be overwritten, or find it among those ``given`` by --destroy.

    ``written`` is by host; ``known`` are the serials of all devices that the campaign overwrites, also by runs that
    are in hand, complete, or of a host that is away: a command that was right once may be given again. ``read_line``
    asks the person (None: there is nobody to ask). CollectError lists what consent is missing for.
    """
    unknown = sorted(set(given) - set(known))
    if unknown:
        raise CollectError(f"--destroy: expected serials of devices that the campaign overwrites, found {unknown}")
    missing = []
    for host, targets in written.items():
        for target in sorted(set(targets), key=lambda target: target.path):
            if target.identity in given:
                continue
            question = f"{host}: {target.path} WILL BE OVERWRITTEN. Type its serial to let it happen: "
            if read_line is None or read_line(question).strip() != target.identity:
                missing.append(f"  {host}: {target.path}, pass --destroy {target.identity}")
    if missing:
        raise CollectError("expected consent to overwrite each of these devices, found none for\n" + "\n".join(missing))


def terminal() -> Callable[[str], str] | None:
    """How to ask the person at the terminal; None where there is none."""
    return input if sys.stdin.isatty() and sys.stderr.isatty() else None
