"""Whether two instruments agree: the verdicts of a latency budget."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pipeline.analyse.budget.instruments import Bench, Measured
from pipeline.analyse.budget.quantity import Expanded
from pipeline.errors import AnalysisError

MEASURED, UNRESOLVED, CONTRADICTION = "measured", "not told from 0", "contradiction"
AGREES, OUTSIDE = "agrees", "time between operations"
CIRCULAR, PRINTED = "circular", "agrees, perhaps by construction"
UNJUDGED = "differs, not judged: need ≥ 2 runs"


@dataclass(frozen=True)
class Check:
    """Two instruments for one quantity: both figures, their difference, and whether they agree."""

    check: str
    one: Expanded
    other: Expanded
    difference: Expanded
    verdict: str
    why: str
    unit: str

    def numbers(self) -> dict[str, Any]:
        """The figures in ``unit`` (s, or 1 of a count), the difference with U, and the verdict."""
        return {
            "check": self.check, "one": self.one.value, "other": self.other.value, "difference": self.difference.value,
            "expanded_uncertainty": self.difference.half_width, "unit": self.unit, "verdict": self.verdict,
        }  # fmt: skip


def compared(bench: Bench, name: str, one: Measured, other: Measured, confidence: float) -> Check:
    """Hold two measurements of one quantity against each other: "agrees" where the interval of the difference holds 0.

    Where it does not, "contradiction"; but of two runs of which one kept no scatter, what varies between runs is not
    known: not judged. AnalysisError for a time against a count.
    """
    first, second = (bench.sources.expanded(side.quantity, confidence) for side in (one, other))
    difference = bench.sources.expanded(one.quantity - other.quantity, confidence)
    if one.unit != other.unit:
        raise AnalysisError(f"check {name!r}: expected two times or two counts, found one of each")
    is_bare = one.is_incomplete or other.is_incomplete
    verdict = _agreement(difference, one, other) or (UNJUDGED if is_bare and one.runs != other.runs else CONTRADICTION)
    why = ""
    if verdict in (CONTRADICTION, UNJUDGED):
        why = (
            f"{verdict.split(',')[0]}, {name}: {first.text(one.unit)} ({one.instrument}) against "
            f"{second.text(one.unit)} ({other.instrument}), {distance(difference)} apart"
            f"{_RUNS_NEEDED if verdict == UNJUDGED else ''}"
        )
    return Check(name, first, second, difference, verdict, why, one.unit)


_RUNS_NEEDED = "; what varies between runs is not known: need ≥ 2 runs of each"


def residual_verdict(residual: Expanded, outer: Measured, elapsed: Measured) -> str:
    """Elapsed minus the outermost level: below 0 cannot be; above 0 is time between operations."""
    return _agreement(residual, outer, elapsed) or (CONTRADICTION if residual.value < 0 else OUTSIDE)


def _agreement(difference: Expanded, one: Measured, other: Measured) -> str | None:
    """How two figures agree; None where they do not. What was computed from the other proves nothing."""
    if one.origins & other.origins and (not difference.standard or one.instrument != "published"):
        return CIRCULAR
    if difference.excludes_zero:
        return None
    return PRINTED if one.instrument == other.instrument == "published" else AGREES


def distance(value: Expanded) -> str:
    """How far a value is from 0, in its standard uncertainties."""
    if value.standard:
        return f"{value.standard_uncertainties:.1f} standard uncertainties"
    return "without any stated uncertainty"
