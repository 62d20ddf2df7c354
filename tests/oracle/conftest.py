"""Measured samples that do not ship with the project, for tests against other people's tools."""

import os
from pathlib import Path

import pytest

DEFAULT = Path(__file__).parents[3] / "shared" / "samples"


@pytest.fixture(scope="session")
def samples() -> Path:
    """The folder ``ours`` of the samples; BENCHMARK_SAMPLES says where they are."""
    folder = Path(os.environ.get("BENCHMARK_SAMPLES", DEFAULT)) / "ours"
    if not folder.is_dir():
        pytest.skip(f"samples folder {folder} absent")
    return folder
