"""What a publication computed from its own figures, recomputed: whether it follows from what is printed.

Only arithmetic is checked, with the rounding of every printed figure carried through (``rounding``). Whether a
difference is larger than the scatter of repeats cannot be: none of the publications says how its runs scattered.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pandas as pd

from pipeline.analyse.rounding import Interval, half_unit, printed
from pipeline.errors import AnalysisError
from pipeline.units import format_si

Kind = Literal["ratio", "change", "decrease"]
OUTCOMES = ("agrees", "cut off", "within rounding", "differs")
MEANING = {
    "agrees": "the recomputed value rounds to the printed one",
    "cut off": "the printed value is the recomputed one with its further digits cut off instead of rounded",
    "within rounding": "it follows from some of the values that round to the printed figures",
    "differs": "it follows from none of the values that round to the printed figures",
}


@dataclass(frozen=True)
class Ref:
    """Where a printed figure stands; ``campaign`` where it is another one's."""

    exhibit: str
    row: str
    column: str
    campaign: str | None = None


@dataclass(frozen=True)
class Claim:
    """A printed result and what it was computed from.

    Product of ``of`` over product of ``against``: itself (ratio), less 1 (change), or 1 less it (decrease). Numbers
    are exact; ``claim`` may be one too, where the text states it in words. ``note`` says where numbers come from.
    ``is_explanation``: another reading of a claim that stands beside it.
    """

    name: str
    campaign: str
    of: tuple[Ref | float, ...]
    against: tuple[Ref | float, ...]
    claim: Ref | float
    kind: Kind = "ratio"
    note: str = ""
    is_explanation: bool = False


@dataclass(frozen=True)
class Claims:
    """``frame``: a row a claim: campaign, exhibit, claim, printed, recomputed, low, high, outcome, note.

    Rows with ``is_explanation`` try another reading of a claim that does not follow; they are in no count.
    """

    frame: pd.DataFrame
    warnings: tuple[str, ...]

    def to_frame(self) -> pd.DataFrame:
        """The claims."""
        return self.frame

    @property
    def checked(self) -> pd.DataFrame:
        """The claims themselves, without explanations."""
        return self.frame[~self.frame["is_explanation"]]

    def of(self, campaign: str) -> pd.DataFrame:
        """For a page: the claims of one article."""
        own = self.frame[self.frame["campaign"] == campaign]
        return own[["claim", "printed", "recomputed_text", "outcome", "note"]].reset_index(drop=True)

    def page_frame(self) -> pd.DataFrame:
        """For a page: every claim, explanations too."""
        return self.frame[["campaign", "claim", "printed", "recomputed_text", "outcome", "note"]]

    def counts(self) -> pd.DataFrame:
        """How many came to which outcome, and what that means."""
        counted = self.checked["outcome"].value_counts().reindex(list(OUTCOMES), fill_value=0)
        return pd.DataFrame({"outcome": OUTCOMES, "n": counted.to_numpy(), "meaning": [MEANING[o] for o in OUTCOMES]})

    def differing(self) -> pd.DataFrame:
        """Those that do not follow from the printed figures."""
        return self.checked[self.checked["outcome"] == "differs"].reset_index(drop=True)

    def numbers(self) -> dict[str, Any]:
        """Counts and every claim."""
        return {"counts": self.counts(), "claims": self.frame, "warnings": self.warnings}

    def sentence(self) -> str:
        """How many follow from what is printed, and which do not."""
        counts = self.checked["outcome"].value_counts()
        text = ", ".join(f"{counts.get(outcome, 0)} {outcome}" for outcome in OUTCOMES)
        differing = self.differing()
        named = "; ".join(
            f"{r['claim']} ({r['campaign']}): printed {r['printed']}, from its own figures {r['recomputed_text']}"
            for r in differing.to_dict("records")
        )
        return (
            f"Of n = {len(self.checked)} printed results, recomputed from printed figures and their rounding: {text}"
            f".{f' Do not follow: {named}.' if named else ''}"
        )


def check_claims(tables_by_campaign: Mapping[str, Mapping[str, pd.DataFrame]], claims: Sequence[Claim]) -> Claims:
    """Recompute each claim; AnalysisError where a figure that it names is not there, or a divisor may be 0."""
    if not claims:
        raise AnalysisError("expected claims, found none")
    published = {
        (slug, row["exhibit"], row["row"], row["column"]): row
        for slug, tables in tables_by_campaign.items()
        for row in tables["published"].to_dict("records")
    }
    return Claims(pd.DataFrame([_checked(claim, published) for claim in claims]), ())


def _row(ref: Ref, campaign: str, published: Mapping[tuple[str, str, str, str], Any]) -> Mapping[Any, Any]:
    key = (ref.campaign or campaign, ref.exhibit, ref.row, ref.column)
    if key not in published:
        raise AnalysisError(f"expected a published figure {' / '.join(key)}, found none")
    row: Mapping[Any, Any] = published[key]
    return row


def _checked(claim: Claim, published: Mapping[tuple[str, str, str, str], Any]) -> dict[str, Any]:
    found = Interval.exact(1.0)
    for part in claim.of:
        found = found * _figure(part, claim.campaign, published)
    for part in claim.against:
        found = found / _figure(part, claim.campaign, published)
    if claim.kind != "ratio":
        found = found - 1.0
    if claim.kind == "decrease":
        found = found * -1.0
    if isinstance(claim.claim, Ref):
        row = _row(claim.claim, claim.campaign, published)
        exhibit, text, stated = row["exhibit"], row["value_text"], printed(row)
        outcome, unit = _outcome(found, stated, row), str(row["unit"])
        is_share = "%" in text
    else:
        exhibit, text, stated = "text", f"{claim.claim:,.10g}", Interval.exact(claim.claim)
        outcome, unit, is_share = "within rounding" if found.overlaps(stated) else "differs", "", False
    return {
        "campaign": claim.campaign, "exhibit": exhibit, "claim": claim.name, "printed": text,
        "recomputed_text": _text(found, unit, is_share=is_share), "outcome": outcome, "recomputed": found.value,
        "low": found.low, "high": found.high, "note": claim.note, "is_explanation": claim.is_explanation,
    }  # fmt: skip


def _figure(part: Ref | float, campaign: str, published: Mapping[tuple[str, str, str, str], Any]) -> Interval:
    return printed(_row(part, campaign, published)) if isinstance(part, Ref) else Interval.exact(part)


def _outcome(found: Interval, stated: Interval, row: Mapping[Any, Any]) -> str:
    """See MEANING."""
    if stated.low <= found.value <= stated.high:
        return "agrees"
    if row["relation"] == "=" and stated.value:
        scale = 0.01 if "%" in str(row["value_text"]) else _scale(row)
        unit = 2 * half_unit(_number(row)) * scale
        if math.isclose(math.floor(abs(found.value) / unit + 1e-9) * unit, abs(stated.value), rel_tol=1e-9):
            return "cut off"
    return "within rounding" if found.overlaps(stated) else "differs"


def _number(row: Mapping[Any, Any]) -> str:
    text = "".join(c if c.isdigit() or c in ".," else " " for c in str(row["value_text"]).split("(")[0])
    return text.split()[0]


def _scale(row: Mapping[Any, Any]) -> float:
    return abs(float(row["value"])) / float(_number(row).replace(",", ""))


def _text(found: Interval, unit: str, *, is_share: bool) -> str:
    if is_share:
        texts = [f"{end * 100:.2f} %" for end in (found.value, found.low, found.high)]
    elif unit in ("B", "s", "bit/s", "1/s"):
        texts = [format_si(end, unit.replace("1/s", "/s"), 5) for end in (found.value, found.low, found.high)]
    else:
        sign = {"1": "", "": "", "x": "x"}.get(unit, f" {unit}")
        texts = [f"{end:,.6g}{sign}" for end in (found.value, found.low, found.high)]
    return texts[0] if texts[1] == texts[2] else f"{texts[0]} ({texts[1]} … {texts[2]})"
