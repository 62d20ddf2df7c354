"""What IOTune measured of one directory, as rows."""

from __future__ import annotations

import json

from pipeline import units
from pipeline.parse._figures import integer
from pipeline.parse._report import Report

_ALL = [("sequential", "write"), ("sequential", "read"), ("random", "write"), ("random", "read")]
SEQUENTIAL_BYTES = units.MEBI
LARGEST_ALIGNMENT = 4 * units.KIBI  # of direct I/O, where the log does not tell it


class Disk:
    """The figures of one directory in their order."""

    def __init__(self) -> None:
        self.directory: str | None = None
        self.settings: dict[str, str] = {}
        self.alignments: dict[str, int] = {}  # read and write, in bytes
        self.sizes: list[int] = []  # buffers that are tried for the best IOPS
        self._forced: dict[str, int] = {}
        self._figures: list[tuple[tuple[str, ...], int, str | None, str | None, int | None]] = []

    @property
    def has_figures(self) -> bool:
        """Whether anything was measured here."""
        return bool(self._figures)

    @property
    def missing(self) -> str | None:
        """The first of the four measurements that there is not; None where all are, or for a disk of before 2018."""
        done = [label for label, *_ in self._figures]
        if any(size is not None for *_, size in self._figures):
            return None
        if len(self.sizes) > 1 and done.count(("random", "read")) < len(self.sizes):
            return f"random read IOPS of {len(self.sizes)} buffer sizes"
        return next((" ".join(label) for label in _ALL if label not in done), None)

    def force(self, op: str, size: int | None) -> None:
        """Note that random I/O of an operation (empty: of both) has this size."""
        for name in (op,) if op else ("read", "write"):
            if size is not None:
                self._forced[name] = size

    def take(
        self, label: tuple[str, ...], value: int, unit: str | None, deviation: str | None, size: int | None = None
    ) -> None:
        """Take a figure; ``size``: the operation's size in bytes where the tool's version fixes it."""
        self._figures.append((label, value, unit, deviation, size))

    def add(self, report: Report, target: str | None) -> None:
        """Add the rows of this disk."""
        for name, text in self.settings.items():
            report.parameter(name, text, job=target)
        n_random: dict[str, int] = {}
        for label, value, unit, deviation, fixed in self._figures:
            if len(label) == 1:
                _add_metric(report, _METRICS[label[0]], value, "B", target)
                continue
            pattern, op = label
            job = pattern
            row: dict[str, object] = {"op": op, "scope": "device", "target": target}
            if pattern == "random":
                index = n_random[op] = n_random.get(op, -1) + 1
                asked = self.sizes[index] if index < len(self.sizes) else integer(self.settings.get("minimum_io_size"))
                if len(self.sizes) > 1 or index:
                    job = f"random_{asked}" if index < len(self.sizes) else f"random_{index + 1}"
                size = fixed or self._random_size(op, asked if index < max(1, len(self.sizes)) else None)
                row |= {"ops_per_s": float(value)}
            else:
                size = SEQUENTIAL_BYTES if unit == "MB/s" else None
                row |= {"bytes_per_s": float(value * units.MEBI)}
            report.add("operations", job=job, block_size_bytes=size, **row)
            if deviation is not None:
                ratio = min(int(deviation[:9]), 10**9) * units.PERCENT
                _add_metric(report, "deviation", ratio, "1", target, op=op, job=job)

    def _random_size(self, op: str, size: int | None) -> int | None:
        """What a random operation transfers: the buffer asked for, but not less than the file system's alignment.

        Where the log does not tell the alignment it may be anything up to 4096 B, so a smaller buffer says nothing.
        """
        if op in self._forced:
            return self._forced[op]
        alignment = self.alignments.get(op)
        if size is None or (alignment is None and size < LARGEST_ALIGNMENT):
            return None
        return max(size, alignment or 0)


_METRICS = {
    "write": "write_saturation_length",
    "read": "read_saturation_length",
    "physical block size": "physical_block_size",
}


def _add_metric(report: Report, metric: str, value: float, unit: str, target: str | None, **more: str) -> None:
    labels = {key: text for key, text in {"target": target, **more}.items() if text is not None}
    report.add("metric_series", metric=metric, value=float(value), unit=unit,
               labels=json.dumps(labels) if labels else None)  # fmt: skip
