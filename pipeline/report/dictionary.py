"""What is written from the code: the data dictionary ``data/README.md``, and the README's table of formats."""

from __future__ import annotations

import re
from pathlib import Path

from pipeline import schema
from pipeline.campaign import write_atomically
from pipeline.errors import SchemaError
from pipeline.tools import TOOLS, load_reader

_INTRODUCTION = f"""# Data dictionary

Generated from `pipeline/schema.py` by `make docs`; do not edit. Schema version {schema.VERSION}.

| folder | what it holds |
|---|---|
| `campaigns/` | what was measured: a description a campaign, and `index.yaml`, the list that `dvc.yaml` iterates over |
| `raw/<campaign>/<run_id>/` | bytes from the host, never edited, and `manifest.json` with their hashes |
| `cache/<campaign>/` | what was read of each raw file, so that an unchanged one is not read again; may be deleted |
| `tidy/<campaign>/<table>.parquet` | the tables below; units and sentences also stand in the Parquet field metadata. \
A table that is too long for memory is a folder of that name, with a file a raw log; pandas, pyarrow, DuckDB and dask \
read both alike |
| `results/<notebook>/` | tables (CSV), `results.json` and the executed notebook |
| `figures/<notebook>/` | figures (plotly JSON) |
| `site/` | the published pages; open `index.html` |

All units are SI base units; missing is null, never 0. `ops_per_s * latency_mean_s` is a queue depth without a constant.
"""


_FORMATS = re.compile(r"(?<=<!-- formats: written by `make docs` -->\n).*?(?=<!-- end of formats -->)", re.DOTALL)


def render_dictionary() -> str:
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


def render_formats() -> str:
    """The table of all formats that are read, as the readers say it of themselves."""
    rows = ["| tool | form | versions | not read |", "|---|---|---|---|"]
    for tool in TOOLS:
        for number, name in enumerate(tool.readers):
            reader = load_reader(name)
            label = f"{tool.description} (`{tool.name}`)" if number == 0 else ""
            cells = (label, reader.FORM, reader.VERSIONS, reader.NOT_READ)
            rows.append("| " + " | ".join(cell.replace("|", "¦") for cell in cells) + " |")
    return "\n" + "\n".join(rows) + "\n\n"


def write(root: Path, *, is_check: bool) -> int:
    """Write ``data/README.md`` and the README's formats; with ``is_check`` only raise SchemaError if not current."""
    readme = (root / "README.md").read_text("utf-8")
    if not _FORMATS.search(readme):
        raise SchemaError(f"{root / 'README.md'}: expected the two comments around the table of formats, found none")
    for path, text in (
        (root / "data" / "README.md", render_dictionary()),
        (root / "README.md", _FORMATS.sub(lambda _: render_formats(), readme)),
    ):
        if not is_check:
            write_atomically(path, text)
        elif not path.is_file() or path.read_text("utf-8") != text:
            raise SchemaError(f"{path}: expected what the code says of tables and formats; run `make docs`")
    return 0
