"""Waits until every partition has a leader and a full ISR: before the load, and after healing."""

import time
from collections.abc import Mapping, Sequence

from checkers.history.observed import PartitionAnswer
from harness.kafka.endpoint import Endpoint
from harness.kafka.topics import Address
from harness.kafka.wire import WireError

_PAUSE_S = 0.2
_ASK_TIMEOUT_S = 2.0
View = Mapping[str, tuple[PartitionAnswer, ...]]
"""What a broker reported about partitions, by topic."""


def await_full_isrs(brokers: Sequence[Address], topics: Sequence[str], bound_s: float) -> bool:
    """Wait until all brokers report the same leaders and full ISRs; returns whether they did in time.

    Args:
        brokers: OBSERVE listeners of all brokers.
        topics: the workload's topics.
        bound_s: how long to wait, seconds.
    """
    views = views_with_full_isrs(brokers, topics, time.monotonic() + bound_s, frozenset())
    return have_full_isrs(views, len(brokers), topics, frozenset())


def views_with_full_isrs(
    brokers: Sequence[Address], topics: Sequence[str], deadline: float, dead: frozenset[int]
) -> list[View]:
    """The answers of all brokers when ISRs were full, or at the end of the wait."""
    while True:
        views = [view for address in brokers if (view := _view(address, topics))]
        if not brokers or have_full_isrs(views, len(brokers), topics, dead) or time.monotonic() > deadline:
            return views
        time.sleep(_PAUSE_S)


def have_full_isrs(views: Sequence[View], brokers: int, topics: Sequence[str], dead: frozenset[int]) -> bool:
    """Whether every broker answered, and all report the same leaders and full ISRs for all partitions.

    An ISR that lacks only dead brokers counts as full.
    """
    flat = [[(name, state) for name, states in sorted(view.items()) for state in states] for view in views]
    leaders = {tuple((name, s.partition, s.leader, s.leader_epoch) for name, s in view) for view in flat}
    full = all(s.leader >= 0 and set(s.isr) == set(s.replicas) - dead for view in flat for _, s in view)
    known = all(view.get(topic) for view in views for topic in topics)
    return len(views) == brokers and known and len(leaders) == 1 and full


def _view(address: Address, topics: Sequence[str]) -> View:
    endpoint = Endpoint(*address, timeout_s=_ASK_TIMEOUT_S)
    try:
        return {name: topic.partitions for name, topic in endpoint.cluster(topics).topics.items()}
    except WireError:
        return {}
    finally:
        endpoint.close()
