"""Progress: what a terminal shows, what goes to a log, the remaining time, and the texts at the end."""

import io
import os
import pty
import re
import subprocess
import sys
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from pipeline.collect.run.progress import HostState, Progress, duration, remaining_s, status_table, summary
from pipeline.collect.spool.spool import RunState, Status
from pipeline.ledger import Entry

START = datetime(2026, 11, 21, 8, 0, tzinfo=UTC)
HOSTILE = "[bold red]x[/]\x1b[31m\x1b]0;owned\x07\nsecond line" + "y" * 10_000


@dataclass(frozen=True)
class Run:
    estimate_s: float
    cool_down_s: float = 0.0


def state(host="db1", n_runs=24, n_done=5, n_failed=0, **more):
    """A host that is 12 s in a run, unless told otherwise."""
    at_work = {
        "current": f"{host}-fio-rw-randread_iodepth-8-r1",
        "started_at": START,
        "now": START + timedelta(seconds=12),
    }
    return HostState(host, n_runs, n_done, n_failed, **{**at_work, "remaining_s": 900.0, **more})


def over(host, n_failed=0):
    return state(host, 24, 24 - n_failed, n_failed, current=None, started_at=None, remaining_s=0.0)


def picture(states, width=100, height=24, later_s=0.0):
    """What a terminal of this size shows, some time after the states were seen."""
    now = [0.0]
    console = Console(file=io.StringIO(), force_terminal=True, width=width, height=height, record=True)
    progress = Progress(console, lambda: now[0])
    progress._live = object()
    for held in states:
        progress.show(held.host, held)
    now[0] = later_s
    console.print(progress.picture())
    text = console.export_text()
    return [line.rstrip() for line in text.splitlines()]


# ---- remaining time ----


@pytest.mark.parametrize(
    ("left", "elapsed_s", "done", "expected"),
    [
        ([], None, [], 0.0),
        ([Run(10)], None, [], 10.0),
        ([Run(10, 5), Run(20, 5)], None, [], 40.0),
        ([Run(10, 5), Run(20, 5)], 4.0, [], 36.0),
        ([Run(10, 5), Run(20, 5)], 40.0, [], 30.0),  # the current one is late: what follows is as long as ever
        ([Run(10), Run(10)], None, [(10, 20)] * 9, 38.0),  # nine took twice as long, one is assumed to be as thought
        ([Run(10, 5)], None, [(10, 20)] * 9, 24.0),  # a rest takes what it takes
        ([Run(10)], None, [(10, 0)] * 1000, 1.0),
        ([Run(10)], None, [(0, 100)], 10.0),
        ([Run(10)], None, [(10, -50)], 5.0),
    ],
)
def test_remaining_time(left, elapsed_s, done, expected):
    assert remaining_s(left, elapsed_s, done) == pytest.approx(expected)


SECONDS = st.floats(0, 1e7)


@given(
    st.lists(st.builds(Run, SECONDS, SECONDS), max_size=20),
    st.none() | SECONDS,
    st.lists(st.tuples(SECONDS, SECONDS), max_size=20),
)
def test_remaining_time_is_a_time_and_falls_with_every_run(left, elapsed_s, done):
    value = remaining_s(left, elapsed_s, done)
    assert 0 <= value < 1e11
    if len(left) > 1:
        assert remaining_s(left[:-1], elapsed_s, done) <= value * (1 + 1e-9)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 s"), (59.4, "59 s"), (60, "1 min"), (95, "1 min 35 s"), (660, "11 min"), (3600, "1 h 00 min"),
     (90061, "1 d 1 h"), (-5, "0 s")],
)  # fmt: skip
def test_durations(seconds, text):
    assert duration(seconds) == text


# ---- a terminal ----


def test_a_host_is_a_line():
    lines = picture([state(), over("db2"), state("db3", problem="does not answer since 40 s")])
    assert len(lines) == 4
    assert re.search(r"^db1 .* 5/24 .*12 s in fio-rw-randread_iodepth-8-r1 +~15 min left$", lines[0])
    assert re.search(r"^db2 .*24/24 .*complete$", lines[1])
    assert "does not answer since 40 s" in lines[2]
    assert lines[3].startswith("34 of 72 runs complete, 1 of 3 hosts done, ~15 min left")


def test_clocks_go_on_between_two_looks():
    lines = picture([state()], later_s=30)
    assert "42 s in fio" in lines[0]
    assert "~14 min" in lines[0]


def test_failures_are_counted():
    lines = picture([state(n_failed=2), over("db2", n_failed=1)])
    assert "7/24 2 failed" in lines[0]
    assert "3 failed" in lines[-1]


@pytest.mark.parametrize(("width", "height"), [(100, 12), (60, 24), (40, 5), (20, 3), (200, 60)])
def test_fifty_hosts_fit_any_terminal_with_problems_first(width, height):
    hosts = [over(f"db{n}") if n % 3 else state(f"db{n}") for n in range(50)]
    hosts[49] = state("db49", problem="does not answer since 40 s")
    lines = picture(hosts, width, height)
    assert len(lines) < max(height, 4)
    assert max(map(len, lines)) <= width
    if height == 12:
        assert lines[0].startswith("db49")
        assert "more hosts" in lines[-2]
        assert "of 50 hosts done" in lines[-1]


def test_hostile_names_are_shown_as_they_are_and_harm_nothing():
    held = state(HOSTILE, current=HOSTILE)
    lines = picture([held, state("db2", problem=HOSTILE)], width=150)
    assert len(lines) == 3
    assert "[bold red]x[/]" in "".join(lines)
    assert not any(character in "".join(lines) for character in "\x1b\x07")
    for text in (status_table([held], view(HOSTILE, [], [])), summary([held], "2026-11-look")):
        assert "\x1b" not in text
        assert "second line" not in text


def test_a_real_terminal(tmp_path):
    """In a pseudo-terminal of 80 columns, as a person sees it."""
    script = tmp_path / "show.py"
    script.write_text(
        "import time\nfrom pipeline.collect.run.progress import HostState, Progress\n"
        "with Progress() as progress:\n"
        "    for done in range(3):\n"
        "        progress.show('db1', HostState('db1', 2, done, 0, None, None, None, 20.0 - 10 * done))\n"
        "        time.sleep(0.1)\n"
        "print('afterwards')\n",
        "utf-8",
    )
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "80", "LINES": "24", "PYTHONPATH": str(Path.cwd())}
    process = subprocess.Popen([sys.executable, script], stdout=theirs, stderr=theirs, stdin=theirs, env=environment)
    os.close(theirs)
    said = b""
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:
            break
        if not piece:
            break
        said += piece
    os.close(ours)
    assert process.wait() == 0
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", said.decode())
    assert "2/2 complete" in text
    assert text.rstrip().endswith("afterwards")
    assert said.count(b"\x1b[?25l") == said.count(b"\x1b[?25h")  # the cursor is back


# ---- without a terminal ----


def log(steps):
    """The lines for states shown at times, in s."""
    now = [0.0]
    console = Console(file=io.StringIO())
    with Progress(console, lambda: now[0]) as progress:
        for seconds, held in steps:
            now[0] = seconds
            progress.show(held.host, held)
    return console.file.getvalue().splitlines()


def test_nothing_new_is_no_line():
    assert len(log([(n, state(now=START + timedelta(seconds=n))) for n in range(0, 600, 2)])) == 1


def test_lines_have_a_time_and_say_what_changed():
    steps = [(0, state()), (100, state(n_done=6)), (102, state(n_done=7)), (104, state(n_done=7, n_failed=1))]
    lines = log([*steps, (106, over("db1", 1))])
    assert all(re.match(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ db1: ", line) for line in lines)
    assert [line.split("db1: ")[1].split(", 12 s")[0] for line in lines] == [
        "5 of 24 runs complete", "6 of 24 runs complete", "7 of 24 runs complete, 1 failed",
        "23 of 24 runs complete, 1 failed",
    ]  # fmt: skip


def test_a_day_of_runs_is_not_a_line_each():
    lines = log([(n * 5, state(n_runs=20_000, n_done=n)) for n in range(17_280)])
    assert 1000 < len(lines) <= 1441  # a minute each


def test_a_problem_that_counts_seconds_is_told_once():
    lines = log([(n, state(problem=f"does not answer since {n} s")) for n in range(0, 300, 2)] + [(300, state())])
    assert len(lines) == 2
    assert "does not answer" in lines[0]
    assert "does not answer" not in lines[1]


# ---- status, and the end ----


def entry(run_id, state="complete", attempt=1, minutes=2):
    host, tool, point, repeat = run_id.rsplit("-", 3)
    ended = START + timedelta(minutes=minutes)
    return Entry(
        run_id if attempt == 1 else f"{run_id}+a{attempt}", host, tool, point, int(repeat[1:]), attempt, state, 0,
        f"{START:%Y-%m-%dT%H:%M:%SZ}", f"{ended:%Y-%m-%dT%H:%M:%SZ}", "true", "5" * 64, "0" * 64, 10, host,
        "/spool/x.tar.zst",
    )  # fmt: skip


def view(host, entries, runs, agent="working", points=("p1", "p2")):
    """A session: what the ledger has, and the runs that a host has in hand (None: no answer)."""
    planned = tuple(
        SimpleNamespace(run_id=f"{host}-fio-{point}-r1", tool="fio", point=point, repeat=1) for point in points
    )
    now = START + timedelta(seconds=75)
    statuses = {} if runs is None else {host: Status(now, agent, tuple(RunState(*run) for run in runs), {})}
    ledger = SimpleNamespace(entries={held.run_id: held for held in entries})
    return SimpleNamespace(plans={host: SimpleNamespace(runs=planned)}, statuses=statuses, ledger=ledger)


def rows(text):
    return [line.split() for line in text.splitlines()[2:]]


def test_status_shows_every_point_with_its_attempts():
    entries = [entry("db1-fio-p1-r1", "failed"), entry("db1-fio-p1-r1", "complete", 2, minutes=75)]
    held = view("db1", entries, [("db1-fio-p2-r1", "running", START)])
    assert rows(status_table([state("db1", 2, 1)], held)) == [
        ["fio-p1", "1", "complete", "2", "2026-11-21", "08:00", "1:15:00"],
        ["fio-p2", "1", "running", "1", "2026-11-21", "08:00", "1:15"],
    ]


def test_status_of_a_second_try_and_of_what_waits():
    held = view("db1", [entry("db1-fio-p1-r1", "failed")], [("db1-fio-p1-r1+a2", "waiting", None)])
    assert rows(status_table([state("db1", 2, 0)], held)) == [
        ["fio-p1", "1", "waiting", "2"],
        ["fio-p2", "1", "not", "begun"],
    ]


def test_status_of_a_host_that_is_away_tells_what_is_recorded():
    text = status_table([state("db1", 2, 1, problem="no answer")], view("db1", [entry("db1-fio-p1-r1")], None))
    assert [row[2] for row in rows(text)] == ["complete", "unknown"]
    assert text.splitlines()[0] == "db1: 1 of 2 runs complete: no answer"


def test_status_fits_a_hundred_columns():
    points = tuple("rw-randwrite_" + "x" * 40 + f"_iodepth-{n}" for n in (1, 8))
    entries = [entry(f"db1-fio-{point}-r1", "interrupted", 1, minutes=60 * 99) for point in points]
    text = status_table([state("db1", 2, 0, n_failed=2)], view("db1", entries, [], points=points))
    assert max(map(len, text.splitlines())) <= 100
    assert "_iodepth-1 " in text
    assert "_iodepth-8 " in text


def test_summary_says_what_to_type():
    text = summary([over("db1"), over("db2")], "2026-11-look")
    assert text.splitlines()[0] == "2026-11-look: 48 of 48 runs complete on 2 hosts"
    assert (
        "git add data/campaigns/2026-11-look.yaml data/campaigns/2026-11-look.ledger.json data/campaigns/index.yaml"
        in text
    )
    assert "dvc repro" in text
    assert "pipeline run" not in text


def test_summary_of_what_is_incomplete_says_where_and_how_to_go_on():
    text = summary([over("db1", n_failed=2), over("db2")], "2026-11-look")
    assert "db1: 22 of 24 runs complete, 2 failed" in text
    assert "db2:" not in text
    assert text.index("python -m pipeline run 2026-11-look") < text.index("git add")
