"""What a session does where a host that answered a moment ago is too busy to answer in time."""

import pytest

from pipeline.collect.run import session
from pipeline.errors import CollectError, UnreachableError


class Host:
    """Raises these errors, one a call, and then answers."""

    def __init__(self, *errors):
        self.errors, self.n_calls = list(errors), 0

    def work(self):
        self.n_calls += 1
        if self.errors:
            raise self.errors.pop(0)
        return "done"


def late():
    return UnreachableError("host35: a command did not end in the time it was given")


@pytest.mark.parametrize("n_late", [0, 1, 2])
def test_a_busy_host_is_asked_again(n_late):
    host = Host(*(late() for _ in range(n_late)))
    assert session._patiently(host.work) == "done"
    assert host.n_calls == n_late + 1


def test_but_not_for_ever():
    host = Host(late(), late(), late())
    with pytest.raises(UnreachableError, match="did not end in the time"):
        session._patiently(host.work)
    assert host.n_calls == 3


def test_a_refusal_is_final():
    host = Host(CollectError("db1: expected a queue, found none"))
    with pytest.raises(CollectError, match="expected a queue"):
        session._patiently(host.work)
    assert host.n_calls == 1
