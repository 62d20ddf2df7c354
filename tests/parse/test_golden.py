"""Each reader against its golden samples: tests/parse/<reader>/<oddity>/ holds one raw file and expected.yaml.

expected.yaml: ``rows`` (count a table), ``warnings`` (their codes, in order, default none), ``is_complete`` (a flag a
report, default all true), ``values`` (a list of [table, {column: value that selects rows}, {column: expected}], each
selecting at least one row, all of which must hold), ``error`` (a part of the one ParseError). ``tool`` forces a tool.
"""

from pathlib import Path

import pandas as pd
import pytest
import yaml

import pipeline
from pipeline.errors import ParseError
from pipeline.parse._source import Source
from pipeline.tools import TOOLS, find_reader

HERE = Path(__file__).parent
READERS = [reader for tool in TOOLS for reader in tool.readers]
CASES = sorted(path.parent for path in HERE.glob("*/*/expected.yaml"))


def raw_file(case: Path) -> Path:
    (path,) = [path for path in case.iterdir() if path.name != "expected.yaml"]
    return path


@pytest.mark.parametrize("reader", READERS)
def test_each_reader_has_golden_samples(reader):
    assert any(case.parent.name == reader for case in CASES)


def test_each_folder_of_samples_is_a_readers():
    assert {path.name for path in HERE.iterdir() if path.is_dir() and path.name != "__pycache__"} == set(READERS)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.parent.name}/{case.name}")
def test_golden(case, monkeypatch):
    expected = yaml.safe_load((case / "expected.yaml").read_text("utf-8"))
    unknown = expected.keys() - {"rows", "warnings", "is_complete", "values", "error", "tool"}
    assert not unknown, f"expected.yaml: unknown keys {unknown}"
    monkeypatch.chdir(case)
    name = raw_file(case).name
    if "error" in expected:
        with pytest.raises(ParseError) as caught:
            pipeline.read(name, tool=expected.get("tool"))
        assert expected["error"] in str(caught.value)
        return
    if "tool" not in expected:
        assert find_reader(Source(name)) == case.parent.name
    tables = pipeline.read(name, tool=expected.get("tool"))
    assert list(tables.warnings["code"]) == expected.get("warnings", [])
    assert list(tables.runs["is_complete"]) == expected.get("is_complete", [True] * len(tables.runs))
    counts = {table: len(frame) for table, frame in tables.items() if table in expected["rows"]}
    assert counts == expected["rows"]
    for table, where, columns in expected.get("values", []):
        check_values(tables[table], where, columns)


def check_values(frame, where, columns):
    mask = pd.Series(True, index=frame.index)
    for column, value in where.items():
        mask &= frame[column].isna() if value is None else frame[column] == value
    assert mask.any(), f"no row with {where}"
    for column, value in columns.items():
        for found in frame.loc[mask, column]:
            if value is None:
                assert pd.isna(found), f"{where} {column}: expected null, found {found!r}"
            elif isinstance(value, float | int) and not isinstance(value, bool):
                assert found == pytest.approx(value, rel=1e-9), f"{where} {column}"
            else:
                assert (str(found) if column == "started_at" else found) == value, f"{where} {column}"
