"""The specification of a latency budget, as ``params.yaml`` holds it: which measurement gives which layer.

::

    budgets:
      mine:                                    # a name of your own
        title: What the figures' titles say
        campaign: 2026-11-my-database          # of every measurement that names no other
        operation: insert                      # what one operation is called
        layers:                                # from the outside in
          - {layer: client and server code, level: insert, instrument: log_mean, run: …, tool: …, op: transaction}
          - {layer: flush of the log, level: sync, inside: insert, instrument: operation_time, …}
        elapsed: {instrument: elapsed, …}      # optional: the wall time an operation, from a count of its own
        checks:                                # optional: two instruments for one quantity
          - {check: what is compared, one: {level: sync}, other: {instrument: operation_mean, …}}
        tail: {outer: {tool: …, op: …}, …}     # optional: the slowest operations

A level is what an instrument measured, with all that is inside it; a layer is a level minus the levels directly inside.
``inside`` names the level around it; without it a layer is inside the one before. Instruments and their options:
``instruments.INSTRUMENTS``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipeline.analyse.budget.instruments import INSTRUMENTS
from pipeline.analyse.budget.measures import REQUESTS
from pipeline.errors import SpecError


@dataclass(frozen=True)
class Measurement:
    """An instrument with all its options; ``where`` in the specification it stands."""

    instrument: str
    options: Mapping[str, Any]
    where: str


@dataclass(frozen=True)
class LayerSpec:
    """A layer's name, the level it is the rest of, the level around it (None: the outermost), how it is measured."""

    layer: str
    level: str
    inside: str | None
    measurement: Measurement


@dataclass(frozen=True)
class CheckSpec:
    """Two ways to one quantity: each the key of a level, or a measurement."""

    check: str
    one: str | Measurement
    other: str | Measurement


@dataclass(frozen=True)
class TailSpec:
    """The log of the operations, the logs of the layers in them by layer, and the layer that has one call an operation.

    Without ``layers`` only bounds can be stated. ``window_s`` is the length of a batch of a single run.
    """

    campaign: str
    run: str | None
    point: str | None
    quantile: float
    window_s: float
    outer: Mapping[str, str]
    layers: Mapping[str, Mapping[str, str]]
    align: str | None


@dataclass(frozen=True)
class BudgetSpec:
    """A valid specification: names are unique, levels form one tree, instruments have what they need."""

    key: str
    title: str
    operation: str
    layers: tuple[LayerSpec, ...]
    elapsed: Measurement | None
    checks: tuple[CheckSpec, ...]
    tail: TailSpec | None


def read_budgets(content: object, where: str = "params.yaml: budgets") -> dict[str, BudgetSpec]:
    """Check the specifications of all budgets; SpecError says what was expected, what was found, and where."""
    budgets = _mapping(content, where)
    if not budgets:
        raise SpecError(f"{where}: expected at least one budget, found none")
    return {str(key): read_budget(value, str(key), f"{where}: {key}") for key, value in budgets.items()}


def read_budget(content: object, key: str, where: str) -> BudgetSpec:
    """Check the specification of one budget."""
    budget = _mapping(content, where)
    _known(budget, {"title", "campaign", "operation", "layers", "elapsed", "checks", "tail"}, where)
    campaign = _text(budget, "campaign", where)
    layers = _layers(budget.get("layers"), campaign, f"{where}: layers")
    levels = {layer.level for layer in layers}
    elapsed = budget.get("elapsed")
    tail = budget.get("tail")
    checks = _sequence(budget.get("checks", []), f"{where}: checks")
    return BudgetSpec(
        key, _text(budget, "title", where), _text(budget, "operation", where), layers,
        None if elapsed is None else _measurement(elapsed, campaign, f"{where}: elapsed"),
        tuple(_check(check, campaign, levels, f"{where}: checks[{i}]") for i, check in enumerate(checks, 1)),
        None if tail is None else _tail(tail, campaign, f"{where}: tail"),
    )  # fmt: skip


def _layers(content: object, campaign: str, where: str) -> tuple[LayerSpec, ...]:
    entries = _sequence(content, where)
    if len(entries) < 2:
        raise SpecError(f"{where}: expected at least two layers, found {len(entries)}")
    layers: list[LayerSpec] = []
    for i, entry in enumerate(entries, 1):
        here = f"{where}[{i}]"
        fields = dict(_mapping(entry, here))
        name = _text(fields, "layer", here)
        here = f"{here} ({name})"
        level = _text(fields, "level", here) if "level" in fields else name
        levels = [layer.level for layer in layers]
        if level in levels or name in (layer.layer for layer in layers):
            raise SpecError(f"{here}: expected a layer and a level of its own, found {level!r} a second time")
        inside = fields.get("inside", levels[-1] if levels else None)
        if levels and inside not in levels:
            raise SpecError(f"{here}: inside: expected a level above it ({', '.join(levels)}), found {inside!r}")
        if not levels and inside is not None:
            raise SpecError(f"{here}: inside: expected none of the first, outermost layer, found {inside!r}")
        rest = {key: value for key, value in fields.items() if key not in ("layer", "level", "inside")}
        layers.append(LayerSpec(name, level, inside, _measurement(rest, campaign, here)))
    return tuple(layers)


def _measurement(content: object, campaign: str, where: str) -> Measurement:
    """An instrument with its options, the defaults filled in."""
    fields = dict(_mapping(content, where))
    name = _text(fields, "instrument", where)
    if name not in INSTRUMENTS:
        raise SpecError(f"{where}: instrument: expected one of {', '.join(INSTRUMENTS)}, found {name!r}")
    del fields["instrument"]
    instrument = INSTRUMENTS[name]
    here = f"{where}: {name}"
    _known(fields, {*instrument.required, *instrument.optional}, here)
    for option in instrument.required:
        if option not in fields:
            raise SpecError(f"{here}: expected {option}:, found only {', '.join(fields) or 'nothing'}")
    options = {**instrument.optional, **fields}
    options["campaign"] = options.get("campaign") or campaign
    for option, value in options.items():
        _check_option(option, value, instrument.optional.get(option), here)
    if "run" in instrument.optional and (options["run"] is None) == (options["point"] is None):
        raise SpecError(f"{here}: expected either run: (one run) or point: (all its repeats), found both or neither")
    return Measurement(name, options, where)


def _check_option(option: str, value: object, default: object, where: str) -> None:
    """SpecError where an option is not of its kind."""
    if option == "per":
        per = _mapping(value, f"{where}: per")
        _known(per, {"tool", "op"}, f"{where}: per")
        for name in ("tool", "op"):
            _text(per, name, f"{where}: per")
    elif option in ("times", "over"):
        for i, figure in enumerate(_sequence(value, f"{where}: {option}"), 1):
            here = f"{where}: {option}[{i}]"
            _known(_mapping(figure, here), {"exhibit", "row", "column"}, here)
            for name in ("exhibit", "row"):
                _text(_mapping(figure, here), name, here)
    elif option in ("share_left", "inverse", "as_printed"):
        if not isinstance(value, bool):
            raise SpecError(f"{where}: {option}: expected true or false, found {value!r}")
    elif option == "request" and value not in REQUESTS:
        raise SpecError(f"{where}: request: expected one of {', '.join(REQUESTS)}, found {value!r}")
    elif option == "value" or isinstance(default, int | float):
        _number(option, value, where, is_count=isinstance(default, int), is_length=option == "window_s")
    elif value is not None and (not isinstance(value, str) or not value):
        raise SpecError(f"{where}: {option}: expected a text, found {value!r}")


def _check(content: object, campaign: str, levels: set[str], where: str) -> CheckSpec:
    fields = _mapping(content, where)
    _known(fields, {"check", "one", "other"}, where)
    name = _text(fields, "check", where)
    sides: list[str | Measurement] = []
    for side in ("one", "other"):
        here = f"{where} ({name}): {side}"
        value = _mapping(fields.get(side), here)
        if "level" not in value:
            sides.append(_measurement(value, campaign, here))
            continue
        _known(value, {"level"}, here)
        if value["level"] not in levels:
            raise SpecError(f"{here}: level: expected one of {', '.join(sorted(levels))}, found {value['level']!r}")
        sides.append(value["level"])
    return CheckSpec(name, *sides)


def _tail(content: object, campaign: str, where: str) -> TailSpec:
    fields = _mapping(content, where)
    _known(fields, {"campaign", "run", "point", "quantile", "window_s", "outer", "layers", "align"}, where)
    run, point = fields.get("run"), fields.get("point")
    if (run is None) == (point is None):
        raise SpecError(f"{where}: expected either run: (one run) or point: (all its repeats), found both or neither")
    quantile, window = fields.get("quantile", 0.99), fields.get("window_s", 0.5)
    _number("quantile", quantile, where)
    _number("window_s", window, where, is_length=True)
    if not 0.5 <= quantile < 1:
        raise SpecError(f"{where}: quantile: expected 0.5 … below 1, found {quantile!r}")
    layers = {str(name): _log(log, f"{where}: layers: {name}") for name, log in
              _mapping(fields.get("layers", {}), f"{where}: layers").items()}  # fmt: skip
    align = fields.get("align")
    if layers and align not in layers:
        found = f"found {align!r}"
        raise SpecError(
            f"{where}: align: expected the layer that has one call an operation ({', '.join(layers)}), {found}"
        )
    slug = _text({"campaign": campaign, **fields}, "campaign", where)
    return TailSpec(
        slug, run, point, float(quantile), float(window), _log(fields.get("outer"), f"{where}: outer"), layers, align
    )


def _log(content: object, where: str) -> Mapping[str, str]:
    fields = _mapping(content, where)
    _known(fields, {"tool", "op", "phase"}, where)
    return {name: _text(fields, name, where) for name in ("tool", "op", "phase") if name != "phase" or name in fields}


def _mapping(content: object, where: str) -> Mapping[str, Any]:
    if not isinstance(content, Mapping):
        raise SpecError(f"{where}: expected a mapping, found {content!r}")
    return content


def _sequence(content: object, where: str) -> Sequence[Any]:
    if not isinstance(content, list | tuple):
        raise SpecError(f"{where}: expected a list, found {content!r}")
    return content


def _text(fields: Mapping[str, Any], name: str, where: str) -> str:
    value = fields.get(name)
    if not isinstance(value, str) or not value.strip():
        raise SpecError(f"{where}: {name}: expected a text, found {value!r}")
    return value


def _number(name: str, value: object, where: str, *, is_count: bool = False, is_length: bool = False) -> None:
    wanted = "a count from 0" if is_count else "a length above 0" if is_length else "a number from 0"
    is_number = isinstance(value, int if is_count else (int, float)) and not isinstance(value, bool)
    if not is_number or not 0 <= float(str(value)) < float("inf") or (is_length and not value):
        raise SpecError(f"{where}: {name}: expected {wanted}, found {value!r}")


def _known(fields: Mapping[str, Any], known: set[str], where: str) -> None:
    unknown = [str(name) for name in fields if name not in known]
    if unknown:
        raise SpecError(f"{where}: expected {', '.join(sorted(known))}, found {', '.join(unknown)}")
