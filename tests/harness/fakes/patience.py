"""Our own requests wait for a fake as long as it takes, and no time at all where it does not answer.

A machine that stops for seconds must not fail a test, so no `Connection` has less than `BOUND_S`.  A node
that is silent on purpose ends the time of the request that it does not answer.
"""

import math
from weakref import WeakValueDictionary

import pytest

from harness.kafka.wire import Connection
from tests.harness.waiting import BOUND_S

LIMIT_S = 10 * BOUND_S
"""More than any limit that is meant; how long a silent node is waited for is tested in test_wire.py alone."""
NUDGE = b"\0"
"""A part of an answer, by which a `Connection` that waits looks at the time."""
_asking: WeakValueDictionary[int, Connection] = WeakValueDictionary()


def be_patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lengthen the time limits of all connections that are made from now on."""
    begin, limit, allow = Connection.__init__, Connection._limit, Connection.allow_until

    def begins(self: Connection, host: str, port: int, timeout_s: float) -> None:
        assert timeout_s <= LIMIT_S, "milliseconds were taken for seconds"
        begin(self, host, port, timeout_s + BOUND_S)

    def limits(self: Connection) -> None:
        _asking[self.source_port] = self
        limit(self)

    def allows(self: Connection, deadline_s: float) -> None:
        allow(self, deadline_s + BOUND_S)

    monkeypatch.setattr(Connection, "__init__", begins)
    monkeypatch.setattr(Connection, "_limit", limits)
    monkeypatch.setattr(Connection, "allow_until", allows)


def time_is_up(source_port: int) -> bool:
    """End the time of a request; False if no connection that is patient has this port."""
    connection = _asking.get(source_port)
    if connection is None or connection._socket.fileno() < 0:
        return False
    connection._deadline = -math.inf
    if connection._allowed_until is not None:
        connection._allowed_until = -math.inf
    return True
