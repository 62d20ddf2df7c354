"""The ledger: entries are checked whoever wrote them, only added, and written whole."""

import json
import os
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from pipeline import ledger
from pipeline.errors import CollectError
from pipeline.ledger import Entry, Ledger

SLUG = "2026-11-ledger"
ENTRY = Entry(
    run_id="db1-fio-randread-qd8-r2+a3", host="db1", tool="fio", point="randread-qd8", repeat=2, attempt=3,
    state="failed", exit_status=1, started_at="2026-11-21T08:00:00Z", stopped_at="2026-11-21T08:01:00.5Z",
    command="fio job.fio && printf 'Ü $(x)\n'", sha256="0f" * 32, n_bytes=12345, ssh="user@db1.example.com",
    work="5" * 64,
    archive="/home/user/.benchmark-spool/2026-11-ledger/done/db1-fio-randread-qd8-r2+a3.tar.zst",
)  # fmt: skip
OTHER = replace(ENTRY, run_id="db1-fio-randread-qd8-r2", attempt=1, sha256="1e" * 32)


@pytest.fixture
def root(tmp_path):
    (tmp_path / "data/campaigns").mkdir(parents=True)
    return tmp_path


def write(root, *entries):
    with ledger.writer(root, SLUG) as book:
        return book.add(entries)


def test_entries_come_back_and_the_file_is_the_same_in_any_order(root):
    assert Ledger.load(root, SLUG).entries == {}
    assert write(root, ENTRY, OTHER) == [ENTRY.run_id, OTHER.run_id]
    first = ledger.path_of(root, SLUG).read_bytes()
    assert Ledger.load(root, SLUG).entries == {ENTRY.run_id: ENTRY, OTHER.run_id: OTHER}
    assert json.loads(first)["format"] == 1
    ledger.path_of(root, SLUG).unlink()
    write(root, OTHER)
    write(root, ENTRY)
    assert ledger.path_of(root, SLUG).read_bytes() == first
    assert [path.name for path in (root / "data/campaigns").iterdir() if path.suffix != ".lock"] == [
        f"{SLUG}.ledger.json"
    ]


def test_nothing_new_writes_nothing(root):
    write(root, ENTRY)
    path = ledger.path_of(root, SLUG)
    before = path.stat()
    assert write(root, ENTRY, replace(ENTRY, state="complete", archive="/elsewhere")) == []
    assert path.stat() == before
    assert Ledger.load(root, SLUG).entries == {ENTRY.run_id: ENTRY}  # the first word holds


def test_an_attempt_with_another_hash_is_refused_and_nothing_is_written(root):
    write(root, ENTRY)
    before = ledger.path_of(root, SLUG).read_bytes()
    with pytest.raises(CollectError, match=r"ledger.json: db1-fio-randread-qd8-r2\+a3: has sha256 0f0f.*now abab"):
        write(root, OTHER, replace(ENTRY, sha256="ab" * 32))
    assert ledger.path_of(root, SLUG).read_bytes() == before


def test_what_another_program_added_meanwhile_is_kept(root):
    with ledger.writer(root, SLUG) as book:
        book.add([ENTRY])
        content = json.loads(ledger.path_of(root, SLUG).read_text())
        values = asdict(OTHER)
        content["runs"][values.pop("run_id")] = values
        ledger.path_of(root, SLUG).write_text(json.dumps(content))  # git pull
        third = replace(OTHER, run_id="db1-fio-randread-qd8-r3", repeat=3)
        assert book.add([third]) == [third.run_id]
        assert set(book.entries) == {ENTRY.run_id, OTHER.run_id, third.run_id}
    assert set(Ledger.load(root, SLUG).entries) == {ENTRY.run_id, OTHER.run_id, third.run_id}


def test_only_the_writer_writes(root):
    with pytest.raises(CollectError, match=r"inside ledger\.writer"):
        Ledger.load(root, SLUG).add([ENTRY])
    with ledger.writer(root, SLUG) as book:
        pass
    with pytest.raises(CollectError, match=r"inside ledger\.writer"):
        book.add([ENTRY])


def test_a_second_writer_is_told_who_works(root):
    code = (
        "import sys; from pathlib import Path; from pipeline import ledger\n"
        f"with ledger.writer(Path({str(root)!r}), {SLUG!r}): print('held', flush=True); sys.stdin.read()"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout.readline() == b"held\n"
        with pytest.raises(CollectError, match=rf"{SLUG}: another process runs .*\(process {other.pid}\)"):
            write(root, ENTRY)
        other.kill()
    assert write(root, ENTRY) == [ENTRY.run_id]  # its end, however it came, freed the lock


HOSTILE = {
    "run_id": ["", "../x", "a/b", "db1-fio-randread-qd8-r2", "x\ny", 5, None],
    "host": ["..", "a/b", "$(x)", "ａ", "", None, "db2"],
    "tool": ["f;io", "fio\n", 1],
    "point": ["a..b", "a b", "`x`", "qd8"],
    "repeat": [0, -1, 1.0, True, "2", 3],
    "attempt": [0, None, 1],
    "state": ["running", "", None, "COMPLETE"],
    "exit_status": ["0", 1.5, True, 1 << 40],
    "started_at": ["yesterday", "2026-13-41T08:00:00Z", "2026-11-21T08:00:00", 5],
    "stopped_at": ["2026-11-21 08:00:00Z"],
    "command": [None, "x\0y", ["fio"]],
    "sha256": ["0F" * 32, "0f" * 31, "../" * 21 + "0", None],
    "n_bytes": [0, -1, 1e3, "5", 1 << 60],
    "ssh": ["", "-oProxyCommand=x", "a b", "a\nb", None],
    "archive": ["relative", "/a/../b", "/a\nb", "", None, "~/x"],
}


@pytest.mark.parametrize(("key", "value"), [(key, value) for key, values in HOSTILE.items() for value in values])
def test_what_no_host_of_ours_says_is_refused(root, key, value):
    with pytest.raises(CollectError):
        Entry(**{**asdict(ENTRY), key: value})
    write(root, ENTRY)
    path = ledger.path_of(root, SLUG)
    content = json.loads(path.read_text())
    values = content["runs"].pop(ENTRY.run_id)
    run_id = value if key == "run_id" else ENTRY.run_id
    content["runs"][run_id] = values if key == "run_id" else {**values, key: value}
    path.write_text(json.dumps(content))
    with pytest.raises(CollectError) as caught:
        Ledger.load(root, SLUG)
    where = json.loads(json.dumps({str(run_id) if run_id is not None else "null": 0}))  # JSON's keys are text
    assert f"{path}: runs: {next(iter(where))!r}: " in str(caught.value)
    assert f"{key}: expected" in str(caught.value) or "run_id: expected" in str(caught.value)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda _: "", "a ledger in JSON"),
        (lambda text: text[:-20], "a ledger in JSON"),
        (lambda _: "[]", "format 1"),
        (lambda text: text.replace('"format": 1', '"format": 2'), "format 1"),
        (lambda text: text.replace(SLUG, "2026-11-other"), "campaign 2026-11-ledger"),
        (lambda text: text.replace('"state"', '"status"'), "state: expected, not found"),
        (lambda text: text.replace('"state"', '"more": 1, "state"'), "more: not expected here"),
        (lambda text: text.replace('"state"', '"host": "db1", "state"'), "a key stands twice"),
        (lambda text: text.replace('"format": 1', '"format": 1, "extra": 2'), "expected format, campaign and"),
        (lambda _: "[" * 100_000, "a ledger in JSON"),
        (lambda text: text.replace('"failed"', '"<<<<<<< HEAD"'), "state: expected one of"),
    ],
)
def test_a_file_that_is_no_ledger_is_refused_by_name(root, change, said):
    write(root, ENTRY)
    path = ledger.path_of(root, SLUG)
    path.write_text(change(path.read_text()))
    with pytest.raises(CollectError, match=said) as caught:
        Ledger.load(root, SLUG)
    assert str(caught.value).startswith(f"{path}: ")
    with pytest.raises(CollectError), ledger.writer(root, SLUG):
        pass


@pytest.mark.parametrize("slug", ["../x", "a/b", "A", "", "x\n", "index"])
def test_a_hostile_campaign_reaches_no_file(root, slug):
    with pytest.raises(Exception, match="campaign"):
        Ledger.load(root, slug)
