"""Names made alike, events kept apart, and what a profile refuses."""

import pytest
from frames import report, tables
from profile_frames import hotspots, stacks

from pipeline.analyse.processors.profiles import object_name, runs_of_points, stack_profile, symbol_name, symbol_profile
from pipeline.errors import AnalysisError


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("finish_task_switch.isra.0", "finish_task_switch"),
        ("drop_buffers.constprop.0", "drop_buffers"),
        ("kmem_cache_alloc.part.12.isra.3.cold", "kmem_cache_alloc"),
        ("0x000000000002a7b7", "[unknown]"),
        ("0xffffffff81000130", "[unknown]"),
        ("00007f3a12345678", "[unknown]"),
        ("[unknown]", "[unknown]"),
        ("", "[unknown]"),
        ("vfs_read_[k]", "vfs_read"),
        ("facade", "facade"),  # letters alone are a name
        ("operator new(unsigned long)", "operator new(unsigned long)"),
        ("std::vec<int>::part", "std::vec<int>::part"),
    ],
)
def test_symbol_names(symbol, name):
    assert symbol_name(symbol) == name


@pytest.mark.parametrize(
    ("shared_object", "name"),
    [
        ("[kernel.kallsyms]", "[kernel]"),
        ("[kernel.vmlinux]", "[kernel]"),
        ("/usr/lib/debug/boot/vmlinux-6.1.0-13-amd64", "[kernel]"),
        ("[guest.kernel.kallsyms]", "[guest.kernel.kallsyms]"),
        ("[nvme]", "[nvme]"),
        ("/lib/modules/6.1.0/kernel/drivers/nvme/host/nvme-core.ko.xz", "[nvme_core]"),
        ("/usr/lib/x86_64-linux-gnu/libc.so.6", "libc.so.6"),
        ("/opt/prog (deleted)", "prog"),
        ("[vdso]", "[vdso]"),
        ("fio", "fio"),
    ],
)
def test_object_names(shared_object, name):
    assert object_name(shared_object) == name


def test_rows_of_one_name_add_up_and_runs_stay_apart():
    made = tables(
        hotspots("a", ("f.isra.0", 3), ("f", 4), ("g", 3)),
        hotspots("b", ("f.isra.1", 5), ("g", 5), shared_object="/boot/vmlinuz-6.1"),
    )
    profile = symbol_profile(made, {"one": ["a"], "two": ["b"]})
    found = profile.frame.set_index(["run_id", "symbol"])["n_samples"].to_dict()
    assert found == {("a", "f"): 7, ("a", "g"): 3, ("b", "f"): 5, ("b", "g"): 5}
    assert set(profile.frame["shared_object"]) == {"[kernel]"}
    assert profile.runs("two") == ["b"]


def test_a_null_count_makes_the_sum_null():
    profile = symbol_profile(tables(hotspots("a", ("f", 3), ("f.part.0", None))), {"one": ["a"]})
    assert profile.frame["n_samples"].isna().all()
    assert not profile.has_counts


def test_leaves_of_stacks_are_the_symbols():
    made = tables(stacks("a", ("main;read_[k];f_[k]", 3), ("main", 2), (None, 1)))
    frame = symbol_profile(made, {"one": ["a"]}).frame
    assert [(row["symbol"], row["n_samples"]) for row in frame.to_dict("records")] == [
        ("f", 3),
        ("main", 2),
        ("[unknown]", 1),
    ]
    assert list(frame["privilege"].fillna("")) == ["k", "", ""]


def test_neighbouring_unknown_frames_become_one():
    made = tables(
        stacks("a", ("[unknown];0x00000000deadbee0;main;0x00007f0012345678;f", 3), ("[unknown];main;[unknown];f", 2))
    )
    frame = stack_profile(made, {"one": ["a"]}).frame
    assert frame[["stack", "n_samples"]].to_dict("records") == [{"stack": "[unknown];main;[unknown];f", "n_samples": 5}]


def test_several_events_are_refused_until_one_is_chosen():
    made = tables(hotspots("a", ("f", 3), {"symbol": "f", "n_samples": 9, "event": "instructions"}))
    with pytest.raises(AnalysisError, match="several events"):
        symbol_profile(made, {"one": ["a"]})
    assert symbol_profile(made, {"one": ["a"]}, "instructions").frame["n_samples"].sum() == 9


@pytest.mark.parametrize(
    ("sides", "message"),
    [({"one": ["a"], "two": ["z"]}, r"none of \['two'\]"), ({"one": ["a"], "two": ["a"]}, "two sides")],
)
def test_sides_that_make_no_sense(sides, message):
    with pytest.raises(AnalysisError, match=message):
        symbol_profile(tables(hotspots("a", ("f", 3))), sides)


def test_points_have_their_runs_and_an_unknown_one_is_named():
    made = tables(hotspots("a1", ("f", 1), point="x"), hotspots("a2", ("f", 1), point="x"), report("b1", point="y"))
    assert runs_of_points(made, ["x", "y"]) == {"x": ["a1", "a2"], "y": ["b1"]}
    with pytest.raises(AnalysisError, match=r"\['z'\]; there are points \['x', 'y'\]"):
        runs_of_points(made, ["x", "z"])


def test_hidden_rows_clocks_and_missing_runs_are_said():
    hidden = symbol_profile(tables(hotspots("a", ("f", 900), header="2K")), {"one": ["a"]})
    assert "percent limit hides rows): a" in hidden.warnings[0]
    assert not symbol_profile(tables(hotspots("a", ("f", 2600), header="2K")), {"one": ["a"]}).warnings
    clock = symbol_profile(tables(hotspots("a", ("f", 9), event="cpu-clock:u")), {"one": ["a", "gone"]})
    assert "left out: gone" in clock.warnings[0]
    assert "interrupts off" in clock.warnings[1]


def test_the_last_screen_of_perf_top_counts():
    rows = [
        {"symbol": "f", "overhead_ratio": share, "labels": f'{{"screen": "{n}"}}'} for n, share in ((1, 0.2), (2, 0.6))
    ]
    profile = symbol_profile(tables(hotspots("a", *rows)), {"one": ["a"]})
    assert list(profile.frame["overhead_ratio"]) == [0.6]
    assert "last one" in profile.warnings[-1]
