"""Makes admin operations of the vocabulary from the requests of a recorded run; pure."""

from collections.abc import Callable

import msgspec

from checkers.history.operations import Operation
from checkers.history.requested import (
    BrokerAltered,
    BrokersAltered,
    ElectionRequested,
    FeatureRequested,
    GroupAltered,
    PartitionsAdded,
    ReassignmentRequested,
    TopicAltered,
)
from harness.vocabulary.administration import (
    AddPartitions,
    AddVoter,
    AlterBroker,
    AlterBrokers,
    AlterGroup,
    AlterTopic,
    Concrete,
    ElectionType,
    ElectLeaders,
    LateHeartbeat,
    Member,
    Reassign,
    RemoveVoter,
    UnregisterBroker,
    UnregisterController,
    UpdateFeature,
)

_OF_NODES: dict[
    str, type[AddVoter | RemoveVoter | LateHeartbeat | UnregisterBroker | UnregisterController]
] = {
    "add-voter": AddVoter,
    "remove-voter": RemoveVoter,
    "late-heartbeat": LateHeartbeat,
    "unregister-broker": UnregisterBroker,
    "unregister-controller": UnregisterController,
}
"""Operations whose key is the id of a node."""


def requested(operation: Operation, numbered: Callable[[int], Member]) -> Concrete:
    """The admin operation that an operator requested, as a value of the vocabulary."""
    value = operation.value
    match operation.f:
        case "elect-leaders":
            partitions = msgspec.convert(value, ElectionRequested).partitions
            return ElectLeaders(ElectionType(str(operation.key)), partitions)
        case f if f in _OF_NODES:
            return _OF_NODES[f](numbered(int(operation.key)))
        case "update-feature":
            wanted = msgspec.convert(value, FeatureRequested)
            return UpdateFeature(str(operation.key), wanted.level, wanted.upgrade_type, wanted.validate_only)
        case "alter-topic" | "alter-brokers" | "alter-broker" | "alter-group":
            return _altered(operation, numbered)
        case "create-partitions":
            return AddPartitions(msgspec.convert(value, PartitionsAdded).count, str(operation.key))
        case _:
            asked = msgspec.convert(value, ReassignmentRequested)
            return Reassign(asked.targets, asked.throttle_bytes_per_s)


def _altered(
    operation: Operation, numbered: Callable[[int], Member]
) -> AlterTopic | AlterBrokers | AlterBroker | AlterGroup:
    if operation.f == "alter-broker":
        of_broker = msgspec.convert(operation.value, BrokerAltered)
        return AlterBroker(numbered(int(operation.key)), of_broker.config, of_broker.value)
    if operation.f == "alter-brokers":
        return AlterBrokers(str(operation.key), msgspec.convert(operation.value, BrokersAltered).value)
    if operation.f == "alter-group":
        of_group = msgspec.convert(operation.value, GroupAltered)
        return AlterGroup(str(operation.key), of_group.config, of_group.value)
    asked = msgspec.convert(operation.value, TopicAltered)
    return AlterTopic(str(operation.key), asked.config, asked.value or "")
