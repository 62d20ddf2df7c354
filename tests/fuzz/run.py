"""Fuzz all readers, or those named: ``python tests/fuzz/run.py [--seconds 60] [--jobs 2] [READER…]``.

Seeds are the golden samples. Inputs that break a reader are kept in ``tests/fuzz/found/<reader>/``; one that was mended
belongs among the golden samples. Ends with 1 if anything was found.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from pipeline.parse._source import Source
from pipeline.tools import readers_of

HERE = Path(__file__).parent
SAMPLES = HERE.parent / "parse"
FOUND = HERE / "found"
SEED_BYTES = 64 * 1024
N_WORDS = 300
WORD = re.compile(rb"[A-Za-z_%\"</|\[][\w%/.:=\"<>| -]{1,30}")
GRACE_S = 240  # to start, and to end the last input


@dataclass(frozen=True)
class Verdict:
    """What came of one reader."""

    reader: str
    executions: str
    coverage: str
    found: list[Path]
    said: str

    @property
    def line(self) -> str:
        """One line for the terminal."""
        verdict = "ok" if not self.said else f"{self.said} {' '.join(map(str, self.found))}"
        return f"{self.reader:24} {self.executions:>10} executions {self.coverage:>6} edges  {verdict}"


def seeds_of(reader: str) -> list[bytes]:
    """The reader's golden samples, decompressed; long ones are cut."""
    cases = [path.parent for path in sorted((SAMPLES / reader).glob("*/expected.yaml"))]
    files = [path for case in cases for path in sorted(case.rglob("*")) if path.is_file()]
    return [Source(path)._read(SEED_BYTES) for path in files if path.name != "expected.yaml"]


def dictionary_of(seeds: list[bytes]) -> str:
    """The seeds' words in libFuzzer's form, the commonest ones."""
    words = Counter(word for seed in seeds for word in set(WORD.findall(seed)))
    common = [word for word, _ in words.most_common(N_WORDS)]
    escaped = ("".join(chr(b) if 32 <= b < 127 and b not in b'"\\' else f"\\x{b:02x}" for b in word) for word in common)
    numbers = [b"99999999999999999999", b"1e999", b"-1", b"nan", b"inf", b"-0", b"0x1", b"1,5", b"\\xff\\xfe"]
    return "".join(f'"{text}"\n' for text in [*escaped, *(number.decode() for number in numbers)])


def fuzz(reader: str, seconds: int) -> Verdict:
    """Fuzz one reader in a process of its own."""
    kept = FOUND / reader
    kept.mkdir(parents=True, exist_ok=True)
    before = set(kept.iterdir())
    with tempfile.TemporaryDirectory() as folder:
        corpus, words = Path(folder) / "corpus", Path(folder) / "words.dict"
        corpus.mkdir()
        seeds = seeds_of(reader)
        for number, seed in enumerate(seeds):
            (corpus / f"seed{number:03}").write_bytes(seed)
        words.write_text(dictionary_of(seeds))
        options = [f"-max_total_time={seconds}", "-seed=1", f"-dict={words}", f"-artifact_prefix={kept}/",
                   "-print_final_stats=1",
                   f"-max_len={SEED_BYTES}", "-len_control=0", "-reload=0"]  # fmt: skip
        command = [sys.executable, str(HERE / "fuzz_reader.py"), reader, *options, str(corpus)]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, errors="replace", check=False, timeout=seconds + GRACE_S,
                cwd=HERE.parent.parent,
            )  # fmt: skip
            output, status = done.stdout + done.stderr, done.returncode
        except subprocess.TimeoutExpired as error:
            output, status = str(error.stderr), -1
    (kept / "last.log").write_text(output)
    new = [path for path in kept.iterdir() if path not in before and path.name != "last.log"]
    return Verdict(reader, _last(r"stat::number_of_executed_units: *(\d+)", output) or _last(r"#(\d+)\t", output),
                   _last(r"cov: (\d+)", output), sorted(new), _said(output) if status or new else "")  # fmt: skip


def _last(pattern: str, text: str) -> str:
    return (re.findall(pattern, text) or ["?"])[-1]


def _said(output: str) -> str:
    """The exception, or what libFuzzer says of the end."""
    errors = re.findall(r"^(?:[\w.]*(?:Error|Exception|Warning|Interrupt)\b.*|SUMMARY: .*)$", output, re.MULTILINE)
    return (errors or ["it stopped for no known reason:"])[0][:160]


def main() -> int:
    """Run the readers, a few at a time."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("readers", nargs="*", metavar="READER")
    parser.add_argument("--seconds", type=int, default=60, help="of each reader")
    parser.add_argument("--jobs", type=int, default=2, help="readers at a time")
    options = parser.parse_args()
    verdicts = []
    with ThreadPoolExecutor(options.jobs) as pool:
        for verdict in pool.map(lambda reader: fuzz(reader, options.seconds), options.readers or readers_of(None)):
            print(verdict.line, flush=True)
            verdicts.append(verdict)
    return 1 if any(verdict.said for verdict in verdicts) else 0


if __name__ == "__main__":
    sys.exit(main())
