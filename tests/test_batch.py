"""Batches: long tables leave memory, unchanged files are not parsed again, and nothing that was there is lost."""

import os
import shutil
import signal
from pathlib import Path

import duckdb
import pandas as pd
import pyarrow as pa
import pytest

import pipeline
from pipeline import batch, output, reading, store, tidy, tools, workers
from pipeline.errors import PipelineError
from pipeline.importing import import_folder
from pipeline.parse import _report
from pipeline.project import INDEX, tidy_folder

CASES = Path(__file__).parent / "parse"


def sample(reader, case):
    (path,) = [path for path in (CASES / reader / case).iterdir() if path.name != "expected.yaml"]
    return path


LOG = sample("pgbench_log", "first_2000_lines")
FIO = sample("pgbench", "average_from_rate")


@pytest.fixture
def short_memory(monkeypatch):
    monkeypatch.setattr(_report, "ROWS_IN_MEMORY", 100)


@pytest.fixture
def project(tmp_path):
    (tmp_path / INDEX).parent.mkdir(parents=True)
    (tmp_path / INDEX).write_text("campaigns: {}\n")
    (tmp_path / "logs").mkdir()
    shutil.copy(LOG, tmp_path / "logs/a.log")
    shutil.copy(FIO, tmp_path / "logs/b.txt")
    import_folder(tmp_path / "logs", "camp", "h1", tmp_path)
    return tmp_path


@pytest.fixture
def parsed(monkeypatch):
    """Names of the files that a reader went through."""
    names = []

    def spy(source, reader, original=reading.read_source):
        names.append(source.file.name)
        return original(source, reader)

    monkeypatch.setattr(reading, "read_source", spy)
    return names


def assert_same(left, right, names=None):
    for name in names or left:
        columns = list(left[name].columns)
        a, b = (t[name].sort_values(columns, ignore_index=True) for t in (left, right))
        pd.testing.assert_frame_equal(a, b, obj=name)


@pytest.mark.usefixtures("short_memory")
def test_a_long_table_is_a_folder_of_parts_and_reads_alike(tmp_path):
    expected = pipeline.read(LOG)
    assert batch.parse_paths([LOG], tmp_path / "out", None) == 0
    assert (tmp_path / "out/latency_series.parquet").is_dir()
    assert (tmp_path / "out/operations.parquet").is_file()
    assert_same(tidy.load_folder(tmp_path / "out"), expected)
    frame = pd.read_parquet(tmp_path / "out/latency_series.parquet")
    assert str(frame["tool"].dtype) == "str"
    assert len(frame) == len(expected.latency_series)
    assert not list((tmp_path / "out").glob(".*"))


@pytest.mark.usefixtures("short_memory")
def test_duckdb_dask_and_arrow_read_the_parts_without_loading_them(tmp_path):
    import dask.dataframe

    n_rows, total = len(pipeline.read(LOG).latency_series), pipeline.read(LOG).latency_series["latency_s"].sum()
    batch.parse_paths([LOG], tmp_path / "out", None)
    place = tmp_path / "out/latency_series.parquet"
    query = f"select count(*), sum(latency_s) from read_parquet('{place}/*.parquet')"  # noqa: S608
    assert duckdb.sql(query).fetchall()[0] == (n_rows, pytest.approx(total))
    assert dask.dataframe.read_parquet(place)["latency_s"].sum().compute() == pytest.approx(total)
    assert tidy.scan(tmp_path / "out", "latency_series").count_rows() == n_rows
    field = tidy.scan(tmp_path / "out", "latency_series").schema.field("latency_s")
    assert field.metadata[b"unit"] == b"s"


@pytest.mark.usefixtures("short_memory")
def test_equal_names_are_numbered_in_parts_too(tmp_path):
    for name in ("x", "y"):
        (tmp_path / name).mkdir()
        shutil.copy(LOG, tmp_path / name / "run.log")
    assert batch.parse_paths([tmp_path / "x", tmp_path / "y"], tmp_path / "out", None) == 0
    tables = tidy.load_folder(tmp_path / "out")
    assert list(tables.runs["run_id"]) == ["run#1", "run#2"]
    assert set(tables.latency_series["run_id"]) == {"run#1", "run#2"}


def test_an_unchanged_file_of_a_grown_campaign_is_not_parsed_again(project, parsed):
    batch.parse_campaign("camp", project)
    assert sorted(parsed) == ["a.log", "b.txt"]
    before = tidy.load("camp", project)
    parsed.clear()
    shutil.copy(sample("pgbench", "stderr_alone"), project / "logs/c.txt")
    import_folder(project / "logs", "camp", "h1", project)
    batch.parse_campaign("camp", project)
    assert parsed == ["c.txt"]
    after = tidy.load("camp", project)
    kept = after.operations[after.operations["run_id"].isin(before.runs["run_id"])]
    pd.testing.assert_frame_equal(kept.reset_index(drop=True), before.operations)
    assert len(after.runs) == len(before.runs) + 1


def test_what_was_read_is_trusted_only_while_file_and_code_are_the_same(project, parsed, monkeypatch):
    batch.parse_campaign("camp", project)
    (raw,) = (project / "data/raw/camp").rglob("b.txt")
    raw.write_bytes(raw.read_bytes().replace(b"tps = ", b"tps = 1"))
    parsed.clear()
    batch.parse_campaign("camp", project)
    assert parsed == ["b.txt"]
    assert len(list((project / "data/cache/camp").iterdir())) == 2  # what came of the old bytes is gone
    monkeypatch.setattr(store, "_code", lambda: "another version")
    parsed.clear()
    batch.parse_campaign("camp", project)
    assert sorted(parsed) == ["a.log", "b.txt"]


def test_a_damaged_entry_is_read_anew(project, parsed):
    batch.parse_campaign("camp", project)
    before = tidy.load("camp", project)
    for entry in (project / "data/cache/camp").glob("*/entry.json"):
        entry.write_text(entry.read_text()[:50])
    parsed.clear()
    batch.parse_campaign("camp", project)
    assert sorted(parsed) == ["a.log", "b.txt"]
    assert_same(tidy.load("camp", project), before)


def test_processes_give_what_one_process_gives(project, monkeypatch):
    batch.parse_campaign("camp", project)
    alone = tidy.load("camp", project)
    shutil.rmtree(project / "data/cache")
    monkeypatch.setattr(workers, "SMALL_BYTES", 0)
    monkeypatch.setattr(workers, "CHUNK_FILES", 1)
    batch.parse_campaign("camp", project)
    assert_same(tidy.load("camp", project), alone)


def test_a_parse_that_fails_leaves_the_old_tables(project, monkeypatch):
    batch.parse_campaign("camp", project)
    before = tidy.load("camp", project)

    def fail(*_):
        raise OSError("No space left on device")

    monkeypatch.setattr(output.Output, "finish", fail)
    with pytest.raises(OSError, match="No space"):
        batch.parse_campaign("camp", project)
    assert_same(tidy.load("camp", project), before)


def test_a_file_that_breaks_the_contract_fails_alone(tmp_path, monkeypatch, capsys):
    class Bad:
        EXPECTED = "anything"

        def recognise(self, head):
            return head.startswith("bad")

        def parse(self, source):
            report = _report.Report("pgbench", source)
            report.add("operations", op="read", scope="total", ops_per_s=-1.0)
            return [report]

    (tmp_path / "in").mkdir()
    (tmp_path / "in/bad.log").write_text("bad\n")
    shutil.copy(FIO, tmp_path / "in/good.txt")
    load = tools.load_reader
    monkeypatch.setattr(tools, "load_reader", lambda name: Bad() if name == "pgbench_log" else load(name))
    monkeypatch.setattr(reading, "load_reader", tools.load_reader)
    assert batch.parse_paths([tmp_path / "in"], tmp_path / "out", None) == 1
    assert "bad.log: expected figures that the schema allows, found operations.ops_per_s" in capsys.readouterr().err
    assert list(tidy.load_folder(tmp_path / "out").runs["run_id"]) == ["good"]
    with pytest.raises(pipeline.errors.ParseError, match=r"operations\.ops_per_s"):
        pipeline.read(tmp_path / "in/bad.log")


def test_the_tidy_folder_holds_nothing_else(project):
    batch.parse_campaign("camp", project)
    names = {path.name for path in tidy_folder("camp", project).iterdir()}
    assert all(name.endswith(".parquet") for name in names)


@pytest.mark.parametrize("damage", ["half", "keys", "list", "no table", "short table", "no part"])
@pytest.mark.usefixtures("short_memory")
def test_an_entry_damaged_in_any_way_is_read_anew(project, parsed, damage):
    batch.parse_campaign("camp", project)
    before = tidy.load("camp", project)
    (entry,) = [path.parent for path in (project / "data/cache/camp").glob("*/latency_series.parquet")]
    content = entry / "entry.json"
    match damage:
        case "half":
            content.write_text(content.read_text()[:50])
        case "keys":
            content.write_text('{"siblings": null, "sizes": {}}')
        case "list":
            content.write_text("[]")
        case "no table":
            (entry / "tables.arrows").unlink()
        case "short table":
            os.truncate(entry / "tables.arrows", 1000)
        case "no part":
            shutil.rmtree(entry / "latency_series.parquet")
    parsed.clear()
    batch.parse_campaign("camp", project)
    assert parsed == ["a.log"]
    assert_same(tidy.load("camp", project), before)


def test_what_can_not_be_read_is_told_and_costs_nothing_else(tmp_path, capsys):
    folder = tmp_path / "in"
    (folder / "sub").mkdir(parents=True)
    shutil.copy(FIO, folder / "good.txt")
    os.mkfifo(folder / "pipe")
    (folder / "broken").symlink_to("nowhere")
    (folder / "circle").symlink_to(folder)
    assert batch.parse_paths([folder, folder / "good.txt"], tmp_path / "out", None) == 0
    assert list(tidy.load_folder(tmp_path / "out").runs["run_id"]) == ["good"]
    told = capsys.readouterr().err
    assert "pipe: not read: a pipe" in told
    assert "broken: not read: a link that leads nowhere" in told
    assert "circle: not read: a link to a folder" in told
    assert batch.parse_paths([folder / "pipe"], tmp_path / "none", None) == 1
    assert not (tmp_path / "none").exists()


@pytest.mark.usefixtures("short_memory")
def test_a_part_of_any_name_is_seen_by_every_program(tmp_path):
    expected = len(pipeline.read(LOG).latency_series)
    for name in (b"_run.log", b".-run.log", b"a\xff.log", b"a\xfe.log", b"a\n#%.log", b"x" * 250 + b".log"):
        shutil.copy(LOG, tmp_path / os.fsdecode(name))
    logs = [path for path in tmp_path.iterdir() if path.is_file()]
    batch.parse_paths(logs, tmp_path / "out", None)
    rows = tidy.scan(tmp_path / "out", "latency_series").to_table().to_pandas()
    assert set(rows.groupby("run_id").size()) == {expected}
    assert len(rows) == expected * len(logs)
    assert len(pd.read_parquet(tmp_path / "out/latency_series.parquet")) == len(rows)


@pytest.mark.usefixtures("short_memory")
def test_a_full_disk_ends_the_parse_and_is_not_kept_as_what_came_of_a_log(project, monkeypatch, parsed):
    batch.parse_campaign("camp", project)
    before = tidy.load("camp", project)
    shutil.rmtree(project / "data/cache")

    def full(*_):
        raise OSError("No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("pipeline.parts._Part.write", full)
        with pytest.raises(PipelineError, match="cannot be written: No space"):
            batch.parse_campaign("camp", project)
    assert_same(tidy.load("camp", project), before)
    assert not list((project / "data/tidy/camp").glob(".*"))
    parsed.clear()
    batch.parse_campaign("camp", project)
    assert "a.log" in parsed
    assert_same(tidy.load("camp", project), before)


def test_an_error_of_the_machine_is_not_kept(project, monkeypatch, parsed):
    def fail(*_):
        raise OSError("Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr("pipeline.parse.postgres.pgbench_log.parse", fail)
        batch.parse_campaign("camp", project)
    assert set(tidy.load("camp", project).files["status"]) == {"read", "failed"}
    parsed.clear()
    batch.parse_campaign("camp", project)
    assert parsed == ["a.log"]
    assert set(tidy.load("camp", project).files["status"]) == {"read"}


def test_a_mistake_of_a_reader_costs_one_file(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("pipeline.parse.postgres.pgbench_log.parse", lambda source: source.absent)
    assert batch.parse_paths([LOG, FIO], tmp_path / "out", None) == 1
    assert len(tidy.load_folder(tmp_path / "out").runs) == 1
    assert "found AttributeError: " in capsys.readouterr().err


def test_two_parses_at_once_do_not_mix(tmp_path):
    with output.sole_writer(tmp_path / "out"), pytest.raises(PipelineError, match="another parse"):
        batch.parse_paths([FIO], tmp_path / "out", None)
    assert batch.parse_paths([FIO], tmp_path / "out", None) == 0


def test_ctrl_c_waits_while_tables_are_replaced(project, monkeypatch):
    batch.parse_campaign("camp", project)
    before = tidy.load("camp", project)

    def interrupted(*arguments, original=output.move):
        os.kill(os.getpid(), signal.SIGINT)
        original(*arguments)

    monkeypatch.setattr(output, "move", interrupted)
    with pytest.raises(KeyboardInterrupt):
        batch.parse_campaign("camp", project)
    assert_same(tidy.load("camp", project), before)


def test_the_tables_are_the_same_bytes_each_time(project, monkeypatch):
    monkeypatch.setattr(_report, "ROWS_IN_MEMORY", 100)
    place = project / "data/tidy/camp"

    def parse():
        shutil.rmtree(project / "data/cache", ignore_errors=True)
        batch.parse_campaign("camp", project)
        return {path.relative_to(place): path.read_bytes() for path in place.rglob("*") if path.is_file()}

    assert parse() == parse()


def test_many_files_wait_in_little_memory(tmp_path):
    log = tmp_path / "run.log"
    log.write_bytes(LOG.read_bytes())
    (entry,) = store.read_into([reading.Item(log, "run.log")], tmp_path / "store")
    n_bytes = (entry.folder / "tables.arrows").stat().st_size
    before = pa.total_allocated_bytes()
    waiting = [entry.tables()["runs"] for _ in range(100)]
    assert pa.total_allocated_bytes() - before < n_bytes
    made = output.Output(tmp_path / "out")
    for table in waiting * 20:
        made.add("runs", table)
    assert len(made._waiting["runs"]) < 1024


def read_or_die(items, folder):
    """What a worker runs; on one file it is killed, as for want of memory."""
    if any(item.path.name == "b.txt" for item in items):
        os.kill(os.getpid(), signal.SIGKILL)
    return store.read_into(items, folder)


def test_a_process_that_is_killed_costs_the_file_that_it_dies_on(tmp_path, monkeypatch, capsys):
    (tmp_path / "in").mkdir()
    for name in ("a.txt", "b.txt", *(f"c{number}.txt" for number in range(6))):
        shutil.copy(FIO, tmp_path / "in" / name)
    monkeypatch.setattr(workers, "SMALL_BYTES", 0)
    monkeypatch.setattr(workers, "CHUNK_FILES", 2)
    monkeypatch.setattr(workers, "read_into", read_or_die)
    monkeypatch.setattr(workers, "_n_cores", lambda: 2)
    assert batch.parse_paths([tmp_path / "in"], tmp_path / "out", None) == 1
    assert list(tidy.load_folder(tmp_path / "out").runs["run_id"]) == ["a", *(f"c{number}" for number in range(6))]
    assert "b.txt: expected a file that can be read, found that the process ends" in capsys.readouterr().err
