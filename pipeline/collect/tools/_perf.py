"""Private to perf's modules, monitors too: events, and the commands that take and print samples."""

from __future__ import annotations

import re
from collections.abc import Mapping

from pipeline.collect.tools import _options as options
from pipeline.collect.tools._options import Kind, Value
from pipeline.collect.work import Requirement, Scalar, Step

PERF = "perf"
SEPARATOR = ";"  # of CSV: events hold commas
CPUS = options.pattern(r"[0-9]{1,5}(?:-[0-9]{1,5})?(?:,[0-9]{1,5}(?:-[0-9]{1,5})?)*", "processors such as 0-3,8")
SAMPLING: dict[str, Kind] = {
    "frequency_hz": options.whole(1, 50_000), "call_graph": options.choice("fp", "dwarf", "lbr", "none"),
    "keep_data": options.flag(), "cpus": CPUS,
}  # fmt: skip
REFUSED = dict.fromkeys(("command", "pid", "output", "filter"), "nothing: the whole machine is watched")

_EVENT = re.compile(
    r"\{?(?:[A-Za-z][A-Za-z0-9_.-]{0,80}(?::[A-Za-z0-9_.]{1,60}){0,2}"  # cycles:u, sched:sched_switch
    r"|[a-z][a-z0-9_]{0,40}/[A-Za-z0-9_=.,-]{1,200}/[A-Za-z]{0,8})"  # cpu/event=0x3c,umask=0x1/u
    r"(?:\}(?::[A-Za-z]{1,8})?)?",  # a group: {cycles,instructions}:u
    re.ASCII,
)
_PROGRAM = re.compile(r".*\.(?:c|o|bpf)(?:$|[:/}])")  # older perfs compile and load what has such a name
_MAX_EVENTS = 100


def events(value: Value | None, where: str) -> tuple[str, ...]:
    """Perf's option with the events of a list, or of a text with commas; none: what perf takes of itself."""
    if value is None:
        return ()
    names = _split(value) if isinstance(value, str) else [] if isinstance(value, bool | int | float) else list(value)
    for name in names:
        if not isinstance(name, str) or not _EVENT.fullmatch(name) or _PROGRAM.fullmatch(name):
            raise options.wrong(where, "events", "perf's names of events, such as cycles or sched:sched_switch", name)
    if not names or len(names) > _MAX_EVENTS:
        raise options.wrong(where, "events", f"1 to {_MAX_EVENTS} events", value)
    text = ",".join(str(name) for name in names)
    if not re.fullmatch(r"(?:[^{}]|\{[^{}]*\})*", text):
        raise options.wrong(where, "events", "each group in its own pair of braces", text)
    return ("-e", text)


def processors(words: Mapping[str, str]) -> tuple[str, ...]:
    """All processors, or those that are named."""
    return ("-a", "-C", words["cpus"]) if "cpus" in words else ("-a",)


def record(words: Mapping[str, str], chosen: tuple[str, ...], data: str) -> tuple[str, ...]:
    """``perf record`` of all processors into a file: 99 samples a second and processor, with call graphs."""
    graph = words.get("call_graph", "fp")
    options_of_graph = () if graph == "none" else ("--call-graph", graph)
    frequency = words.get("frequency_hz", "99")
    return (PERF, "record", *processors(words), "-F", frequency, *options_of_graph, *chosen, "-o", data)


def reports(words: Mapping[str, str], name: str) -> tuple[Step, ...]:
    """The samples as text and the table of hot spots, made where the symbols are; then the data are removed."""
    data = f"{name}.data"
    steps = [
        Step((PERF, "script", "-i", data), f"{name}.script.txt"),
        Step((PERF, "report", "--stdio", "-i", data), f"{name}.report.txt"),
    ]
    if not options.is_on(words, "keep_data"):
        steps.append(Step(("rm", "-f", "--", data)))
    return tuple(steps)


def logs(name: str) -> tuple[str, ...]:
    """What ``reports`` makes."""
    return (f"{name}.script.txt", f"{name}.report.txt")


def requirement(perf: str = PERF) -> Requirement:
    """The program; without root it also needs the kernel's permission to watch the whole machine."""
    package = (
        "linux-perf (Ubuntu: linux-tools-generic); without root also `sysctl kernel.perf_event_paranoid=0` or less"
    )
    return Requirement(perf, package, ("--version",))


def split_events(given: Mapping[str, Value], where: str) -> tuple[dict[str, Scalar], tuple[str, ...]]:
    """The other options, which have one value each, and perf's words for the events."""
    rest: dict[str, Scalar] = {}
    for name, value in given.items():
        if name == "events":
            continue
        if not isinstance(value, Scalar):
            raise options.wrong(where, name, "one value", value)
        rest[name] = value
    return rest, events(given.get("events"), where)


def _split(text: str) -> list[str]:
    """Events at the commas that stand outside of an event's own terms (``cpu/event=0x3c,umask=0x1/``)."""
    return re.findall(r"(?:[^,/]|/[^/]*/)+", text) if len(text) <= 4000 and text.count("/") % 2 == 0 else [text]
