"""Properties of brokers and moves that scenarios with share groups (KIP-932) share."""

from harness.vocabulary import (
    ElectionType,
    ElectLeaders,
    ErrorCode,
    Expectation,
    Perform,
    Reassign,
    ShareWorkload,
    Validity,
)

SHARE_STATES = "__share_group_state"
"""The topic with the states of share groups."""
_REPEATED = "findings/initialised-again: a state that is initialised late is initialised again while in use"
INITIALISED_AGAIN = Expectation(
    Validity.VALID,
    ("share-state-initialised-again",),
    consequences=(
        "acknowledged-twice",
        "delivered-after-acknowledgement",
        "delivery-count-lost",
        "share-lock-lost",
        "share-start-not-set",
        "share-start-went-back",
    ),
    why=_REPEATED,
)
"""What share groups may show if share coordinators answer late; the interval below makes it likelier."""
DELAYED_WRITES = Expectation(
    Validity.VALID,
    ("share-state-start-back", *INITIALISED_AGAIN.anomalies),
    consequences=INITIALISED_AGAIN.consequences,
    before="4.4.0",
    why=(
        "Kafka's pull request 23074: before 4.4.0 a delayed write takes the stored start offset back; "
        f"{_REPEATED}"
    ),
)
"""What share groups may show under faults, which delay writes."""
UNDER_FAULTS = (DELAYED_WRITES, INITIALISED_AGAIN)
"""Both, by version."""

FENCED_WRITE = Expectation(
    Validity.VALID,
    ("share-answered-early",),
    consequences=(
        "acknowledged-twice",
        "delivered-after-acknowledgement",
        "delivery-count-lost",
        "share-lock-lost",
    ),
    why="findings/fenced-write: a write that the share coordinator refused is confirmed",
)
"""What share groups may show if a partition returns to a former leader while writes of its epoch wait."""


def share_brokers(workload: ShareWorkload) -> dict[str, str]:
    """The state of share groups has few partitions and three replicas; two must be in sync."""
    return {
        "min.insync.replicas": "2",
        "share.coordinator.state.topic.num.partitions": "6",
        "share.coordinator.state.topic.replication.factor": "3",
        "share.coordinator.state.topic.min.isr": "2",
        "group.share.initialize.retry.interval.ms": "5000",
    } | workload.broker_config


def prefer(places: tuple[tuple[str, int], ...], order: tuple[int, ...]) -> Reassign:
    """Give partitions their replicas in this order; the first one is preferred as the leader."""
    return Reassign(tuple((*place, order) for place in places))


def moved(places: tuple[tuple[str, int], ...], order: tuple[int, ...]) -> tuple[Perform, Perform]:
    """Let the first of these replicas lead partitions, whose replicas they are already."""
    elected = (ErrorCode.NONE, ErrorCode.ELECTION_NOT_NEEDED)
    return (
        Perform(prefer(places, order), expect=(ErrorCode.NONE,), until_ms=10_000),
        Perform(ElectLeaders(ElectionType.PREFERRED, places), expect=elected, until_ms=10_000),
    )
