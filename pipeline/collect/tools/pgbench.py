"""pgbench: its summary in ``pgbench.txt``, a line an interval in ``pgbench_log.N`` (N: the thread).

``dbname`` must be named: a run of a built-in script other than select-only writes to that database's ``pgbench_``
tables, and ``initialize: true`` drops them and makes them anew before the run. ``warm_up_s`` is a run that is not
measured. Passwords have no place in a spec: a peer or trust login, or a ``.pgpass`` of the user on the host. The
progress is the run's stderr.
"""

from __future__ import annotations

from pipeline.collect.tools import _options as options
from pipeline.collect.tools._options import Kind, choice, flag, pattern, whole
from pipeline.collect.tools._programs import needs, program
from pipeline.collect.work import Request, Requirement, Step, Work
from pipeline.errors import SpecError

ROWS_PER_S = 500_000  # that --initialize is taken to write; a unit of scale has 100,000
_PACKAGE = "postgresql-contrib or postgresql-NN; where it is not in PATH, `binary: /usr/lib/postgresql/NN/bin/pgbench`"
_ON = flag(off="")
_CONNECTION: dict[str, Kind] = {
    "host": pattern(r"[A-Za-z0-9/:][A-Za-z0-9./:_-]{0,252}", "a host's name, its address or the socket's folder"),
    "port": whole(1, 65535), "username": pattern(r"[A-Za-z_][A-Za-z0-9_-]{0,62}", "a user's name"),
    "dbname": pattern(r"[A-Za-z_][A-Za-z0-9_-]{0,62}", "a database's name"),
}  # fmt: skip
_MAKING: dict[str, Kind] = {
    "scale": whole(1, 10**6), "fillfactor": whole(10, 100), "foreign-keys": _ON, "unlogged-tables": _ON,
    "partitions": whole(1, 10**4), "partition-method": choice("range", "hash"),
}  # fmt: skip
_RUNNING: dict[str, Kind] = {
    "time": whole(1, 10**7), "client": whole(1, 10**5), "jobs": whole(1, 4096), "rate": options.number(0.001, 1e9),
    "builtin": choice("tpcb-like", "simple-update", "select-only"),
    "protocol": choice("simple", "extended", "prepared"), "connect": _ON,
    "no-vacuum": _ON, "report-per-command": _ON, "random-seed": whole(),
    "latency-limit": options.number(0.001, 1e6), "max-tries": whole(0, 10**6), "failures-detailed": _ON,
    "progress": whole(1, 3600),
    "aggregate-interval": whole(0, 3600),  # 0: a line a transaction
}  # fmt: skip
_REFUSED = {
    "password": "no password: the host's .pgpass or a peer login",
    **dict.fromkeys(("file", "log-prefix"), "nothing: it names a file"),
    **dict.fromkeys(("define", "debug", "init-steps"), "one of the built-in scripts as they are"),
    "transactions": "a `time`", "log": "nothing: there is a log always", "user": "this option under the name username",
}  # fmt: skip
# pgbench names its logs PREFIX.PID and PREFIX.PID.THREAD; here they become NAME.0, NAME.1 ….
_RENAME = (
    'for log in "$1".[0-9]*; do [ -e "$log" ] || continue; rest=${log#"$1".}; '
    'case $rest in *.*) n=${rest#*.} ;; *) n=0 ;; esac; mv -- "$log" "$2.$n"; done'
)
_LINE_BYTES = 80
_TRANSACTIONS_PER_S = 100_000  # of a log without intervals


def work(request: Request) -> Work:
    """The commands of a point; SpecError names an option that is not allowed."""
    if request.target is not None:
        raise SpecError("target: expected none for pgbench: it works on the database that `dbname` names")
    if request.is_sudo:
        raise SpecError("sudo: expected false for pgbench: log in as `username`")
    allowed = _CONNECTION | _MAKING | _RUNNING | {"initialize": flag()}
    words = options.read(allowed, request.parameters, "parameters", _REFUSED)
    options.need("parameters", words, "dbname", "time")
    for name in _MAKING.keys() & words.keys():
        if not options.is_on(words, "initialize"):
            raise options.wrong("parameters", name, "initialize: true beside it", request.parameters[name])
    pgbench = program(request, "pgbench")
    running = {name: word for name, word in words.items() if name in _RUNNING}
    interval = int(running.pop("aggregate-interval", 1))
    running.setdefault("progress", "1")
    if words.get("builtin") == "select-only":
        running["no-vacuum"] = "1"  # it truncates pgbench_history, and a read-only run is to write nothing
    logging = ["--log", "--log-prefix=pgbench", *([f"--aggregate-interval={interval}"] if interval else [])]
    command = (pgbench, *_argv(_RUNNING, running), *logging, *_argv(_CONNECTION, words))
    prepare, prepare_s = _prepare(request, pgbench, words, running)
    n_logs = min(int(words.get("jobs", 1)), int(words.get("client", 1)))
    duration_s = float(words["time"])
    n_lines = duration_s * (n_logs / interval if interval else _TRANSACTIONS_PER_S)
    return Work(
        measure=(Step(command, "pgbench.txt"),), duration_s=duration_s, prepare=prepare, prepare_s=prepare_s,
        finish=(Step(("sh", "-c", _RENAME, "sh", "pgbench", "pgbench_log")),),
        requirements=needs(request, Requirement(pgbench, _PACKAGE, ("--version",))),
        logs=("pgbench.txt", *(f"pgbench_log.{n}" for n in range(n_logs))),
        free_bytes=(1 << 26) + int(n_lines * _LINE_BYTES),
    )  # fmt: skip


def _prepare(
    request: Request, pgbench: str, words: dict[str, str], running: dict[str, str]
) -> tuple[tuple[Step, ...], float]:
    """The tables, where they are to be made, and the run that warms up; and about how long that takes, in s."""
    steps, duration_s = [], 0.0
    connection = _argv(_CONNECTION, words)
    if options.is_on(words, "initialize"):
        steps.append(Step((pgbench, "--initialize", "--quiet", *_argv(_MAKING, words), *connection)))
        duration_s += int(words.get("scale", 1)) * 100_000 / ROWS_PER_S
    if request.warm_up_s:
        warm_up_s = max(1, round(request.warm_up_s))
        steps.append(Step((pgbench, *_argv(_RUNNING, running | {"time": str(warm_up_s)}), *connection), "warm_up.txt"))
        duration_s += warm_up_s
    return tuple(steps), duration_s


def _argv(kinds: dict[str, Kind], words: dict[str, str]) -> list[str]:
    """The options of these kinds as pgbench takes them; the database is a word of its own, the last."""
    argv = []
    for name, word in words.items():
        if name in kinds and name != "dbname" and word:
            argv.append(f"--{name}" if kinds[name] is _ON else f"--{name}={word}")
    return argv + ([words["dbname"]] if "dbname" in kinds else [])
