"""Printed results recomputed: what agrees, what was cut off, what rounding allows, what does not follow."""

from pathlib import Path

import pytest
from frames import report, tables

import pipeline
from pipeline.analyse.price.article_claims import ARTICLE_CLAIMS, ARTICLES
from pipeline.analyse.price.claims import Claim, Ref, check_claims
from pipeline.errors import AnalysisError
from pipeline.parse.published import figure_of


def published(**figures):
    made = report(tool="published")
    for name, (text, unit) in figures.items():
        made.add("published", source="s", exhibit="e", row=name, column="c", value_text=text, **figure_of(text, unit))
    return {"a": tables(made)}


def outcome_of(new, old, claim, kind="change", unit="ops/s"):
    made = published(new=(new, unit), old=(old, unit), claim=claim)
    figures = [Ref("e", name, "c") for name in ("new", "old", "claim")]
    found = check_claims(made, [Claim("x", "a", (figures[0],), (figures[1],), figures[2], kind)])
    return found.frame.iloc[0]


@pytest.mark.parametrize(
    ("new", "old", "claim", "outcome"),
    [
        ("1.78", "1.42", ("25%", "%"), "agrees"),  # 25.35
        ("5.34", "4.14", ("28%", "%"), "cut off"),  # 28.99; at least 28.7 by rounding
        ("1.71", "1.21", ("42%", "%"), "within rounding"),  # 41.32, 40.3 … 42.3
        ("1.71", "1.21", ("43%", "%"), "differs"),
        ("812,000", "616,000", ("31%", "%"), "cut off"),
        ("4,133.63", "4,219.04", ("-2.02%", "%"), "agrees"),
        ("6,228", "6,231", ("+ 0%", "%"), "agrees"),
        ("1.44", "1.45", ("+ 0%", "%"), "within rounding"),
        ("1.44", "1.45", (">1%", "%"), "differs"),
    ],
)
def test_outcomes_of_a_change(new, old, claim, outcome):
    assert outcome_of(new, old, claim)["outcome"] == outcome


def test_ratio_decrease_and_a_bound():
    assert outcome_of("37.3", "4.6", ("8x", "x"), kind="ratio")["outcome"] == "agrees"
    assert outcome_of("33", "45", ("36%", "%"), kind="decrease")["outcome"] == "differs"
    assert outcome_of("33", "45", ("27%", "%"), kind="decrease")["outcome"] == "agrees"
    assert outcome_of("33", "45", (">20%", "%"), kind="decrease")["outcome"] == "agrees"
    row = outcome_of("1.78", "1.42", ("25%", "%"))
    assert row["recomputed"] == pytest.approx(1.78 / 1.42 - 1)
    assert (row["low"], row["high"]) == pytest.approx((1.775 / 1.425 - 1, 1.785 / 1.415 - 1))
    assert row["recomputed_text"] == "25.35 % (24.56 % … 26.15 %)"


def test_a_divisor_of_0_and_a_figure_that_is_not_there():
    with pytest.raises(AnalysisError, match="other than 0"):
        outcome_of("5", "0", ("1%", "%"))
    with pytest.raises(AnalysisError, match="a / e / none / c, found none"):
        check_claims(published(new=("1", "1")), [Claim("x", "a", (Ref("e", "none", "c"),), (), 1.0)])
    with pytest.raises(AnalysisError, match="expected claims"):
        check_claims({}, [])


def test_explanations_stand_beside_the_claims_and_are_not_counted():
    made = published(n=("50", "1"), claim=("100", "1"))
    of = (Ref("e", "n", "c"),)
    claims = [Claim("half", "a", of, (), Ref("e", "claim", "c")),
              Claim("twice", "a", (*of, 2.0), (), Ref("e", "claim", "c"), is_explanation=True)]  # fmt: skip
    found = check_claims(made, claims)
    assert list(found.frame["outcome"]) == ["differs", "agrees"]
    assert found.counts().set_index("outcome").loc["differs", "n"] == 1
    assert found.counts()["n"].sum() == 1
    assert "Of n = 1 printed results" in found.sentence()
    assert "half (a): printed 100, from its own figures 50" in found.sentence()
    assert len(found.page_frame()) == len(found.of("a")) == 2


def test_the_five_articles():
    raw = Path(__file__).parents[2] / "data" / "raw"
    paths = {slug: next(raw.glob(f"{slug}/article-published-*/*.yaml")) for slug in ARTICLES}
    found = check_claims({slug: pipeline.read(path) for slug, path in paths.items()}, ARTICLE_CLAIMS)
    assert set(found.frame["campaign"]) == set(ARTICLES)
    outcome = found.frame.set_index(["campaign", "claim"])["outcome"]
    assert outcome["2018-06-scylla-i3-metal", "Figure 1, peak"] == "agrees"
    assert outcome["2018-06-scylla-i3-metal", "Figure 1, average"] == "cut off"
    assert outcome["2019-05-scylla-i3en", "L3 cache less"] == "differs"
    assert outcome["2019-05-scylla-i3en", "explanation: how much more the larger L3 cache has"] == "agrees"
    assert outcome["2022-05-nutanix-insert", "inserts a second"] == "differs"
    assert outcome["2022-05-nutanix-insert", "explanation: 1 over the rounded latency"] == "agrees"
    ratings = found.frame[found.frame["claim"].str.contains("x-rating of")]
    assert list(ratings["recomputed"]) == [64, 54, 64, 59, 59]
    stress = found.frame[found.frame["claim"].str.startswith("Table 2, stress-ng")]
    assert list(stress["outcome"]) == ["agrees"] * 9
    assert (found.frame.loc[found.frame["is_explanation"], "outcome"] != "differs").all()
