import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import pipeline
from pipeline import batch
from pipeline.__main__ import main
from pipeline.campaign import MANIFEST, Manifest, RawFile, load_index
from pipeline.errors import SpecError
from pipeline.importing import import_folder

PUBLISHED = Path(__file__).parent / "parse" / "published" / "ranges_and_bounds" / "table.yaml"


@pytest.fixture
def project(tmp_path, monkeypatch):
    (tmp_path / "data/campaigns").mkdir(parents=True)
    (tmp_path / "data/campaigns/index.yaml").write_text("campaigns: {}\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def logs(tmp_path):
    folder = tmp_path / "my logs"
    (folder / "sub; rm -rf $(HOME)").mkdir(parents=True)
    shutil.copy(PUBLISHED, folder / "a b.yaml")
    shutil.copy(PUBLISHED, folder / "sub; rm -rf $(HOME)" / "a b.yaml")
    (folder / "notes.txt").write_text("what I did\n")
    (folder / "link.yaml").symlink_to(PUBLISHED)
    return folder


def tree(folder):
    return {path.relative_to(folder): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_import_copies_logs_with_manifests_and_lists_the_campaign(project, logs, capsys):
    assert import_folder(logs, "my-disks", "db1", project) == 0
    raw = project / "data/raw/my-disks"
    assert sorted(path.name for path in raw.iterdir()) == [
        "db1-file-notes-r1",
        "db1-published-a-b-r1",
        "db1-published-sub-rm-rf-HOME-a-b-r1",
    ]
    manifest = Manifest.load(raw / "db1-published-a-b-r1" / MANIFEST)
    assert manifest.tool == "published"
    assert manifest.files == (RawFile.of(raw / "db1-published-a-b-r1" / "a-b.yaml", "a b.yaml"),)
    assert load_index(project) == ["my-disks"]
    assert yaml.safe_load((project / "data/campaigns/my-disks.yaml").read_text())["title"] == "my-disks: logs from db1"
    told = capsys.readouterr().out
    assert "1 links were not followed" in told
    assert "next: dvc repro" in told


def test_import_twice_changes_nothing(project, logs):
    import_folder(logs, "my-disks", "db1", project)
    before = tree(project / "data")
    import_folder(logs, "my-disks", "db1", project)
    assert tree(project / "data") == before


def test_a_new_content_under_an_old_name_is_the_next_repeat(project, logs):
    import_folder(logs, "my-disks", "db1", project)
    before = tree(project / "data/raw")
    log = logs / "a b.yaml"
    log.write_text(log.read_text() + "# grown\n")
    import_folder(logs, "my-disks", "db1", project)
    after = tree(project / "data/raw")
    assert before.items() <= after.items()
    assert (project / "data/raw/my-disks/db1-published-a-b-r2/a-b.yaml").is_file()


def test_nothing_of_a_users_folder_is_overwritten_or_mistaken(project, tmp_path):
    folder = tmp_path / "odd"
    for name in ("manifest.json", "fio-3.33/run.yaml", "fio-3.36/run.yaml", "日本.yaml", "中文.yaml"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(PUBLISHED.read_text("utf-8") + f"# {name}\n")
    import_folder(folder, "my-disks", "db1", project)
    raw = project / "data/raw/my-disks"
    manifests = [Manifest.load(path) for path in sorted(raw.glob("*/manifest.json"))]
    assert {manifest.repeat for manifest in manifests} == {1}
    assert len({manifest.point for manifest in manifests}) == 5
    for manifest in manifests:
        (file,) = manifest.files
        assert RawFile.of(raw / manifest.run_id / file.path, file.imported_from) == file
    import_folder(folder, "my-disks", "db2", project)  # the same logs of another host are that host's
    assert len(list(raw.iterdir())) == 10


def test_long_names_stay_names_that_are_read(project, tmp_path):
    folder = tmp_path / "odd"
    folder.mkdir()
    names = ["x" * 90 + "." + "y" * 144 + ".yaml", "z" * 240 + ".yaml", "z" * 241 + ".yaml"]
    for name in names:
        (folder / name).write_text(PUBLISHED.read_text("utf-8") + f"# {name}\n")
    import_folder(folder, "my-disks", "h" * 64, project)
    assert batch.parse_campaign("my-disks", project) == 0
    raw = project / "data/raw/my-disks"
    manifests = [Manifest.load(path) for path in raw.glob("*/manifest.json")]
    assert sorted(file.imported_from for manifest in manifests for file in manifest.files) == sorted(names)
    assert not [path for path in raw.rglob("*") if path.name.startswith(".")]


@pytest.mark.parametrize("inside", [".", "data", "data/raw/my-disks"])
def test_the_projects_own_data_is_not_imported(project, logs, inside):
    import_folder(logs, "my-disks", "db1", project)
    with pytest.raises(SpecError, match="the project's own data"):
        import_folder(project / inside, "other", "db1", project)


def test_a_broken_index_is_told_before_anything_is_copied(project, logs):
    (project / "data/campaigns/index.yaml").write_text("campaigns: [\n")
    with pytest.raises(SpecError, match=r"index\.yaml:\d+: expected YAML"):
        import_folder(logs, "my-disks", "db1", project)
    assert not (project / "data/raw").exists()


@pytest.mark.parametrize("slug", ["../x", "a/b", "", "X", "a b", "a;b", "a\nb", "2022", "ä", "-a", "index"])
def test_campaign_names_that_are_no_safe_folder_are_refused(project, logs, slug):
    with pytest.raises(SpecError, match="campaign: "):
        import_folder(logs, slug, "db1", project)
    assert not (project / "data/raw").exists()


@pytest.mark.parametrize("host", ["../x", "a/b", "", "$(id)", "-a", "a b"])
def test_host_names_that_are_no_safe_folder_are_refused(project, logs, host):
    with pytest.raises(SpecError, match="host: expected a name"):
        import_folder(logs, "my-disks", host, project)


def test_a_folder_without_logs_is_refused_and_leaves_nothing(project, tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "x.bin").write_bytes(b"\x00\x01")
    for folder in ("empty", "absent"):
        with pytest.raises(SpecError, match="expected"):
            import_folder(tmp_path / folder, "my-disks", "db1", project)
    assert load_index(project) == []
    assert not (project / "data/raw").exists()


def test_parse_campaign_names_files_states_and_changed_bytes(project, logs, capsys):
    import_folder(logs, "my-disks", "db1", project)
    raw = project / "data/raw/my-disks"
    (raw / "db1-published-a-b-r1" / "a-b.yaml").write_text("published: x\nexhibits: 3\n")
    assert batch.parse_campaign("my-disks", project) == 0
    from pipeline.tidy import load

    tables = load("my-disks", project)
    states = dict(zip(tables.files["path"], tables.files["status"], strict=True))
    assert states == {
        "db1-file-notes-r1/notes.txt": "not_read",
        "db1-published-a-b-r1/a-b.yaml": "changed",
        "db1-published-sub-rm-rf-HOME-a-b-r1/a-b.yaml": "read",
    }
    assert sorted(tables.warnings["code"]) == ["changed_file", "not_readable"]
    assert set(tables.runs["campaign"]) == {"my-disks"}
    assert "failed: data/raw/my-disks/db1-published-a-b-r1/a-b.yaml: expected exhibits" in capsys.readouterr().err


def test_a_lost_file_is_warned_of(project, logs):
    import_folder(logs, "my-disks", "db1", project)
    (project / "data/raw/my-disks/db1-file-notes-r1/notes.txt").unlink()
    batch.parse_campaign("my-disks", project)
    from pipeline.tidy import load

    assert list(load("my-disks", project).warnings["code"]) == ["lost_file"]


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '{"format": 2, "files": []}', '{"format": 1, "files": [], "run_id": "../x"}']
)
def test_a_broken_manifest_names_itself(tmp_path, content):
    path = tmp_path / MANIFEST
    path.write_text(content)
    with pytest.raises(SpecError, match=MANIFEST):
        Manifest.load(path)


def test_run_id_of_a_manifest_must_be_a_name(tmp_path):
    Manifest("ok-r1", "c", "h", "fio").save(tmp_path)
    content = json.loads((tmp_path / MANIFEST).read_text())
    (tmp_path / MANIFEST).write_text(json.dumps({**content, "run_id": "../../x"}))
    with pytest.raises(SpecError, match="run_id"):
        Manifest.load(tmp_path / MANIFEST)


def test_command_line_parses_and_reports_failures(logs, tmp_path, capsys):
    bad = tmp_path / "bad.yaml"
    bad.write_text("published: x\nexhibits: 3\n")
    assert main(["parse", str(logs), "--out", str(tmp_path / "ok")]) == 0
    assert (tmp_path / "ok/published.parquet").is_file()
    assert main(["parse", str(logs), str(bad), "--out", str(tmp_path / "some")]) == 1
    assert (tmp_path / "some/published.parquet").is_file()
    assert f"failed: {bad}: expected exhibits" in capsys.readouterr().err
    assert main(["parse", str(tmp_path / "absent"), "--out", str(tmp_path / "none")]) == 1
    assert not (tmp_path / "none").exists()
    assert main(["parse", str(bad), "--out", str(tmp_path / "none"), "--tool", "fyo"]) == 1
    assert "--tool: expected one of fio" in capsys.readouterr().err


def test_fios_logs_come_in_with_their_report(project, tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    report = {"fio version": "fio-3.33", "jobs": [{
        "jobname": "a", "error": 0, "job options": {"name": "a", "write_lat_log": "a", "rw": "read", "bs": "4k"},
        "read": {"io_bytes": 8192, "total_ios": 2, "runtime": 5, "iops": 400.0, "bw": 1600, "lat_ns":
                 {"min": 1000, "max": 3000, "mean": 2000.0, "stddev": 1000.0, "N": 2}}}]}  # fmt: skip
    (folder / "out.json").write_text(json.dumps(report))
    (folder / "a_lat.1.log").write_text("1, 1000, 0, 4096\n4, 3000, 0, 4096\n")
    assert import_folder(folder, "logs", "db1", project) == 0
    (run,) = [path for path in (project / "data/raw/logs").iterdir() if path.is_dir()]
    assert sorted(path.name for path in run.iterdir()) == ["a_lat.1.log", MANIFEST, "out.json"]
    tables = pipeline.read(project / "data/raw/logs")
    assert list(tables.runs["run_id"]) == [run.name]
    assert list(tables.latency_series["latency_s"]) == [1e-6, 3e-6]
    assert import_folder(folder, "logs", "db1", project) == 0
    assert len(list((project / "data/raw/logs").iterdir())) == 1


def test_campaigns_of_two_processes_are_all_in_the_index(project):
    """``run`` of one campaign and ``import`` of another end when they end."""
    code = "import sys; from pathlib import Path; from pipeline.indexing import add_to_index;"
    code += "[add_to_index(Path.cwd(), f'{sys.argv[1]}-{number}') for number in range(30)]"
    both = [subprocess.Popen([sys.executable, "-c", code, name], cwd=project) for name in ("ours", "theirs")]
    assert [process.wait() for process in both] == [0, 0]
    assert len(load_index(project)) == 60
