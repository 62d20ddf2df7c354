"""Fixtures of the fault tests."""

import pytest
from lab import Lab

from pipeline.collect.ssh.loopback import LoopbackHosts


@pytest.fixture
def make_lab(tmp_path):
    """Make labs of so many hosts; their servers end with the test."""
    opened = []

    def make(n_hosts=1, **options):
        hosts = LoopbackHosts(n_hosts, **options)
        hosts.__enter__()
        opened.append(hosts)
        return Lab(tmp_path / f"lab{len(opened)}", hosts)

    yield make
    for hosts in opened:
        hosts.__exit__(None, None, None)
