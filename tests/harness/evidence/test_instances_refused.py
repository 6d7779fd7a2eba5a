"""Static members that coordinators refused, as Kafka 4.3.1 and 4.4.0 word it."""

import pytest

from checkers.history.logged import InstanceRefused
from harness.evidence.instances_refused import instances_refused

TOPIC = "__consumer_offsets"
HEAD = "2026-11-30T07:13:19.606Z INFO [group-coordinator-event-processor-1] [GroupCoordinator id=1"
MANAGER = "(org.apache.kafka.coordinator.group.GroupMetadataManager)"
RUNTIME = "(org.apache.kafka.coordinator.common.runtime.CoordinatorRuntime)"
MEMBER, OWNER = "0EsfWUGITMCPfsQJwVTV9w", "VVeTxLJVQUOXG7657HKdKg"


def loaded(epoch: int, partition: int = 3, topic: str = TOPIC) -> str:
    return (
        f"{HEAD}] Finished loading of metadata from {topic}-{partition} with epoch {epoch} in 63ms where 1ms "
        f"was spent in the scheduler. Loaded 235 records which total to 29199 bytes. {RUNTIME}"
    )


def unloading(partition: int = 3) -> str:
    return f"{HEAD}] Started unloading metadata for {TOPIC}-{partition} with epoch OptionalInt[8]. {RUNTIME}"


def told(text: str, partition: int = 3, group: str = "group-0") -> str:
    return f"{HEAD} topic={TOPIC} partition={partition}] [GroupId {group}] {text} {MANAGER}"


def refused(owner: str = OWNER, member: str = MEMBER, **where: object) -> str:
    text = (
        f"Static member {member} with instance id group-0-0 cannot join the group because the instance id is "
        f"owned by member {owner}."
    )
    return told(text, **where)  # type: ignore[arg-type]


def returned(member: str = OWNER, **where: object) -> str:
    text = (
        "Static member with instance id group-0-0 re-joins the consumer group using the consumer protocol. "
        f"Created a new member {member} to replace the existing member z4VZjdj2SyiO/3VvOP0eTQ."
    )
    return told(text, **where)  # type: ignore[arg-type]


def found(*lines: str) -> list[InstanceRefused]:
    return list(instances_refused("\n".join(lines)))


def test_a_refusal_says_who_has_the_instance_id_and_what_was_loaded() -> None:
    assert found("a line that says nothing", loaded(9), refused()) == [
        InstanceRefused(
            line=3,
            at="2026-11-30T07:13:19.606Z",
            topic=TOPIC,
            partition=3,
            group="group-0",
            member=MEMBER,
            instance="group-0-0",
            owner=OWNER,
            epoch=9,
            loaded=2,
            named=False,
        )
    ]


def test_a_log_without_refusals_has_none() -> None:
    assert found(loaded(9), returned()) == []


def test_refusals_that_differ_only_in_the_refused_member_are_left_out() -> None:
    lines = [loaded(9), refused(), refused(member="x"), refused("another"), refused(group="group-1")]
    assert [one.line for one in found(*lines)] == [2, 4, 5]
    assert [one.line for one in found(*lines, loaded(10), refused())] == [2, 4, 5, 7]


@pytest.mark.parametrize(
    ("line", "named"),
    [
        (returned(), True),
        (
            told(f"Static member {OWNER} with instance id i temporarily left the consumer group."),
            True,
        ),
        (returned("another"), False),
        (returned(partition=4), False),
        (refused("another", OWNER), False),
    ],
)
def test_other_lines_of_the_coordinator_may_name_the_owner(line: str, named: bool) -> None:  # noqa: FBT001
    (last,) = [one for one in found(loaded(9), line, refused()) if one.owner == OWNER]
    assert last.named is named


def test_what_was_logged_before_loading_does_not_matter() -> None:
    (one,) = found(loaded(7), returned(), unloading(), loaded(9), refused())
    assert (one.epoch, one.named) == (9, False)


def test_a_refusal_is_recorded_again_once_the_owner_was_named() -> None:
    assert [one.named for one in found(loaded(9), refused(), returned(), refused(), refused())] == [
        False,
        True,
    ]


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param([], id="the-log-lacks-the-loading"),
        pytest.param([loaded(9, 4)], id="another-partition-was-loaded"),
        pytest.param([loaded(9, topic="__share_group_state")], id="another-topic-was-loaded"),
        pytest.param([loaded(9), unloading()], id="it-was-unloaded"),
    ],
)
def test_without_its_loading_a_refusal_says_nothing(lines: list[str]) -> None:
    assert found(*lines, returned(), refused(partition=3)) == []


def test_coordinators_of_partitions_are_apart() -> None:
    starting = f"{HEAD}] Starting up. (org.apache.kafka.coordinator.group.GroupCoordinatorService)"
    lines = [starting, loaded(9, 3), loaded(5, 4), unloading(3), refused(partition=4), unloading(7)]
    assert [(one.partition, one.epoch) for one in found(*lines)] == [(4, 5)]
