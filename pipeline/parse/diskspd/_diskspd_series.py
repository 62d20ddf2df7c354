"""The elements of DISKSPD's XML by direction, and the intervals of -D as series."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from xml.etree.ElementTree import Element

from pipeline.parse._report import Report
from pipeline.parse.diskspd import _diskspd_rows as rows
from pipeline.parse.diskspd._diskspd_markup import Document
from pipeline.parse.diskspd._diskspd_rows import Notes, Settings, Span


@dataclass(frozen=True)
class Names:
    """What the elements of a direction are called."""

    word: str
    n_ops: str
    n_bytes: str
    mean: str
    mean_of_all: str
    stddev: str
    iops_stddev: str


OPS = {
    "total": Names("Total", "IOCount", "BytesCount", "AverageLatencyMilliseconds", "AverageTotalMilliseconds",
                    "LatencyStdev", "IopsStdDev"),
    "read": Names("Read", "ReadCount", "ReadBytes", "AverageReadLatencyMilliseconds", "AverageReadMilliseconds",
                   "ReadLatencyStdev", "ReadIopsStdDev"),
    "write": Names("Write", "WriteCount", "WriteBytes", "AverageWriteLatencyMilliseconds",
                    "AverageWriteMilliseconds", "WriteLatencyStdev", "WriteIopsStdDev"),
}  # fmt: skip


@dataclass(frozen=True)
class Series:
    """Adds the intervals of one timespan: operations a second, and latencies where there were operations."""

    report: Report
    document: Document
    notes: Notes
    span: Span
    settings: Settings

    def add(self, parent: Element, job: str | None, path: str | None) -> None:
        """Add the intervals below a timespan (of all together) or a target of a thread."""
        buckets = self.document.all(self.document.one(parent, "Iops"), "Bucket")
        ends = [rows.milliseconds(bucket.get("SampleMillisecond")) for bucket in buckets]
        window = self.settings.bucket_s or (ends[0] if ends else None)
        for op, names in OPS.items():
            values = [rows.number(bucket.get(names.word)) for bucket in buckets]
            for end, value, bucket in zip(ends, values, buckets, strict=True):
                if end is None or value is None:
                    message = f"expected an interval of -D, found {dict(bucket.attrib)}"
                    self.notes.add(None, "bad_interval", message, is_damage=True)
                elif any(values) or op == "total":
                    keys = {"job": job, "target": path, "op": op, "time_s": self.span.start_s + end, "window_s": window}
                    self.report.add("throughput_series", **keys, ops_per_s=value)
                    self._add_interval_latency(bucket, keys, value, names.word)

    def _add_interval_latency(self, bucket: Element, keys: dict[str, Any], value: float, word: str) -> None:
        mean = rows.milliseconds(bucket.get(f"{word}AvgLatencyMilliseconds"))
        if mean and value:  # 0.000 without -L
            most = rows.milliseconds(bucket.get(f"{word}MaxLatencyMilliseconds"))
            self._add_interval_spread(bucket, keys, word)
            self.report.add("latency_series", **keys, phase="total", latency_s=mean, latency_max_s=most)

    def _add_interval_spread(self, bucket: Element, keys: dict[str, Any], word: str) -> None:
        scope = "total" if keys["job"] is None else "job"
        for statistic, name in (("min", "MinLatencyMilliseconds"), ("stddev", "LatencyStdDev")):
            if (value := rows.milliseconds(bucket.get(word + name))) is not None:
                labels = rows.labels_of({**keys, "scope": scope, "statistic": statistic})
                self.report.add(
                    "metric_series", metric="interval_latency_s", labels=labels, time_s=keys["time_s"], value=value,
                    unit="s",
                )  # fmt: skip
