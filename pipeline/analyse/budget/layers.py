"""A latency budget: where the mean time of an operation goes, layer by layer, from different instruments.

A layer is a level minus the levels directly inside it: means only, percentiles do not add (``budget_tail`` has the
slowest operations). Uncertainty is propagated to first order with correlations (GUM, JCGM 100:2008, 5.1–5.2) by the
package ``uncertainties``; every ± is an expanded uncertainty, its coverage factor from Student's t with the effective
degrees of freedom of Welch and Satterthwaite (GUM, Annex G). A layer below zero is a contradiction between instruments.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
from uncertainties import UFloat

from pipeline.analyse.budget.agreement import (
    CIRCULAR,
    CONTRADICTION,
    MEASURED,
    UNJUDGED,
    UNRESOLVED,
    Check,
    compared,
    distance,
    residual_verdict,
)  # fmt: skip
from pipeline.analyse.budget.instruments import Bench, Measured, measure
from pipeline.analyse.budget.measures import Frames
from pipeline.analyse.budget.quantity import Expanded
from pipeline.analyse.budget.spec import BudgetSpec, LayerSpec, Measurement
from pipeline.errors import AnalysisError

INCOMPLETE = "its ± is incomplete: an instrument kept no scatter of a single run"


@dataclass(frozen=True)
class Layer:
    """A layer: its own time, the level that it is the rest of (seconds), its share of the outermost one, the verdict.

    ``why`` says more of a verdict that needs it; ``share`` is None where the outermost level is 0.
    """

    layer: str
    level: str
    inside: str | None
    own: Expanded
    whole: Expanded
    share: Expanded | None
    measured: Measured
    verdict: str
    why: str
    is_incomplete: bool


@dataclass(frozen=True)
class Budget:
    """The layers from the outside in, their total (the outermost level), and the residual to the elapsed time."""

    title: str
    operation: str
    confidence: float
    layers: tuple[Layer, ...]
    residual: Expanded | None
    residual_verdict: str
    checks: tuple[Check, ...]
    warnings: tuple[str, ...]

    @property
    def total(self) -> Expanded:
        """The outermost level, which the layers sum to."""
        return self.layers[0].whole

    def layer(self, name: str) -> Layer:
        """A layer by its name or its level; AnalysisError names those there are."""
        for layer in self.layers:
            if name in (layer.layer, layer.level):
                return layer
        raise AnalysisError(f"expected a layer among {', '.join(layer.layer for layer in self.layers)}, found {name!r}")

    def to_frame(self) -> pd.DataFrame:
        """A row a layer, then the residual: time with U and interval at ``confidence``, share with U, verdict."""
        rows = [(layer.layer, layer.own, layer.share, layer.verdict) for layer in self.layers]
        if self.residual is not None:
            rows.append(("residual to the elapsed time", self.residual, None, self.residual_verdict))
        return pd.DataFrame(
            [{"layer": name, "latency_s": own.value, "expanded_uncertainty_s": own.half_width, "low_s": own.low,
              "high_s": own.high, "standard_uncertainty_s": own.standard, "effective_df": _df(own), "coverage_k": own.k,
              "share_ratio": share and share.value, "share_expanded_uncertainty_ratio": share and share.half_width,
              "verdict": verdict} for name, own, share, verdict in rows]
        )  # fmt: skip

    def levels_frame(self) -> pd.DataFrame:
        """A row a level, as measured: the instrument, its mean with U, and the batches its scatter comes from."""
        return pd.DataFrame(
            [{"level": layer.level, "inside": layer.inside, "instrument": layer.measured.instrument,
              "latency_mean_s": layer.whole.value, "expanded_uncertainty_s": layer.whole.half_width,
              "effective_df": _df(layer.whole), "n": layer.measured.n, "batches": layer.measured.batches,
              "scatter": "none kept" if layer.measured.is_incomplete else "in U"} for layer in self.layers]
        )  # fmt: skip

    def checks_frame(self) -> pd.DataFrame:
        """A row a check: both figures and the difference with U, in how many standard uncertainties, the verdict."""
        return pd.DataFrame(
            [{"check": c.check, "one": c.one.text(c.unit), "other": c.other.text(c.unit),
              "difference": c.difference.text(c.unit),
              "standard_uncertainties": _finite(c.difference.standard_uncertainties), "verdict": c.verdict}
             for c in self.checks],
            columns=["check", "one", "other", "difference", "standard_uncertainties", "verdict"],
        )  # fmt: skip

    def numbers(self) -> dict[str, Any]:
        """Layers, levels, total, residual, checks and warnings, by name."""
        frame = self.to_frame()
        return {
            "layers": frame.iloc[: len(self.layers)],
            "levels": {layer.level: layer.whole.value for layer in self.layers},
            "total_s": self.total.value, "total_expanded_uncertainty_s": self.total.half_width,
            "residual_s": None if self.residual is None else self.residual.value,
            "residual_expanded_uncertainty_s": None if self.residual is None else self.residual.half_width,
            "residual_verdict": self.residual_verdict, "checks": [check.numbers() for check in self.checks],
            "confidence": self.confidence, "warnings": self.warnings,
        }  # fmt: skip

    def sentence(self) -> str:
        """The largest layer, how many layers contradict, what the residual is, and what ± means."""
        largest = max(self.layers, key=lambda layer: layer.own.value)
        found = f"Of {self.total.text()} for {self.operation}, “{largest.layer}” is the largest layer with "
        found += largest.own.text() + (f" ({largest.share.percent()})" if largest.share else "")
        wrong = [layer.layer for layer in self.layers if layer.verdict == CONTRADICTION]
        found += f"; contradiction between instruments in {_quoted(wrong)}" if wrong else ""
        unresolved = [layer.layer for layer in self.layers if layer.verdict == UNRESOLVED]
        found += f"; not told from 0: {_quoted(unresolved)}" if unresolved else ""
        if self.residual is not None:
            found += f"; residual {self.residual.text()} ({self.residual_verdict})"
        first = self.layers[0].measured
        bare = [layer.layer for layer in self.layers if layer.is_incomplete]
        incomplete = f"; incomplete, as an instrument kept no scatter, in {_quoted(bare)}" if bare else ""
        return (
            f"{found}. ± is the expanded uncertainty at {self.confidence:.0%} (n = {first.n} {first.batches}, "
            f"{_df_text(self.total)}; GUM Annex G){incomplete}."
        )


def make_budget(spec: BudgetSpec, load: Callable[[str], Frames], confidence: float = 0.95) -> Budget:
    """Measure every level of ``spec`` in the tables that ``load(campaign)`` gives, and subtract.

    Layer = level − Σ levels directly inside; y = Σ ± xᵢ, u²(y) from the inputs' variances and covariances. With U at
    ``confidence``, a layer is "measured" where value − U > 0, a "contradiction" where value + U < 0, else "not told
    from 0". Assumes that the levels are nested as the specification says, which no statistic can show. Degenerate: an
    instrument without scatter (counters of a single run) is used, and every ± it enters is named incomplete.
    AnalysisError where a measurement is not there; confidence outside 0 … 1.
    """
    if not 0 < confidence < 1:
        raise AnalysisError(f"confidence: expected a share between 0 and 1, found {confidence}")
    bench = Bench(load)
    measured = {layer.level: _taken(bench, layer.measurement) for layer in spec.layers}
    layers = tuple(_layer(bench, layer, spec.layers, measured, confidence) for layer in spec.layers)
    outer = measured[spec.layers[0].level]
    residual, verdict, elapsed_warnings = None, "not measured", list[str]()
    if spec.elapsed is not None:
        elapsed = _taken(bench, spec.elapsed)
        residual = bench.sources.expanded(elapsed.quantity - outer.quantity, confidence)
        verdict, elapsed_warnings = residual_verdict(residual, outer, elapsed), list(elapsed.warnings)
    counts = [layer.level for layer in spec.layers if measured[layer.level].unit != "s"]
    if counts:
        raise AnalysisError(f"expected a time of each level, found a count for {_quoted(counts)}")
    checks = []
    for check in spec.checks:
        one, other = (
            measured[side] if isinstance(side, str) else _taken(bench, side) for side in (check.one, check.other)
        )
        checks.append(compared(bench, check.check, one, other, confidence))
    warnings = [layer.why for layer in layers if layer.why] + [check.why for check in checks if check.why]
    warnings += [f"“{layer.layer}”: {text}" for layer in layers for text in layer.measured.warnings]
    warnings += [f"“{layer.layer}”: {INCOMPLETE}" for layer in layers if layer.is_incomplete]
    warnings += [f"elapsed time: {text}" for text in elapsed_warnings]
    if residual is not None and verdict in _RESIDUAL:
        warnings.append(f"the residual to the elapsed time is {residual.text()}: {_RESIDUAL[verdict]}")
    return Budget(spec.title, spec.operation, confidence, layers, residual, verdict, tuple(checks), tuple(warnings))


_RESIDUAL = {
    CONTRADICTION: "the layers exceed the time that passed, so that the two instruments contradict each other",
    CIRCULAR: "the elapsed time and the outermost level come of one figure, so that it is 0 by construction",
}


def _taken(bench: Bench, measurement: Measurement) -> Measured:
    try:
        return measure(bench, measurement.instrument, measurement.options)
    except AnalysisError as error:
        raise AnalysisError(f"{measurement.where}: {error}") from error


def _layer(
    bench: Bench, spec: LayerSpec, specs: Sequence[LayerSpec], measured: Mapping[str, Measured], confidence: float
) -> Layer:
    inner = [other for other in specs if other.inside == spec.level]
    quantity: UFloat = measured[spec.level].quantity - sum(measured[other.level].quantity for other in inner)
    own = bench.sources.expanded(quantity, confidence)
    whole = bench.sources.expanded(measured[spec.level].quantity, confidence)
    total = measured[specs[0].level].quantity
    share = bench.sources.expanded(quantity / total, confidence) if total.nominal_value else None
    is_bare = any(measured[other.level].is_incomplete for other in [spec, *inner])
    runs = {measured[other.level].runs for other in [spec, *inner]}
    verdict = UNRESOLVED if not own.excludes_zero else MEASURED if own.value > 0 else CONTRADICTION
    if verdict == CONTRADICTION and is_bare and len(runs) > 1:
        verdict = UNJUDGED
    why = ""
    if verdict in (CONTRADICTION, UNJUDGED):
        inside = [(bench.sources.expanded(measured[other.level].quantity, confidence), other.level,
                   measured[other.level].instrument) for other in inner]  # fmt: skip
        parts = " + ".join(f"{value.text()} of {level} ({name})" for value, level, name in inside) or "nothing"
        why = (
            f"{verdict.split(',')[0]}, “{spec.layer}”: {whole.text()} of {spec.level} "
            f"({measured[spec.level].instrument}) cannot hold {parts}; it leaves {own.text()}, {distance(own)} below 0"
        )
    return Layer(spec.layer, spec.level, spec.inside, own, whole, share, measured[spec.level], verdict, why, is_bare)


def _quoted(names: Sequence[str]) -> str:
    return ", ".join(f"“{name}”" for name in names)


def _df(value: Expanded) -> float | None:
    return _finite(value.df)


def _finite(value: float) -> float | None:
    return value if value != float("inf") else None


def _df_text(value: Expanded) -> str:
    return f"{value.df:.1f} effective degrees of freedom" if _df(value) is not None else "bounds of rounding only"
