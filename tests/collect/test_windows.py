"""Windows: DISKSPD's commands, quoting, and run.ps1 as far as it can be held without Windows: its grammar and literals.

No PowerShell is to be had where these tests run: a parser of its language stands in for it. What the script does on
Windows is not tested here.
"""

import base64
import importlib.util
import json
import re
from pathlib import Path

import pytest
import tree_sitter
import tree_sitter_powershell
import yaml
from hypothesis import given
from hypothesis import strategies as st

from pipeline.collect.plan import HostPlan, PlannedRun
from pipeline.collect.spec import Host
from pipeline.collect.spool import windows
from pipeline.collect.spool.quoting import for_powershell, for_program
from pipeline.collect.tools import diskspd
from pipeline.collect.work import DeviceTarget, FileTarget, Monitor, Request, Step, Work
from pipeline.errors import SpecError

HERE = Path(__file__).parent
_spec = importlib.util.spec_from_file_location("collect_golden", HERE / "_golden.py")
golden = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(golden)

CASES = sorted((HERE / "diskspd").glob("*.yaml"))
PARSER = tree_sitter.Parser(tree_sitter.Language(tree_sitter_powershell.language()))
HOSTILE = "D:\\b'; Remove-Item C:\\ -Recurse #\u2019$(calc)`n"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_diskspds_commands(case):
    content = yaml.safe_load(case.read_text("utf-8"))
    request = golden.request_of("diskspd", content["request"])
    if "error" in content:
        with pytest.raises(SpecError) as caught:
            diskspd.work(request)
        assert str(caught.value) == content["error"]
        return
    assert golden.described(diskspd.work(request)) == content["work"]


def test_every_letter_is_refused_what_could_leave_its_word():
    target = FileTarget("D:\\bench", "test.dat", 4096)
    for name in diskspd.OPTIONS:
        for value in ("", " ", "1 #1", "1 C:\\x", '1"', "1'", "-1", "1\n", "1;2", "\u0661", "$(1)"):
            with pytest.raises(SpecError):
                diskspd.work(Request("diskspd", "p", {"d": 1, name: value}, target=target))


# ---- quoting ----


def taken_apart(line):
    """The words of a command line as CommandLineToArgvW and the C runtime take it apart (those after the program)."""
    words, word, in_word, in_quotes, at = [], "", False, False, 0
    while at < len(line):
        character = line[at]
        if character == "\\":
            n = len(line[at:]) - len(line[at:].lstrip("\\"))
            at += n
            in_word = True
            if line[at : at + 1] == '"':
                word += "\\" * (n // 2)
                if n % 2:
                    word += '"'
                    at += 1
            else:
                word += "\\" * n
            continue
        if character == '"':
            in_word = True
            if in_quotes and line[at + 1 : at + 2] == '"':
                word += '"'
                at += 1
            else:
                in_quotes = not in_quotes
        elif character in " \t" and not in_quotes:
            if in_word:
                words.append(word)
            word, in_word = "", False
        else:
            word += character
            in_word = True
        at += 1
    return [*words, word] if in_word else words


WORDS = st.text(st.sampled_from(list("ab \\\\\\\"'&%^!$`;,=()\u2019")), max_size=12)


@given(st.lists(WORDS))
def test_a_program_gets_its_words(words):
    assert taken_apart(for_program(words)) == words


@pytest.mark.parametrize("word", ["a\nb", "a\x00", "\t", "a\x7f"])
def test_control_characters_have_no_place_in_a_command_line(word):
    with pytest.raises(ValueError, match="control characters"):
        for_program([word])


def literal(text):
    """What PowerShell makes of a literal in single quotes, any of which may open, close or double one."""
    quotes = "'\u2018\u2019\u201a\u201b"
    assert text[0] in quotes
    value, at = "", 1
    while at < len(text):
        if text[at] in quotes:
            if at + 1 < len(text) and text[at + 1] in quotes:
                value += text[at]
                at += 2
                continue
            assert at == len(text) - 1, f"the literal ends early: {text!r}"
            return value
        value += text[at]
        at += 1
    raise AssertionError(f"the literal does not end: {text!r}")


@given(st.text() | st.text(st.sampled_from(list("'\u2018\u2019\u201a\u201b\"`$()\n"))))
def test_a_literal_of_powershell_is_its_text(text):
    assert literal(for_powershell(text)) == text


# ---- run.ps1 ----


def planned(number=1, **more):
    request = Request("diskspd", "o-8", {"b": "4K", "o": 8, "d": 5, "r": True},
                      target=FileTarget("D:\\bench", "test.dat", 1 << 20))  # fmt: skip
    values = {"work": diskspd.work(request), "monitors": (), **more}
    return PlannedRun(f"win1-diskspd-o-8-r{number}", "win1", "diskspd", "o-8", number, warm_up_s=0.0, cool_down_s=2.0,
                      time_limit_s=90.0, prepare_limit_s=600.0, estimate_s=10.0, **values)  # fmt: skip


def plan(*runs):
    return HostPlan(Host(name="win1", ssh="win1", windows=True), runs)


def nodes(script, *types):
    tree = PARSER.parse(script.encode())
    found, waiting = [], [tree.root_node]
    while waiting:
        node = waiting.pop()
        waiting.extend(node.children)
        if node.type in types or (not types and (node.is_error or node.is_missing)):
            found.append(node)
    return sorted(found, key=lambda node: node.start_byte)


def text_of(node):
    return node.text.decode()


def code(script):
    """The script without its comments and literals."""
    kept = script.encode()
    for node in reversed(nodes(script, "comment", "string_literal")):
        kept = kept[: node.start_byte] + b" " + kept[node.end_byte :]
    return kept.decode()


SCRIPT = windows.script(plan(planned(1), planned(2)), "camp")


def test_the_script_is_of_powershells_grammar():
    assert [(node.start_point, text_of(node)[:80]) for node in nodes(SCRIPT)] == []
    assert nodes("function f { try { 1 } ") != []  # the parser sees what is wrong


def test_the_script_is_ascii_with_the_line_ends_of_windows():
    """Windows PowerShell takes a file without a byte order mark for one of the machine's old code page."""
    SCRIPT.encode("ascii")
    assert SCRIPT.count("\n") == SCRIPT.count("\r\n")


@pytest.mark.parametrize("newer", [r"\?\?", r"\?\.", r"&&", r"\|\|", r"-AsHashtable", r"-Parallel\b", r"utf8NoBOM",
                                   r"Invoke-Expression", r"\biex\b", r"-Depth\b.*ConvertFrom", r"\$IsWindows",
                                   r"Get-WmiObject"])  # fmt: skip
def test_nothing_newer_than_powershell_5_and_nothing_that_runs_texts(newer):
    assert not re.search(newer, code(SCRIPT))


def test_every_command_is_the_scripts_own_or_one_of_windows_powershell():
    own = {text_of(node) for node in nodes(SCRIPT, "function_name")}
    used = {text_of(node) for node in nodes(SCRIPT, "command_name")}
    assert used - own - {"New-Object", "Start-Sleep", "Where-Object", "ForEach-Object", "Sort-Object", "Get-Item",
                         "Get-Command", "Get-CimInstance", "Get-FileHash", "ConvertFrom-Json", "ConvertTo-Json",
                         "Get-Process", "Invoke-CimMethod", "Set-StrictMode"} == set()  # fmt: skip
    assert own - used == set()


def test_no_variable_of_a_function_hides_one_of_the_scripts():
    """Names know no case and a function's variables are seen by those that it calls."""
    whole = {"version", "folder", "room", "names", "ended", "utf8", "queue", "verb", "detached"}
    for function in nodes(SCRIPT, "function_statement"):
        assigned = re.findall(r"(?<![\w.])\$(\w+)\s*[-+]?=(?!=)", code(text_of(function)))
        parameters = re.findall(r"\$(\w+)", text_of(function).split("{")[0])
        assert not whole & {name.lower() for name in (*assigned, *parameters)}, text_of(function)[:80]


def queue_of(script):
    settings = script.replace("\r\n", "\n")
    settings = settings[settings.index("$Queue = New-Object") : settings.index("# ---- small things")]
    rows = [line.strip() for line in settings.splitlines() if line.startswith("$Queue.Add(@(")]
    return [[literal(part) for part in re.findall(r"'(?:[^']|'')*'", row)] for row in rows]


def test_the_script_carries_the_runs_as_texts():
    rows = queue_of(SCRIPT)
    assert [row[0] for row in rows] == ["win1-diskspd-o-8-r1", "win1-diskspd-o-8-r2"]
    said, work = (json.loads(text) for text in rows[0][1:])
    assert said["command"] == "diskspd.exe -b4K -o8 -d5 -r -L -D1000 -Sh -C0 -W0 -Rxml D:\\bench\\test.dat > result.xml"
    assert said["logs"] == ["result.xml"]
    assert work == {
        "targets": [{"directory": "D:\\bench", "name": "test.dat", "n_bytes": 1 << 20}],
        "prepare": [{"new_file": "D:\\bench\\test.dat", "n_bytes": 1 << 20, "program": None, "arguments": None,
                     "stdout": None}],
        "measure": [{"new_file": None, "n_bytes": 0, "program": "diskspd.exe", "stdout": "result.xml",
                     "arguments": "-b4K -o8 -d5 -r -L -D1000 -Sh -C0 -W0 -Rxml D:\\bench\\test.dat"}],
        "prepare_limit_s": 600, "time_limit_s": 90, "cool_down_s": 2, "free_bytes": planned().work.free_bytes,
    }  # fmt: skip


def test_a_further_attempt_is_named_in_the_script():
    script = windows.script(plan(planned()), "camp", {"win1-diskspd-o-8-r1+a2": planned()})
    ((attempt, said, _),) = queue_of(script)
    assert attempt == json.loads(said)["run_id"] == "win1-diskspd-o-8-r1+a2"
    assert json.loads(said)["attempt"] == 2


def test_hostile_texts_stay_texts():
    work = Work((Step(("diskspd.exe", HOSTILE[:-2]), "result.xml"),), 1.0, targets=(FileTarget(HOSTILE, "x", 1),))
    script = windows.script(plan(planned(work=work)), "camp")
    assert nodes(script) == []
    ((_, _, said),) = queue_of(script)
    assert json.loads(said)["targets"][0]["directory"] == HOSTILE
    assert "Remove-Item" not in code(script)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"monitors": (Monitor("iostat", Step(("iostat",))),)}, "monitors: expected none on Windows"),
        ({"work": Work((), 1.0, targets=(DeviceTarget("/dev/x", "1", True),))}, "target: expected a file on Windows"),
        ({"work": Work((), 1.0, files={"fio.job": ""})}, "tool: expected one that runs on Windows"),
    ],
)
def test_what_windows_cannot_do_is_refused(more, message):
    with pytest.raises(SpecError, match=message):
        windows.script(plan(planned(**more)), "camp")


def sent(command):
    *options, encoded = command.split(" ")
    assert options[-1] == "-EncodedCommand"
    assert re.fullmatch(r"[A-Za-z0-9+/=. -]+", command), "nothing that cmd or PowerShell would take for its own"
    return base64.b64decode(encoded).decode("utf-16-le")


@pytest.mark.parametrize("spool", ["~/.benchmark-spool", "D:\\it's \u2019here\u2019; calc", "D:\\a{b}"])
def test_commands_over_ssh(spool):
    command, data = windows.install(spool, "camp", SCRIPT)
    assert data == SCRIPT.encode()
    assert len(command) < 8000, "cmd takes no longer one"
    script = sent(command)
    assert nodes(script) == []
    assert f"$spool = {for_powershell(spool)}\n" in script
    for verb in windows.VERBS:
        script = sent(windows.command("C:\\Users\\o'neil\\spool", verb))
        assert nodes(script) == []
        assert f"& 'C:\\Users\\o''neil\\spool\\run.ps1' -Verb {verb}\n" in script
    with pytest.raises(ValueError, match="expected one of"):
        windows.command("C:\\", "work; calc")
