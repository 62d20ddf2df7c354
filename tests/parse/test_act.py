"""The reader of ACT's logs: what must hold for any log, whole, cut, shuffled or changed."""

from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.errors import ParseError
from pipeline.parse._source import Source
from pipeline.parse.act import act
from pipeline.tidy import tables_of

HERE = Path(__file__).parent / "act"
LOGS = sorted(path for path in HERE.glob("*/*.log*") if (path.parent / "expected.yaml").stat().st_size)
OLD = (HERE / "v2-written-by-its-source" / "act.log").read_text()
NEW = (HERE / "gave-up-cache-threads-of-index" / "index66_overload.log").read_text()
WHOLE = (HERE / "only-reads" / "storage66_readonly.log").read_text()


def read(text):
    """Checked tables, or None for a ParseError."""
    try:
        reports = act.parse(Source("x.log", text.encode()))
    except ParseError:
        return None
    for report in reports:
        report.describe(run_id="x")
    return tables_of(reports)


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.parent.name)
def test_bins_add_up_to_the_operations(path):
    try:
        reports = act.parse(Source(path))
    except ParseError:
        return
    for number, report in enumerate(reports):
        report.describe(run_id=str(number))
    tables = tables_of(reports)
    keys = ["run_id", "job", "op"]
    assert (
        tables.latency_bins.groupby(keys)["count"].sum().to_dict()
        == tables.operations.set_index(keys)["n_ops"].to_dict()
    )
    assert (tables.latency_bins["lower_s"] < tables.latency_bins["upper_s"]).all()
    assert (tables.latency_bins["interval_start_s"] < tables.latency_bins["interval_end_s"]).all()


@pytest.mark.parametrize("text", [OLD, NEW, WHOLE], ids=["2.0", "gave-up", "6.6"])
def test_a_cut_log_is_never_complete(text):
    for end in (*range(0, 900), *range(900, len(text.rstrip()), 13), *range(len(text) - 200, len(text.rstrip()))):
        try:
            reports = act.parse(Source("x.log", text[:end].encode()))
        except ParseError:
            continue
        assert not any(report.run["is_complete"] for report in reports), end


def test_blank_lines_at_the_end_do_not_matter():
    for text in (OLD, WHOLE):
        assert read(text.rstrip()).runs["is_complete"].all()
        assert read(text.rstrip()).operations.equals(read(text).operations)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_changed_logs_give_tables_or_a_parse_error(data):
    lines = data.draw(st.sampled_from([OLD, NEW])).split("\n")
    for _ in range(data.draw(st.integers(1, 6))):
        here, there = (data.draw(st.integers(0, len(lines) - 1)) for _ in range(2))
        match data.draw(st.sampled_from(["swap", "drop", "copy", "digits", "noise"])):
            case "swap":
                lines[here], lines[there] = lines[there], lines[here]
            case "drop":
                lines[here] = ""
            case "copy":
                lines.insert(here, lines[there])
            case "digits":
                lines[here] = "".join(data.draw(st.sampled_from("09x٣")) if c.isdigit() else c for c in lines[here])
            case "noise":
                lines[here] = data.draw(st.text(max_size=20)) + lines[here]
    read("\n".join(lines))


def test_lines_in_any_order():
    lines = NEW.split("\n")
    for step in (3, 5, 7, 11):
        read("\n".join(lines[i] for start in range(step) for i in range(start, len(lines), step)))


def test_a_message_between_the_lines_changes_no_figure():
    lines = NEW.split("\n")
    tables = read(NEW)
    for here in range(lines.index("after 1 sec:") + 1, len(lines) - 2, 5):
        found = read("\n".join([*lines[:here], "ERROR: writing /dev/loop15: 5 'x'", *lines[here:]]))
        assert found.latency_bins.equals(tables.latency_bins)
        assert found.operations.loc[found.operations["op"] == "write", "n_errors"].tolist() == [1, 1]
        assert found.operations.loc[found.operations["op"] == "read", "n_errors"].tolist() == [0, 0]


@pytest.mark.parametrize("size", [700, 5000, 1 << 16])
@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.parent.name)
def test_the_size_of_the_chunks_does_not_matter(path, size, monkeypatch):
    text = Source(path).text
    whole = read(text)
    blocks = Source.blocks
    monkeypatch.setattr(Source, "blocks", lambda source: blocks(source, size))
    cut = read(text)
    if whole is None:
        assert cut is None
        return
    for name, frame in whole.items():
        keys = [column for column in frame.columns if column not in ("count", "value")]
        if name in ("latency_bins", "metric_series"):
            in_order = (one.sort_values(keys, ignore_index=True) for one in (frame, cut[name]))
            pd.testing.assert_frame_equal(*in_order)
        else:
            pd.testing.assert_frame_equal(frame, cut[name])


def test_counts_of_eleven_digits_are_read():
    block = "reads ({0} total)\n (00: {0:010}) (13: 0000000000)\n\n"
    header = WHOLE[: WHOLE.index("after 1 sec:")]
    counts = (9_999_999_999, 10_000_000_000, 123_456_789_012)
    text = header + "".join(f"after {i} sec:\n" + block.format(count) for i, count in enumerate(counts, 1))
    assert read(text).latency_bins["count"].tolist() == [9_999_999_999, 1, 113_456_789_012]
