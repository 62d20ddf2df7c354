"""Notebooks, figures and the site: what people see."""

import sys

# jsonschema, which nbformat and plotly load, would compile a grammar of IRIs, 1.5 s in each process; no schema of a
# notebook has one.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]
