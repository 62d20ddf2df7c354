import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.parse._figures import clock_seconds, go_duration, integer, number, positive, scaled, snake


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("0s", 0), ("1m2.5s", 62.5), ("1h0m0s", 3600), ("655µs", 655e-6), ("1.234567ms", 0.001234567), ("350ns", 350e-9),
     ("2562047h47m16.854775807s", 9223372036.854776), ("1m0.1s", 60.1)],
)  # fmt: skip
def test_durations_of_go(text, seconds):
    assert go_duration(text) == pytest.approx(seconds, rel=1e-12)


@pytest.mark.parametrize("text", ["", "1", "ms", "1 ms", "1ms2", "-1s", "1.2.3s", "1e3s", "1" * 500 + "s", "٣s"])
def test_what_is_no_duration(text):
    assert go_duration(text) is None


@given(st.text(max_size=60))
def test_no_text_raises_or_gives_what_is_not_finite(text):
    for value in (number(text), positive(text), scaled(text, 1e300), go_duration(text), clock_seconds(text)):
        assert value is None or math.isfinite(value)
    assert integer(text) is None or 0 <= integer(text) < 2**63
    assert snake(text)


@given(st.floats(min_value=0, max_value=1e12))
def test_a_number_as_python_prints_it_comes_back(value):
    assert number(repr(value)) == value


def test_what_is_too_large_is_none():
    assert number("9" * 400) is None
    assert number("1e999") is None
    assert integer("9" * 19) is None
    assert clock_seconds("00:05:00") == 300
