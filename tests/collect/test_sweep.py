"""Sweeps: which points there are, what they are called, in which order a host measures them."""

import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.collect.plan import sweep
from pipeline.collect.spec import Entry
from pipeline.errors import SpecError

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
VALUES = st.one_of(st.booleans(), st.integers(-9, 10**6), st.floats(0, 100), st.text("abcXYZ0189-._ /$;é", max_size=40))
KEYS = st.from_regex(r"[A-Za-z](\.?[A-Za-z0-9_-]){0,5}", fullmatch=True)
SWEEPS = st.dictionaries(KEYS, st.one_of(VALUES, st.lists(VALUES, min_size=1, max_size=4).map(tuple)), max_size=4)


def entry(parameters=None, **keys):
    return Entry(tool="fio", hosts=("db1",), parameters=parameters or {}, **keys)


def names(*arguments, **keys):
    return [point.name for point in sweep.points(entry(*arguments, **keys))]


def test_lists_make_a_matrix_in_the_order_of_the_keys():
    found = sweep.points(entry({"rw": ("randread", "randwrite"), "bs": "4k", "iodepth": (1, 64)}))
    assert [point.name for point in found] == [
        "randread-iodepth1", "randread-iodepth64", "randwrite-iodepth1", "randwrite-iodepth64",
    ]  # fmt: skip
    assert found[1].parameters == {"rw": "randread", "bs": "4k", "iodepth": 64}


def test_explicit_points_are_merged_over_what_is_not_swept():
    found = sweep.points(
        entry({"rw": "read", "iodepth": (1, 8)}, points=({"rw": "randread", "bs": "1m"}, {"bs": "2m"}))
    )
    assert [(point.name, point.parameters) for point in found[2:]] == [
        ("randread-bs1m", {"rw": "randread", "bs": "1m"}),
        ("bs2m", {"rw": "read", "bs": "2m"}),
    ]
    assert names({"rw": "read"}, points=({"bs": "1m"},)) == ["bs1m"]  # nothing is swept: no matrix beside the points


@pytest.mark.parametrize(
    ("parameters", "keys", "expected"),
    [
        ({}, {}, "single"),
        ({"rw": "read"}, {"name": "cold"}, "cold"),
        ({"iodepth": (8,)}, {"name": "cold"}, "cold-iodepth8"),
        ({"direct": (True,)}, {}, "direct-true"),
        ({"cpu": ("all",)}, {}, "cpu-all"),
        ({"nice": (-5,)}, {}, "nice--5"),
        ({"rate": (0.5,)}, {}, "rate0.5"),
        ({"p2": (99,)}, {}, "p2-99"),
        ({"rw": ("randread:8",)}, {}, "randread_8-d6ede21f"),
        ({"rw": ("..",)}, {}, "p_-2859d92d"),
    ],
)
def test_names_are_readable(parameters, keys, expected):
    assert names(parameters, **keys) == [expected]


def test_a_long_name_is_shortened_with_a_hash():
    first, second = names({"text": ("x" * 100 + "1", "x" * 100 + "2")})
    assert len(first) == len(second) == sweep.MAX_NAME
    assert first[:-9] == second[:-9] == f"text-{'x' * 50}"
    assert first != second


@given(SWEEPS, st.none() | st.just("entry"))
def test_names_are_safe_and_one_of_a_kind(parameters, name):
    held = entry(parameters, name=name)
    try:
        points = sweep.points(held)
    except SpecError:
        return
    assert len(points) == sweep.count(held)
    assert len({point.name.casefold() for point in points}) == len(points)
    assert all(NAME.fullmatch(point.name) and ".." not in point.name for point in points)


@given(SWEEPS)
def test_names_do_not_depend_on_the_order_of_a_list(parameters):
    turned = {key: value[::-1] if isinstance(value, tuple) else value for key, value in parameters.items()}
    try:
        before = {point.name: point.parameters for point in sweep.points(entry(parameters))}
    except SpecError:
        return
    assert before == {point.name: point.parameters for point in sweep.points(entry(turned))}


def test_a_grown_list_keeps_the_names_of_before():
    assert names({"iodepth": (8,)}) == ["iodepth8"]
    assert set(names({"iodepth": (8,)})) < set(names({"iodepth": (1, 8)}, points=({"bs": "1m"},)))


@pytest.mark.parametrize("values", [(1, 1), (1, "1"), (True, "true"), ("8", 8)])
def test_equal_points_are_refused(values):
    with pytest.raises(SpecError, match="differ, found"):
        sweep.points(entry({"iodepth": values}))


def test_points_are_counted_without_being_made():
    assert sweep.count(entry({key: tuple(range(100)) for key in "abcdefgh"}, points=({"z": 1},))) == 100**8 + 1


def test_every_repeat_is_a_block_of_all_points():
    points = [(f"p{number}", 3 if number else 5) for number in range(20)]
    order = list(sweep.ordered(points, 7, "db1"))
    assert Counter(point for point, _ in order) == dict(points)
    blocks = [order[start : start + 20] for start in (0, 20, 40)]
    for number, block in enumerate(blocks, 1):
        assert {point for point, _ in block} == {point for point, _ in points}
        assert {repeat for _, repeat in block} == {number}
    assert len({tuple(point for point, _ in block) for block in blocks}) == 3  # each in an order of its own
    assert order[60:] == [("p0", 4), ("p0", 5)]


def test_the_order_follows_from_the_seed_and_the_host_alone():
    points = [(f"p{number}", 2) for number in range(10)]
    order = list(sweep.ordered(points, 1, "db1"))
    assert order == list(sweep.ordered(points[::-1], 1, "db1"))
    assert order != list(sweep.ordered(points, 2, "db1"))
    assert order != list(sweep.ordered(points, 1, "db2"))
    # Written down, so that another version of Python or of this project measures in the same order.
    assert [point for point, _ in order[:10]] == ["p6", "p2", "p8", "p5", "p7", "p3", "p9", "p1", "p4", "p0"]


def test_positions_are_spread_evenly():
    places = Counter()
    for seed in range(400):
        places[[point for point, _ in sweep.ordered([(name, 1) for name in "abcd"], seed, "db1")].index("a")] += 1
    assert min(places.values()) > 70  # 100 each are expected
