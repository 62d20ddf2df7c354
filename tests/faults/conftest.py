"""Fixtures of the fault tests."""

import signal

import pytest
from lab import Lab

from pipeline.collect.ssh.loopback import LoopbackHosts

# A shell starts what is in its background with Ctrl-C ignored, and all below it inherits that: clients could not stop.
signal.signal(signal.SIGINT, signal.default_int_handler)


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
