"""Tables of ACT's own act_latency.py, recomputed digit by digit from our latency_bins.

``x.lat_….txt`` is the script's output for ``x.log``, made by the script of the same ACT version. From 5.0 on it
begins with its command line; before, its arguments are in the file's name (``_t10``: 10 s slices, ``_x``, ``_w``: the
script for writes).
"""

import re
import shlex
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Decimal

import numpy as np
import pytest

import pipeline
from pipeline.errors import ParseError

N_BUCKETS = 17  # the script knows no more
NO_TABLE = ("can't find report interval", "can't find histogram names")


@dataclass
class Arguments:
    histograms: list[str] = field(default_factory=list)
    slice_s: int = 3600
    start: int = 0
    n_buckets: int = 7
    every: int = 1
    is_extra: bool = False


def arguments_of(path, text, version):
    if version < 5:
        is_write = "lat_w_" in path.name
        slice_s = int(re.search(r"_t(\d+)", path.name)[1])
        histograms = ["WRITES", "RAW WRITES"] if is_write else ["READS", "RAW READS"]
        return Arguments(histograms, slice_s, is_extra="_x." in path.name)
    arguments = Arguments()
    words = iter(shlex.split(text.split("\n", 1)[0])[1:])
    for word in words:
        match word:
            case "-x":
                arguments.is_extra = True
            case "-h":
                arguments.histograms.append(next(words))
            case "-l":
                next(words)
            case _:
                name = {"-t": "slice_s", "-s": "start", "-n": "n_buckets", "-e": "every"}[word]
                setattr(arguments, name, int(next(words)))
    if not arguments.histograms:
        first = "trans-reads" if version < 6 and "ACT-INDEX" in text else "reads"
        arguments.histograms = [first, "device-reads"] if version < 6 else [first]
    return arguments


def expected_rows(text):
    """Rows of the printed table: its figures as printed, by slice, avg and max."""
    rows = re.findall(r"^ *(\d+|avg|max)((?: +\d+\.\d+)+.*)$", text, re.MULTILINE)
    return {label: re.findall(r"\d+\.\d+", figures) for label, figures in rows}


def counts_by_slice(bins, slice_s, n_slices):
    """Operations by slice and bucket, and by slice in all."""
    units = bins["upper_s"] / bins["unit_s"]
    bucket = np.log2(units).round().astype(int).to_numpy()
    which = (np.ceil(bins["interval_end_s"] / slice_s) - 1).astype(int).to_numpy()
    counts = np.zeros((n_slices + 1, 70), dtype=np.int64)
    np.add.at(counts, (np.minimum(which, n_slices), bucket), bins["count"].to_numpy(np.int64))
    return counts[:n_slices, :N_BUCKETS].tolist(), counts[:n_slices].sum(axis=1).tolist()


def rounded(value, version):
    """As the script's Python rounds to two digits: halves to even, before 5.0 (Python 2) away from zero."""
    if version >= 5:
        return round(value, 2)
    return float(Decimal(value).quantize(Decimal("0.01"), ROUND_HALF_UP))


def overs_of(counts, total, version):
    """Share in % above each bucket: what is not up to it from 5.0 on; before, the sum of the known ones above."""
    if total == 0:
        return [0.0] * N_BUCKETS
    if version >= 5:
        return [rounded((total - sum(counts[: i + 1])) * 100.0 / total, version) for i in range(N_BUCKETS)]
    shares = [float(count) / total * 100 for count in counts]
    return [rounded(sum_of(shares[i + 1 :]), version) for i in range(N_BUCKETS)]


def sum_of(values):
    """One after the other, which sum() does no longer from Python 3.12 on."""
    total = 0.0
    for value in values:
        total += value
    return total


def table_of(tables, arguments, version):
    """Rows of the table as the script would print them."""
    settings = tables.parameters.set_index("name")["value"]
    interval = int(settings["report-interval-sec"])
    unit_s = 1e-6 if settings["microsecond-histograms"] == "yes" else 1e-3
    slice_s = -(-arguments.slice_s // interval) * interval
    has_data = tables.latency_bins["job"].isin(arguments.histograms).any()
    n_slices = int(tables.runs["duration_s"].iloc[0] // slice_s) if has_data else 0
    shown = range(arguments.start, N_BUCKETS, arguments.every)[: arguments.n_buckets]
    rows = {str(label): [] for label in ([*range(1, n_slices + 1), "avg", "max"] if n_slices else [])}
    for name in arguments.histograms:
        bins = tables.latency_bins[tables.latency_bins["job"] == name].assign(unit_s=unit_s)
        counts, totals = counts_by_slice(bins, slice_s, n_slices)
        slices = [overs_of(of_slice, total, version) for of_slice, total in zip(counts, totals, strict=True)]
        rates = [round(float(total) / slice_s, 1) for total in totals]
        for label, overs, rate in zip(rows, slices, rates, strict=False):
            rows[label] += [f"{overs[i]:.2f}" for i in shown]
            rows[label] += [f"{rate:.1f}"] * (arguments.is_extra and version >= 5)
        if slices:
            columns = [[overs[i] for overs in slices] for i in shown]
            rows["avg"] += [f"{sum_of(column) / n_slices:.2f}" for column in columns]
            rows["max"] += [f"{max(column):.2f}" for column in columns]
            if arguments.is_extra and version >= 5:
                rows["avg"].append(f"{sum_of(rates) / n_slices:.1f}")
                rows["max"].append(f"{max(rates):.1f}")
    if arguments.is_extra and version < 5:
        for name in (arguments.histograms[0], "LARGE BLOCK READS", "LARGE BLOCK WRITES"):
            bins = tables.latency_bins[tables.latency_bins["job"] == name].assign(unit_s=unit_s)
            for label, total in zip(rows, counts_by_slice(bins, slice_s, n_slices)[1], strict=False):
                rows[label].append(f"{round(float(total) / slice_s, 1):.1f}")
    return rows


def test_tables_of_act_latency(samples):
    tried, differing = 0, []
    for path in sorted((samples / "act").glob("*.lat_*.txt")):
        text = path.read_text("utf-8")
        version = float(re.search(r"(?i)act version (\d+\.\d+)", text)[1])
        log = path.with_name(path.name.split(".lat_")[0] + ".log")
        if any(message in text for message in NO_TABLE):
            with pytest.raises(ParseError):
                pipeline.read(log, tool="act")
            continue
        table = table_of(pipeline.read(log, tool="act"), arguments_of(path, text, version), version)
        expected = expected_rows(text)
        assert expected or "could not find" in text, path
        tried += len(expected)
        differing += [
            f"{path.name} {label}: {expected.get(label)} {table.get(label)}"
            for label in expected | table
            if expected.get(label) != table.get(label)
        ]
    assert tried
    assert not differing, "\n".join(differing)
