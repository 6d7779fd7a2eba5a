"""Limits on the traffic of reassignments (KIP-73): rates of brokers, and the replicas that they count for.

Reassigning by Kafka's own tool leaves them set until somebody verifies; so does this module's user.
"""

from collections.abc import Iterable, Mapping, Sequence

import msgspec
from kafka.protocol.admin import IncrementalAlterConfigsRequest, IncrementalAlterConfigsResponse

from harness.administration.reassignments import Address, error_name
from harness.wire import Connection, WireError

RATES = ("leader.replication.throttled.rate", "follower.replication.throttled.rate")
"""Bytes a second, of each broker."""
LEADERS = "leader.replication.throttled.replicas"
FOLLOWERS = "follower.replication.throttled.replicas"
TIMEOUT_S = 10.0
_TOPIC, _BROKER = 2, 4
_SET, _DELETE, _APPEND, _SUBTRACT = range(4)

Change = tuple[int, str, tuple[tuple[str, int, str | None], ...]]
"""Type and name of a resource; name, operation and value of each config."""


class Move(msgspec.Struct, frozen=True):
    """A partition that is to go from some brokers to others."""

    topic: str
    partition: int
    before: tuple[int, ...]
    wanted: tuple[int, ...]


class Throttle(msgspec.Struct, frozen=True):
    """What is limited.

    Attributes:
        bytes_per_s: of every broker, once for what it sends and once for what it receives.
        brokers: their ids.
        leaders: by topic, ``partition:broker`` of the replicas that are copied from.
        followers: by topic, of the replicas that are filled.
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
    """What to limit for some moves: replicas that are there may send, those that are added receive.

    A replica that is there already is not limited as a follower: it would fall out of sync (KIP-73).
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


def set_throttle(address: Address, throttle: Throttle) -> None:
    """Limit; replicas that were throttled before stay so, a broker's earlier rate is replaced.

    Args:
        address: a broker's listener; it passes them on to the controller.
        throttle: what to limit.

    Raises:
        WireError: no answer, or a refusal; some of it may have been set.
    """
    rates = tuple((name, _SET, str(throttle.bytes_per_s)) for name in RATES)
    brokers: list[Change] = [(_BROKER, str(broker), rates) for broker in throttle.brokers]
    _alter(address, [*brokers, *_of_topics(throttle, throttle.topics, _APPEND)])


def remove_throttle(address: Address, throttle: Throttle, others: Sequence[Throttle] = ()) -> None:
    """Take a limit away again; what others limit too stays limited.

    Args:
        address: a broker's listener.
        throttle: what was limited.
        others: limits that are still needed: brokers and replicas that one of them has keep theirs.

    Raises:
        WireError: no answer, or a refusal; some of it may have been removed.
    """
    needed = {broker for other in others for broker in other.brokers}
    shared = {topic for other in others for topic in other.topics}
    rates = tuple((name, _DELETE, None) for name in RATES)
    brokers: list[Change] = [(_BROKER, str(b), rates) for b in throttle.brokers if b not in needed]
    own = tuple(topic for topic in throttle.topics if topic not in shared)
    gone: list[Change] = [(_TOPIC, t, ((LEADERS, _DELETE, None), (FOLLOWERS, _DELETE, None))) for t in own]
    rest = Throttle(
        throttle.bytes_per_s,
        (),
        _without(throttle.leaders, [other.leaders for other in others]),
        _without(throttle.followers, [other.followers for other in others]),
    )
    both = [topic for topic in throttle.topics if topic in shared]
    _alter(address, [*brokers, *gone, *_of_topics(rest, both, _SUBTRACT)])


def _of_topics(throttle: Throttle, topics: Iterable[str], operation: int) -> list[Change]:
    changes: list[Change] = []
    for topic in topics:
        sides = ((LEADERS, throttle.leaders.get(topic, ())), (FOLLOWERS, throttle.followers.get(topic, ())))
        changes.append(
            (_TOPIC, topic, tuple((n, operation, ",".join(places)) for n, places in sides if places))
        )
    return [change for change in changes if change[2]]


def _without(
    places: Mapping[str, tuple[str, ...]], needed: Sequence[Mapping[str, tuple[str, ...]]]
) -> dict[str, tuple[str, ...]]:
    return {
        topic: tuple(one for one in own if not any(one in other.get(topic, ()) for other in needed))
        for topic, own in places.items()
    }


def _places(partition: int, brokers: Iterable[int]) -> tuple[str, ...]:
    return tuple(f"{partition}:{broker}" for broker in brokers)


def _alter(address: Address, changes: Sequence[Change]) -> None:
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
    refused = [one for one in answer.responses if one.error_code]
    if refused:
        what = {_TOPIC: "topic", _BROKER: "broker"}
        said = (
            f"{what[one.resource_type]} {one.resource_name}: {error_name(one.error_code)} {one.error_message}"
            for one in refused
        )
        raise WireError(f"IncrementalAlterConfigs refused {'; '.join(said)}")
