"""In the place of a Spark master and its hosts: nothing is lacking there, and runs end as a test says."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from harness.campaigns.hosting import assigning
from harness.campaigns.hosting.host_checks import LOOK, HostChecks
from harness.campaigns.hosting.orders import Order, Report, decode, encode
from harness.campaigns.hosting.tasks import CARRY_OUT, CLEAR_SLOTS
from results.pipeline.spark.hosts import HostAnswer

End = Callable[[Order], Report]
MASTER = "spark://10.0.0.1:7077"


class FakeHosts:
    """Hosts by name, and how each ends what it is asked to do."""

    def __init__(self, ends: Mapping[str, End]) -> None:
        self.ends = ends
        self.asked: list[tuple[str, str]] = []
        self.here = tuple(ends)
        self.orders: list[Order] = []

    def names(self) -> tuple[str, ...]:
        return self.here

    settled = names

    def ask(self, host: str, function: str, argument: bytes) -> HostAnswer:
        self.asked.append((host, function))
        if function == CARRY_OUT:
            order = decode(argument, Order)
            self.orders.append(order)
            return HostAnswer(encode(self.ends[host](order)))
        if function == CLEAR_SLOTS:
            return HostAnswer(b"cleared")
        assert function == LOOK
        return HostAnswer(encode(HostChecks(host, f"machine of {host}", Path("/scratch"), ())))

    def stand_in(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Let these hosts answer in the place of Spark's master `MASTER`."""

        @contextmanager
        def hosts_of(master: str) -> Iterator[FakeHosts]:
            assert master == MASTER
            yield self

        monkeypatch.setattr(assigning, "hosts_of", hosts_of)
