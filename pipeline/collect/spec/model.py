"""A campaign's spec, ``data/campaigns/<slug>.yaml``: what is measured where; checked before a host is asked.

Every mistake of a file is told at once, as ``path:line: key: expected …, found …``. Types are strict: a serial without
quotes that YAML reads as a number is an error, not a text that has lost its zeros.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    PlainValidator,
    PrivateAttr,
    Tag,
    ValidationError,
    model_validator,
)

from pipeline.campaign import spec_path
from pipeline.collect import monitors, tools
from pipeline.collect.spec import fields
from pipeline.collect.spec.consistency import problems_of
from pipeline.collect.spec.document import Document, Keys, Problem, read, shown
from pipeline.collect.spec.fields import Limit, Name, Seconds, Value
from pipeline.errors import SpecError

MAX_REPEATS = 10_000


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Device(_Model):
    """A block device, by the name that stays with the hardware, and the serial or WWN that it must report."""

    id: fields.DeviceId
    serial: fields.Identity | None = None
    wwn: fields.Identity | None = None
    destructive: bool = False  # whether runs may overwrite it

    @model_validator(mode="after")
    def _has_one_identity(self) -> Device:
        if (self.serial is None) == (self.wwn is None):
            raise ValueError("exactly one of `serial` and `wwn`, as the device reports it")
        return self

    @property
    def identity(self) -> str:
        """The serial or WWN."""
        return self.serial or self.wwn or ""


class Directory(_Model):
    """A directory that files may be written in; ``free_bytes`` must stay free beside them."""

    path: fields.Folder
    free_bytes: fields.Size | None = None


class Host(_Model):
    """A machine: ``ssh`` is its alias, ``address`` what the campaign's other hosts call it."""

    name: str
    ssh: fields.Alias = Field(default_factory=lambda data: data["name"])
    address: fields.Address = Field(default_factory=lambda data: data["ssh"])
    role: fields.Line | None = None
    spool: fields.SpoolFolder = "~/.benchmark-spool"
    windows: bool = False
    devices: dict[Name, Device] = {}
    directories: dict[Name, Directory] = {}


class File(_Model):
    """A file of ``size_bytes`` in one of the host's directories."""

    directory: Name
    file: fields.FileName
    size_bytes: fields.Size


class MonitorChoice(_Model):
    """A side monitor and its options."""

    name: str
    options: Mapping[str, fields.Sweep] = {}


def names_of(package: Any) -> list[str]:
    """The modules of ``tools`` or ``monitors``, each named as its tool."""
    return sorted(found.name for found in pkgutil.iter_modules(package.__path__) if not found.name.startswith("_"))


def _known(value: object, package: Any) -> str:
    names = names_of(package)
    if not isinstance(value, str) or value not in names:
        raise ValueError(f"one of {', '.join(names)}")
    return value


def _monitor(value: object) -> MonitorChoice:
    """``iostat`` or ``{iostat: {interval_s: 1}}``."""
    if isinstance(value, MonitorChoice):
        return value
    name, options = next(iter(value.items())) if isinstance(value, dict) and len(value) == 1 else (value, {})
    name = _known(name, monitors)
    if not isinstance(options, dict):
        raise ValueError(f"a monitor's name, or {name}: with a mapping of options")
    for key, option in options.items():
        try:
            fields.check_option(key, option)
        except ValueError as error:
            raise ValueError(f"for {name}'s option {shown(key)} {error}, not {shown(option)}") from error
    return MonitorChoice(name=name, options=options)


class Entry(_Model):
    """A tool with its parameters (a list is swept over) and points, on some hosts."""

    tool: Annotated[str, PlainValidator(partial(_known, package=tools))]
    name: Name | None = None
    hosts: tuple[Name, ...] = ()  # load() fills in all where there are none
    target: (
        Annotated[
            Annotated[Name, Tag("device")] | Annotated[File, Tag("file")],
            Discriminator(lambda value: "file" if isinstance(value, dict | File) else "device"),
        ]
        | None
    ) = None
    parameters: dict[fields.ParameterName, fields.Sweep] = {}
    points: tuple[dict[fields.ParameterName, Value], ...] = ()
    warm_up_s: Seconds = 0.0
    cool_down_s: Seconds = 0.0
    precondition: dict[fields.ParameterName, Value] = {}
    logs: tuple[Name, ...] = ()
    monitors: tuple[Annotated[MonitorChoice, PlainValidator(_monitor)], ...] = ()
    time_limit_s: Limit | None = None
    sudo: bool = False
    binary: fields.Path | None = None
    repeats: Annotated[int, Field(ge=1, le=MAX_REPEATS)] | None = None


class Spec(_Model):
    """A campaign."""

    slug: str
    title: fields.Line
    question: fields.Text | None = None
    source: fields.Text | None = None
    notes: fields.Text | None = None
    seed: Annotated[int, Field(ge=0, lt=1 << 63)] = 1
    repeats: Annotated[int, Field(ge=1, le=MAX_REPEATS)] = 1
    time_limit_s: Limit | None = None
    hosts: dict[Name, Host]
    runs: tuple[Entry, ...]
    _document: Document = PrivateAttr(default_factory=lambda: Document("spec"))

    def error(self, problems: list[Problem]) -> SpecError:
        """One error for all of these, each with its line."""
        return self._document.error(problems)

    def repeats_of(self, entry: Entry) -> int:
        """How often each point of an entry is measured."""
        return entry.repeats or self.repeats


def is_collectable(content: Mapping[str, Any]) -> bool:
    """Whether a campaign's file is a spec to run; others only describe."""
    return "hosts" in content and "runs" in content


def load(root: Path, slug: str) -> Spec:
    """Read and check ``data/campaigns/<slug>.yaml``; SpecError lists every mistake with its line."""
    path = spec_path(root, slug)
    if not path.is_file():
        raise SpecError(f"{path}: expected a campaign's spec, found no file")
    document = read(path)
    content = document.content
    if not isinstance(content, dict) or not is_collectable(content):
        raise SpecError(f"{path}: expected a mapping with `hosts` and `runs`, found {shown(content)} without them")
    problems = [Problem(keys, "expected no such key, it is the name above") for keys in _given_away(content)]
    try:
        spec = Spec.model_validate(_completed(content, slug))
    except ValidationError as error:
        found = error.errors(include_url=False)
        problems += [_problem(one) for one in found if one["type"] != "default_factory_not_called"]
    else:
        spec._document = document
        problems += problems_of(spec)
    if problems:
        raise document.error(problems)
    return spec


def _given_away(content: dict[str, Any]) -> Iterator[Keys]:
    """Keys of the model that are not the person's to write."""
    if "slug" in content:
        yield ("slug",)
    hosts = content["hosts"]
    for name, host in hosts.items() if isinstance(hosts, dict) else ():
        if isinstance(host, dict) and "name" in host:
            yield "hosts", name, "name"


def _completed(content: dict[str, Any], slug: str) -> dict[str, Any]:
    hosts, runs = content["hosts"], content["runs"]
    if isinstance(hosts, dict):
        hosts = {  # `db1:` alone is a host of whose keys none is needed
            name: {**(host or {}), "name": name} if isinstance(host, dict | None) else host
            for name, host in hosts.items()
        }
        if isinstance(runs, tuple):
            runs = tuple({"hosts": tuple(hosts), **run} if isinstance(run, dict) else run for run in runs)
    return {**content, "slug": slug, "hosts": hosts, "runs": runs}


def _problem(error: Any) -> Problem:
    loc: Keys = tuple(key for key in error["loc"] if key != "[key]")
    if loc[0] == "runs" and loc[2:3] == ("target",):
        loc = loc[:3] + loc[4:]  # without the union's tag
    return fields.problem_of(error, loc, _known_keys(loc))


def _known_keys(keys: Keys) -> list[str]:
    """The keys that may stand beside this one."""
    places: dict[tuple[object, ...], type[BaseModel]] = {
        (1,): Spec, (3, "hosts"): Host, (3, "runs"): Entry, (4, "runs", "target"): File,
        (5, "hosts", "devices"): Device, (5, "hosts", "directories"): Directory,
    }  # fmt: skip
    model = places.get((len(keys), *keys[:-1][::2]))
    return [key for key in model.model_fields if key not in ("slug", "name") or model is Entry] if model else []
