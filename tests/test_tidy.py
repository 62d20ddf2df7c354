import pandas as pd
import pyarrow.parquet as pq
import pytest

from pipeline import output, schema, tidy
from pipeline.errors import SchemaError
from pipeline.parse._report import Report
from pipeline.parse._source import Source


def report(**run):
    made = Report("fio", Source("a/fio.json", b"x"), run_id="r1", tool_version="fio-3.33", **run)
    made.add("operations", op="read", scope="job", n_ops=3, ops_per_s=1.5)
    return made


def test_tables_have_the_schemas_columns_and_types():
    tables = tidy.tables_of([report(started_at="2026-11-21T01:02:03Z")])
    assert list(tables) == list(schema.TABLES)
    for name, frame in tables.items():
        assert list(frame.columns) == schema.TABLES[name].column_names
    row = tables.operations.iloc[0]
    assert (row["run_id"], row["tool"], row["n_ops"], row["ops_per_s"]) == ("r1", "fio", 3, 1.5)
    assert pd.isna(row["bytes_per_s"])
    assert pd.isna(row["n_errors"])
    assert tables.runs["started_at"].iloc[0] == pd.Timestamp("2026-11-21T01:02:03Z")
    with pytest.raises(AttributeError, match="no table 'operation'"):
        _ = tables.operation


def test_blocks_and_rows_join():
    made = report()
    made.add_block("latency_series", {"op": "read", "phase": "total", "time_s": [0.5, 1.0], "latency_s": [1e-3, 2e-3]})
    made.add("latency_series", op="read", phase="total", time_s=2.0, latency_s=3e-3)
    frame = tidy.tables_of([made]).latency_series
    assert sorted(frame["latency_s"]) == [1e-3, 2e-3, 3e-3]
    assert set(frame["run_id"]) == {"r1"}


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"op": "read", "scope": "job", "ops_per_s": -1.0}, "operations.ops_per_s"),
        ({"op": "read", "scope": "job", "ops_per_s": float("inf")}, "operations.ops_per_s"),
        ({"op": None, "scope": "job"}, "operations.op"),
        ({"op": "read", "scope": "job", "n_ops": "many"}, "operations.n_ops"),
    ],
)
def test_values_that_break_the_contract_are_refused(columns, message):
    made = Report("fio", Source("f", b""), run_id="r1")
    made.add("operations", **columns)
    with pytest.raises(SchemaError, match=message):
        tidy.tables_of([made])


def test_an_unknown_column_is_found_at_once():
    with pytest.raises(KeyError, match="no column iops"):
        report().add("operations", iops=1)


def test_parquet_carries_units_and_comes_back_equal(tmp_path):
    tables = tidy.tables_of([report()])
    names = output.write(tidy.arrow_tables([report()]), tmp_path)
    assert names == ["operations", "runs", "warnings"]
    field = pq.read_schema(tmp_path / "operations.parquet").field("ops_per_s")
    assert field.metadata[b"unit"] == b"1/s"
    assert field.metadata[b"description"]
    assert pq.read_schema(tmp_path / "runs.parquet").metadata[b"schema_version"] == str(schema.VERSION).encode()
    again = tidy.load_folder(tmp_path)
    for name in ("operations", "runs"):
        pd.testing.assert_frame_equal(tables[name], again[name])


def test_a_table_that_lost_its_rows_is_removed(tmp_path):
    output.write(tidy.arrow_tables([report()]), tmp_path)
    output.write(tidy.arrow_tables([Report("fio", Source("f", b""), run_id="r")]), tmp_path)
    assert not (tmp_path / "operations.parquet").exists()


def test_schema_names_carry_their_units():
    suffixes = {"s": "_s", "1/s": "_s", "B/s": "bytes_per_s"}
    for table in schema.TABLES.values():
        assert len(set(table.column_names)) == len(table.columns)
        for column in table.columns:
            if column.unit in suffixes:
                assert column.name.endswith(suffixes[column.unit]), f"{table.name}.{column.name}"
