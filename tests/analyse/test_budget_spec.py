import copy
from pathlib import Path

import pytest
import yaml
from frames import report, tables

from pipeline.analyse.budget.instruments import INSTRUMENTS
from pipeline.analyse.budget.layers import make_budget
from pipeline.analyse.budget.slowest import slowest_operations
from pipeline.analyse.budget.spec import read_budgets
from pipeline.analyse.budget.tail import TailBounds
from pipeline.errors import AnalysisError, SpecError

TEXT = """
mine:
  title: My database
  campaign: my-campaign
  operation: a commit
  layers:
    - {layer: client, level: commit, instrument: log_mean, run: r1, tool: pgbench_log, op: transaction}
    - {layer: sync, inside: commit, instrument: operation_time, point: p, tool: pg_stat_wal, op: wal_sync,
       per: {tool: pgbench, op: transaction}}
    - {layer: device, instrument: device_time, run: r1, request: flush, resolution_s: 1.0e-5, last_samples: 2}
  elapsed: {instrument: elapsed, run: r1, tool: pgbench, op: transaction}
  checks:
    - check: sync again
      one: {level: sync}
      other: {instrument: published, exhibit: e, row: r, over: [{exhibit: e, row: n}]}
  tail: {run: r1, outer: {tool: pgbench_log, op: transaction}, align: sync,
         layers: {sync: {tool: perf_trace, op: fdatasync}}}
"""


def content():
    return copy.deepcopy(yaml.safe_load(TEXT))


def test_a_whole_specification():
    spec = read_budgets(content())["mine"]
    assert [(layer.level, layer.inside) for layer in spec.layers] == [
        ("commit", None),
        ("sync", "commit"),
        ("device", "sync"),
    ]
    options = spec.layers[2].measurement.options
    assert (options["campaign"], options["first_samples"], options["last_samples"]) == ("my-campaign", 0, 2)
    assert spec.checks[0].one == "sync"
    assert (spec.tail.quantile, spec.tail.align) == (0.99, "sync")


def change(place, value):
    def apply(found):
        *path, last = place
        for key in path:
            found = found[key]
        if value is None:
            del found[last]
        else:
            found[last] = value

    return apply


LAYER = ("mine", "layers", 1)


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (("mine", "campaign"), None, "budgets: mine: campaign: expected a text, found None"),
        (("mine", "titel"), "x", "budgets: mine: expected campaign, checks, elapsed, .* found titel"),
        (("mine", "layers"), "x", "mine: layers: expected a list, found 'x'"),
        (("mine", "layers"), [], "mine: layers: expected at least two layers, found 0"),
        ((*LAYER, "instrument"), "guess", r"layers\[2\] \(sync\): instrument: expected one of .*, found 'guess'"),
        ((*LAYER, "instrument"), None, r"layers\[2\] \(sync\): instrument: expected a text, found None"),
        ((*LAYER, "op"), None, r"layers\[2\] \(sync\): operation_time: expected op:, found only point, tool, per"),
        ((*LAYER, "opp"), "x", r"operation_time: expected campaign, op, .* found opp"),
        ((*LAYER, "inside"), "core", r"inside: expected a level above it \(commit\), found 'core'"),
        ((*LAYER, "level"), "commit", "a layer and a level of its own, found 'commit' a second time"),
        ((*LAYER, "run"), "r1", r"expected either run: \(one run\) or point: .* both or neither"),
        ((*LAYER, "point"), None, r"expected either run: \(one run\) or point: .* both or neither"),
        ((*LAYER, "per"), "pgbench", "per: expected a mapping, found 'pgbench'"),
        ((*LAYER, "per"), {"tool": "pgbench"}, "per: op: expected a text, found None"),
        (("mine", "layers", 0, "inside"), "sync", "expected none of the first, outermost layer, found 'sync'"),
        (("mine", "layers", 0, "window_s"), 0, "window_s: expected a length above 0, found 0"),
        (("mine", "layers", 0, "tool"), 5, "tool: expected a text, found 5"),
        (("mine", "layers", 2, "request"), "fsync", "request: expected one of read, .*, found 'fsync'"),
        (("mine", "layers", 2, "last_samples"), 1.5, "last_samples: expected a count from 0, found 1.5"),
        (("mine", "layers", 2, "resolution_s"), -1, "resolution_s: expected a number from 0, found -1"),
        (("mine", "layers", 2, "resolution_s"), True, "resolution_s: expected a number from 0, found True"),
        (("mine", "elapsed"), "x", "elapsed: expected a mapping, found 'x'"),
        (("mine", "checks", 0, "one"), {"level": "x"}, r"checks\[1\] \(sync again\): one: level: .*, found 'x'"),
        (("mine", "checks", 0, "other"), None, r"other: expected a mapping, found None"),
        (("mine", "checks", 0, "other", "over"), [{"row": "n"}], r"over\[1\]: exhibit: expected a text, found None"),
        (("mine", "checks", 0, "other", "inverse"), "yes", "inverse: expected true or false, found 'yes'"),
        (("mine", "tail", "quantile"), 1, r"tail: quantile: expected 0.5 … below 1, found 1"),
        (("mine", "tail", "align"), None, r"align: expected the layer that has one call .* \(sync\), found None"),
        (("mine", "tail", "outer"), {"tool": "x"}, "tail: outer: op: expected a text, found None"),
        (("mine", "tail", "run"), None, "tail: expected either run:"),
    ],
)  # fmt: skip
def test_each_mistake_is_told_with_its_place(place, value, message):
    wrong = content()
    change(place, value)(wrong)
    with pytest.raises(SpecError, match=message):
        read_budgets(wrong)


@pytest.mark.parametrize("wrong", [None, [], {}, "x"])
def test_no_budget_at_all(wrong):
    with pytest.raises(SpecError, match="expected"):
        read_budgets(wrong)


def test_every_instrument_tells_what_it_is_and_has_one_way():
    for instrument in INSTRUMENTS.values():
        assert instrument.description
        assert (instrument.of_run is None) != (instrument.direct is None)
        assert not set(instrument.required) & set(instrument.optional)


def test_the_slowest_operations_of_sums_are_bounded_and_refused():
    client = report(run_id="r1", tool="pgbench_log")
    for i in range(4000):
        client.add(
            "latency_series", op="transaction", phase="total", time_s=(i + 1) / 100, latency_s=1e-3 + i % 100 * 1e-5
        )
    wal = report(run_id="r1", tool="pg_stat_wal")
    wal.add("operations", op="wal_sync", scope="total", n_ops=4000, latency_mean_s=1e-3)
    summary = report(run_id="r1", tool="pgbench")
    summary.add("operations", op="transaction", scope="total", n_ops=4000, ops_per_s=100.0, latency_mean_s=1.5e-3)
    frames = tables(client, wal, summary)
    found = content()["mine"]
    del found["layers"][2], found["checks"], found["tail"]["layers"], found["tail"]["align"]
    found["layers"][1]["run"] = "r1"
    del found["layers"][1]["point"]
    spec = read_budgets({"mine": found})["mine"]
    budget = make_budget(spec, lambda _campaign: frames)
    bounds = slowest_operations(spec.tail, lambda _campaign: frames, budget)
    assert isinstance(bounds, TailBounds)
    assert bounds.to_frame()["layer"].tolist() == ["sync"]
    assert "is refused: the layers are known by their sums only" in bounds.sentence()
    assert bounds.numbers()["n_tail"] == 40
    found["tail"] |= {"layers": {"sync": {"tool": "perf_trace", "op": "fdatasync"}}, "align": "sync"}
    spec = read_budgets({"mine": found})["mine"]
    with pytest.raises(AnalysisError, match="my-campaign, run r1: expected a log with a line an operation, found none"):
        slowest_operations(spec.tail, lambda _campaign: frames, budget)


def test_the_shipped_budgets_are_valid():
    path = Path(__file__).parents[2] / "params.yaml"
    shipped = read_budgets(yaml.safe_load(path.read_text("utf-8"))["03-latency-breakdown"]["budgets"])
    assert {"article", "postgres", "repeats"} <= set(shipped)
