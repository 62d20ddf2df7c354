"""Profiles against what perf and other people's collapsers made of the same samples."""

from pathlib import Path

import pytest

import pipeline
from pipeline.analyse.processors.flame import flame
from pipeline.analyse.processors.hotspots import hot_spots
from pipeline.analyse.processors.profiles import stack_profile, symbol_profile
from pipeline.analyse.processors.sample_classes import UNCLASSIFIED, classified
from pipeline.report.class_rules import load_class_rules

RAW = Path(__file__).parents[2] / "data" / "raw" / "2026-11-fio-perf"
RUNS = ["lab-kvm-fio-psync-qd1-r1", "lab-kvm-fio-io_uring-qd32-r3"]


def one_side(path):
    tables = pipeline.read(path)
    return tables, {"side": [tables.runs["run_id"].iloc[0]]}


@pytest.mark.parametrize("run", RUNS)
def test_perf_report_and_perf_script_count_the_same_samples(run):
    tables = pipeline.read(RAW / run)
    sides = {"side": [run]}
    report = symbol_profile(tables, sides).frame
    script = symbol_profile({**tables, "perf_hotspots": tables["perf_hotspots"].iloc[:0]}, sides).frame
    by_report = report[report["privilege"] == "k"].groupby(["run_id", "symbol"])["n_samples"].sum()
    by_script = script.groupby(["run_id", "symbol"])["n_samples"].sum()
    known = by_report.drop("[unknown]", level="symbol", errors="ignore")
    assert len(known) > 100
    # A name of the kernel may be one of user code too: those of the script can only be more.
    assert (by_script.reindex(known.index) >= known).all()
    assert (by_script.reindex(known.index) == known).mean() > 0.99
    assert report["n_samples"].sum() == script["n_samples"].sum()


@pytest.mark.parametrize(
    "collapsed", ["folded/own61_a_g_cpuclock_fio.folded", "folded/own61_a_g_cpuclock_fio-all.folded"]
)
def test_flame_graphs_of_a_script_and_of_the_collapsers_output_agree(samples, collapsed):
    flames = []
    for path in ("script/own61_a_g_cpuclock_fio.txt.zst", collapsed):
        tables, sides = one_side(samples / "perf" / path)
        profile = stack_profile(tables, sides)
        stacks = profile.frame["stack"].str.replace(r"_\[[kij]\]", "", regex=True)
        profile.frame["stack"] = stacks
        frame = flame(profile, "side", min_share=0.002).frame
        parents = dict(zip(frame["id"], frame["parent"], strict=True))
        names = dict(zip(frame["id"], frame["name"].str.replace(" ", "_"), strict=True))

        def path_of(node, parents=parents, names=names):
            return (*path_of(parents[node]), names[node]) if node else ()

        flames.append({path_of(node): share for node, share in zip(frame["id"], frame["share_ratio"], strict=True)})
    # The collapser takes `deleted)` for the file of some mappings (see test_perf_stacks).
    assert len(set(flames[0]) ^ set(flames[1])) <= 4
    both = set(flames[0]) & set(flames[1])
    assert len(both) > 200
    assert max(abs(flames[0][path] - flames[1][path]) for path in both) < 1e-3


@pytest.mark.parametrize(
    ("path", "unclassified"),
    [("ours/perf/report/own61_nocg.txt", 0.01), ("published/perf/report/lkp__perf-profile__1", 0.01),
     ("published/perf/report/lkp__perf-profile__2", 0.01), ("published/perf/report/legale__perf_report.txt", 0.01)],
)  # fmt: skip
def test_other_peoples_profiles_are_classified_and_refuse_intervals(samples, path, unclassified):
    tables, sides = one_side(samples.parent / path)
    profile = classified(symbol_profile(tables, sides, tables.perf_hotspots["event"].iloc[0]), load_class_rules())
    found = hot_spots(profile, by=["class"])
    shares = found.shares.set_index("class")["share_ratio"]
    assert shares.get(UNCLASSIFIED, 0.0) <= unclassified
    assert shares.sum() == pytest.approx(tables.perf_hotspots["overhead_ratio"].sum(), abs=1e-9)
    assert found.shares["low_ratio"].isna().all()
    assert "no sample counts are known" in found.sentence()
