"""Figures of profiles and processors: what they show, also where there are no intervals, and escaped names."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "analyse"))

from frames import report, tables
from profile_frames import hotspots, stacks

from pipeline.analyse.processors.flame import flame, flame_difference
from pipeline.analyse.processors.hotspots import hot_spots
from pipeline.analyse.processors.profiles import stack_profile, symbol_profile
from pipeline.analyse.processors.saturation import saturation
from pipeline.errors import AnalysisError
from pipeline.report.figures.cpu import busiest_figure, cpu_heat_map
from pipeline.report.figures.perf import differences_figure, flame_difference_figure, flame_figure, shares_figure

NAME = "std::vec<b>x&y"


def test_flame_graphs_are_as_wide_as_their_shares_and_escape_names():
    made = tables(stacks("a", (f"main;{NAME}", 60), ("main", 40)), stacks("b", (f"main;{NAME}", 10), ("main", 90)))
    profile = stack_profile(made, {"one": ["a"], "two": ["b"]})
    (trace,) = flame_figure(flame(profile, "one", 0), title="t").data
    assert list(trace.values) == [1, 1, 1, pytest.approx(0.6)]
    assert trace.branchvalues == "total"
    assert trace.labels[-1] == "std::vec&lt;b&gt;x&amp;y"
    assert "60.00%" in trace.hovertext[-1]
    assert "<b>" not in trace.hovertext[-1]
    (trace,) = flame_difference_figure(flame_difference(profile, "one", "two", 0), title="t").data
    assert list(trace.marker.colors) == pytest.approx([0, 0, 0, -50])
    assert "-50.00 points" in trace.hovertext[-1]


def test_frames_whose_difference_does_not_stand_have_no_colour():
    made = tables(stacks("a", ("f", 3), ("g", 2)), stacks("b", ("f", 2), ("g", 3)))
    found = flame_difference(stack_profile(made, {"one": ["a"], "two": ["b"]}), "one", "two", 0)
    (trace,) = flame_difference_figure(found, title="t").data
    assert set(trace.marker.colors) == {0}


def test_shares_and_differences_with_and_without_intervals():
    made = tables(hotspots("a", ("f", 60), (NAME, 40)), hotspots("b", ("f", 10), (NAME, 90)))
    spots = hot_spots(symbol_profile(made, {"one": ["a"], "two": ["b"]}))
    bars = shares_figure(spots, title="t").data
    assert [bar.name for bar in bars] == ["two", "one"]
    assert "&lt;b&gt;" in str(bars[0].y)
    names = [trace.name for trace in differences_figure(spots, title="t").data]
    assert names == ["higher after Holm", "lower after Holm"]
    rows = [{"symbol": "f", "overhead_ratio": 0.6}, {"symbol": "g", "overhead_ratio": 0.4}]
    alone = hot_spots(symbol_profile(tables(hotspots("a", *rows), hotspots("b", *rows)), {"one": ["a"], "two": ["b"]}))
    assert [trace.name for trace in differences_figure(alone, title="t").data] == ["no interval"]


def test_processors_over_time_in_the_order_of_their_numbers():
    made = report("r", "mpstat")
    for cpu in ("10", "9", "0"):
        for time in (1.0, 2.0):
            made.add("cpu_usage", cpu=cpu, time_s=time, window_s=1.0, busy_ratio=0.5, user_ratio=0.5)
    found = saturation(tables(made))
    (trace,) = cpu_heat_map(found, "r", title="t").data
    assert list(trace.y) == ["CPU 0", "CPU 9", "CPU 10"]
    assert [bar.name for bar in busiest_figure(found, title="t").data][:5] == [
        "user",
        "kernel",
        "irq",
        "softirq",
        "steal",
    ]
    with pytest.raises(AnalysisError, match="gone: expected processors over time"):
        cpu_heat_map(found, "gone", title="t")
