"""ACT's ``act_prep`` (to 4.0 ``actprep``, ``salt``), which writes a device full of zeros and then of random data.

Grammar
    ``<device> size = N bytes, M large blocks``, ``cleaning device <device>``, a line of dots, ``salting device
    <device>``, a line of dots. The last of 8 threads prints a dot after each hundredth of its blocks, and the line
    feed behind its last one.
Versions
    1.x to 6.6 by their sources, 6.6 by a sample.
Traps
    It prints neither a time nor its version. After an error a thread ends, the rest goes on, and the exit status
    is 0. Several that run side by side into one file mix their lines: then the dots are only known together.
Sample
    tests/parse/act_prep/one-device/
Gives
    A report a device. operations, scope device: op ``clean`` (n_bytes: the device's size) and ``salt`` (n_ops: its
    large blocks), each only if it went through to the end: the tool prints no count of its own. Nothing of time is
    known. parameters: ``<device> size`` as printed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from pipeline.parse._report import Report
from pipeline.parse._source import Source

EXPECTED = "act_prep's `/dev/… size = N bytes, M large blocks` and `cleaning device /dev/…`"
FORM = "output of act_prep"
VERSIONS = "1.x – 6.6"
NOT_READ = ""
UNSEEN_CUTS = ""
N_THREADS = 8  # NUM_ZERO_THREADS and NUM_SALT_THREADS of all versions
_SIZE = re.compile(r"(\S.{0,400}) size = ([0-9]{1,19}) bytes, ([0-9]{1,19}) large blocks")
_PHASE = re.compile(r"(\.*)(cleaning|salting) device (\S.{0,400})")
_DOTS = re.compile(r"\.+")
_ERROR = re.compile(r"\.*(ERROR: .*|usage: .*|Signal [A-Z]+ received.*|SIG[A-Z]+ received.*|stacktrace: .*)")
_HEAD = re.compile(
    r"^[ \t]*\S[^\n]{0,400} size = \d{1,19} bytes, \d{1,19} large blocks[ \t]*\n(?:[^\n]{0,400}\n){0,8}?"
    r"[ \t]*\.{0,200}cleaning device \S",
    re.MULTILINE,
)
_PHASES = {"cleaning": "clean", "salting": "salt"}
_INT64 = 2**63 - 1


@dataclass
class _Device:
    """What a device's output said."""

    name: str
    line: int
    n_bytes: int
    n_blocks: int
    dots: dict[str, int] = field(default_factory=dict)  # by phase that has begun
    errors: dict[str, list[tuple[int, str]]] = field(default_factory=dict)
    last_line: int = 0
    phase: str = ""

    @property
    def expected_dots(self) -> int:
        """Dots of one phase: one each hundredth of the last thread's blocks, from the first on."""
        own = self.n_blocks // N_THREADS + self.n_blocks % N_THREADS
        step = own // 100 or 1
        return -(-own // step)

    def begin(self, number: int, phase: str) -> None:
        """Go on to the next phase."""
        self.phase, self.last_line = phase, number
        self.dots.setdefault(phase, 0)

    def add_dots(self, number: int, dots: str) -> None:
        """Count the dots of the phase that is on."""
        if self.phase and dots:
            self.dots[self.phase] += len(dots)
            self.last_line = number

    def read(self, number: int, line: str) -> bool:
        """Take in a line of dots or an error; False when it is neither."""
        match = _ERROR.fullmatch(line)
        if match is None and not (_DOTS.fullmatch(line) and self.phase):
            return False
        if match is not None:
            self.errors.setdefault(self.phase, []).append((number, match[1]))
        self.add_dots(number, line[: match.start(1)] if match else line)
        self.last_line = number
        return True


def recognise(head: str) -> bool:
    """Whether a device's size and the beginning of its cleaning are there."""
    return _HEAD.search(head) is not None


def parse(source: Source) -> list[Report]:
    """Return a report for each device; ParseError when there is none."""
    devices: list[_Device] = []
    by_name: dict[str, _Device] = {}  # the latest of each name
    current: _Device | None = None
    unknown: list[int] = []
    for number, raw in enumerate(source.lines, 1):
        line = raw.strip()[:1000]
        if match := _SIZE.fullmatch(line):
            current = _Device(match[1], number, int(match[2]), int(match[3]), last_line=number)
            devices.append(current)
            by_name[match[1]] = current
        elif current is not None and (match := _PHASE.fullmatch(line)):
            current.add_dots(number, match[1])
            current = by_name.get(match[3], current)  # the dots are its own, as far as that can be told
            current.begin(number, _PHASES[match[2]])
        elif line and (current is None or not current.read(number, line)):
            unknown.append(number)
    if not devices:
        raise source.error(1, EXPECTED, source.head or "an empty file")
    wanted = sum(2 * device.expected_dots for device in devices)
    are_all_there = sum(sum(device.dots.values()) for device in devices) == wanted
    are_all_there &= len(devices) > 1 and all(len(device.dots) == 2 for device in devices)
    reports = [_report(source, device, are_all_there=are_all_there) for device in devices]
    if unknown:
        found = f"found {len(unknown)} others, the first here"
        reports[0].warn(unknown[0], "unknown_lines", f"expected act_prep's lines, {found}")
    return reports


def _report(source: Source, device: _Device, *, are_all_there: bool) -> Report:
    report = Report("act_prep", source)
    report.parameter("device", device.name)
    report.parameter(f"{device.name} size", f"{device.n_bytes} bytes, {device.n_blocks} large blocks")
    errors = sorted(found for of_phase in device.errors.values() for found in of_phase)
    if errors:
        more = f" and {len(errors) - 1} more" if len(errors) > 1 else ""
        report.incomplete(errors[0][0], "failed", f"expected no error, found {errors[0][1][:80]!r}{more}")
    for phase in _PHASES.values():
        dots = device.dots.get(phase)
        if phase not in device.errors and dots is not None and (are_all_there or dots == device.expected_dots):
            n_bytes = device.n_bytes if phase == "clean" and device.n_bytes <= _INT64 else None
            n_ops = device.n_blocks if phase == "salt" and device.n_blocks <= _INT64 else None
            report.add(
                "operations", target=device.name, op=phase, scope="device", n_ops=n_ops, n_bytes=n_bytes, n_errors=0
            )
        elif not errors:
            found = f"found {dots}" if dots is not None else "found the end"
            message = f"expected {device.expected_dots} dots of its {phase}ing, {found}"
            report.incomplete(device.last_line, "truncated", message)
            break
    return report
