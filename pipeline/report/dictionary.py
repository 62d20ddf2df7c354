"""The data dictionary ``data/README.md``, generated from ``pipeline/schema.py``."""

from __future__ import annotations

from pathlib import Path

from pipeline import schema
from pipeline.campaign import write_atomically
from pipeline.errors import SchemaError

_INTRODUCTION = f"""# Data dictionary

Generated from `pipeline/schema.py` by `make docs`; do not edit. Schema version {schema.VERSION}.

| folder | what it holds |
|---|---|
| `campaigns/` | what was measured: a description a campaign, and `index.yaml`, the list that `dvc.yaml` iterates over |
| `raw/<campaign>/<run_id>/` | bytes from the host, never edited, and `manifest.json` with their hashes |
| `tidy/<campaign>/<table>.parquet` | the tables below; units and sentences also stand in the Parquet field metadata |
| `results/<notebook>/` | tables (CSV), `results.json` and the executed notebook |
| `figures/<notebook>/` | figures (plotly JSON) |
| `site/` | the published pages; open `index.html` |

All units are SI base units; missing is null, never 0. `ops_per_s * latency_mean_s` is a queue depth without a constant.
"""


def render() -> str:
    """The dictionary as Markdown."""
    parts = [_INTRODUCTION]
    for table in schema.TABLES.values():
        rows = [
            f"| `{column.name}` | {column.dtype} | {column.unit} | {column.description.replace('|', '¦')} |"
            for column in table.columns
        ]
        head = [f"## {table.name}", "", f"A row: {table.grain}.", "", "| column | type | unit | |", "|---|---|---|---|"]
        parts.append("\n".join([*head, *rows]) + "\n")
    return "\n".join(parts)


def write(root: Path, *, is_check: bool) -> int:
    """Write ``data/README.md``; with ``is_check`` only raise SchemaError when it is not current."""
    path = root / "data" / "README.md"
    if not is_check:
        write_atomically(path, render())
    elif not path.is_file() or path.read_text("utf-8") != render():
        raise SchemaError(f"{path}: expected the dictionary of pipeline/schema.py, found an older one; run `make docs`")
    return 0
