"""What is missing of some journals concerns exactly the rules that need them."""

import pytest

from checkers.history.operations import History
from checkers.history.sources import Source, lacking


def history_lacking(*names: str) -> History:
    return History(run="r", began_at="2026-11-22T20:21:02Z", operations=(), lacking=frozenset(names))


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("worker-12", Source.CLIENTS),
        ("altering worker-12", Source.START_CHANGES),
        ("nemesis", Source.FAULTS),
        ("holds", Source.FAULTS),
        ("admin", Source.ADMIN),
        ("admin-2", Source.ADMIN),
        ("moves", Source.MOVES),
        ("runner", Source.RUNNER),
        ("nodes", Source.NODES),
        ("observer-quorum-n1", Source.QUORUM),
        ("observer-quorum-state", Source.QUORUM_STATE),
        ("observer-partitions-n2", Source.PARTITIONS),
        ("observer-reassignments", Source.REASSIGNMENTS),
        ("observer-offsets", Source.OFFSETS),
        ("observer-ends", Source.ENDS),
        ("observer-commits", Source.COMMITS),
        ("replicas", Source.DISKS),
        ("broker n1: its log could not be fetched", Source.BROKER_LOGS),
        ("controller c1: its log could not be fetched", Source.CONTROLLER_LOGS),
        ("node-log of broker n1: not recorded", Source.REFUSALS),
        ("loaded of broker n1: not recorded", Source.BROKER_LOADS),
        ("loaded of controller n1: not recorded", Source.CONTROLLER_LOADS),
        ("isr-shrunk of broker n1: not recorded", Source.SHRUNK_ISRS),
        ("truncated of broker n1: not recorded", Source.TRUNCATIONS),
    ],
)
def test_each_journal_has_one_source(name: str, source: Source) -> None:
    assert [each for each in Source if lacking(history_lacking(name), each)] == [source]


def test_what_is_lacking_is_named() -> None:
    history = history_lacking("admin", "worker-3", "worker-1")
    message = lacking(history, Source.CLIENTS, Source.FAULTS, Source.ADMIN)
    expected = "clients (worker-1, worker-3) and admin operations (admin)"
    assert message == f"the history lacks records of {expected}"
    assert lacking(history, Source.FAULTS) is None
