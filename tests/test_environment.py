"""pyproject.toml, the locks and environment.yml say the same; nothing names a registry."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml
from rattler import BuildString, MatchSpec, PackageName, PackageRecord, Version

ROOT = Path(__file__).parents[1]
CONDA_NAMES = {"jupyter-server-mathjax": "jupyter_server_mathjax", "universal-pathlib": "universal_pathlib"}
PIP_ONLY = {"hdrhistogram"}  # not on conda-forge: `pip: -e .` brings it


def declared():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    runtime = [re.match(r"[\w-]+", line)[0] for line in project["dependencies"]]
    return runtime, [re.match(r"[\w-]+", line)[0] for line in project["optional-dependencies"]["test"]]


def locked(name):
    return dict(re.findall(r"^([\w.-]+)==([^\s;]+)", (ROOT / name).read_text("utf-8"), re.M))


def conda():
    return yaml.safe_load((ROOT / "environment.yml").read_text("utf-8"))["dependencies"]


def test_the_locks_hold_what_is_declared_with_hashes_and_no_urls():
    runtime, test = declared()
    assert set(runtime) <= locked("requirements.lock").keys()
    assert set(test) <= locked("requirements-test.lock").keys()
    assert locked("requirements.lock").items() <= locked("requirements-test.lock").items()
    for name in ("requirements.lock", "requirements-test.lock"):
        text = (ROOT / name).read_text("utf-8")
        assert "://" not in text
        assert text.count("==") <= text.count("--hash=sha256:")


def test_environment_yml_agrees_with_the_lock():
    specs = {spec.name.normalized: spec for spec in (MatchSpec(line) for line in conda() if isinstance(line, str))}
    runtime, _ = declared()
    names = {CONDA_NAMES.get(name, name): name for name in runtime if name not in PIP_ONLY}
    assert specs.keys() == names.keys() | {"python", "pip"}
    for conda_name, name in names.items():
        version = locked("requirements.lock")[name]
        record = PackageRecord(PackageName(conda_name), version, BuildString("0"), 0, "noarch")
        assert specs[conda_name].matches(record), f"{specs[conda_name]} does not take the lock's {version}"
        assert Version(version) >= Version(minimum(name))
    assert {"pip": ["-e ."]} in conda()


def test_environment_yml_asks_for_the_same_python():
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["requires-python"]
    (line,) = [line for line in conda() if isinstance(line, str) and line.startswith("python ")]
    assert line.split()[1] == wanted


def minimum(name):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    (line,) = [line for line in project["dependencies"] if re.match(r"[\w-]+", line)[0] == name]
    return line.split(">=")[1]


@pytest.mark.xdist_group("one")
def test_the_tests_of_a_group_stay_on_one_worker(request):
    if request.config.getoption("loadgroup", False):  # as `make test` has it; xdist knows a group by its tests' ids
        assert request.node.nodeid.endswith("@one")
