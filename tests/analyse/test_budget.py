import math

import numpy as np
import pytest
from frames import report, tables

from pipeline.analyse.budget.agreement import (
    CIRCULAR,
    CONTRADICTION,
    MEASURED,
    OUTSIDE,
    PRINTED,
    UNJUDGED,
    UNRESOLVED,
)
from pipeline.analyse.budget.layers import make_budget
from pipeline.analyse.budget.spec import read_budget
from pipeline.errors import AnalysisError

MICRO = 1e-6


def published(*rows):
    made = report(tool="published")
    for row, text, value, unit, relation in rows:
        made.add(
            "published", source="s", exhibit="e", row=row, value_text=text, value=value, unit=unit, relation=relation
        )
    return tables(made)


def figure(row, **more):
    return {"instrument": "published", "exhibit": "e", "row": row, **more}


def layer(name, instrument, **more):
    return {"layer": name, **instrument, **more}


def spec(layers, **more):
    return read_budget({"title": "T", "campaign": "c", "operation": "an insert", "layers": layers, **more}, "b", "spec")


def budget(content, frames, confidence=0.95):
    return make_budget(content, lambda _campaign: frames, confidence)


ARTICLE = [
    ("insert", "385 uSec", 385e-6, "s", "="), ("busy", "78%", 0.78, "1", "="),
    ("diskspd", "258 uSec", 258e-6, "s", "="),
    ("controller", "164 uSec", 164e-6, "s", "="), ("elapsed", "38350msec", 38.35, "s", "="),
    ("inserts", "100,000", 100000.0, "1", "="), ("rate", "2,597.4", 2597.4, "1/s", "="),
    ("zero", "0 uSec", 0.0, "s", "="),
    ("about", "~160 uSec", 160e-6, "s", "~"), ("counted", "383.5uSec", 383.5e-6, "s", "="),
]  # fmt: skip
LAYERS = [
    layer("not I/O", figure("insert"), level="insert"),
    layer("I/O above", figure("busy", times=[{"exhibit": "e", "row": "insert"}])),
    layer("path", figure("diskspd")),
    layer("controller", figure("controller")),
]


def test_the_articles_layers_to_the_digit():
    content = spec(LAYERS, elapsed=figure("elapsed", over=[{"exhibit": "e", "row": "inserts"}]))
    found = budget(content, published(*ARTICLE))
    own = [part.own for part in found.layers]
    assert [round(part.value / MICRO, 6) for part in own] == [84.7, 42.3, 94, 164]
    rounding, share = 1 / math.sqrt(12), 0.01 / math.sqrt(12)
    assert own[0].standard / MICRO == pytest.approx(math.hypot(0.22 * rounding, 385 * share))
    assert own[1].standard / MICRO == pytest.approx(
        math.sqrt((0.78 * rounding) ** 2 + (385 * share) ** 2 + rounding**2)
    )
    assert found.total.value == pytest.approx(385e-6)
    assert sum(part.own.value for part in found.layers) == pytest.approx(385e-6)
    assert found.layers[0].share.value == pytest.approx(0.22)
    # 22 % depends on the share of busy time alone: the insert cancels.
    assert found.layers[0].share.standard == pytest.approx(share)
    assert (round(found.residual.value / MICRO, 6), found.residual_verdict) == (-1.5, CONTRADICTION)
    assert "the layers exceed the time that passed" in found.warnings[-1]
    assert [part.verdict for part in found.layers] == [MEASURED] * 4


def test_what_was_computed_from_the_other_proves_nothing():
    frames = published(*ARTICLE)
    rate = figure("rate", inverse=True)
    checks = [
        {"check": "1 / rate", "one": {"level": "insert"}, "other": rate},
        {"check": "counted", "one": figure("elapsed", over=[{"exhibit": "e", "row": "inserts"}]), "other": rate},
        {"check": "about", "one": {"level": "controller"}, "other": figure("about")},
        {"check": "itself", "one": {"level": "insert"}, "other": figure("insert")},
    ]
    found = budget(spec(LAYERS, elapsed=rate, checks=checks), frames)
    assert found.residual_verdict == PRINTED
    assert [check.verdict for check in found.checks] == [PRINTED, CONTRADICTION, PRINTED, CIRCULAR]
    assert found.checks[2].difference.half_width / MICRO == pytest.approx(1.959964 * math.hypot(1, 10) / math.sqrt(12))


def test_a_layer_below_zero_names_both_instruments():
    swapped = [LAYERS[3] | {"level": "inner"}, layer("outer", figure("diskspd"))]
    found = budget(spec(swapped), published(*ARTICLE))
    assert found.layers[0].verdict == CONTRADICTION
    (warning,) = found.warnings
    assert warning == (
        "contradiction, “controller”: 164.00 ± 0.57 µs of inner (published) cannot hold 258.00 ± 0.57 µs of outer "
        "(published); it leaves -94.00 ± 0.80 µs, 230.3 standard uncertainties below 0"
    )
    assert "contradiction between instruments in “controller”" in found.sentence()


def test_equal_levels_and_zero_latency():
    found = budget(spec([LAYERS[0], layer("same", figure("counted"), inside="insert")]), published(*ARTICLE))
    assert found.layers[0].own.value / MICRO == pytest.approx(1.5)
    nothing = budget(spec([layer("a", figure("zero")), layer("b", figure("zero"), level="b2")]), published(*ARTICLE))
    assert nothing.layers[0].verdict == UNRESOLVED
    assert nothing.layers[0].share is None
    assert nothing.to_frame()["share_ratio"].isna().all()
    assert nothing.sentence().startswith("Of 0.00 ± 0.57 µs")
    with pytest.raises(AnalysisError, match="to divide by, found 0 in 'zero'"):
        budget(
            spec([LAYERS[0], layer("x", figure("insert", over=[{"exhibit": "e", "row": "zero"}]))]), published(*ARTICLE)
        )


def repeats(n=6, sync=None, seed=1, sd=3.0, latency_from_rate=False):
    """Repeats of a run with a client's mean, the server's counters and two samples of a device."""
    rng = np.random.default_rng(seed)
    made = []
    for repeat in range(1, n + 1):
        slow = rng.normal(0, 20)
        latency = 200 + slow + rng.normal(0, sd)
        client = report(run_id=f"r{repeat}", tool="pgbench", point="p", repeat=repeat)
        client.add("operations", op="transaction", scope="total", n_ops=1000, ops_per_s=1e6 / (latency + 2),
                   latency_mean_s=latency * MICRO)  # fmt: skip
        if latency_from_rate:
            client.warn(None, "latency_from_rate", "x")
        wal = report(run_id=f"r{repeat}", tool="pg_stat_wal", point="p", repeat=repeat)
        inner = (140 + slow + rng.normal(0, sd)) if sync is None else sync
        wal.add("operations", op="wal_sync", scope="total", n_ops=2000, latency_mean_s=inner / 2 * MICRO)
        disk = report(run_id=f"r{repeat}", tool="iostat", point="p", repeat=repeat)
        for i in range(2):
            disk.add("device_series", device="vda", time_s=i + 1.0, window_s=1.0, writes_per_s=2000.0,
                     flushes_per_s=1000.0, write_await_s=50e-6, flush_await_s=40e-6, busy_ratio=0.5)  # fmt: skip
        made += [client, wal, disk]
    return tables(*made)


INSERT = {"layer": "client", "level": "insert", "instrument": "operation_mean", "tool": "pgbench", "op": "transaction"}
SYNC = {"layer": "sync", "instrument": "operation_time", "tool": "pg_stat_wal", "op": "wal_sync",
        "per": {"tool": "pgbench", "op": "transaction"}}  # fmt: skip
ELAPSED = {"instrument": "elapsed", "tool": "pgbench", "op": "transaction"}


def test_repeats_are_the_batches_and_layers_are_paired():
    frames = repeats(100)
    found = budget(spec([INSERT | {"point": "p"}, SYNC | {"point": "p"}], elapsed=ELAPSED | {"point": "p"}), frames)
    assert found.layers[0].measured.n == 100
    # The 20 µs that whole repeats differ by cancel in the layer: only 3 µs of each remain.
    assert found.layers[0].own.standard / MICRO == pytest.approx(math.hypot(3, 3) / 10, rel=0.25)
    assert found.layers[1].own.standard / MICRO == pytest.approx(math.hypot(20, 3) / 10, rel=0.25)
    assert (found.residual.value / MICRO, found.residual_verdict) == (pytest.approx(2.0), OUTSIDE)
    assert not any(part.is_incomplete for part in found.layers)


def test_a_single_run_of_counters_is_named_incomplete_and_not_judged_against_another_run():
    frames = repeats(2)
    layers = [INSERT | {"run": "r1"}, SYNC | {"run": "r1"}]
    other = {key: value for key, value in (INSERT | {"run": "r2"}).items() if key not in ("layer", "level")}
    found = budget(spec(layers, checks=[{"check": "again", "one": {"level": "insert"}, "other": other}]), frames)
    assert found.layers[0].is_incomplete
    assert found.checks[0].verdict == UNJUDGED
    assert "incomplete, as an instrument kept no scatter, in “client”, “sync”" in found.sentence()
    elsewhere = [INSERT | {"run": "r1"}, SYNC | {"run": "r2"}]
    assert budget(spec(elsewhere), repeats(2, sync=500)).layers[0].verdict == UNJUDGED
    assert budget(spec(layers), repeats(2, sync=500)).layers[0].verdict == CONTRADICTION


def test_an_elapsed_time_that_the_latency_came_from_is_circular():
    frames = repeats(3, latency_from_rate=True)
    found = budget(spec([INSERT | {"point": "p"}, SYNC | {"point": "p"}], elapsed=ELAPSED | {"point": "p"}), frames)
    assert found.residual_verdict == CIRCULAR
    assert any("1 / rate" in warning for warning in found.warnings)


def test_what_is_not_there_is_said_with_its_place():
    frames = repeats(2)
    with pytest.raises(
        AnalysisError,
        match=r"spec: layers\[1\] \(client\): instrument 'operation_mean' .*the run 'r9'; there are r1, r2",
    ):
        budget(spec([INSERT | {"run": "r9"}, SYNC | {"run": "r1"}]), frames)
    with pytest.raises(AnalysisError, match="runs of the point 'q'; there are p"):
        budget(spec([INSERT | {"point": "q"}, SYNC | {"run": "r1"}]), frames)
    with pytest.raises(AnalysisError, match="one row of operations for pgbench commit, found 0; there are"):
        budget(spec([INSERT | {"op": "commit", "run": "r1"}, SYNC | {"run": "r1"}]), frames)
    with pytest.raises(AnalysisError, match=r"there are rows \["):
        budget(spec([layer("a", figure("nowhere")), layer("b", figure("insert"))]), published(*ARTICLE))
    with pytest.raises(AnalysisError, match="expected a figure of each run, found none in r1"):
        frames["operations"]["latency_mean_s"] = np.nan
        budget(spec([INSERT | {"run": "r1"}, SYNC | {"run": "r1"}]), frames)
    with pytest.raises(AnalysisError, match="confidence"):
        budget(spec(LAYERS), published(*ARTICLE), 1.0)
