"""iperf3 from this host to another of the campaign: the client's JSON in ``iperf3.json``.

``server`` names the other host; there ``iperf3 -s`` is a service that goes on while runs do, for a server of ``-1``
would end with the first of them. It serves one client at a time: give hosts that measure at the same time, and their
other entries, a ``port`` each. ``warm_up_s`` are the seconds that the client leaves out (``--omit``).
With ``--json`` iperf3 exits with 0 also where it reached no server; a second step fails then, and says why.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from pipeline.collect.tools import _options as options
from pipeline.collect.tools._options import Kind, flag, pattern, whole
from pipeline.collect.tools._programs import as_asked, needs, program
from pipeline.collect.work import Request, Requirement, Service, Step, Work
from pipeline.errors import SpecError

PORT = 5201
_SECONDS = whole(1, 86400)
_BITS = pattern(r"[0-9]{1,12}[kKmMgGtT]?(?:/[0-9]{1,6})?", "bits a second such as 1g")
_SIZE = pattern(r"[0-9]{1,12}[kKmMgG]?", "bytes such as 128k")
_ON = flag(off="")
_OPTIONS: dict[str, tuple[str, Kind]] = {  # ours, or iperf3's long one: how it is written
    "time": ("--time", _SECONDS), "interval": ("--interval", options.number(0.1, 60)),
    "parallel": ("--parallel", whole(1, 128)), "reverse": ("--reverse", _ON), "bidir": ("--bidir", _ON),
    "udp": ("--udp", _ON), "bitrate": ("--bitrate", _BITS), "length": ("--length", _SIZE),
    "window": ("--window", _SIZE),
    "set-mss": ("--set-mss", whole(88, 9216)), "no-delay": ("--no-delay", _ON), "zerocopy": ("--zerocopy", _ON),
    "congestion": ("--congestion", pattern(r"[a-z][a-z0-9_-]{0,15}", "an algorithm such as cubic")),
    "affinity": ("--affinity", pattern(r"[0-9]{1,4}(?:,[0-9]{1,4})?", "processors such as 2,3")),
    "dscp": ("--dscp", pattern(r"[0-9a-z]{1,8}", "a class such as ef")), "tos": ("--tos", whole(0, 255)),
    "version4": ("--version4", _ON), "version6": ("--version6", _ON),
    "get-server-output": ("--get-server-output", _ON),
}  # fmt: skip
_REFUSED = {
    "client": "the host's name in the campaign, as `server`", "host": "the host's name in the campaign, as `server`",
    "omit": "nothing: `warm_up_s` sets it", "bytes": "a `time`", "blockcount": "a `time`",
    **dict.fromkeys(("file", "logfile", "pidfile"), "nothing: it names a file"),
}  # fmt: skip
_ADDRESS = re.compile(r"[A-Za-z0-9:][A-Za-z0-9.:_%-]{0,252}", re.ASCII)


# The key of the whole alone: cJSON indents it by one tab, and texts within hold neither tabs nor line feeds.
_CHECK = Step(("sh", "-c", '! grep \'^[[:blank:]]"error":\' "$1" >&2', "sh", "iperf3.json"))


def work(request: Request) -> Work:
    """The client's command and the server it needs; SpecError names an option that is not allowed."""
    given = dict(request.parameters)
    server, address = _server(request, given.pop("server", None))
    own = options.read({"port": whole(1024, 65535)}, {n: v for n, v in given.items() if n == "port"}, "parameters")
    given.pop("port", None)
    port = own.get("port", str(PORT))
    words = options.read({name: kind for name, (_, kind) in _OPTIONS.items()}, given, "parameters", _REFUSED)
    options.need("parameters", words, "time")
    if request.target is not None:
        raise SpecError("target: expected none for iperf3: it writes nothing")
    iperf3 = program(request, "iperf3")
    omit_s = round(request.warm_up_s)
    argv = [iperf3, "--client", address, "--port", port, "--json", *(("--omit", str(omit_s)) if omit_s else ())]
    for name, word in words.items():
        option, kind = _OPTIONS[name]
        argv += [] if not word else [option] if kind is _ON else [option, word]
    requirement = Requirement(iperf3, "iperf3", ("--version",))
    there = Requirement(PurePosixPath(iperf3).name, "iperf3", ("--version",))
    # A name of the port alone: what several runs and clients need is one service.
    service = Service(server, f"iperf3-{port}", Step((there.program, "--server", "--port", port)), (there,))
    return Work(
        measure=(*as_asked(request, [Step(tuple(argv), "iperf3.json")]), _CHECK),
        duration_s=float(words["time"]) + omit_s + 1, services=(service,),
        requirements=needs(request, requirement), logs=("iperf3.json",),
    )  # fmt: skip


def _server(request: Request, server: object) -> tuple[str, str]:
    """The other host's name and what this one calls it."""
    if not isinstance(server, str) or server not in request.addresses:
        expected = f"one of the campaign's hosts ({', '.join(sorted(request.addresses)) or 'there is none'})"
        raise options.wrong("parameters", "server", expected, server)
    address = request.addresses[server]
    if not _ADDRESS.fullmatch(address):
        raise SpecError(f"hosts.{server}.address: expected a host's name or address, found {ascii(address)[:80]}")
    return server, address
