import pytest

from pipeline.parse.published import figure_of


@pytest.mark.parametrize(
    ("text", "unit", "figure"),
    [
        ("385 uSec", "µs", {"relation": "=", "value": 385e-6}),
        ("-5", "ms", {"relation": "=", "value": -0.005}),
        ("≈160", "µs", {"relation": "~", "value": 160e-6}),
        (">2 ms", "ms", {"relation": ">", "value_low": 0.002}),
        ("192,000(64x)", "ops/s", {"relation": "=", "value": 192_000}),
        ("~2,500 IOPS per second", "ops/s", {"relation": "~", "value": 2500}),
        ("$0.172 – $10.892/hr", "USD/h", {"relation": "range", "value_low": 0.172, "value_high": 10.892}),
        ("78%", "%", {"relation": "=", "value": 0.78}),
        ("+ 9%", "%", {"relation": "=", "value": 0.09}),
        ("+23%", "%", {"relation": "=", "value": 0.23}),
        ("$ 1,857.96 / year", "USD/year", {"relation": "=", "value": 1857.96}),
        ("6.49 TBytes", "TiB", {"relation": "=", "value": 6.49 * 1024**4}),
        ("830k IOPS", "thousand ops/s", {"relation": "=", "value": 830e3}),
        ("40 minutes", "min", {"relation": "=", "value": 2400}),
        ("n/a", "ms", {}),
    ],
)
def test_a_printed_figure(text, unit, figure):
    found = figure_of(text, unit)
    found.pop("unit")
    assert found == pytest.approx(figure)


@pytest.mark.parametrize(
    ("text", "unit"),
    [("1e6", "ops/s"), ("+", "1"), ("+-5", "ms"), ("2 + 3", "1"), ("~1-2", "ms"), ("<1-2", "ms"),
     ("10 - 20 %", "ms"), ("1,000–2", "1"), ("1 2", "1"), ("x", "1"), ("78", "%")],
)  # fmt: skip
def test_what_is_no_figure_is_refused_rather_than_guessed(text, unit):
    with pytest.raises(ValueError, match="not '"):
        figure_of(text, unit)
