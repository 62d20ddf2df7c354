"""Classes of samples (hypervisor, interrupt, kernel I/O, application, …) by ordered rules; the first match wins."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pandas as pd

from pipeline.analyse.processors.profiles import Profile
from pipeline.errors import AnalysisError

UNCLASSIFIED = "unclassified"
FIELDS = ("symbol", "shared_object", "privilege", "command")
FORMAT = 1


@dataclass(frozen=True)
class ClassRule:
    """A class and the expressions that all must be found in the sample's names; a missing name is an empty text."""

    name: str
    patterns: Mapping[str, re.Pattern[str]] = field(default_factory=dict)

    def matches(self, names: Mapping[str, str]) -> bool:
        """Whether every expression is found in its name."""
        return all(pattern.search(names[column]) for column, pattern in self.patterns.items())


def class_rules(content: object) -> tuple[ClassRule, ...]:
    """Rules from the content of a rules file: ``{"format": 1, "rules": [{"class": name, "symbol": regex, …}]}``.

    AnalysisError names the rule and what is wrong: another format, no rules, an unknown key, no class, no expression,
    an expression that is none.
    """
    if not isinstance(content, dict) or content.get("format") != FORMAT or set(content) != {"format", "rules"}:
        raise AnalysisError(f"class rules: expected a mapping with format: {FORMAT} and rules, found {content!r:.80}")
    entries = content["rules"]
    if not isinstance(entries, list) or not entries:
        raise AnalysisError(f"class rules: expected a list of rules, found {entries!r:.80}")
    return tuple(_rule(number, entry) for number, entry in enumerate(entries, 1))


def classified(profile: Profile, rules: Sequence[ClassRule]) -> Profile:
    """The profile with a column ``class``: that of the first rule that matches, else UNCLASSIFIED.

    Each row, and so each sample, gets one class. Takes a profile by symbols; of stacks it is that of the leaves.
    """
    places = profile.frame.reindex(columns=list(FIELDS))
    distinct = places.drop_duplicates().astype(object)
    texts = distinct.where(distinct.notna(), "").to_dict("records")
    found = [next((rule.name for rule in rules if rule.matches(names)), UNCLASSIFIED) for names in texts]
    by_place = dict(zip(_keys(distinct), found, strict=True))
    return replace(profile, frame=profile.frame.assign(**{"class": [by_place[key] for key in _keys(places)]}))


def unclassified_symbols(profile: Profile, limit: int = 20) -> pd.DataFrame:
    """The most frequent places that no rule took, with their share of all samples of the profile, for better rules."""
    value = "n_samples" if profile.has_counts else "overhead_ratio"
    frame = profile.frame.astype({value: float})
    found = frame[frame["class"] == UNCLASSIFIED].groupby(list(FIELDS), dropna=False)[value].sum()
    shares = (found / frame[value].sum()).sort_values(ascending=False, kind="stable")
    return shares.head(limit).rename("share_ratio").reset_index()


def _keys(frame: pd.DataFrame) -> list[tuple[Any, ...]]:
    filled = frame.astype(object).where(frame.notna(), None)
    return list(filled.itertuples(index=False, name=None))


def _rule(number: int, entry: object) -> ClassRule:
    place = f"class rules, rule {number}"
    if not isinstance(entry, dict) or not isinstance(entry.get("class"), str) or not entry["class"].strip():
        raise AnalysisError(f"{place}: expected a mapping with a class, found {entry!r:.80}")
    if unknown := sorted(map(str, set(entry) - {"class", *FIELDS})):
        raise AnalysisError(f"{place}: unknown {unknown}; there are class, {', '.join(FIELDS)}")
    if len(entry) < 2:
        raise AnalysisError(f"{place} ({entry['class']}): expected at least one of {', '.join(FIELDS)}")
    return ClassRule(entry["class"], {name: _pattern(place, name, entry[name]) for name in FIELDS if name in entry})


def _pattern(place: str, name: str, text: object) -> re.Pattern[str]:
    if not isinstance(text, str) or not text:
        raise AnalysisError(f"{place}: {name}: expected a regular expression as text, found {text!r:.80}")
    try:
        return re.compile(text)
    except re.error as error:
        raise AnalysisError(f"{place}: {name}: {text!r:.80} is no regular expression: {error}") from None
