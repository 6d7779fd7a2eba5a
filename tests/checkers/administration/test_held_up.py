"""Reassignments that the record which meets their condition does not complete (KAFKA-19975)."""

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkers.administration.reassignments import check_reassignments
from checkers.history.operations import History
from checkers.verdict.verdict import Anomaly
from tests.checkers.admin_histories import AdminStory
from tests.checkers.administration.partition_controller import PartitionController
from tests.checkers.logs.replicas.replica_histories import Batch, packed

HELD_UP = "reassignment-held-up"


def moving(target: Sequence[int], isr: Sequence[int], **setup: Any) -> AdminStory:
    """A reassignment of the replicas 1, 2 and 3 that began at 51 ms with this ISR, and was asked for."""
    story = AdminStory(**setup)
    story.created([1, 2, 3])
    story.changed(20, isr=list(isr))
    added = [replica for replica in target if replica not in (1, 2, 3)]
    removed = [replica for replica in (1, 2, 3) if replica not in target]
    story.changed(51, replicas=[*target, *removed], addingReplicas=added, removingReplicas=removed)
    story.reassign(50, 52, target)
    return story


def complete(story: AdminStory, at_ms: float, target: Sequence[int], isr: Sequence[int]) -> None:
    story.changed(at_ms, replicas=list(target), isr=list(isr), addingReplicas=[], removingReplicas=[])


def anomalies(story: AdminStory) -> list[Anomaly]:
    return [a for a in check_reassignments(story.history()).anomalies if a.id == HELD_UP]


class TestUntouched:
    """Broker 2 is down; it was a replica, and remains one."""

    @pytest.mark.parametrize(
        ("target", "added"), [([1, 2, 3, 4], [4]), ([2, 3, 4], [4]), ([2, 4, 5], [4, 5])]
    )
    @pytest.mark.parametrize("version", ["3.7.1", "4.2.1", "4.3.1"])
    def test_it_is_not_waited_for(self, target: list[int], added: list[int], version: str) -> None:
        story = moving(target, isr=[1, 3], kafka_version=version)
        story.changed(80, isr=[1, 3, *added])
        complete(story, 3080, target, target)
        result = check_reassignments(story.history())
        assert result.counts == {HELD_UP: 1}
        (anomaly,) = result.anomalies
        assert anomaly.summary == (
            f"The reassignment of log-0/0 to {target} was held up: it waits for {added}, and the record that "
            "has them in sync did not complete it."
        )
        assert f"offset 4 of the metadata log: replicas {target}"[:-1] in anomaly.explanation[0]
        assert anomaly.explanation[1:] == (
            "[2] were not in sync, and the reassignment does not wait for them.",
            "It continued until offset 5, at least 3.0 s later.",
        )
        assert (anomaly.subject, anomaly.time_ns) == ("log-0/0", 80_400_000)

    def test_it_is_reported_that_the_log_ends_first(self) -> None:
        story = moving([1, 2, 3, 4], isr=[1, 3])
        story.changed(80, isr=[1, 3, 4])
        (anomaly,) = anomalies(story)
        assert anomaly.explanation[-1] == "It continued to the end of the log."

    def test_of_records_without_times_no_time_is_reported(self) -> None:
        story = moving([1, 2, 3, 4], isr=[1, 3])
        story.changed(80, isr=[1, 3, 4])
        complete(story, 3080, [1, 2, 3, 4], [1, 2, 3, 4])
        untimed = tuple(o for o in story.history().operations if o.key != "quorum")
        (anomaly,) = check_reassignments(History("run", "", untimed)).anomalies
        assert (anomaly.time_ns, anomaly.explanation[-1]) == (None, "It continued until offset 5.")

    def test_one_reassignment_is_reported_once_and_another_one_again(self) -> None:
        story = moving([1, 2, 3, 4], isr=[1, 3])
        story.changed(80, isr=[1, 3, 4])
        story.changed(90, isr=[1, 4])
        story.changed(100, isr=[1, 3, 4])
        story.reassign(110, 112, [1, 2, 3, 4, 5])
        story.changed(111, replicas=[1, 2, 3, 4, 5], addingReplicas=[5])
        story.changed(120, isr=[1, 3, 4, 5])
        assert [anomaly.time_ns for anomaly in anomalies(story)] == [80_400_000, 120_400_000]

    def test_a_correct_controller_completes_it_at_once(self) -> None:
        story = moving([2, 3, 4], isr=[1, 3])
        complete(story, 80, [2, 3, 4], [3, 4])
        assert check_reassignments(story.history()).counts == {}


class TestAwaited:
    """What a reassignment waits for."""

    def test_an_added_replica(self) -> None:
        story = moving([2, 4, 5], isr=[1, 2, 3])
        story.changed(80, isr=[1, 2, 3, 4])
        assert anomalies(story) == []

    @pytest.mark.parametrize(("isr", "found"), [([1, 2, 4], False), ([1, 2, 3, 4], True)])
    def test_every_replica_if_there_will_be_fewer(self, isr: list[int], *, found: bool) -> None:
        story = moving([3, 4], isr=[1, 2])
        story.changed(80, isr=isr)
        reported = anomalies(story)
        assert bool(reported) is found
        if found:
            assert "it waits for [3, 4], and" in reported[0].summary
            assert "did" not in reported[0].explanation[1]

    def test_every_replica_if_none_is_added(self) -> None:
        assert anomalies(moving([2, 3], isr=[1, 2])) == []

    def test_one_that_is_added_and_removed_in_vain(self) -> None:
        story = moving([1, 2, 3, 4], isr=[1, 3])
        story.reassign(60, 62, [1, 2, 3])
        story.changed(61, removingReplicas=[4])
        story.changed(80, isr=[1, 2, 3, 4])
        assert anomalies(story) == []


class TestAfterTheTest:
    """Records by which a correct controller meets the condition after it was tested."""

    def elected(self, **fields: Any) -> AdminStory:
        """4 is added, and elected before it was in sync."""
        story = moving([2, 3, 4], isr=[1])
        story.changed(80, leader=4, isr=[4], **fields)
        return story

    @pytest.mark.parametrize("fields", [{"leaderRecoveryState": 1}, {"eligibleLeaderReplicas": [2]}])
    def test_an_election_leaves_the_leader_alone_in_the_isr(self, fields: dict[str, Any]) -> None:
        story = self.elected(**fields)
        assert anomalies(story) == []
        complete(story, 90, [2, 3, 4], [4])
        assert check_reassignments(story.history()).counts == {}

    def test_the_next_record_has_to_complete_it(self) -> None:
        story = self.elected(leaderRecoveryState=1)
        story.changed(90, leaderRecoveryState=0)
        (anomaly,) = anomalies(story)
        assert "offset 5 of the metadata log" in anomaly.explanation[0]

    def test_the_last_replica_in_sync_leaves_and_nobody_leads(self) -> None:
        story = self.elected(leaderRecoveryState=1)
        story.changed(90, leader=-1)
        assert anomalies(story) == []
        story.changed(100, leader=4)
        assert anomalies(story) == []
        story.changed(110, isr=[2, 4])
        assert len(anomalies(story)) == 1

    def test_eligible_replicas_are_cleared(self) -> None:
        story = self.elected(eligibleLeaderReplicas=[2])
        story.record(90, "CLEAR_ELR_RECORD", {"topicName": ""})
        assert anomalies(story) == []


def test_a_log_that_lacks_records_is_not_judged() -> None:
    story = moving([1, 2, 3, 4], isr=[1, 3])
    story.changed(80, isr=[1, 3, 4])
    end, history = len(story.records), story.history()
    lacking = {"batches": packed([Batch(0, end), Batch(end, 2)]), "count": 2, "end": end + 2}
    thinned = tuple(
        msgspec.structs.replace(o, value=o.value | lacking) if o.key == "metadata-log" else o
        for o in history.operations
    )
    assert check_reassignments(history).counts == {HELD_UP: 1}
    assert check_reassignments(History("run", "", thinned)).counts == {}


def test_a_log_with_a_record_that_could_not_be_decoded_is_not_judged() -> None:
    story = moving([1, 2, 3, 4], isr=[1, 3])
    story.record(75, "OPAQUE_RECORD", {"type": 5, "version": 9, "size": 30})
    story.changed(80, isr=[1, 3, 4])
    assert check_reassignments(story.history()).counts == {}


BROKER = st.sampled_from([1, 2, 3, 4, 5])
TARGET = st.lists(BROKER, min_size=1, max_size=4, unique=True)
EVENT = st.one_of(
    st.tuples(st.sampled_from(["fence", "fence_unclean", "unfence", "join", "join", "clear"]), BROKER),
    st.tuples(st.just("reassign"), TARGET),
    st.tuples(st.just("cancel")),
)


def played(events: Sequence[Sequence[Any]], **options: bool) -> tuple[PartitionController, AdminStory]:
    story = AdminStory()
    controller = PartitionController(story, **options)
    for name, *arguments in events:
        getattr(controller, name)(*arguments)
    return controller, story


@given(st.lists(EVENT, max_size=40), st.booleans())
def test_a_correct_controller_holds_nothing_up(events: list[Sequence[Any]], eligible: bool) -> None:  # noqa: FBT001
    _, story = played(events, eligible=eligible)
    assert anomalies(story) == []


@given(st.lists(EVENT, max_size=40), st.booleans())
def test_one_that_waits_for_all_replicas_is_found(events: list[Sequence[Any]], eligible: bool) -> None:  # noqa: FBT001
    controller, story = played(events, eligible=eligible, waits_for_all=True)
    assert bool(anomalies(story)) is controller.held_up
