"""Price files and normalisation: every mistake with its line, no division without a denominator."""

from pathlib import Path

import pandas as pd
import pytest

from pipeline.analyse.price.normalise import normalise, refusal, unit_prices
from pipeline.analyse.price.price_file import parse_prices
from pipeline.errors import AnalysisError
from pipeline.report.prices import load_prices

FILE = """\
sources:
  s: {title: A title, date: 2022-06-20}
instances:
  - {name: big, vcpus: 96, cores: 48, dram_gib: 768, drives: 8, drive_gb: 7500, source: s}
  - {name: small, vcpus: 2, storage_tb: 0.468, source: s}
  - {name: range, vcpus: 2-128, source: s}
prices:
  - {instance: big, price: 10.848, currency: USD, per: hour, kind: on-demand, region: us, date: 2022-06-20, source: s}
  - {instance: big, price: 60000, currency: USD, per: year, hours: 8760, kind: reserved, region: us, date: 2019-05-28, source: s}
  - {instance: range, price: 0.172-10.892, currency: USD, per: hour, kind: on-demand, region: us, date: 2022-06-20, source: s}
"""  # noqa: E501 – one row a line, as in the file
PRICES = parse_prices(FILE, "p.yaml")
RATES = pd.DataFrame(
    {"instance": ["big", "big"], "workload": ["read", "mixed"], "ops_per_s": [3.57e6, 4.14e6],
     "ops_per_s_low": [3.565e6, 4.135e6], "ops_per_s_high": [3.575e6, 4.145e6], "n_nodes": 3}
)  # fmt: skip


def test_quantities_and_prices():
    big = PRICES.instance("big")
    assert big.terabytes.value == 60
    assert PRICES.instance("small").terabytes.value == 0.468
    assert PRICES.price("big", "reserved").per_hour.value == pytest.approx(60000 / 8760)
    assert PRICES.price("range", "on-demand").amount.high == 10.892
    frame = PRICES.to_frame()
    assert list(frame["instance"]) == ["big", "big", "small", "range"]
    assert frame["price"].tolist()[0] == "10.848 USD"
    assert frame["storage_tb"].tolist()[0] == "60"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("price: 10.848", "price: -1", "p.yaml:8: prices: price: expected a number above 0"),
        ("price: 10.848", "price: 2-1", "p.yaml:8: prices: price: expected a number above 0"),
        ("price: 10.848", "price: $10", "p.yaml:8: prices: price: expected a number above 0"),
        ("price: 10.848", "price: .inf", "p.yaml:8: prices: price"),
        ("price: 10.848", "price: 0", "p.yaml:8: prices: price"),
        ("price: 10.848, ", "", "p.yaml:8: prices: price: expected a value"),
        ("currency: USD, per: year", "currency: dollars, per: year", "p.yaml:9: prices: currency"),
        ("per: year, hours: 8760", "per: year", "p.yaml:9: prices: hours: expected the hours of a year"),
        ("per: hour, kind", "per: hour, hours: 1, kind", "p.yaml:8: prices: hours: expected none"),
        ("per: year", "per: decade", "p.yaml:9: prices: per"),
        ("date: 2019-05-28", "date: last year", "p.yaml:9: prices: date"),
        ("region: us, date: 2019", "date: 2019", "p.yaml:9: prices: region: expected a value"),
        ("instance: range", "instance: other", "p.yaml:10: prices: instance"),
        ("name: small", "name: big", "p.yaml:5: instances: name: big is there already"),
        ("name: small, ", "", "p.yaml:5: instances: name: expected a value"),
        ("vcpus: 2,", "vcpus: two,", "p.yaml:5: instances: vcpus"),
        ("vcpus: 2,", "vpus: 2,", "p.yaml:5: instances: vpus: expected one of"),
        ("vcpus: 2,", "vcpus: [2],", "p.yaml:5: instances: vcpus: expected one value"),
        ("vcpus: 2,", "vcpus: 2, vcpus: 2,", "p.yaml:5: instances: vcpus is given twice"),
        (
            "storage_tb: 0.468",
            "storage_tb: 1, drives: 1, drive_gb: 2",
            "p.yaml:5: instances: storage_tb: expected either",
        ),
        ("source: s}\nprices", "source: t}\nprices", "p.yaml:6: instances: source: expected one of s"),
        ("date: 2022-06-20}\ninst", "date: soon}\ninst", "p.yaml:2: sources: s: date"),
        ("sources:\n  s: {title: A title, date: 2022-06-20}", "sources: []", "p.yaml:1: sources"),
        ("instances:", "machines:", "p.yaml:3: machines: expected sources, instances or prices"),
        ("prices:\n", "prices: none\nx: [\n", "p.yaml:"),
    ],
)
def test_a_mistake_is_named_with_its_line(old, new, message):
    assert old in FILE
    with pytest.raises(AnalysisError) as error:
        parse_prices(FILE.replace(old, new, 1), "p.yaml")
    assert message in str(error.value)


@pytest.mark.parametrize("text", ["", "[]", "sources: {}\n", "a: [", "instances: 1\nsources: {}\nprices: []"])
def test_what_is_no_price_file(text):
    with pytest.raises(AnalysisError, match=r"p\.yaml:1"):
        parse_prices(text, "p.yaml")


def test_the_projects_file_and_one_of_the_readers_own(tmp_path: Path):
    shipped = load_prices()
    assert shipped.price("i4i.32xlarge", "on-demand").amount.value == 10.892
    assert {source.rsplit(", ", 1)[1] for source in shipped.sources.values()} >= {"2022-06-20", "2019-05-28"}
    assert all(price.source in shipped.sources for price in shipped.prices)
    own = tmp_path / "own.yaml"
    own.write_text(FILE, "utf-8")
    assert load_prices(own).instance("big").vcpus.value == 96
    with pytest.raises(AnalysisError, match="expected a price file"):
        load_prices(tmp_path / "none.yaml")


def test_each_column_names_its_denominator_and_carries_the_rounding():
    per = ("vcpu", "core", "drive", "tb", "gib_dram", "usd_per_hour", "usd_per_month")
    found = normalise(RATES, PRICES, per=per, nodes="n_nodes")
    assert found.columns == (
        "ops_per_s_per_vcpu", "ops_per_s_per_core", "ops_per_s_per_drive", "ops_per_s_per_tb", "ops_per_s_per_gib_dram",
        "ops_per_s_per_usd_per_hour", "ops_per_s_per_usd_per_month_of_730_h",
    )  # fmt: skip
    row = found.frame.iloc[0]
    assert row["ops_per_s_per_vcpu"] == pytest.approx(3.57e6 / 3 / 96)
    assert row["ops_per_s_per_vcpu_low"] == pytest.approx(3.565e6 / 3 / 96)
    assert row["ops_per_s_per_tb"] == pytest.approx(3.57e6 / 3 / 60)
    assert row["ops_per_s_per_usd_per_hour_high"] == pytest.approx(3.575e6 / 3 / 10.848)
    assert row["ops_per_s_per_usd_per_month_of_730_h"] == pytest.approx(3.57e6 / 3 / 10.848 / 730)
    assert "on-demand prices of 2022-06-20" in found.sentence()
    assert "n = 2 printed figures" in found.sentence()


def test_a_range_of_prices_gives_an_interval():
    rates = pd.DataFrame({"instance": ["range"], "ops_per_s": [1000.0]})
    row = normalise(rates, PRICES, per=("usd_per_hour", "vcpu")).frame.iloc[0]
    assert row["ops_per_s_per_usd_per_hour_low"] == pytest.approx(1000 / 10.892)
    assert row["ops_per_s_per_usd_per_hour_high"] == pytest.approx(1000 / 0.172)
    assert row["ops_per_s_per_vcpu_low"] == pytest.approx(1000 / 128)


@pytest.mark.parametrize(
    ("instance", "per", "message"),
    [
        ("small", "core", "p.yaml: small has no cores: add it"),
        ("small", "drive", "small has no drives"),
        ("small", "usd_per_hour", "one on-demand price of small in USD, found 0 of no price at all"),
        ("range", "tb", "range has no terabytes"),
        ("unknown", "vcpu", "expected an instance 'unknown', found big, range, small"),
        ("big", "socket", r"found none of \['socket'\]"),
    ],
)
def test_without_a_denominator_there_is_no_column(instance, per, message):
    rates = pd.DataFrame({"instance": [instance], "ops_per_s": [1000.0]})
    with pytest.raises(AnalysisError, match=message):
        normalise(rates, PRICES, per=(per,))


def test_several_prices_need_a_choice():
    first = FILE.splitlines(keepends=True)[7]
    twice = FILE + first.replace("region: us", "region: eu").replace("10.848", "12")
    prices = parse_prices(twice, "p.yaml")
    with pytest.raises(AnalysisError, match="found 2"):
        normalise(RATES, prices, per=("usd_per_hour",))
    row = normalise(RATES, prices, per=("usd_per_hour",), region="eu").frame.iloc[0]
    assert row["ops_per_s_per_usd_per_hour"] == pytest.approx(3.57e6 / 12)
    dated = parse_prices(twice.replace("region: eu, date: 2022", "region: us, date: 2024"), "p.yaml")
    assert dated.price("big", "on-demand", date="2022-06-20").amount.value == 10.848
    assert dated.price("big", "on-demand", date="2025-01-01").amount.value == 12
    with pytest.raises(AnalysisError, match="up to 2020-01-01, found 0"):
        dated.price("big", "on-demand", date="2020-01-01")


def test_zero_null_and_no_nodes():
    rates = RATES.assign(ops_per_s=[0.0, None], ops_per_s_low=[0.0, None], ops_per_s_high=[0.0, None])
    found = normalise(rates, PRICES, per=("vcpu",), nodes="n_nodes")
    assert found.frame["ops_per_s_per_vcpu"].iloc[0] == 0
    assert pd.isna(found.frame["ops_per_s_per_vcpu"].iloc[1])
    assert found.warnings == ("1 of 2 rows have no ops_per_s",)
    for nodes in (0, None):
        with pytest.raises(AnalysisError, match="at least one node"):
            normalise(RATES.assign(n_nodes=nodes), PRICES, per=("vcpu",), nodes="n_nodes")
    with pytest.raises(AnalysisError, match="found none of"):
        normalise(RATES, PRICES, per=("vcpu",), nodes="absent")
    with pytest.raises(AnalysisError):
        normalise(RATES, PRICES, per=())


def test_improvement_carries_the_rounding_of_both():
    other = RATES.assign(instance="range", ops_per_s=[6.30e6, 5.34e6], ops_per_s_low=[6.295e6, 5.335e6],
                         ops_per_s_high=[6.305e6, 5.345e6])  # fmt: skip
    both = normalise(pd.concat([RATES, other]), PRICES, per=("vcpu",), nodes="n_nodes")
    row = both.improvement("range", "big", "workload").iloc[0]
    assert row["ops_per_s_change_ratio"] == pytest.approx(6.30 / 3.57 - 1)
    assert row["ops_per_s_change_low_ratio"] == pytest.approx(6.295 / 3.575 - 1)
    assert row["ops_per_s_change_high_ratio"] == pytest.approx(6.305 / 3.565 - 1)
    assert "range against big, over n = 2 printed pairs" in both.improvement_sentence("range", "big", "workload")
    assert both.short_frame("workload")["ops_per_s"].iloc[0] == "3,570,000 (3,565,000 … 3,575,000)"
    with pytest.raises(AnalysisError, match="one row of small"):
        both.improvement("small", "big", "workload")


def test_an_improvement_on_nothing_is_refused():
    rates = pd.concat([RATES.iloc[:1], RATES.iloc[:1].assign(instance="range", ops_per_s=0.0, ops_per_s_low=0.0)])
    found = normalise(rates, PRICES, per=("vcpu",))
    with pytest.raises(AnalysisError, match="other than 0"):
        found.improvement("big", "range", "workload")


def test_refusal_is_a_text_and_only_of_what_is_refused():
    rates = pd.DataFrame({"instance": ["small"], "ops_per_s": [1.0]})
    assert refusal(rates, PRICES, per=("core",)) == "p.yaml: small has no cores: add it, with its source."
    with pytest.raises(AnalysisError, match="found all of them"):
        refusal(rates, PRICES, per=("vcpu",))


def test_unit_prices():
    found = unit_prices(PRICES, kind="reserved", per=("core", "tb"))
    assert found.frame["usd_per_hour_per_core"].iloc[0] == pytest.approx(60000 / 8760 / 48)
    assert found.frame["usd_per_hour_per_tb"].iloc[0] == pytest.approx(60000 / 8760 / 60)
    with pytest.raises(AnalysisError, match="expected prices of kind 'spot', found"):
        unit_prices(PRICES, kind="spot", per=("core",))
