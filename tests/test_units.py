import pytest

from pipeline import units


@pytest.mark.parametrize(
    ("text", "value"),
    [("4k", 4096), ("4KiB", 4096), ("32GiB", 32 * 2**30), ("857MB", 857e6), ("14.3MiB/s", 14.3 * 2**20), ("512B", 512),
     ("28301KB/s", 28301e3), ("64", 64), ("1.5G", 1.5 * 2**30), ("2g", 2 * 2**30),
     ("4m", 4 * 2**20)],
)  # fmt: skip
def test_byte_size(text, value):
    assert units.byte_size(text) == value


def test_bare_k_may_be_decimal():
    assert units.byte_size("4k", bare_k_is_binary=False) == 4000


@pytest.mark.parametrize("text", ["", "k4", "4 parsecs", "1..2", "4KQ"])
def test_byte_size_refuses(text):
    with pytest.raises(ValueError, match="expected a size"):
        units.byte_size(text)


@pytest.mark.parametrize(("text", "value"), [("28.3k", 28300), ("1.2M", 1.2e6), ("17", 17), ("1e3", 1000)])
def test_plain_number(text, value):
    assert units.plain_number(text) == value


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [(385e-6, "s", "385 µs"), (708000, "", "708 k"), (0.99994e-6, "s", "1.00 µs"), (999.96, "s", "1.00 ks"),
     (0, "s", "0 s"), (float("nan"), "s", "–"), (-2.5e-3, "s", "-2.50 ms"), (1.5e-12, "s", "0.00150 ns")],
)  # fmt: skip
def test_format_si(value, unit, text):
    assert units.format_si(value, unit) == text


@pytest.mark.parametrize(
    ("value", "unit", "s"), [(5, "ns", 5e-9), (5, "usec", 5e-6), (5, "msec", 5e-3), (2, "h", 7200)]
)
def test_seconds(value, unit, s):
    assert units.seconds(value, unit) == pytest.approx(s)


@pytest.mark.parametrize(("text", "value"), [("5%", 0.05), (" 2.5 % ", 0.025), ("0.05", 0.05), ("0", 0.0)])
def test_share(text, value):
    assert units.share(text) == pytest.approx(value)


@pytest.mark.parametrize("text", ["5", "1", "100%", "-1%", "", "%", "nan", "5 pct"])
def test_a_share_that_may_mean_anything_is_refused(text):
    with pytest.raises(ValueError, match=r"share|convert"):
        units.share(text)
