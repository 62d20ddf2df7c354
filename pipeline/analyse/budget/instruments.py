"""The instruments of a latency budget: named ways from tidy tables to a mean time an operation, in seconds.

A new one is a function here and a line in ``INSTRUMENTS``. One of a run gives a ``Part`` for each run; two or more runs
(repeats) are its batches, a single run has those inside it, where the instrument kept a series.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from uncertainties import UFloat

from pipeline.analyse.budget import measures
from pipeline.analyse.budget.measures import Frames, Options, Part
from pipeline.analyse.budget.quantity import Sources, exact
from pipeline.analyse.select import published_row
from pipeline.errors import AnalysisError
from pipeline.units import PERCENT, SECONDS


@dataclass(frozen=True)
class Measured:
    """What an instrument gave: a quantity in seconds (a count for requests), its origins, and what it is worth.

    ``origins`` names the figures it was computed from, ``runs`` its runs. ``n`` counts its batches, ``batches`` says
    what one is; ``is_incomplete``: the instrument kept no scatter of a single run, so that the uncertainty leaves out
    what varied, and how it varied with the other levels.
    """

    quantity: UFloat
    instrument: str
    origins: frozenset[Hashable]
    n: int
    batches: str
    is_incomplete: bool = False
    warnings: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()
    unit: str = "s"


OfRun = Callable[[Frames, Options], Part]


@dataclass
class Bench:
    """What instruments measure with: the tables of each campaign, and the variables of the budget."""

    load: Callable[[str], Frames]
    sources: Sources = field(default_factory=Sources)
    _loaded: dict[str, Frames] = field(default_factory=dict)

    def tables(self, campaign: str) -> Frames:
        """A campaign's tables, loaded once."""
        if campaign not in self._loaded:
            self._loaded[campaign] = self.load(campaign)
        return self._loaded[campaign]


Direct = Callable[[Bench, Options], Measured]


@dataclass(frozen=True)
class Instrument:
    """How a measurement is taken: what it must be told, what it may be told (name: default), and the function."""

    description: str
    required: tuple[str, ...]
    optional: Mapping[str, Any]
    of_run: OfRun | None = None
    direct: Direct | None = None
    unit: str = "s"


def measure(bench: Bench, name: str, options: Options) -> Measured:
    """Take a measurement; ``options`` are complete and valid (``budget_spec``). AnalysisError says what is missing.

    Of R ≥ 2 runs the value is the mean of the runs' figures, each run counting the same, with s / √R and R − 1 degrees
    of freedom; of one run, that run's figure with the scatter of its batches. The print's resolution comes on top, the
    same for all runs (it does not average out). ``as_printed``: the figure of one run itself is meant, not what it
    estimates, so that rounding is all its uncertainty.
    """
    instrument = INSTRUMENTS[name]
    try:
        if instrument.of_run is not None:
            return _of_runs(bench, name, instrument, instrument.of_run, options)
        if instrument.direct is not None:
            return instrument.direct(bench, options)
        raise AnalysisError("expected an instrument with a function, found none")
    except AnalysisError as error:
        where = ", ".join(f"{key} {value!r}" for key, value in options.items() if value not in (None, 0))
        raise AnalysisError(f"instrument {name!r} ({where}): {error}") from error


def _of_runs(bench: Bench, name: str, instrument: Instrument, of_run: OfRun, options: Options) -> Measured:
    tables, campaign = bench.tables(options["campaign"]), options["campaign"]
    runs = run_ids(tables, options)
    of_runs = {table: tables[table][tables[table]["run_id"].isin(runs)] for table in USED}
    parts = [of_run({table: rows[rows["run_id"] == run] for table, rows in of_runs.items()}, options) for run in runs]
    bad = [run for run, part in zip(runs, parts, strict=True) if not math.isfinite(part.value)]
    if bad:
        raise AnalysisError(f"expected a figure of each run, found none in {', '.join(bad)}")
    place = (campaign, tuple(runs), *(options.get(key) for key in ("tool", "op", "job", "device")))
    is_bare, first = False, parts[0]
    if len(runs) > 1:
        values = np.array([part.value for part in parts])
        scores = (values - values.mean()) / len(values)
        quantity = bench.sources.scattered((campaign, tuple(runs)), float(values.mean()), scores)
        n, batches = len(runs), "runs"
    elif first.scores is not None:
        quantity = bench.sources.scattered((campaign, runs[0], first.series), first.value, first.scores)
        n, batches = len(first.scores), first.batches
    else:
        is_bare = not options.get("as_printed")
        width = first.at_least * math.sqrt(12) if is_bare else 0.0
        quantity, n, batches = bench.sources.rounded((*place, "σ/√n"), first.value, width), 1, "run"
    for what in first.widths:
        width = float(np.mean([part.widths.get(what, 0.0) for part in parts]))
        quantity = bench.sources.rounded((*place, what), quantity, width)
    from_rate = _is_from_rate(tables, runs, options)
    warnings = (FROM_RATE,) if from_rate and name not in ELAPSED else ()
    figure = "rate" if from_rate or name in ELAPSED else "latency" if options.get("op") else name
    origin = (*place, options.get("request"), options.get("event"), figure)
    return Measured(
        quantity, name, frozenset([origin]), n, batches, is_bare, warnings, tuple(runs), instrument.unit
    )  # fmt: skip


def _is_from_rate(tables: Frames, runs: list[str], options: Options) -> bool:
    """Whether a reader warned that the tool computed its latency from its rate."""
    warned = tables["warnings"]
    is_of_tool = warned["run_id"].isin(runs) & (warned["tool"] == options.get("tool"))
    return bool((is_of_tool & (warned["code"] == "latency_from_rate")).any())


def run_ids(tables: Frames, options: Options) -> list[str]:
    """The runs that ``run`` or ``point`` names, in the order of their repeats."""
    runs = tables["runs"].drop_duplicates("run_id").sort_values(["repeat", "run_id"])
    if options.get("run") is not None:
        found = runs[runs["run_id"] == options["run"]]
        if found.empty:
            raise AnalysisError(f"expected the run {options['run']!r}; there are {', '.join(runs['run_id'])}")
    else:
        found = runs[runs["point"] == options["point"]]
        if found.empty:
            points = ", ".join(sorted(set(runs["point"].dropna())))
            raise AnalysisError(f"expected runs of the point {options['point']!r}; there are {points}")
    return list(found["run_id"])


def published(bench: Bench, options: Options) -> Measured:
    """A printed figure, times and over others: value · Π times / Π over, each with its rounding; correlations kept.

    ``share_left`` takes 1 − the first figure, of a share; ``inverse`` the inverse of it all, of a rate.
    """
    origins = set()

    def figure(where: Options) -> UFloat:
        name = (options["campaign"], where["exhibit"], where["row"], where.get("column"))
        origins.add(name)
        return _printed(bench, name)

    value = figure(options)
    value = 1 - value if options["share_left"] else value
    for where in options["times"]:
        value = value * figure(where)
    for where in options["over"]:
        divisor = figure(where)
        if not divisor.nominal_value:
            raise AnalysisError(f"expected a figure other than 0 to divide by, found 0 in {where['row']!r}")
        value = value / divisor
    if options["inverse"]:
        value = 1 / value
    return Measured(value, "published", frozenset(origins), 1, "printed figure", False)


def _printed(bench: Bench, name: tuple[str, str, str, str | None]) -> UFloat:
    """A figure with half a unit of its last digit, uniform (GUM 4.3.7); printed with ~, of its last one that is not 0.

    A bare count (unit 1, no decimals) is exact.
    """
    campaign, exhibit, row, column = name
    rows = published_row(bench.tables(campaign), exhibit, row)
    rows = rows if column is None else rows[rows["column"] == column]
    if len(rows) != 1:
        raise AnalysisError(f"{exhibit!r}, {row!r}: expected one figure, found {len(rows)}; name its column")
    figure = rows.iloc[0]
    digits = re.search(r"\d[\d,]*(\.\d+)?", figure["value_text"])
    if digits is None or pd.isna(figure["value"]):
        raise AnalysisError(f"{exhibit!r}, {row!r}: expected a figure, found {figure['value_text']!r}")
    text = digits[0].replace(",", "")
    printed, value = float(text), float(figure["value"])
    is_count = figure["unit"] == "1" and "." not in text and "%" not in figure["value_text"]
    if is_count:
        return exact(value)
    place = 10.0 ** -len((digits[1] or ".")[1:])
    if figure["relation"] == "~" and "." not in text:
        place = 10.0 ** (len(text) - len(text.rstrip("0")))
    scale = value / printed if printed else _scale(figure["value_text"])
    return bench.sources.rounded(("published", *name), value, place * scale)


def _scale(text: str) -> float:
    """What a printed 0 was multiplied by to its SI unit, by the unit behind it."""
    unit = re.sub(r"^[^\d]*[\d.,]+\s*", "", text).split(" ")[0]
    if unit.lower() in SECONDS:
        return SECONDS[unit.lower()]
    if unit in ("", "%"):
        return PERCENT if unit else 1.0
    raise AnalysisError(f"expected a unit of time behind a printed 0, found {text!r}")


def constant(_bench: Bench, options: Options) -> Measured:
    """A figure that is known: what a measured one is held against."""
    return Measured(
        exact(float(options["value"])), "constant", frozenset([("constant", options["value"])]), 1, "figure", unit="1"
    )


USED = ("operations", "latency_series", "device_series", "perf_counters")
ELAPSED = ("elapsed", "log_elapsed")
FROM_RATE = "its latency is 1 / rate: computed by the tool, not measured"
_RUNS: dict[str, Any] = {"campaign": None, "run": None, "point": None}
_ROUNDED: dict[str, Any] = {**_RUNS, "resolution_s": 0.0}
_DEVICE: dict[str, Any] = {**_ROUNDED, "device": None, "first_samples": 0, "last_samples": 0, "tool": "iostat"}
_LOG: dict[str, Any] = {**_ROUNDED, "phase": "total", "window_s": 1.0}
INSTRUMENTS: dict[str, Instrument] = {
    "log_mean": Instrument("mean of a log with a line an operation", ("tool", "op"), _LOG, measures.log_mean),
    "log_elapsed": Instrument(
        "wall time an operation, from the log's windows", ("tool", "op"), _LOG, measures.log_elapsed),
    "operation_mean": Instrument(
        "the tool's own mean", ("tool", "op"), {**_ROUNDED, "job": None, "as_printed": False}, measures.operation_mean),
    "operation_time": Instrument(
        "time in an inner operation for each outer one, by counters", ("tool", "op", "per"), _ROUNDED,
        measures.operation_time),
    "elapsed": Instrument("wall time an operation, from a count", ("tool", "op"), _ROUNDED, measures.elapsed),
    "device_time": Instrument("mean time of a request on the device", ("request",), _DEVICE, measures.device_time),
    "device_busy": Instrument("busy time of the device for each operation", ("per",), _DEVICE, measures.device_busy),
    "device_requests": Instrument(
        "requests for each operation", ("request", "per"), _DEVICE, measures.device_requests, unit="1"),
    "cpu_time": Instrument(
        "processor time for each operation", ("event", "per"), {**_ROUNDED, "tool": "perf_stat"}, measures.cpu_time),
    "published": Instrument(
        "printed figures and their products", ("exhibit", "row"),
        {"campaign": None, "column": None, "times": (), "over": (), "share_left": False, "inverse": False},
        direct=published),
    "constant": Instrument("a known figure", ("value",), {"campaign": None}, direct=constant, unit="1"),
}  # fmt: skip
