"""act_latency.py's tables against ``latency_table``: equal from ACT 5.0 on, for the histogram that is judged."""

import re
import shlex

import pipeline
from pipeline.analyse.act.certification import certify
from pipeline.analyse.act.table import latency_table


def arguments_of(text):
    """Slice and number of thresholds of the command line that the script echoes; None where it shows others."""
    words = shlex.split(text.split("\n", 1)[0])[1:]
    options = dict(zip(words[::2], words[1::2], strict=False))
    if "-x" in words or "-h" in words or "-s" in words or "-e" in words:
        return None
    return float(options.get("-t", 3600)), int(options.get("-n", 7))


def test_the_scripts_tables(samples):
    tried = 0
    for path in sorted((samples / "act").glob("*.lat_*.txt")):
        text = path.read_text("utf-8")
        version = float(re.search(r"(?i)act version (\d+\.\d+)", text)[1])
        arguments = arguments_of(text) if version >= 5 else None
        printed = dict(re.findall(r"^ *(\d+|avg|max)((?: +\d+\.\d+)+)$", text, re.MULTILINE))
        if arguments is None or not printed:
            continue
        slice_s, n = arguments
        tables = pipeline.read(path.with_name(path.name.split(".lat_")[0] + ".log"), tool="act")
        ours = latency_table(tables, tables["runs"]["run_id"].iloc[0], slice_s=slice_s, n_thresholds=n).printed()
        expected = {label: re.findall(r"\d+\.\d+", figures)[:n] for label, figures in printed.items()}
        assert ours == expected, path.name
        tried += 1
    assert tried >= 12


def test_minutes_of_15_at_1x(samples):
    tables = pipeline.read(samples / "act" / "storage66_1dev_1x_ms_900s.log", tool="act")
    result = certify(tables, slice_s=60)
    judged = result.slices[result.slices["threshold_s"] == 0.001]
    assert [round(share * 100, 2) for share in judged["over_low_ratio"]][:5] == [3.64, 9.13, 10.60, 22.15, 24.07]
    assert list(judged.loc[judged["outcome"] == "within", "slice"]) == [1, 14]
    assert certify(tables).frame["verdict"].iloc[0] == "not certifiable"
