"""The slowest operations as ``params.yaml`` specifies them: matched logs, or bounds and the reason for no more."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from pipeline.analyse.budget.instruments import run_ids
from pipeline.analyse.budget.layers import Budget
from pipeline.analyse.budget.matching import Matched, match_operations
from pipeline.analyse.budget.measures import Frames, log_of
from pipeline.analyse.budget.spec import TailSpec
from pipeline.analyse.budget.tail import TailBounds, TailBudget, tail_bounds, tail_budget
from pipeline.errors import AnalysisError

NO_CALLS = (
    "the layers are known by their sums only, not call by call. A trace of the server's calls beside the client's log "
    "of every operation would serve (pgbench -l and perf trace -T -e fdatasync)"
)


def slowest_operations(
    spec: TailSpec, load: Callable[[str], Frames], budget: Budget, confidence: float = 0.95
) -> TailBudget | TailBounds:
    """Conditional means where the specification names logs of the layers, else bounds from the means of the budget.

    Operations of several runs are matched and taken above their own run's quantile; bounds need one run's log and hold
    for the levels of ``budget`` inside the outermost one. AnalysisError names the run that cannot be matched.
    """
    tables = load(spec.campaign)
    runs = run_ids(tables, {"run": spec.run, "point": spec.point})
    if spec.layers:
        matched = {run: _matched(spec, tables, run) for run in runs}
        return tail_budget(matched, spec.quantile, confidence, spec.window_s)
    latency = pd.concat([log_of(_of_run(tables, run), spec.outer)["latency_s"] for run in runs])
    means = {layer.level: layer.whole.value for layer in budget.layers if layer.inside is not None}
    return tail_bounds(latency.to_numpy("float64"), means, spec.quantile, NO_CALLS)


def _matched(spec: TailSpec, tables: Frames, run: str) -> Matched:
    frames = _of_run(tables, run)
    try:
        outer = log_of(frames, spec.outer)
        return match_operations(
            outer, {name: log_of(frames, log) for name, log in spec.layers.items()}, spec.align or ""
        )
    except AnalysisError as error:
        raise AnalysisError(f"{spec.campaign}, run {run}: {error}") from error


def _of_run(tables: Frames, run: str) -> Frames:
    series = tables["latency_series"]
    return {"latency_series": series[series["run_id"] == run]}
