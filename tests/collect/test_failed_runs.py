"""Runs that did not end well: they are read as far as they go, they show, and they are never taken for whole."""

import json
import shutil
from pathlib import Path

import pytest

import pipeline
from pipeline import batch, tidy
from pipeline.campaign import MANIFEST, STATES, Manifest, RawFile
from pipeline.errors import CollectError, ParseError, SpecError
from pipeline.ledger import Ledger
from pipeline.report import site

CASES = Path(__file__).parents[1] / "parse"
WHOLE = CASES / "diskspd_xml/three-targets/result.xml"
CUT = CASES / "diskspd_xml/interrupted/result.xml"
MONITOR = CASES / "iostat_text/killed_between_devices/iostat.txt"
HOSTILE = "<script>alert(1)</script>"


@pytest.fixture
def project(tmp_path):
    (tmp_path / "data/campaigns").mkdir(parents=True)
    (tmp_path / "data/campaigns/index.yaml").write_text("campaigns: {camp: {}}\n")
    (tmp_path / "data/campaigns/camp.yaml").write_text("title: A campaign\n")
    return tmp_path


def take(project, run_id, state, logs=(), exit_status=None, **more):
    """A run folder as ``pull`` makes it: logs, and what the agent wrote beside them."""
    folder = project / "data/raw/camp" / run_id
    folder.mkdir(parents=True)
    for log in logs:
        shutil.copy(log, folder / log.name)
    (folder / "status").write_text(f"{state}\n")
    (folder / "measure.sh").write_text("#!/bin/sh\nexec diskspd\n")
    names = {log.name for log in logs}
    files = tuple(RawFile.of(path, is_log=path.name in names) for path in sorted(folder.iterdir()))
    Manifest(
        run_id, "camp", "db1", "diskspd", "qd8", 1, f"diskspd {HOSTILE}", "2026-11-01T10:00:00Z", exit_status, files,
        state=state, stopped_at="2026-11-01T10:01:00Z", **more,
    ).save(folder)  # fmt: skip
    return folder


def parsed(project):
    assert batch.parse_campaign("camp", project) == 0
    return tidy.load("camp", project)


def test_a_run_without_any_log_has_a_row_and_a_warning(project, capsys):
    for number, state in enumerate(STATES[1:]):
        take(project, f"db1-diskspd-qd{number}-r1", state, exit_status=number or None)
    tables = parsed(project)
    runs = tables.runs.set_index("state")
    assert sorted(runs.index) == sorted(STATES[1:])
    assert not runs["is_complete"].any()
    assert set(runs["tool"]) == {"diskspd"}
    assert runs["duration_s"].isna().all()
    assert runs.loc["timed_out", "exit_status"] == 1
    assert len(tables.operations) == 0
    assert sorted(tables.warnings["code"]) == sorted(f"run_{state}" for state in STATES[1:])
    assert "found: timed out, exit status 1" in " ".join(tables.warnings["message"])
    assert "not read" not in capsys.readouterr().err


def test_what_the_agent_wrote_is_listed_and_no_reader_is_asked_for_it(project, capsys):
    folder = take(project, "db1-diskspd-qd8-r1", "complete", [WHOLE], 0)
    tables = parsed(project)
    files = tables["files"].set_index("path")
    assert files.loc[f"{folder.name}/status", "status"] == "not_a_log"
    assert files.loc[f"{folder.name}/result.xml", "status"] == "read"
    assert files.loc[f"{folder.name}/status", "n_bytes"] == len("complete\n")
    assert len(files) == 3
    assert "not read" not in capsys.readouterr().err
    (run,) = tables.runs.to_dict("records")
    assert (run["state"], run["attempt"], run["is_complete"]) == ("complete", 1, True)
    assert not tables.warnings["code"].str.startswith("run_").any()


def test_a_changed_or_lost_record_is_still_told(project):
    folder = take(project, "db1-diskspd-qd8-r1", "complete", [WHOLE], 0)
    (folder / "status").write_text("failed\n")
    (folder / "measure.sh").unlink()
    assert {"changed_file", "lost_file"} <= set(parsed(project).warnings["code"])


@pytest.mark.parametrize("log", [WHOLE, CUT])
def test_a_failed_run_keeps_what_its_logs_hold_and_has_one_row_a_tool(project, log):
    take(project, "db1-diskspd-qd8-r1", "interrupted", [log, MONITOR])
    tables = parsed(project)
    runs = tables.runs.set_index("tool")
    assert sorted(runs.index) == ["diskspd", "iostat"]
    assert not runs["is_complete"].any()
    assert set(runs["state"]) == {"interrupted"}
    assert runs.loc["diskspd", "source_path"].endswith("result.xml")
    assert (tables.warnings["code"] == "run_interrupted").sum() == 1
    expected = pipeline.read(log)
    assert len(tables.operations) == len(expected.operations)
    assert len(tables.device_series) > 0


def test_read_sees_the_same_of_a_folder(project):
    folder = take(project, "db1-diskspd-qd8-r1", "failed", [WHOLE], 3)
    tables = pipeline.read(folder)
    assert list(tables.runs["is_complete"]) == [False]
    assert "run_failed" in set(tables.warnings["code"])
    assert len(pipeline.read(folder, tool="diskspd").runs) == 1


def test_attempts_are_runs_of_their_own(project):
    take(project, "db1-diskspd-qd8-r1", "failed", exit_status=1)
    take(project, "db1-diskspd-qd8-r1+a2", "complete", [WHOLE], 0, attempt=2)
    runs = parsed(project).runs.set_index("attempt")
    assert runs["state"].to_dict() == {1: "failed", 2: "complete"}
    assert runs["is_complete"].to_dict() == {1: False, 2: True}


def test_a_complete_run_without_a_log_is_told(project):
    take(project, "db1-diskspd-qd8-r1", "complete")
    with pytest.raises(ParseError, match="expected a log"):
        batch.parse_campaign("camp", project)
    with pytest.raises(ParseError, match="expected a log"):
        pipeline.read(project / "data/raw/camp")


def test_a_state_that_changes_is_not_taken_from_what_was_kept(project):
    folder = take(project, "db1-diskspd-qd8-r1", "failed", [WHOLE])
    assert list(parsed(project).runs["is_complete"]) == [False]
    content = json.loads((folder / MANIFEST).read_text())
    (folder / MANIFEST).write_text(json.dumps({**content, "state": "complete"}))
    assert list(parsed(project).runs["is_complete"]) == [True]


def test_a_manifest_of_before_loads_and_says_nothing_of_how_the_run_ended(project):
    folder = take(project, "db1-diskspd-qd8-r1", "complete", [WHOLE], 0)
    content = json.loads((folder / MANIFEST).read_text())
    for name in ("attempt", "state", "stopped_at"):
        del content[name]
    for file in content["files"]:
        del file["is_log"]
    (folder / MANIFEST).write_text(json.dumps(content))
    manifest = Manifest.load(folder / MANIFEST)
    assert (manifest.attempt, manifest.state, manifest.is_watched) == (1, "complete", False)
    assert manifest.may_be_log("status")
    assert parsed(project).runs["state"].isna().all()


@pytest.mark.parametrize(("name", "value"), [("state", "fine"), ("state", []), ("attempt", 0), ("attempt", "1")])
def test_a_manifest_with_another_state_is_refused(project, name, value):
    folder = take(project, "db1-diskspd-qd8-r1", "complete", [WHOLE])
    content = json.loads((folder / MANIFEST).read_text())
    (folder / MANIFEST).write_text(json.dumps({**content, name: value}))
    with pytest.raises(SpecError, match=f"{name}: expected"):
        Manifest.load(folder / MANIFEST)


def ledger(project, runs):
    (project / "data/campaigns/camp.ledger.json").write_text(
        json.dumps({"format": 1, "campaign": "camp", "runs": runs})
    )


def page(project):
    tables = parsed(project)
    row = site._campaign_page(
        "camp", {"title": "A campaign"}, tables, project, site._templates(), ledger=Ledger.load(project, "camp")
    )
    return row, (project / "campaign-camp.html").read_text("utf-8")


def entry(**more):
    return {
        "host": "db1", "tool": "diskspd", "point": "qd8", "repeat": 1, "attempt": 1, "state": "failed",
        "exit_status": 1, "started_at": "2026-11-01T10:00:00Z", "stopped_at": "2026-11-01T10:01:00Z",
        "command": f"diskspd {HOSTILE}", "sha256": "0" * 64, "n_bytes": 4096, "ssh": "db1",
        "archive": f"/spool/{HOSTILE}.tar.zst", "work": "5" * 64, **more,
    }  # fmt: skip


def test_the_data_page_shows_failures_attempts_and_what_is_only_in_the_ledger(project):
    take(project, "db1-diskspd-qd8-r1", "timed_out", [CUT], 137)
    take(project, "db1-diskspd-qd8-r1+a2", "complete", [WHOLE], 0, attempt=2)
    ledger(project, {"db1-diskspd-qd8-r1": entry(), "db2-diskspd-qd8-r1": entry(host="db2", state="complete")})
    row, html = page(project)
    assert row["n_absent"] == 1
    assert '<strong class="bad">timed out</strong> <strong class="bad">exit 137</strong>' in html
    assert "<small>attempt 2</small>" in html
    absent = html[html.index('id="absent"') : html.index("Warnings of the readers")]
    assert "db2-diskspd-qd8-r1" in absent
    assert "db1-diskspd-qd8-r1" not in absent
    assert "0" * 64 in absent
    assert HOSTILE not in html
    assert "&lt;script&gt;alert(1)" in absent


def test_a_campaign_without_a_ledger_shows_none(project):
    take(project, "db1-diskspd-qd8-r1", "complete", [WHOLE], 0)
    row, html = page(project)
    assert row["n_absent"] == 0
    assert "absent" not in html


@pytest.mark.parametrize(
    "content",
    ["", "[]", "{}", '{"runs": []}', '{"runs": {"a": 1}}', '{"runs": {"a": {"host": 1}}}', '{"runs": {"a": {}}}',
     "\xff", '{"runs": {"a": {"host": "h", "tool": "t", "state": "s", "n_bytes": "1"}}}', "[" * 100000],
)  # fmt: skip
def test_a_broken_ledger_names_itself(project, content):
    (project / "data/campaigns/camp.ledger.json").write_text(content, "latin-1")
    with pytest.raises(CollectError, match=r"camp\.ledger\.json: "):
        Ledger.load(project, "camp")
