"""A campaign's spec, ``data/campaigns/<slug>.yaml``: read, checked, every mistake told with its line."""

from pipeline.collect.spec.model import (
    Device,
    Directory,
    Entry,
    File,
    Host,
    MonitorChoice,
    Spec,
    is_collectable,
    load,
    names_of,
)  # fmt: skip

__all__ = [
    "Device", "Directory", "Entry", "File", "Host", "MonitorChoice", "Spec", "is_collectable", "load", "names_of",
]  # fmt: skip
