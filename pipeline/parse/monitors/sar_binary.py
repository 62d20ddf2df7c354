r"""sysstat's binary files (``sar -o FILE``, ``/var/log/sysstat/sa20``): refused, with what makes them readable.

Grammar
    A C structure that differs by version and machine; it begins with the bytes 0xd596 in the machine's order.
Versions
    9 to 12.7.
Traps
    Only sysstat's own sadf, of the same version or newer, reads it.
Sample
    tests/parse/sar_binary/synthetic_magic/
Gives
    Nothing but one error, which says what to type.
"""

from __future__ import annotations

from pipeline.parse._report import Report
from pipeline.parse._source import Source

EXPECTED = "sar's figures as text: sadf -j FILE -- -A > FILE.json"
FORM = "binary: refused with what to type"
VERSIONS = "sysstat 9 – 12.7"
NOT_READ = "all of it: sadf -j FILE -- -A > FILE.json"
UNSEEN_CUTS = ""


def recognise(head: str) -> bool:
    """Whether the head begins with sysstat's magic number, and the format's number behind it."""
    if head.startswith("\ud596"):
        return ord(head[1:2] or " ") >> 8 == 0x21
    return head.startswith(("\x96\xd5", "\xd5\x96")) and "!" in head[2:4]


def parse(source: Source) -> list[Report]:
    """Raise the ParseError that says how to get figures out of the file."""
    raise source.error(None, EXPECTED, "sysstat's binary file")
