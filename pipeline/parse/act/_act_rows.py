"""What ACT's histograms stand for, and their rows: op, scope, target, block size, failed I/Os."""

from __future__ import annotations

import re

import numpy as np

from pipeline import units
from pipeline.parse._report import Report
from pipeline.parse.act._act_bins import Bins, Histogram, Place
from pipeline.parse.act._act_blocks import Blocks
from pipeline.parse.act._act_log import Log

INDEX_IO_BYTES = 4096  # IO_SIZE in ACT's act_index.c, 5.0 to 6.6
_UNIT_S = {"yes": units.MICRO, "no": units.MILLI}
_WITH_QUEUE = {"reads": "read", "trans-reads": "read", "READS": "read", "writes": "write", "WRITES": "write"}
_WITHOUT_QUEUE = {"device-reads": "read", "RAW READS": "read", "device-writes": "write", "RAW WRITES": "write"}
_LARGE = {
    "large-block-reads": "large_block_read", "LARGE BLOCK READS": "large_block_read",
    "large-block-writes": "large_block_write", "LARGE BLOCK WRITES": "large_block_write",
}  # fmt: skip
_DIRECTION = {"-reads": "read", "-writes": "write"}


def place_histograms(log: Log) -> None:
    """Say of each new histogram what it counts; of those that have rows already, it stays."""
    names = {name for name, _ in log.histograms}
    twice = {
        direction
        for direction in ("read", "write")
        if all(direction in (table.get(name) for name in names) for table in (_WITH_QUEUE, _WITHOUT_QUEUE))
    }
    devices = set(log.devices)
    for histogram in log.histograms.values():
        place = _place_of(histogram, devices, twice)
        if histogram.place is None:
            histogram.place = place
        elif histogram.place != place:
            log.note("unknown_lines", histogram.first_line, f"{histogram.name}, which became {place.op} later")


def _place_of(histogram: Histogram, devices: set[str], twice: set[str]) -> Place:
    """Op, scope and target of a histogram.

    An I/O that is in one histogram with ACT's queue and in another without is no second read: the latter is a
    device_read.
    """
    name = histogram.name
    if op := _WITH_QUEUE.get(name) or _LARGE.get(name):
        return Place(op, "total")
    scope, target = "total", None
    direction = _WITHOUT_QUEUE.get(name)
    if direction is None:
        scope, target = "device", name
        suffix = next((suffix for suffix in _DIRECTION if name.endswith(suffix)), None)
        if name in devices or (suffix is None and name.startswith("/")):
            direction = "write" if histogram.is_write_section else "read"
        elif suffix is not None:
            direction, target = _DIRECTION[suffix], name.removesuffix(suffix)
        else:
            return Place(re.sub(r"\W+", "_", name.lower()).strip("_") or "unknown", "total", is_known=False)
    return Place(f"device_{direction}" if direction in twice else direction, scope, target)


def block_size(place: Place, log: Log) -> int | None:
    """Size of an operation, where the log fixes it for all of them."""
    if log.is_index:
        return INDEX_IO_BYTES
    if place.op.startswith("large_block"):
        n_kib = log.number("large-block-op-kbytes")
        return None if n_kib is None else n_kib * units.KIBI
    targets = [place.target] if place.target else log.devices
    sizes = {_record_io_bytes(log, target, is_write=place.direction == "write") for target in targets}
    return sizes.pop() if len(sizes) == 1 else None


def _record_io_bytes(log: Log, device: str, *, is_write: bool) -> int | None:
    """Bytes of a record's read or write: its stored size, up to a multiple of the device's least I/O."""
    sectors = log.number("read-req-num-512-blocks", "512-byte blocks per record read")  # 2.0, 3.0: reads only
    if sectors is not None:
        return None if is_write else sectors * units.SECTOR_BYTES
    described = log.setting(f"{device} size") or ""
    if match := re.search(r"reads are ([0-9]{1,12}) bytes", described):  # 3.x
        return None if is_write else int(match[1])
    least = re.search(r"minimum IO size = ([0-9]{1,12}) bytes", described)
    stored = log.setting("record-stored-bytes", "bytes per stored record") or ""
    ends = re.fullmatch(r"([0-9]{1,12})(?: \.\.\. ([0-9]{1,12}))?", stored)
    if least is None or ends is None or int(least[1]) == 0:
        return None
    step = max(int(least[1]), (log.number("commit-min-bytes") or 0) if is_write else 0)
    low, high = (-(-int(end) // step) * step for end in (ends[1], ends[2] or ends[1]))
    return low if low == high else None


def n_errors(place: Place, log: Log) -> int | None:
    """Failed I/Os. ACT names the device and the direction, not whether the block was small or large."""
    counts = {device: note.count for (direction, device), note in log.io_errors.items() if direction == place.direction}
    if not counts:
        return 0
    if place.op not in ("read", "write"):
        return None
    if place.scope == "total":
        return sum(counts.values())
    return None if None in counts else counts.get(place.target, 0)


def add_blocks(report: Report, log: Log, blocks: Blocks) -> None:
    """Add the bins and queues of blocks."""
    unit_s = _UNIT_S.get(log.setting("microsecond-histograms") or "")
    place_histograms(log)
    entries = blocks.entries
    counts, is_sound = entries.dense(), entries.is_sound()
    ends = blocks.after[entries.block - (log.n_blocks - len(blocks.after))]
    for index, histogram in blocks.histograms:
        chosen = np.flatnonzero(entries.histogram == index)
        bins = histogram.take(
            entries.block[chosen], entries.line[chosen], is_sound[chosen], counts[chosen], ends[chosen]
        )
        if unit_s is not None and histogram.place is not None and len(bins.counts):
            _add_bins(report, histogram.name, histogram.place, bins, unit_s)
    if len(blocks.queued):
        seconds, lengths = blocks.queued.astype(np.float64).T
        report.add_block(
            "metric_series", {"metric": "requests_queued", "time_s": seconds, "value": lengths, "unit": "1"}
        )


def _add_bins(report: Report, job: str, place: Place, bins: Bins, unit_s: float) -> None:
    lower, upper = bins.edges(unit_s)
    report.add_block("latency_bins", {
        "interval_start_s": bins.starts_s, "interval_end_s": bins.ends_s, "job": job, "target": place.target,
        "op": place.op, "scope": place.scope, "phase": "total", "lower_s": lower, "upper_s": upper,
        "count": bins.counts,
    })  # fmt: skip


def add_operations(report: Report, log: Log) -> None:
    """Add a row for each histogram that counted anything, over the sum of its intervals."""
    for histogram in log.histograms.values():
        place, n_ops, duration = histogram.place, histogram.n_ops, histogram.duration_s
        if place is None:
            continue
        if not place.is_known:
            text = f"expected a histogram of reads or writes, found {histogram.name[:80]!r}"
            report.warn(histogram.first_line, "unknown_histogram", text)
        if n_ops:
            report.add(
                "operations", job=histogram.name, target=place.target, op=place.op, scope=place.scope, n_ops=n_ops,
                duration_s=duration, ops_per_s=n_ops / duration, block_size_bytes=block_size(place, log),
                n_errors=n_errors(place, log),
            )  # fmt: skip
