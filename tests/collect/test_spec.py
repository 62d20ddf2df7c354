"""Specs: what is taken, and that every mistake is told with its file, line and key."""

import re
import sys
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline.collect import plan, spec, tools
from pipeline.errors import SpecError

SPECS = Path(__file__).parent / "specs"
REFUSED = sorted((SPECS / "refused").glob("*.yaml"))
SLUG = "2026-11-depth"
HOSTILE = {
    "slash": "a/b", "dotdot": "..", "dots_within": "a..b", "substitution": "$(touch x)", "backticks": "`id`",
    "semicolon": "a;b", "newline": "a\nb", "newline_at_end": "a\n", "tab": "a\tb", "nul": "a\0b", "blank": " ",
    "empty": "", "right_to_left": "a\u202eb", "zero_width": "a\u200bb", "confusable": "db\u0430", "full_width": "ａ",
    "superscript": "a²", "combining": "e\u0301", "surrogate": "\udcff", "option": "-rf", "hidden": ".a",
    "long": "a" * 10_000, "home": "~", "quote": "a'b", "glob": "*", "unassigned": "\u0378",
}  # fmt: skip


def base():
    return {
        "title": "A sweep",
        "hosts": {
            "db1": {
                "devices": {"nvme": {"id": "/dev/disk/by-id/nvme-ACME_123", "serial": "123"}},
                "directories": {"scratch": {"path": "/mnt/scratch/bench"}},
            }
        },
        "runs": [
            {
                "tool": "fio",
                "name": "reads",
                "target": "nvme",
                "parameters": {"rw": "randread", "iodepth": [1, 8], "runtime": 30},
                "points": [{"iodepth": 3}],
            }
        ],
    }


def load(folder, content):
    path = folder / "data/campaigns" / f"{SLUG}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else yaml.safe_dump(content, sort_keys=False), "utf-8")
    return spec.load(folder, SLUG)


@pytest.mark.parametrize("path", REFUSED, ids=lambda path: path.stem)
def test_a_mistake_is_told_with_its_line_and_key(path, tmp_path):
    text = path.read_text("utf-8")
    expected = [line[2:] for line in text.splitlines() if line.startswith("# ")]
    with pytest.raises(SpecError) as caught:
        loaded = load(tmp_path, text)
        assert path.stem.startswith("plan_")  # the others are found without the tools
        plan.make(loaded)
    lines = str(caught.value).splitlines()
    place = f"{tmp_path}/data/campaigns/{SLUG}.yaml:"
    assert len(lines) == len(expected)
    for line, start in zip(lines, expected, strict=True):
        assert line.startswith(place + start.removesuffix("…")), line


def test_the_example_is_taken_and_completed(tmp_path):
    loaded = load(tmp_path, (SPECS / "example.yaml").read_text("utf-8"))
    assert (loaded.slug, loaded.seed, loaded.repeats) == (SLUG, 20261121, 3)
    first, second = loaded.hosts.values()
    assert (first.name, first.ssh, first.address) == ("db1", "db1.example.com", "db1.example.com")
    assert second.role == first.role  # by the alias
    assert first.spool == "~/.benchmark-spool"
    assert first.directories["scratch"].free_bytes == 10 * 2**30
    assert first.devices["nvme"].identity == "S1ABNX0K100123"
    assert not first.devices["nvme"].destructive
    assert loaded.runs[0].hosts == ("db1", "db2")
    assert loaded.runs[1].hosts == ("db2",)
    assert loaded.runs[2].target.size_bytes == 2**30


def test_a_host_needs_no_keys(tmp_path):
    content = base()
    content["hosts"]["db2"] = None
    content["runs"][0]["hosts"] = ["db1"]
    assert load(tmp_path, content).hosts["db2"].ssh == "db2"


def test_windows_hosts_have_windows_paths(tmp_path):
    if "diskspd" not in spec.names_of(tools):
        pytest.skip("pipeline/collect/tools/diskspd.py is not there")
    host = {"windows": True, "spool": "D:\\spool", "directories": {"scratch": {"path": "D:\\bench"}}}
    run = {"tool": "diskspd", "target": {"directory": "scratch", "file": "a.dat", "size_bytes": "1G"}}
    loaded = load(tmp_path, {"title": "Windows", "hosts": {"win": host}, "runs": [run]})
    assert loaded.hosts["win"].directories["scratch"].path == "D:\\bench"
    for path in (
        "D:\\",
        "D:bench",
        "D:\\..\\x",
        "D:\\a\\\\b",
        "C:\\Windows\\x",
        "D:\\a:b",
        "D:\\a*",
        "\\\\server\\share",
        "D:\\a ",
    ):
        host["directories"]["scratch"]["path"] = path
        with pytest.raises(SpecError, match=r"hosts\.win\.directories\.scratch\.path: expected"):
            load(tmp_path, {"title": "Windows", "hosts": {"win": host}, "runs": [run]})


@pytest.mark.parametrize("value", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize(
    "place", ["host", "device", "directory", "entry", "file", "alias", "id", "parameter", "monitor"]
)
def test_hostile_names_are_refused(place, value, tmp_path):
    content = base()
    host, run = content["hosts"]["db1"], content["runs"][0]
    match place:
        case "host":
            content["hosts"][value] = content["hosts"].pop("db1")
        case "device":
            host["devices"][value] = host["devices"].pop("nvme")
            run["target"] = value
        case "directory":
            host["directories"][value] = host["directories"].pop("scratch")
        case "entry":
            run["name"] = value
        case "file":
            run["target"] = {"directory": "scratch", "file": value, "size_bytes": 1}
        case "alias":
            host["ssh"] = value
        case "id":
            host["devices"]["nvme"]["id"] = f"/dev/disk/by-id/{value}"
        case "parameter":
            run["parameters"][value] = 1
        case "monitor":
            run["monitors"] = [value]
    with pytest.raises(SpecError) as caught:
        load(tmp_path, content)
    assert_harmless(str(caught.value))


@pytest.mark.parametrize("name", sorted(HOSTILE.keys() - {"blank", "empty", "confusable", "full_width", "superscript"}))
def test_hostile_paths_and_texts_are_refused_or_inert(name, tmp_path):
    for field in ("spool", "role", "path"):
        content = base()
        host = content["hosts"]["db1"]
        if field == "path":
            host["directories"]["scratch"]["path"] = f"/mnt/{HOSTILE[name]}"
        else:
            host[field] = f"~/{HOSTILE[name]}" if field == "spool" else HOSTILE[name]
        try:
            held = load(tmp_path, content).hosts["db1"]
        except SpecError as error:
            assert_harmless(str(error))
        else:
            assert not re.search(r"[\x00-\x1f\u200b\u202e\udcff]", f"{held.spool}{held.role}{held.directories}")


def assert_harmless(message):
    """An error is short, and shows signs that look like others, or like none, by their codes."""
    assert len(message) < 2000
    assert not set(message) & {"\0", "\r", "\x1b", "\u202e", "\u200b", "\udcff", "\u0430"}
    assert all(":" in line for line in message.splitlines())


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        "hosts: {}\nruns: " + "[" * 500 + "]" * 500,
        "a: &a [x]\n"
        + "".join(f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]\n" for a, b in zip("abcdefghi", "bcdefghij", strict=True)),
        "m0: &m0 {k: 1}\n" + "".join(f"m{n + 1}: &m{n + 1} {{<<: [{', '.join([f'*m{n}'] * 9)}]}}\n" for n in range(12)),
        "x: " + "9" * 10_000,
        'x: "\\UFFFFFFFF"',
        'x: "\\ud800"',
        "x: !!timestamp nonsense",
        "x: !!bool nonsense",
        "x: 9999-99-99",
        "? [a]\n: 1",
        "<<: 1",
        "",
        "- 1",
        "\x00",
        "#" * 2_000_000,
    ],
    ids=lambda text: re.sub(r"\W+", " ", text[:20]),
)
def test_bombs_are_refused(text, tmp_path):
    with pytest.raises(SpecError):
        load(tmp_path, text + "\nhosts: {}\nruns: []\n" if text[:1] not in "[h" else text)
    (tmp_path / "data/campaigns" / f"{SLUG}.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SpecError, match="UTF-8"):
        spec.load(tmp_path, SLUG)


def test_no_file_and_a_bad_slug(tmp_path):
    with pytest.raises(SpecError, match="found no file"):
        spec.load(tmp_path, SLUG)
    with pytest.raises(SpecError, match="campaign"):
        spec.load(tmp_path, "../x")


def test_a_description_is_no_spec():
    assert spec.is_collectable({"hosts": {}, "runs": []})
    assert not spec.is_collectable({"title": "Published"})


VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.integers(min_value=10**30, max_value=10**400), st.floats(),
    st.text(max_size=12), st.text(alphabet=st.characters(codec=None), max_size=3), st.dates(), st.binary(max_size=3),
    st.lists(st.one_of(st.integers(), st.text(max_size=3)), max_size=3),
    st.dictionaries(st.one_of(st.text(max_size=5), st.integers()), st.integers(), max_size=3),
    st.sampled_from(list(HOSTILE.values())),
    st.sampled_from(["nvme", "10G", "/mnt/x", "1e400G", "iostat", 1e308, "db1"]),
)  # fmt: skip
FIELDS = [
    *[(key,) for key in spec.Spec.model_fields],
    *[("hosts", "db1", key) for key in spec.Host.model_fields],
    *[("hosts", "db1", "devices", "nvme", key) for key in spec.Device.model_fields],
    *[("hosts", "db1", "directories", "scratch", key) for key in spec.Directory.model_fields],
    *[("runs", 0, key) for key in spec.Entry.model_fields],
    *[("runs", 0, "target", key) for key in spec.File.model_fields],
    *[("runs", 0, "parameters", key) for key in ("rw", "iodepth", "bs", "runtime", "size", "rate_iops", "filename")],
    ("runs", 0, "points", 0), ("runs", 0, "points", 0, "iodepth"), ("runs", 0, "precondition", "rw"),
    ("runs", 0, "monitors", 0), ("runs", 0, "logs", 0), ("runs", 0), ("hosts", "db1"),
]  # fmt: skip


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(changes=st.lists(st.tuples(st.sampled_from(FIELDS), VALUES), min_size=1, max_size=3))
def test_any_value_in_any_field_gives_a_plan_or_a_spec_error(changes, tmp_path):
    content = base()
    content["runs"][0]["monitors"] = content["runs"][0]["logs"] = []
    for keys, value in changes:
        put(content, keys, value)
    try:
        planned = plan.make(load(tmp_path, content))
    except SpecError as error:
        assert str(error)
    else:
        assert sum(len(held.runs) for held in planned) > 0


def put(content, keys, value):
    """Set a value deep in the content, as far as its places are still there."""
    *above, last = keys
    for key in above:
        if isinstance(content, dict):
            content = content.setdefault(key, {})
        elif isinstance(content, list) and isinstance(key, int):
            content = content[key] if key < len(content) else None
    if isinstance(content, dict):
        content[last] = value
    elif isinstance(content, list) and isinstance(last, int):
        content[last : last + 1] = [value]


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(max_size=200))
def test_any_text_as_a_file_gives_a_spec_error(text, tmp_path):
    try:
        load(tmp_path, text.encode("utf-8", "replace").decode("utf-8"))
    except SpecError:
        return
    raise AssertionError(sys.version)
