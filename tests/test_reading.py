"""Run folders: logs beside a report become part of it, equal keys are numbered, the rest of a batch is read."""

import os
from pathlib import Path

import pytest

import pipeline
from pipeline.__main__ import main
from pipeline.campaign import MANIFEST, Manifest
from pipeline.errors import ParseError, SpecError
from pipeline.joining import Run, join

PGBENCH = Path(__file__).parent / "parse" / "pgbench"


def sample(case):
    (path,) = [path for path in (PGBENCH / case).iterdir() if path.suffix != ".yaml"]
    return path.read_bytes()


@pytest.fixture
def folder(tmp_path):
    def fill(with_manifest=True, **files):
        for name, data in files.items():
            (tmp_path / f"{name}.txt").write_bytes(data)
        if with_manifest:
            Manifest("h-pgbench-p-r1", "c", "h", "pgbench", "p", 1, command="pgbench", exit_status=0).save(tmp_path)
        return tmp_path

    return fill


def test_a_run_folder_shares_the_manifests_run_id_and_command(folder):
    tables = pipeline.read(folder(out=sample("average_from_rate")))
    run = tables.runs.iloc[0]
    assert (run["run_id"], run["campaign"], run["host"], run["point"]) == ("h-pgbench-p-r1", "c", "h", "p")
    assert (run["repeat"], run["command"], run["exit_status"]) == (1, "pgbench", 0)


def test_progress_beside_the_summary_is_part_of_the_run(folder):
    tables = pipeline.read(folder(out=sample("average_from_rate"), err=sample("stderr_alone")))
    assert list(tables.runs["is_complete"]) == [True]
    assert "no_summary" not in set(tables.warnings["code"])
    assert len(tables.throughput_series) > 0
    assert set(tables.throughput_series["run_id"]) == {"h-pgbench-p-r1"}


def test_progress_alone_is_incomplete(folder):
    for with_manifest in (True, False):
        tables = pipeline.read(folder(with_manifest, err=sample("stderr_alone")))
        assert list(tables.runs["is_complete"]) == [False]
        assert "no_summary" in set(tables.warnings["code"])
        (folder(with_manifest) / MANIFEST).unlink(missing_ok=True)


def test_two_reports_of_one_tool_in_a_run_folder_are_numbered(folder):
    tables = pipeline.read(folder(a=sample("average_from_rate"), b=sample("average_from_rate")))
    assert list(tables.runs["run_id"]) == ["h-pgbench-p-r1#1", "h-pgbench-p-r1#2"]
    assert set(tables.operations["run_id"]) == {"h-pgbench-p-r1#1", "h-pgbench-p-r1#2"}


def test_equal_names_of_other_folders_are_told_apart(tmp_path):
    for name in ("x/err.txt", "y/err.txt", "z/err.txt", "z/err#1.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(sample("stderr_alone"))
    tables = pipeline.read(tmp_path)
    assert list(tables.runs["run_id"]) == ["err#2", "err#3", "err#1", "err#4"]
    assert set(tables.runs["is_complete"]) == {False}
    assert tables.throughput_series.groupby("run_id").size().nunique() == 1


def run(file, run_id="out", **more):
    fields = {"tool": "fio", "home": None, "needs_home": False, "has_manifest": False}
    return Run(file, run_id, **{**fields, **more})


def test_a_log_belongs_to_the_report_of_its_own_folder():
    runs = [run("x/a.log", home="x/out.json"), run("x/b.log", home="x/out.json"),
            run("y/a.log", home="y/out.json"), run("y/out.json"), run("z/out.json")]  # fmt: skip
    join(runs)  # x/out.json could not be read
    assert [one.run_id for one in runs] == ["out#1", "out#1", "out#2", "out#2", "out#3"]
    assert [one.is_part for one in runs] == [False, True, True, False, False]


def test_a_log_belongs_to_the_report_that_its_own_manifest_names():
    runs = [run(f"{folder}/{name}", "r1", needs_home=name == "err", has_manifest=True)
            for folder in ("x", "y") for name in ("err", "out")]  # fmt: skip
    join(runs)
    assert [(one.run_id, one.is_part, one.is_alone) for one in runs] == [
        ("r1#1", True, False), ("r1#1", False, False), ("r1#2", True, False), ("r1#2", False, False)]  # fmt: skip


def test_each_file_of_a_folder_that_gave_no_report_is_named_in_a_warning(tmp_path):
    (tmp_path / "out.txt").write_bytes(sample("average_from_rate"))
    (tmp_path / "note.txt").write_bytes(b"nothing that a tool writes\n")
    (tmp_path / "cut.json").write_bytes(b'{"fio version": "fio-3.36", "jobs": [')
    tables = pipeline.read(tmp_path)
    assert list(tables.runs["run_id"]) == ["out"]
    rows = tables.warnings[tables.warnings["tool"] == "unknown"].set_index("run_id")
    assert dict(rows["code"]) == {"cut": "not_readable", "note": "not_read"}
    assert rows.loc["note", "message"] == "expected a known log, found nothing that a tool writes"
    assert rows.loc["note", "line"] == 1
    assert rows.loc["cut", "source_path"].endswith("cut.json")


def test_a_file_that_gave_no_report_is_of_its_folders_run(folder):
    place = folder(out=sample("average_from_rate"), note=b"nothing that a tool writes\n")
    assert dict(pipeline.read(place).warnings.set_index("code")["run_id"])["not_read"] == "h-pgbench-p-r1"


def test_errors_name_path_and_what_was_expected(folder, tmp_path):
    place = folder(with_manifest=False, note=b"nothing that a tool writes\n")
    with pytest.raises(ParseError, match=r"note\.txt:1: expected a known log, found nothing that a tool writes"):
        pipeline.read(place / "note.txt")
    with pytest.raises(ParseError, match="expected a known log"):
        pipeline.read(place)
    with pytest.raises(ParseError, match="nothing there"):
        pipeline.read(tmp_path / "absent")
    with pytest.raises(ParseError, match=r"expected lines of pgbench -l|expected .*pgbench"):
        pipeline.read(place / "note.txt", tool="pgbench")
    with pytest.raises(SpecError, match="expected one of fio"):
        pipeline.read(place / "note.txt", tool="fyo")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ParseError, match="an empty folder"):
        pipeline.read(tmp_path / "empty")


def test_an_empty_file_says_so(tmp_path):
    (tmp_path / "e.json").write_bytes(b"")
    with pytest.raises(ParseError, match="found an empty file"):
        pipeline.read(tmp_path / "e.json")


def test_odd_names_and_links_in_a_folder_are_read(tmp_path):
    name = os.fsdecode(b"bad\xff\x1b[2J.txt")
    (tmp_path / name).write_bytes(sample("average_from_rate"))
    (tmp_path / "link.txt").symlink_to(tmp_path / name)
    tables = pipeline.read(tmp_path)
    assert sorted(tables.runs["run_id"]) == ["bad��[2J", "link"]
    assert all(path.isprintable() for path in tables.runs["source_path"])


@pytest.mark.parametrize("out", ["a-file", "a-file/below"])
def test_an_output_folder_that_cannot_be_is_told_in_one_line(folder, tmp_path, capsys, out):
    (tmp_path / "a-file").write_text("x")
    log = folder(out=sample("average_from_rate")) / "out.txt"
    assert main(["parse", str(log), "--out", str(tmp_path / out)]) == 1
    assert "error: " in capsys.readouterr().err
