"""The states of partitions, replayed from the metadata log, and the times between which each began."""

import pytest

from checkers.columns.tables import NEVER, PartitionName
from checkers.evidence.partition_changes import PartitionState, partition_changes
from tests.checkers.admin_histories import TOPIC, TOPIC_ID, AdminStory
from tests.checkers.log_histories import MS

HERE = PartitionName(TOPIC, 0)


def states(story: AdminStory) -> tuple[PartitionState, ...]:
    return partition_changes(story.history()).states[HERE]


def test_a_leader_that_is_named_begins_an_epoch_and_nothing_else_does() -> None:
    story = AdminStory()
    story.created([1, 2])
    story.changed(20, isr=[1])
    story.changed(30, leader=-1)
    story.changed(40, leader=1)
    story.record(45, "CONFIG_RECORD", {"name": "retention.ms"})
    story.changed(50, isr=[1, 2])
    assert [(s.leader, s.leader_epoch, s.isr, s.elected) for s in states(story)] == [
        (1, 0, (1, 2), False),
        (1, 0, (1,), False),
        (-1, 1, (1,), False),
        (1, 2, (1,), True),
        (1, 2, (1, 2), False),
    ]


def test_a_partition_is_made_with_all_that_it_has() -> None:
    story = AdminStory()
    partition = {
        "replicas": [1, 2, 3],
        "isr": [1],
        "leader": 1,
        "leaderEpoch": 7,
        "eligibleLeaderReplicas": [2],
        "lastKnownElr": [3],
        "addingReplicas": [3],
        "removingReplicas": [2],
        "leaderRecoveryState": 1,
    }
    story.record(1, "TOPIC_RECORD", {"name": TOPIC, "topicId": TOPIC_ID})
    story.record(2, "PARTITION_RECORD", {"partitionId": 0, "topicId": TOPIC_ID, **partition})
    story.record(3, "PARTITION_RECORD", {"partitionId": 9, "topicId": "unnamed", "replicas": [1]})
    (state,) = states(story)
    assert (state.leader_epoch, state.elr, state.last_known, state.recovering) == (7, (2,), (3,), True)
    assert (state.target, state.original, state.moving) == ((1, 3), (1, 2), True)
    others = partition_changes(story.history()).states
    assert others[PartitionName("unnamed", 9)][0].leader == -1


def test_a_snapshot_names_topics_and_hides_the_beginnings_of_their_partitions() -> None:
    story = AdminStory()
    story.changed(20, isr=[1])
    of_topic = [0, 1, "TOPIC_RECORD", {"name": TOPIC, "topicId": TOPIC_ID}]
    other = [1, 1, "CONFIG_RECORD", {}]
    changes = partition_changes(story.history(checkpoint=["7-1.checkpoint", [of_topic, other]]))
    assert changes.states == {}
    assert changes.op is not None
    story.record(30, "PARTITION_RECORD", {"partitionId": 1, "topicId": TOPIC_ID, "replicas": [1]})
    changes = partition_changes(story.history(checkpoint=["7-1.checkpoint", [of_topic, other]]))
    assert list(changes.states) == [PartitionName(TOPIC, 1)]


def test_of_a_topic_that_was_removed_nothing_is_known_nor_of_one_that_takes_its_name() -> None:
    story = AdminStory()
    story.created([1, 2])
    story.record(20, "REMOVE_TOPIC_RECORD", {"topicId": TOPIC_ID})
    story.record(21, "REMOVE_TOPIC_RECORD", {"topicId": "unnamed"})
    assert partition_changes(story.history()).states == {}
    story.created([1, 2], at_ms=30)
    assert partition_changes(story.history()).states == {}


class TestSpans:
    def test_a_record_lies_between_what_leaders_reported(self) -> None:
        story = AdminStory()
        story.created([1, 2], at_ms=1)
        story.changed(20, isr=[1])
        changes = partition_changes(story.history())
        span = changes.span(changes.states[HERE][1])
        assert (span.from_ns, span.to_ns) == (round(19.5 * MS), round(20.4 * MS))

    def test_of_another_epoch_only_what_is_committed_counts(self) -> None:
        story = AdminStory()
        story.created([1, 2])
        changes = partition_changes(story.history())
        state = changes.states[HERE][0]._replace(epoch=2)
        assert changes.span(state) == (0, round(2.4 * MS))
        assert changes.span(state._replace(offset=99)) == (0, NEVER)

    @pytest.mark.parametrize(
        "answer",
        [
            {"answer": "not-leader"},
            {"answer": "error"},
            {"answer": "not-leader", "leader_id": 1, "voters": [[1, None, 5, -1, -1]]},
            {"answer": "leader", "leader_id": 1, "leader_epoch": 1, "high_watermark": -1}
            | {"voters": [], "wall_ms": 0},
        ],
    )
    def test_who_does_not_lead_or_answers_nothing_bounds_nothing(self, answer: dict[str, object]) -> None:
        story = AdminStory()
        story.created([1, 2])
        story.observe(0.1, "quorum", {"began_ns": 0} | answer)
        changes = partition_changes(story.history())
        assert changes.span(changes.states[HERE][0]) == (round(1.5 * MS), round(2.4 * MS))

    def test_the_possible_states_of_a_time(self) -> None:
        story = AdminStory()
        story.created([1, 2])
        story.changed(20, isr=[1])
        story.changed(40, isr=[1, 2])
        changes = partition_changes(story.history())

        def isr(from_ms: float, to_ms: float) -> list[tuple[int, ...]]:
            return [s.isr for s in changes.possible(HERE, round(from_ms * MS), round(to_ms * MS))]

        assert isr(5, 6) == [(1, 2)]
        assert isr(20, 20) == [(1, 2), (1,)]
        assert isr(30, 31) == [(1,)]
        assert isr(30, 50) == [(1,), (1, 2)]
        assert isr(0, 1) == []


def test_states_are_known_until_the_log_ends() -> None:
    story = AdminStory()
    story.created([1, 2])
    story.changed(20, isr=[1])
    changes = partition_changes(story.history(cut=2))
    assert changes.is_complete(HERE, round(1.5 * MS))
    assert not changes.is_complete(HERE, 2 * MS)
    assert not changes.is_complete(PartitionName("other", 0), 0)
    assert partition_changes(story.history()).is_complete(HERE, NEVER)
    assert partition_changes(story.history(metadata_log=False)).complete_until_ns == 0


@pytest.mark.parametrize(("topic", "cleared"), [(TOPIC, True), ("", True), ("other", False)])
def test_what_is_eligible_may_be_cleared_of_a_topic_or_of_all(topic: str, *, cleared: bool) -> None:
    story = AdminStory()
    story.created([1, 2])
    story.record(10, "PARTITION_RECORD", {"partitionId": 1, "topicId": TOPIC_ID, "replicas": [1]})
    story.changed(20, isr=[1], eligibleLeaderReplicas=[2])
    story.record(30, "CLEAR_ELR_RECORD", {"topicName": topic})
    assert states(story)[-1].elr == (() if cleared else (2,))
    assert len(partition_changes(story.history()).states[PartitionName(TOPIC, 1)]) == 1
