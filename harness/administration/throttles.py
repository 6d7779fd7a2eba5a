"""Limits on the traffic of reassignments (KIP-73): rates of brokers, and the throttled replicas.

Kafka's own tool keeps them until a reassignment is verified, and so does the user of this module.  A broker
accepts no rate for another broker, so each broker gets its own request.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec
from kafka.protocol.admin import IncrementalAlterConfigsRequest, IncrementalAlterConfigsResponse
from kafka.protocol.metadata import MetadataRequest, MetadataResponse

from checkers.history.error_codes import ErrorCode, named_code
from harness.administration.reassignments import Address
from harness.kafka.wire import Connection, WireError

RATES = ("leader.replication.throttled.rate", "follower.replication.throttled.rate")
"""Configs of a broker, bytes per second."""
LEADERS = "leader.replication.throttled.replicas"
FOLLOWERS = "follower.replication.throttled.replicas"
TIMEOUT_S = 5.0
_TOPIC, _BROKER = 2, 4
_SET, _DELETE, _APPEND, _SUBTRACT = range(4)


class ConfigChange(NamedTuple):
    """A change of one config."""

    name: str
    operation: int
    value: str | None


class ResourceChange(NamedTuple):
    """The changes of one resource's configs."""

    kind: int
    resource: str
    configs: tuple[ConfigChange, ...]


class RefusedError(WireError):
    """A broker refused the change."""


class Move(msgspec.Struct, frozen=True):
    """A partition that moves from some brokers to others."""

    topic: str
    partition: int
    before: tuple[int, ...]
    wanted: tuple[int, ...]


class Throttle(msgspec.Struct, frozen=True):
    """The limits of one request.

    Attributes:
        bytes_per_s: rate of every broker, once for sending and once for receiving.
        brokers: their ids.
        leaders: by topic, ``partition:broker`` of the replicas that send.
        followers: by topic, ``partition:broker`` of the replicas that receive.
    """

    bytes_per_s: int
    brokers: tuple[int, ...]
    leaders: dict[str, tuple[str, ...]]
    followers: dict[str, tuple[str, ...]]

    @property
    def topics(self) -> tuple[str, ...]:
        """Topics that have throttled replicas."""
        return tuple(sorted({*self.leaders, *self.followers}))


def throttle_for(moves: Iterable[Move], bytes_per_s: int) -> Throttle:
    """The throttle for some moves: existing replicas may send, and added replicas receive.

    An existing replica is not limited as a follower, because it would fall out of sync (KIP-73).
    """
    brokers: set[int] = set()
    leaders: dict[str, tuple[str, ...]] = {}
    followers: dict[str, tuple[str, ...]] = {}
    for move in moves:
        added = [broker for broker in move.wanted if broker not in move.before]
        brokers |= {*move.before, *move.wanted}
        if added:
            leaders[move.topic] = leaders.get(move.topic, ()) + _places(move.partition, move.before)
            followers[move.topic] = followers.get(move.topic, ()) + _places(move.partition, added)
    return Throttle(bytes_per_s, tuple(sorted(brokers)), leaders, followers)


def set_throttle(address: Address, throttle: Throttle) -> tuple[int, ...]:
    """Set a throttle; replicas with an earlier one stay throttled, a broker's earlier rate is replaced.

    Args:
        address: a broker's listener, used to find the others.
        throttle: the throttle to set.

    Returns:
        Ids of brokers that did not answer: it is unknown whether they have the limit.

    Raises:
        RefusedError: some of it was refused; the rest may have been set.
        WireError: no answer of the broker itself.
    """
    rates = [ConfigChange(name, _SET, str(throttle.bytes_per_s)) for name in RATES]
    _alter(address, _of_topics(throttle, throttle.topics, _APPEND))
    return _each(address, throttle.brokers, rates)


def remove_throttle(address: Address, throttle: Throttle, others: Sequence[Throttle] = ()) -> tuple[int, ...]:
    """Remove a throttle; limits that other throttles need too are kept.

    Args:
        address: a broker's listener, used to find the others.
        throttle: the throttle to remove.
        others: throttles that are still needed: their brokers and replicas keep their limits.

    Returns:
        Ids of brokers that did not answer: their rate stays.

    Raises:
        RefusedError: some of it was refused; the rest may have been removed.
        WireError: no answer of the broker itself.
    """
    needed = {broker for other in others for broker in other.brokers}
    shared = {topic for other in others for topic in other.topics}
    own = tuple(topic for topic in throttle.topics if topic not in shared)
    lists = tuple(ConfigChange(name, _DELETE, None) for name in (LEADERS, FOLLOWERS))
    gone = [ResourceChange(_TOPIC, topic, lists) for topic in own]
    rest = Throttle(
        throttle.bytes_per_s,
        (),
        _without(throttle.leaders, [other.leaders for other in others]),
        _without(throttle.followers, [other.followers for other in others]),
    )
    both = [topic for topic in throttle.topics if topic in shared]
    _alter(address, [*gone, *_of_topics(rest, both, _SUBTRACT)])
    rates = [ConfigChange(name, _DELETE, None) for name in RATES]
    return _each(address, [broker for broker in throttle.brokers if broker not in needed], rates)


def _each(address: Address, brokers: Sequence[int], rates: Sequence[ConfigChange]) -> tuple[int, ...]:
    """Change the rates of brokers one by one; returns the ids of those that did not answer."""
    if not brokers:
        return ()
    known = _addresses(address)
    unreached = []
    for broker in brokers:
        try:
            _alter(known[broker], [ResourceChange(_BROKER, str(broker), tuple(rates))])
        except RefusedError:
            raise
        except (KeyError, WireError):
            unreached.append(broker)
    return tuple(unreached)


def _addresses(address: Address) -> dict[int, Address]:
    """Addresses of all live brokers on the same kind of listener as this one."""
    with Connection(*address, TIMEOUT_S) as connection:
        request = MetadataRequest(topics=[], allow_auto_topic_creation=False)
        answer = connection.ask(request, MetadataResponse)
    return {broker.node_id: (broker.host, broker.port) for broker in answer.brokers}


def _of_topics(throttle: Throttle, topics: Iterable[str], operation: int) -> list[ResourceChange]:
    changes: list[ResourceChange] = []
    for topic in topics:
        sides = ((LEADERS, throttle.leaders.get(topic, ())), (FOLLOWERS, throttle.followers.get(topic, ())))
        configs = tuple(ConfigChange(name, operation, ",".join(places)) for name, places in sides if places)
        changes.append(ResourceChange(_TOPIC, topic, configs))
    return [change for change in changes if change.configs]


def _without(
    places: Mapping[str, tuple[str, ...]], needed: Sequence[Mapping[str, tuple[str, ...]]]
) -> dict[str, tuple[str, ...]]:
    return {
        topic: tuple(one for one in own if not any(one in other.get(topic, ()) for other in needed))
        for topic, own in places.items()
    }


def _places(partition: int, brokers: Iterable[int]) -> tuple[str, ...]:
    return tuple(f"{partition}:{broker}" for broker in brokers)


def _alter(address: Address, changes: Sequence[ResourceChange]) -> None:
    if not changes:
        return
    resource = IncrementalAlterConfigsRequest.AlterConfigsResource
    request = IncrementalAlterConfigsRequest(
        resources=[
            resource(
                resource_type=kind,
                resource_name=name,
                configs=[
                    resource.AlterableConfig(name=config, config_operation=operation, value=value)
                    for config, operation, value in configs
                ],
            )
            for kind, name, configs in changes
        ],
        validate_only=False,
    )
    with Connection(*address, TIMEOUT_S) as connection:
        answer = connection.ask(request, IncrementalAlterConfigsResponse)
    # The configs of a topic that was deleted meanwhile are gone too.
    refused = [
        one
        for one in answer.responses
        if one.error_code not in (ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    ]
    if refused:
        what = {_TOPIC: "topic", _BROKER: "broker"}
        errors = (
            f"{what[one.resource_type]} {one.resource_name}: {named_code(one.error_code)} {one.error_message}"
            for one in refused
        )
        raise RefusedError(f"IncrementalAlterConfigs refused {'; '.join(errors)}")
