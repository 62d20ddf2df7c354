"""Private to ``fio_json``: what fio's options mean for a row – block size, workers, queue depth, target."""

from __future__ import annotations

import re
from collections.abc import Iterable

from pipeline import units
from pipeline.parse.fio._fio_engines import SYNCHRONOUS

_ALIASES = {
    "blocksize": "bs", "blocksize_range": "bsrange", "readwrite": "rw", "timeout": "runtime", "io_limit": "io_size",
    "wait_for_previous": "stonewall", "ss": "steadystate",
}  # fmt: skip
_SIZE = re.compile(r"\s*(\d{1,15}(?:\.\d{1,9})?)\s*([kmgtp]?)(i?)(b?)\s*$", re.IGNORECASE)
_TIME = re.compile(r"\s*(\d{1,15}(?:\.\d{1,9})?)\s*([a-z]*)\s*$", re.IGNORECASE)
_BINARY_POWERS = " kmgtp"
_DIRECTIONS = ("read", "write", "trim")
_LIMIT = 2.0**63
_FALSE = {"0", "no", "off", "false"}

Pairs = Iterable[tuple[str, object]]


class Options:
    """The options of a job: its own, and below them the global ones. ``is_known`` is false before fio 2.14.

    ``is_shared``: the global options are of several clients together; where they differ, none of them counts.
    """

    def __init__(self, own: Pairs | None, common: Pairs | None, *, is_shared: bool = False) -> None:
        self.is_known = own is not None or common is not None
        self._own, self._common = _by_name(own or ()), _by_name(common or ())
        if is_shared:
            self._common = {name: values if len(values) == 1 else [] for name, values in self._common.items()}

    def all(self, name: str) -> list[str]:
        """Every different value of an option, in its order; the job's own hide the global ones."""
        return self._own.get(name) or self._common.get(name, [])

    def get(self, name: str) -> str | None:
        """The value in force, the last that was given; None when it is not set or not known."""
        values = self.all(name)
        return values[-1] if values else None

    def is_on(self, name: str) -> bool:
        """Whether a flag is set: an option without a value is; to 3.38 fio leaves such an option out."""
        value = self.get(name)
        return value is not None and value.strip().lower() not in _FALSE

    def has_any(self, *names: str) -> bool:
        """Whether one of the options is set to anything."""
        return any(name in self._own or name in self._common for name in names)


def _by_name(pairs: Pairs) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for key, value in pairs:
        values = found.setdefault(_ALIASES.get(key, key), [])
        if str(value) not in values:
            values.append(str(value))
    return found


def size_of(text: str, kb_base: str | None = None) -> float | None:
    """Bytes of ``4k``, ``1m``, ``32KB``: fio means 1024 by them, and 1000 by ``kib`` – with kb_base=1000 as named."""
    match = _SIZE.match(text)
    if match is None or (match[3] and not match[4]):
        return None
    is_true_unit = kb_base is not None and kb_base.strip() == "1000"
    base = units.KIBI if bool(match[3]) == is_true_unit else 1000
    power = _BINARY_POWERS.index(match[2].lower()) if match[2] else 0
    return float(match[1]) * float(base**power)


def seconds_of(text: str | None) -> float | None:
    """Seconds of ``60``, ``5m``, ``500ms``; None of anything else."""
    match = _TIME.match(text or "")
    unit = (match[2].lower() if match else "") or "s"
    return units.seconds(float(match[1]), unit) if match and unit in units.SECONDS else None


def block_size(options: Options, op: str) -> int | None:
    """Size of each I/O of a direction where the options fix one: ``bs=4k,8k`` is 4k reads, 8k writes and trims."""
    text = options.get("bs")
    if text is None or options.has_any("bsrange", "bssplit", "bs_unaligned", "bs_is_seq_rand"):
        return None
    sizes = [size_of(part, options.get("kb_base")) for part in text.split(",")]
    if op in _DIRECTIONS:
        size = sizes[min(_DIRECTIONS.index(op), len(sizes) - 1)]
    else:
        size = sizes[0] if op == "mixed" and len(sizes) == 1 else None
    return int(size) if size and size < _LIMIT else None


def directions_asked(options: Options) -> list[str]:
    """Directions that ``rw=`` asks for."""
    mode = (options.get("rw") or "").split(":")[0].strip().lower()
    if mode in ("rw", "readwrite", "randrw"):
        return ["read", "write"]
    if mode == "trimwrite":
        return ["write", "trim"]
    return [op for op in _DIRECTIONS if op in mode]


def worker_depth(options: Options, level_one: float | None) -> float | None:
    """I/Os that one worker keeps outstanding at most; ``level_one``: percentage of I/Os seen at depth 1."""
    text = (options.get("iodepth") or "1").strip()
    if not options.is_known or not text.isdecimal() or len(text) > 9 or int(text) == 0:
        return None
    engine = options.get("ioengine")
    if engine is None:  # psync, but windowsaio on Windows: the depths that were seen tell
        is_synchronous = int(text) == 1 or (level_one is not None and level_one > 99.9)
    else:
        is_synchronous = engine.strip() in SYNCHRONOUS
    return 1.0 if is_synchronous and options.get("io_submit_mode") != "offload" else float(text)


def is_synchronous(options: Options) -> bool:
    """Whether the engine is known to be synchronous."""
    return options.is_known and (options.get("ioengine") or "psync").strip() in SYNCHRONOUS


def workers(options: Options, n_entries: int) -> int | None:
    """Jobs that an entry of the report stands for: numjobs where group_reporting merged them.

    ``n_entries`` is how many entries bear the job's name: fio to 3.38 does not record a bare ``group_reporting``.
    """
    text = (options.get("numjobs") or "1").strip()
    if not options.is_known or not text.isdecimal() or len(text) > 9:
        return None
    if n_entries == max(int(text), 1):
        return 1
    return int(text) if n_entries == 1 else None


def target_of(options: Options) -> str | None:
    """The file or device where the options name it exactly; several files are joined by ``:`` as fio writes them."""
    names = options.all("filename")
    directory = options.get("directory")
    if not names or options.has_any("filename_format"):
        return None
    name = ":".join(names)
    if not options.has_any("directory"):
        return name
    if directory is None:
        return None
    is_plain = ":" not in name + directory and not name.startswith(("/", "\\"))
    return f"{directory.rstrip('/')}/{name}" if is_plain else None
