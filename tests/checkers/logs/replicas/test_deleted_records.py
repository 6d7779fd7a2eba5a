"""Deletions of records that were acknowledged, and records that come back."""

from collections import Counter
from typing import Any

import pytest

from checkers.history.operations import History, OperationType
from checkers.logs.replicas.anomalies import NEEDS
from checkers.logs.replicas.deleted_records import find_returned
from checkers.logs.replicas.judging import check_replicas
from checkers.verdict.verdict import Anomaly
from checkers.verdict.withholding import MissingParts, withheld
from tests.checkers.admin_histories import READER, TOPIC, AdminStory

INVOKE, OK = OperationType.INVOKE, OperationType.OK
NO_ELR: dict[str, Any] = {"features": {}}


def deleted(below: int = 5, *, how: str = "ok", created: bool = True, **setup: Any) -> AdminStory:
    """Asked for at 100 ms and answered at 110 ms."""
    story = AdminStory(**setup)
    if created:
        story.created()
    story.both(100, 110, "delete-records", [[0, below]], key=TOPIC, how=how)
    return story


def final(story: AdminStory, start: int, at_ms: float = 800) -> AdminStory:
    asked = READER | {"partition": 0}
    answer = asked | {"start": start, "end": 9, "position": 9, "records": []}
    story.add(at_ms, f"reader-{at_ms}", INVOKE, "final-read", key=TOPIC, value=asked)
    story.add(at_ms + 0.5, f"reader-{at_ms}", OK, "final-read", key=TOPIC, value=answer)
    return story


def polled(story: AdminStory, *offsets: int, assigned_ms: float = 200, at_ms: float = 210) -> AdminStory:
    chunk = [0, list(offsets), list(offsets)]
    for f, asked, answer, begun in (
        ("assign", [[0, 0]], [[0, 0]], assigned_ms),
        ("poll", READER, READER | {"records": [chunk]}, at_ms),
    ):
        story.add(begun, 9, INVOKE, f, key=TOPIC, value=asked)
        story.add(begun + 1, 9, OK, f, key=TOPIC, value=answer)
    return story


def found(story: AdminStory | History, **options: Any) -> list[Anomaly]:
    history = story if isinstance(story, History) else story.history(**options)
    return list(find_returned(history, Counter()))


def licence(story: AdminStory, **options: Any) -> str:
    (one,) = found(final(story, 0), **options)
    assert not one.illegal
    return str(one.licence)


class TestFinalReads:
    @pytest.mark.parametrize("start", [5, 6])
    def test_a_log_that_begins_there_or_above_is_as_it_should_be(self, start: int) -> None:
        figures: Counter[str] = Counter()
        assert list(find_returned(final(deleted(), start).history(), figures)) == []
        assert figures == {"deletions": 1, "deletions_judged": 1}

    def test_one_that_begins_below_is_found(self) -> None:
        story = final(deleted(), 4)
        (one,) = found(story)
        assert (one.id, one.illegal, one.subject) == ("deleted-records-returned", True, "log-0/0@4")
        assert "below 5 had been deleted" in one.summary
        operations = story.history().operations
        assert [operations[at].f for at in one.witness] == ["delete-records", "delete-records", "final-read"]
        asked, answered, _ = one.witness
        assert one.explanation[:3] == (
            f"Operation {asked} asked to delete all records of log-0/0 below 5.",
            f"It was acknowledged at 0.110 s (operation {answered}).",
            "By then all live replicas had moved their log start offsets.",
        )
        assert len(one.explanation) == 5

    @pytest.mark.parametrize("how", ["fail", "info"])
    def test_what_was_not_acknowledged_need_not_be_deleted(self, how: str) -> None:
        assert found(final(deleted(how=how), 0)) == []

    def test_one_without_an_answer_neither(self) -> None:
        story = AdminStory()
        story.both(100, None, "delete-records", [[0, 5]], key=TOPIC)
        assert found(final(story, 0)) == []

    def test_offsets_may_have_been_listed_before_the_answer(self) -> None:
        assert found(final(deleted(), 0, at_ms=105)) == []

    def test_the_largest_offset_counts_first(self) -> None:
        story = deleted(7)
        story.both(120, 130, "delete-records", [[0, 6]], key=TOPIC)
        (one,) = found(final(story, 5))
        assert "below 7" in one.summary

    def test_one_finding_for_all_final_reads_of_a_partition(self) -> None:
        assert len(found(final(final(deleted(), 0), 0, at_ms=810))) == 1

    def test_a_topic_that_was_deleted_may_be_another_one(self) -> None:
        story = deleted()
        story.both(300, 310, "delete-topic", None, key=TOPIC)
        assert found(final(story, 0)) == []

    def test_without_deletions_there_is_nothing_to_judge(self) -> None:
        assert found(final(AdminStory(), 0)) == []

    def test_the_checker_reports_it(self) -> None:
        result = check_replicas(final(deleted(), 0).history())
        assert result.counts["deleted-records-returned"] == 1
        assert result.figures["deletions_judged"] == 1

    @pytest.mark.parametrize(("journal", "kept"), [("nodes", 0), ("nemesis", 0), ("worker-1", 1)])
    def test_what_may_be_a_hole_is_withheld(self, journal: str, kept: int) -> None:
        result = check_replicas(final(deleted(), 0).history())
        shown = withheld(result, NEEDS, MissingParts(frozenset({journal}), "log"))
        assert shown.counts.get("deleted-records-returned", 0) == kept


class TestLicences:
    @pytest.mark.parametrize("kind", ["power-loss", "dead-disk"])
    def test_a_broker_that_was_struck_may_begin_where_it_had_written(self, kind: str) -> None:
        story = deleted()
        story.fault(300, 400, kind, "n2")
        assert "a broker writes its log start offsets to disk only at intervals" in licence(story)

    def test_so_may_one_that_was_struck_when_it_was_deleted(self) -> None:
        story = deleted(**NO_ELR)
        story.fault(50, 105, "power-loss", "n2")
        assert "f1" in licence(story)

    def test_one_that_was_struck_before_has_fetched_since(self) -> None:
        story = deleted()
        story.fault(50, 60, "power-loss", "n2")
        assert found(final(story, 0))[0].illegal

    @pytest.mark.parametrize(("kind", "node"), [("power-loss", "n4"), ("stop", "n1"), ("pause", "n1")])
    def test_other_nodes_and_other_faults_permit_nothing(self, kind: str, node: str) -> None:
        nodes = [{"name": f"n{i}", "id": i, "roles": ["broker"]} for i in (1, 2, 3, 4)]
        story = deleted(nodes=nodes)
        story.fault(300, 400, kind, node)
        assert found(final(story, 0))[0].illegal

    def test_where_replicas_are_not_known_any_node_may_have_one(self) -> None:
        story = deleted(created=False, **NO_ELR)
        story.fault(300, 400, "kill", "n3")
        assert "kill of n3" in licence(story, metadata_log=False)

    def test_a_killed_broker_that_fetched_before_it_led_begins_as_it_should(self) -> None:
        story = deleted()
        story.fault(300, 400, "kill", "n1")
        story.changed(320, isr=[2, 3], leader=2)
        story.changed(340, leader=3)
        story.changed(420, isr=[2, 3, 1])
        story.changed(440, leader=1)
        assert found(final(story, 0))[0].illegal

    def test_so_does_one_that_never_led_again(self) -> None:
        story = deleted()
        story.fault(300, None, "pause", "n3")
        story.fault(300, 400, "kill", "n1")
        story.changed(320, isr=[2, 3], leader=2)
        assert found(final(story, 0))[0].illegal

    def test_a_killed_broker_that_led_before_it_fetched_may_not(self) -> None:
        story = deleted()
        story.fault(300, 400, "kill", "n1")
        story.changed(320, isr=[2], leader=2)
        story.changed(420, isr=[1], leader=1)
        assert licence(story).startswith("kill of n1 (f1)")

    @pytest.mark.parametrize("heal_ms", [400, None])
    def test_nor_one_that_never_left_the_isr_or_was_not_seen_to_come_back(self, heal_ms: int | None) -> None:
        story = deleted()
        story.fault(300, heal_ms, "kill", "n1")
        assert licence(story).startswith("kill of n1 (f1)")

    def test_an_unclean_election_may_make_an_older_replica_lead(self) -> None:
        story = deleted()
        story.elect(300, 310)
        assert licence(story, metadata_log=False).startswith("ElectLeaders UNCLEAN")

    def test_not_one_before_the_deletion(self) -> None:
        story = deleted(**NO_ELR)
        story.elect(10, 20)
        story.view(30, 0, [1, 2, 3])
        story.changed(15, isr=[2], leader=2, leaderRecoveryState=1)
        story.view(30, 1, [2])
        story.both(5000, 5010, "delete-records", [[0, 6]], key=TOPIC)
        (one,) = found(final(story, 0, at_ms=6000))
        assert one.illegal
        assert "below 6" in one.summary

    @pytest.mark.parametrize(
        ("code", "node", "at_ms", "permitted"),
        [(137, "n2", 300, True), (143, "n2", 300, False), (1, "n9", 300, False), (1, "n2", 50, False)],
    )
    def test_a_process_that_died_had_written_less(
        self, code: int, node: str, at_ms: float, *, permitted: bool
    ) -> None:
        story = deleted()
        story.observe(at_ms, "node", {"status": "exited", "exit_code": code}, node=node)
        story.observe(at_ms + 1, "node", {"status": "running"}, node=node)
        (one,) = found(final(story, 0))
        assert one.illegal is not permitted
        assert permitted is ("exit code 137" in str(one.licence))

    def test_an_end_by_a_kill_is_judged_as_a_kill(self) -> None:
        story = deleted()
        story.fault(300, 400, "kill", "n1")
        story.observe(305, "node", {"status": "exited", "exit_code": 137}, node="n1")
        story.changed(320, isr=[2, 3], leader=2)
        assert found(final(story, 0))[0].illegal

    def test_an_eligible_replica_that_was_not_alive_may_lead(self) -> None:
        story = deleted()
        story.changed(50, isr=[1, 2])
        assert "not all replicas of log-0/0 were in sync" in licence(story)
        assert "not all replicas" in licence(deleted(created=False), metadata_log=False)

    def test_without_eligible_replicas_it_leads_not(self) -> None:
        story = deleted(**NO_ELR)
        story.changed(50, isr=[1, 2])
        assert found(final(story, 0))[0].illegal


class TestPolls:
    def test_a_consumer_that_began_afterwards_is_given_none(self) -> None:
        assert found(polled(deleted(), 5, 6)) == []
        (one,) = found(polled(deleted(), 4, 5))
        assert one.illegal
        assert one.subject == "log-0/0@4"
        assert "a consumer that was assigned it afterwards" in one.summary

    def test_one_that_began_before_may_have_fetched_them(self) -> None:
        assert found(polled(deleted(), 4, assigned_ms=105)) == []

    def test_each_assignment_is_held_to_what_was_answered_by_then(self) -> None:
        story = deleted()
        story.both(150, 300, "delete-records", [[0, 8]], key=TOPIC)
        assert found(polled(story, 6)) == []

    def test_while_a_fault_is_in_force_an_older_leader_may_answer(self) -> None:
        story = deleted()
        story.fault(50, 205, "partition", "n1")
        (one,) = found(polled(story, 4))
        assert one.licence == "partition (f1); an older leader may answer consumers"

    def test_so_may_one_after_an_election(self) -> None:
        story = deleted()
        story.changed(150, leader=2)
        assert "several leaders" in str(found(polled(story, 4))[0].licence)
        not_created = deleted(created=False, **NO_ELR)
        assert "several leaders" in str(found(polled(not_created, 4), metadata_log=False)[0].licence)

    def test_what_permits_an_older_start_permits_it_too(self) -> None:
        story = deleted()
        story.fault(300, 400, "power-loss", "n2")
        assert "power-loss" in str(found(polled(story, 4))[0].licence)

    def test_a_poll_without_an_assignment_proves_nothing(self) -> None:
        story = deleted()
        story.add(210, 9, INVOKE, "poll", key=TOPIC, value=READER)
        story.add(211, 9, OK, "poll", key=TOPIC, value=READER | {"records": [[0, [1], [1]]]})
        assert found(story) == []
