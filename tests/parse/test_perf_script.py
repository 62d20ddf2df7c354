"""What golden samples of perf script and folded stacks cannot say: any block size, repetition, other tools' texts."""

import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.parse._source import Source
from pipeline.parse.perf import perf_folded, perf_script
from pipeline.parse.perf._perf_script_lines import frame_names
from pipeline.parse.perf._perf_script_samples import Samples, split_at_blanks

HEADS = ["fio 12 [000] 10.5: 100 cycles: ", "V8 Worker 7/9 [001] 10.6: 7 cycles: ", "java 5 10.7: cpu-clock: "]
FRAMES = [
    "\t401000 work+0x10 (/usr/bin/fio)",
    "\t402000 Lorg/a/B;::main (/tmp/perf-1.map)",
    "\t0 [unknown] ([unknown])",
]


def text_of(n_samples):
    chance = random.Random(4)
    lines = []
    for _ in range(n_samples):
        lines += [chance.choice(HEADS), *chance.choices(FRAMES, k=chance.randint(1, 3)), ""]
    return "\n".join(lines) + "\n"


def sums_of(blocks):
    samples = Samples()
    samples.read(blocks)
    (section,) = samples.sections
    assert not section.n_unknown and not section.cut
    return section.sums


def test_the_size_of_blocks_does_not_matter():
    data = text_of(400).encode()
    whole = sums_of([data])
    assert sum(n for n, _ in whole.values()) == 400
    lines = data.splitlines(keepends=True)
    for size in (1, 2, 3, 7, 50):
        assert sums_of(b"".join(lines[i : i + size]) for i in range(0, len(lines), size)) == whole


def test_the_quick_way_and_the_slow_way_agree():
    data = text_of(300).encode()
    slow = Samples()
    slow._read_chunks = lambda chunks: [slow._read_chunk(chunk, *chunk.partition(b"\n")[::2]) for chunk in chunks]
    slow.read([data])
    assert slow.sections[0].sums == sums_of([data])


def test_samples_without_empty_lines_do_not_take_the_square_of_their_number():
    line = b"            perf 28210 [000]  2485.517001: sched:sched_switch: prev_comm=perf ==> next_comm=fio\n"
    start = time.process_time()
    sums = sums_of(line * 700 for _ in range(100))
    assert list(sums) == [("sched:sched_switch", "perf", None)]
    assert sums["sched:sched_switch", "perf", None][0] == 70_000
    assert time.process_time() - start < 20


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("std::function<int (int, int)>::operator() (/a)", "std::function<int (int, int)>::operator"),
        ("operator<<(std::ostream&, foo)+0x1 (/a)", "operator<<"),
        ("a::operator->(int)+0x4 (/a)", "a::operator->"),
        ("LazyCompile:~a<b (foo) (/a)", "LazyCompile:~a<b "),
        ("(anonymous namespace)::f(int) (/a)", "(anonymous namespace)::f"),
        ("net/http.(*Client).Do+0x5 (/a)", "net/http.(*Client).Do"),
        ("f (/x (deleted))", "f"),
        ("[unknown] (/lib/x.so (deleted))", "[x.so]"),
        ("[unknown] ([kernel.kallsyms])", "[[kernel.kallsyms]]"),
        (" (/lib/libc.so)", "[libc.so]"),
        ("a->b->c (/a)", "a;b_[i];c_[i]"),
        ("f", "f"),
    ],
)
def test_names_of_frames(symbol, name):
    assert frame_names(f"\t401000 {symbol}".encode())[0] == name


@pytest.mark.parametrize(
    "head",
    [
        "Linux 6.1 (host)\navg-cpu:  %user\n", "1.000 1234 cycles\n", "a;b;c\n1;2;3\n", '{"a": 1}\n',
        "[  12.5] usb 1-1: new device\n[  12.6] usb 1-1: found\n", "key: value\nother: thing\n",
        "10:00:00 host kernel: [ 1.5] x: y\n", "2026-01-01 12:00:00.000 UTC [123] LOG:  checkpoint starting: time\n",
    ],
)  # fmt: skip
def test_other_texts_are_not_claimed(head):
    assert not perf_script.recognise(head)
    assert not perf_folded.recognise(head)


def test_a_long_line_is_read_in_time():
    for data in (b"a" * (1 << 20), b" " * (1 << 20), b"fio 1 " + b"1 " * (1 << 19), b"\t401000 f(" * (1 << 17)):
        start = time.process_time()
        Samples().read([data + b"\n"])
        assert time.process_time() - start < 5


def test_folded_stacks_of_a_long_file_are_summed():
    data = b"a;b 1\na;c 2\na;d 0\n" * 90_001
    (report,) = perf_folded.parse(Source("x.folded", data))
    block = report.blocks["perf_stacks"][0]
    assert block["n_samples"].to_pylist() == [90_001, 180_002, 0]


@given(st.lists(st.sampled_from([b"\n", b"\n\n", b"a", b"\tframe"])).map(b"".join))
def test_blocks_are_split_as_bytes_split_them(text):
    assert split_at_blanks(text) == text.split(b"\n\n")
