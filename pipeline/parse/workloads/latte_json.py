"""latte, JSON: the report that ``latte run`` writes beside its output.

Grammar
    ``{"conf": {…}, "percentiles": [0, 1, …, 100], "result": {…}}``: start_time, elapsed_time_s, cycle_count,
    request_count, cycle_throughput ``{n, value, std_err}`` …, latency distributions ``{mean, percentiles, …}`` in ms
    (cycle_latency, request_latency, cycle_latency_by_fn; before 0.29 cycle_time_ms, resp_time_ms with
    ``distribution``, before 0.15 call_…), ``log``: a sample an interval. ScyllaDB's fork adds custom_metrics and
    run_metadata.
Versions
    0.13 – 0.29, ScyllaDB's fork to 0.49
Traps
    The percentiles' ranks stand apart from their values. A sample's time_s is its start. std_err is not the error
    that the text prints (3.29 of it). Ratios are in percent.
Sample
    tests/parse/latte_json/synthetic_cycles_and_requests/
Gives
    operations: op ``total`` and each function; phase ``total`` of cycles, ``request`` of requests; latency_bins where
    there is a distribution. Samples: intervals. Other numbers of the result, and the metrics that the workload
    records (labels: the statistic or the percentile): metric_series, named as the text's reader names them; std_err
    as ``…_stderr``. run_metadata: parameters.
"""

from __future__ import annotations

import json
from typing import Any

from pipeline import units
from pipeline.parse._figures import snake
from pipeline.parse._report import Report
from pipeline.parse._source import Source
from pipeline.parse.workloads._latte_figures import count_of, finite, seconds_of, signed, stamp_of, unit_of

EXPECTED = 'latte\'s `{"conf": {…}, "percentiles": […], "result": {…}}`'
FORM = "JSON"
VERSIONS = "0.13 – 0.29, ScyllaDB's fork to 0.49"
NOT_READ = "the encoded histograms"
UNSEEN_CUTS = ""

_LATENCIES = {"cycle_latency": "total", "cycle_time_ms": "total", "call_time_ms": "total",
              "request_latency": "request", "resp_time_ms": "request"}  # fmt: skip
_SAMPLE_LATENCIES = {**_LATENCIES, "cycle_time_percentiles": "total", "call_time_percentiles": "total",
                     "resp_time_percentiles": "request"}  # fmt: skip
_OWN = ("start_time", "end_time", "elapsed_time_s", "cycle_count", "call_count", "error_count", "errors", "log",
        "cycle_throughput", "call_throughput", "cycle_latency_by_fn", "custom_metrics", "run_metadata",
        *_LATENCIES)  # fmt: skip
_OF_A_SAMPLE = ("cycle_latency_by_fn", "custom_metrics", "errors", "req_errors", "req_retry_errors",
                *_SAMPLE_LATENCIES)  # fmt: skip
_SAMPLE_METRICS = ("req_throughput", "row_throughput", "request_count", "row_count", "mean_queue_len",
                   "req_retry_count", "req_error_count")  # fmt: skip
_NAMES = {  # as the text's reader names them
    "cpu_time_s": "cpu_time", "cpu_util": "cpu_utilisation", "request_count": "requests", "row_count": "rows",
    "requests_per_cycle": "requests_per_op", "request_retry_count": "retries",
    "req_retry_count": "retries", "req_error_count": "request_errors", "req_throughput": "requests_per_s",
    "request_retry_per_request": "retries_per_request", "row_throughput": "rows_per_s",
    "row_count_per_req": "rows_per_request",
}  # fmt: skip


def recognise(head: str) -> bool:
    """Whether the document begins with latte's configuration."""
    start = head.lstrip("\ufeff \n")[:40]
    return start.startswith("{") and '"conf"' in start and ('"functions"' in head or '"sampling_interval"' in head)


def parse(source: Source) -> list[Report]:
    """Return the report; ParseError when the document is torn or not of the grammar."""
    try:
        document = json.loads(source.text)
        result, ranks = document["result"], [float(rank) for rank in document["percentiles"]]
        if not isinstance(result, dict) or not all(0 <= rank <= 100 for rank in ranks):
            raise TypeError("no result")
    except (ValueError, KeyError, TypeError, RecursionError, OverflowError) as error:
        raise source.error(1, EXPECTED, str(error) or source.head) from None
    report = Report("latte", source)
    _Document(report, [_rank(rank) for rank in ranks]).add(document.get("conf"), result)
    return [report]


def _rank(rank: float) -> float:
    """Ranks are written as 32-bit floats: 99.9 comes as 99.9000015258789."""
    return round(rank, 4)


class _Document:
    """Adds the rows of a document."""

    def __init__(self, report: Report, ranks: list[float]) -> None:
        self.report = report
        self.ranks = ranks
        self.n_unread = 0
        self.retries: list[object] = []

    def add(self, conf: object, result: dict[str, Any]) -> None:
        """Add the run, its settings, its functions and its samples."""
        self._add_settings("", conf, 0)
        report, duration = self.report, finite(result.get("elapsed_time_s"))
        start = result.get("start_time")
        report.describe(duration_s=duration, started_at=stamp_of(start))
        own = next((result[name] for name, phase in _LATENCIES.items() if phase == "total" and name in result), None)
        values = self._percentiles(own)
        rate = result.get("cycle_throughput", result.get("call_throughput"))
        report.add("operations", op="total", scope="total", duration_s=duration, ops_per_s=finite(rate),
                   n_ops=count_of(result.get("cycle_count", result.get("call_count"))),
                   n_errors=count_of(result.get("error_count")), latency_min_s=values.get(0.0),
                   latency_max_s=values.get(100.0),
                   latency_mean_s=seconds_of(own.get("mean")) if isinstance(own, dict) else None)  # fmt: skip
        self._add_error("throughput", rate, 1.0, "1/s")
        for name, phase in _LATENCIES.items():
            self._add_latency({"op": "total", "scope": "total", "phase": phase}, result.get(name))
        for function, latency in self._named(result, "cycle_latency_by_fn"):
            self._add_latency({"op": function, "scope": "job", "phase": "total"}, latency)
        for name, value in result.items():
            if name not in _OWN and (number := finite(value)) is not None:
                factor = units.PERCENT if name.endswith(("_ratio", "_util")) else 1.0
                report.add("metric_series", metric=_NAMES.get(name, name), value=number * factor, unit=unit_of(name))
                self._add_error(_NAMES.get(name, name), value, factor, unit_of(name))
        self._count_unread(result, _OWN)
        self._add_settings("run_metadata", result.get("run_metadata"), 1)
        for name, metric in self._named(result, "custom_metrics"):
            self._add_metric(name, metric.get("distribution"), None)
        log = result.get("log")
        for sample in log if isinstance(log, list) else ():
            self._add_sample(sample)
        errors = result.get("errors")
        if isinstance(errors, list) and errors:
            report.warn(None, "tool_error", f"expected no errors, found {len(errors)}, the first: {errors[0]!s:.200}")
        if self.retries:
            found = f"found {len(self.retries)} texts of errors, the first: {self.retries[0]!s:.200}"
            report.warn(None, "retry_error", f"expected no retried requests, {found}")
        if self.n_unread:
            report.warn(None, "unknown_form", f"expected samples and percentiles, found {self.n_unread} of other form")
        if own is None or rate is None:
            report.incomplete(None, "incomplete_result", "expected throughput and latency, found none")

    def _add_settings(self, prefix: str, value: object, depth: int) -> None:
        if isinstance(value, dict) and depth < 4:
            for name, inner in value.items():
                self._add_settings(f"{prefix}.{name}" if prefix else str(name), inner, depth + 1)
        elif prefix and value is not None and "password" not in prefix:
            is_plain = isinstance(value, str | int | float)
            try:
                text = str(value) if is_plain else json.dumps(value)
            except (ValueError, RecursionError):  # a number of thousands of digits
                text = "?"
            self.report.parameter(prefix, text.encode("utf-8", "replace").decode())

    def _percentiles(self, latency: object) -> dict[float, float]:
        values = latency.get("percentiles") if isinstance(latency, dict) else latency
        if not isinstance(values, list) or len(values) != len(self.ranks):
            self.n_unread += latency is not None
            return {}
        pairs = zip(self.ranks, map(seconds_of, values), strict=True)
        return {rank: seconds for rank, seconds in pairs if seconds is not None}

    def _named(self, figures: dict[str, Any], name: str) -> list[tuple[str, dict[str, Any]]]:
        """The objects in an object by their names; none where it is absent."""
        value = figures.get(name)
        if not isinstance(value, dict):
            self.n_unread += value is not None
            return []
        parts = [(str(part), inner) for part, inner in value.items() if isinstance(inner, dict)]
        self.n_unread += len(value) - len(parts)
        return parts

    def _count_unread(self, figures: dict[str, Any], known: tuple[str, ...]) -> None:
        """Count what later versions may have added."""
        self.n_unread += sum(
            name not in known and (isinstance(value, list) or (isinstance(value, dict) and "value" not in value))
            for name, value in figures.items()
        )

    def _add_metric(self, name: str, distribution: object, time_s: float | None) -> None:
        """Add the statistics of a metric that the workload records: of no known unit, they may be negative."""
        values = distribution.get("percentiles") if isinstance(distribution, dict) else None
        if not isinstance(distribution, dict) or not isinstance(values, list) or len(values) != len(self.ranks):
            self.n_unread += 1
            return
        ranks = [{"percentile": f"{rank:g}"} for rank in self.ranks]
        for labels, value in zip(({"statistic": "mean"}, *ranks), (distribution.get("mean"), *values), strict=True):
            number, text = signed(value), json.dumps(labels)
            if number is not None:
                self.report.add("metric_series", metric=snake(name), labels=text, time_s=time_s, value=number, unit="1")
            if time_s is None:  # samples have no errors
                self._add_error(snake(name), value, 1.0, "1", labels)

    def _add_latency(self, key: dict[str, str], latency: object) -> None:
        if not isinstance(latency, dict):
            return
        values = self._percentiles(latency)
        self._add_percentiles(key, latency, values)
        labels = {"op": key["op"], "phase": key["phase"]}
        self._add_error("latency_mean", latency.get("mean"), units.MILLI, "s", labels)
        for rank, value in zip(self.ranks, latency.get("percentiles") or [], strict=False) if values else ():
            self._add_error("latency", value, units.MILLI, "s", {**labels, "percentile": f"{rank:g}"})
        lower = 0.0
        bins = latency.get("distribution")
        for item in bins if isinstance(bins, list) else ():
            upper = seconds_of(item.get("duration_ms")) if isinstance(item, dict) else None
            count = count_of(item.get("count")) if isinstance(item, dict) else None
            if upper is None or count is None or upper < lower:
                self.n_unread += 1
                continue
            if count:
                self.report.add("latency_bins", **key, lower_s=lower, upper_s=upper, count=count)
            lower = upper

    def _add_percentiles(self, key: dict[str, Any], latency: dict[str, Any], values: dict[float, float]) -> None:
        self.report.add("latency_summary", **key, mean_s=seconds_of(latency.get("mean")), min_s=values.get(0.0),
                        max_s=values.get(100.0))  # fmt: skip
        for rank, seconds in values.items():
            self.report.add("latency_percentiles", **key, percentile=rank, latency_s=seconds)

    def _add_error(
        self, name: str, value: object, factor: float, unit: str, labels: dict[str, str] | None = None
    ) -> None:
        error = finite(value.get("std_err")) if isinstance(value, dict) else None
        if error is not None:
            text = json.dumps(labels) if labels else None
            self.report.add("metric_series", metric=f"{name}_stderr", labels=text, value=error * factor, unit=unit)

    def _add_sample(self, sample: object) -> None:
        start = finite(sample.get("time_s")) if isinstance(sample, dict) else None
        length = finite(sample.get("duration_s")) if isinstance(sample, dict) else None
        if not isinstance(sample, dict) or start is None or length is None:
            self.n_unread += 1
            return
        key = {"interval_start_s": start, "interval_end_s": start + length, "op": "total", "scope": "total"}
        n_ops = count_of(sample.get("cycle_count", sample.get("call_count")))
        mean = finite(sample.get("mean_cycle_time_ms", sample.get("mean_call_time_ms")))
        latency = sample.get("cycle_latency")
        if isinstance(latency, dict):
            mean = finite(latency.get("mean"))
        self.report.add("operations", **key, n_ops=n_ops, duration_s=length,
                        ops_per_s=finite(sample.get("cycle_throughput", sample.get("call_throughput"))),
                        n_errors=count_of(sample.get("cycle_error_count", sample.get("error_count"))),
                        latency_mean_s=mean * units.MILLI if mean is not None and n_ops else None)  # fmt: skip
        for name, phase in _SAMPLE_LATENCIES.items():
            if name in sample and n_ops:
                for rank, seconds in self._percentiles(sample[name]).items():
                    self.report.add("latency_percentiles", **key, phase=phase, percentile=rank, latency_s=seconds)
        for function, latency in self._named(sample, "cycle_latency_by_fn"):
            values = self._percentiles(latency)
            if values.get(100.0):  # else all are zero: it was not called
                self._add_percentiles({**key, "op": function, "scope": "job", "phase": "total"}, latency, values)
        self._add_sample_metrics(sample, start + length)

    def _add_sample_metrics(self, sample: dict[str, Any], end: float) -> None:
        for name in _SAMPLE_METRICS:
            if (value := finite(sample.get(name))) is not None:
                self.report.add("metric_series", metric=_NAMES.get(name, name), time_s=end, value=value,
                                unit=unit_of(name))  # fmt: skip
        for name, distribution in self._named(sample, "custom_metrics"):
            self._add_metric(name, distribution, end)
        retries = sample.get("req_retry_errors")
        self.retries += retries if isinstance(retries, list) else []
        self._count_unread(sample, _OF_A_SAMPLE)
