"""What fio's normal output says, as it is printed: runs, their status reports, and the job blocks in these."""

from __future__ import annotations

from dataclasses import dataclass, field

Share = tuple[float, float | None, float]  # lower and upper edge in s, share of the operations


@dataclass(slots=True)
class Latency:
    """Minimum, maximum, mean and standard deviation of a phase, in s."""

    low: float | None
    high: float | None
    mean: float | None
    stddev: float | None


@dataclass(slots=True)
class Direction:
    """Reads, writes, trims, all of them (mixed) or syncs of a job: its figures as they are printed."""

    op: str
    line: int
    is_old: bool = False
    iops: str | None = None
    rate: str | None = None
    other_rate: str | None = None
    n_bytes: str | None = None
    runtime_ms: int | None = None
    remark: str | None = None  # zone resets, cache hits
    phases: dict[str, Latency] = field(default_factory=dict)
    percentiles: list[tuple[str, float, float]] = field(default_factory=list)  # phase, percentile, s
    bandwidth: tuple[str, dict[str, float | None]] | None = None  # unit, statistics in it
    iops_samples: dict[str, float | None] | None = None


@dataclass(slots=True)
class Job:
    """A job block; ``name`` is None when the block's first line is missing."""

    line: int
    name: str | None = None
    group: int | None = None
    members: int = 1
    error: int = 0
    error_text: str | None = None
    pid: int | None = None
    directions: list[Direction] = field(default_factory=list)
    shares: list[Share] = field(default_factory=list)
    depths: list[tuple[str, str, float]] = field(default_factory=list)  # what, level, share
    cpu: dict[str, float | None] = field(default_factory=dict)
    issued: dict[str, dict[str, int]] = field(default_factory=dict)  # total, short, dropped → operations
    n_errors: int | None = None
    steady: tuple[str, str, str] | None = None  # attained, bandwidth, IOPS as printed
    parameters: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, list[int]] = field(default_factory=dict)  # what → its lines
    unread: tuple[int, str] | None = None  # the first line in the block that is not fio's
    n_unread: int = 0
    n_unread_here: int = 0  # since the last line that is
    last_line: int = 0
    percentiles_of: tuple[str, str] | None = None  # phase and unit of those that are being read

    @property
    def is_total(self) -> bool:
        """Whether this is a client's sum over its servers."""
        return self.name == "All clients" and self.pid == 0

    @property
    def key(self) -> tuple[str | None, int | None, int | None]:
        """What the block of the same job in another status report shares with this one."""
        return self.name, self.group, self.pid

    @property
    def n_syncs(self) -> int | None:
        """Syncs of the job. fio counts fdatasync one beyond the end of ``total``, which is ``short`` of the reads."""
        total, short = self.issued.get("total", {}), self.issued.get("short", {})
        if any(direction.op == "sync" for direction in self.directions) and not (
            total.get("sync") or total.get("read")
        ):
            return short.get("read") or None
        return total.get("sync") or None

    def leave_out(self, what: str, line: int) -> None:
        """Count a line whose figures have no place in the tables."""
        self.left_out.setdefault(what, []).append(line)


@dataclass
class Header:
    """A job's settings as fio prints them before the run."""

    line: int
    name: str
    group: int | None
    settings: dict[str, str]
    is_repeated: bool = False  # ``...`` follows: numjobs > 1


@dataclass
class Group:
    """A ``Run status group`` block: operation → its row as printed."""

    line: int
    number: int
    rows: dict[str, tuple[bool, tuple[str, ...]]] = field(default_factory=dict)  # is_old, rest of the row


@dataclass
class Status:
    """A status report."""

    jobs: list[Job] = field(default_factory=list)
    groups: list[Group] = field(default_factory=list)
    disks: list[tuple[int, str, str]] = field(default_factory=list)
    idle: list[tuple[str, str]] = field(default_factory=list)
    torn_line: int | None = None  # a line of the disk statistics that is cut


@dataclass
class Run:
    """A run: all that fio printed of it."""

    line: int
    headers: list[Header] = field(default_factory=list)
    version: str | None = None
    hosts: list[tuple[str, ...]] = field(default_factory=list)
    is_client: bool = False
    statuses: list[Status] = field(default_factory=list)
    notes: dict[str, list[tuple[int, str]]] = field(default_factory=dict)
    json_lines: list[int] = field(default_factory=list)
    terse_lines: list[int] = field(default_factory=list)
    last_line: int = 0

    @property
    def has_status(self) -> bool:
        """Whether a status report has begun."""
        return bool(self.statuses)
