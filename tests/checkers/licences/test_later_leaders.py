"""With acks=1, an election permits the loss of what its leader lacks; nothing else does."""

import pytest

from checkers.columns.tables import PartitionName
from checkers.history.operations import OperationType
from checkers.licences import licences_of
from checkers.logs.log import check_log
from checkers.verdict.verdict import CheckerResult, Validity
from tests.checkers.admin_histories import TOPIC, AdminStory

HERE = PartitionName(TOPIC, 0)


def written(records: int = 10) -> AdminStory:
    """Broker 1 leads in epoch 0 and has acknowledged ten records at once."""
    story = AdminStory(workload={"acks": "1"})
    story.created()
    story.view(5, 0, [1, 2])
    for offset in range(records):
        story.send(10 + offset, 100 + offset, offset)
    return story


def lost(result: CheckerResult) -> dict[str, bool]:
    return {str(each.subject): each.illegal for each in result.anomalies if each.id == "lost-write"}


def judged(story: AdminStory, kept: int, end: int) -> CheckerResult:
    story.final(*((offset, 100 + offset) for offset in range(kept)), end=end, at_ms=5_000)
    return check_log(story.history())


class TestElection:
    def test_a_replica_in_sync_that_is_elected_need_not_have_the_last_records(self) -> None:
        story = written()
        story.changed(60, leader=2)
        story.view(62, 1, [1, 2])
        story.epochs((0, 0), (1, 7))
        result = judged(story, 7, 7)
        assert lost(result) == {f"log-0/0@{offset}": False for offset in (7, 8, 9)}
        (licence,) = {each.licence for each in result.anomalies if each.id == "lost-write"}
        assert str(licence).startswith("acks=1: broker 2 was elected between ")
        assert "leader epoch 1 begins at offset 7, and records below it must still be there" in str(licence)

    @pytest.mark.parametrize("start", [8, 9])
    def test_what_its_log_had_is_due(self, start: int) -> None:
        story = written()
        story.changed(60, leader=2)
        story.view(62, 1, [1, 2])
        story.epochs((0, 0), (1, start))
        assert lost(judged(story, 7, 7)) == {f"log-0/0@{offset}": offset < start for offset in (7, 8, 9)}

    def test_what_was_acknowledged_after_it_is_due(self) -> None:
        story = written()
        story.changed(60, leader=2)
        story.view(62, 1, [1, 2])
        story.epochs((0, 0), (1, 10))
        story.send(2_000, 300, 10)
        assert lost(judged(story, 10, 10)) == {"log-0/0@10": True}

    def test_records_of_an_epoch_that_the_elected_replica_missed_may_be_lost(self) -> None:
        """Broker 2 leads from offset 7; broker 1, in sync and without a fetch, leads again from offset 10."""
        story = written()
        story.changed(40, leader=2)
        story.view(42, 1, [1, 2])
        story.send(50, 200, 7)
        story.changed(60, leader=1)
        story.view(62, 2, [1, 2])
        story.epochs((0, 0), (2, 10))
        story.epochs((0, 0), (1, 7), node="n2")
        assert not any(lost(judged(story, 10, 10)).values())

    def test_a_new_epoch_of_the_same_leader_permits_nothing(self) -> None:
        """A reassignment that removes a replica begins an epoch."""
        story = written()
        story.changed(60, leader=1, replicas=[1, 2], isr=[1, 2])
        story.view(62, 1, [1, 2])
        story.epochs((0, 0), (1, 7))
        assert all(lost(judged(story, 7, 7)).values())

    @pytest.mark.parametrize(("process", "rule"), [(1, "realtime-order"), (0, "nonmonotonic-send")])
    def test_what_a_deposed_leader_acknowledged_later_may_be_anywhere(self, process: int, rule: str) -> None:
        """Broker 1, cut off from controllers, acknowledges an offset that broker 2 passed long before."""
        story = written()
        story.changed(60, leader=2)
        story.view(62, 1, [1, 2], nodes=[2, 3])
        story.epochs((0, 0), (1, 7))
        for offset in range(7, 19):
            story.send(70 + offset, 300 + offset, offset)
        for at_ms, sender, value, offset in ((120, 0, 319, 19), (150, process, 900, 12)):
            story.add(at_ms, sender, OperationType.INVOKE, "send", key=TOPIC, value=[[0, value]])
            acknowledged = [[0, value, offset, "ok"]]
            story.add(at_ms + 0.5, sender, OperationType.OK, "send", key=TOPIC, value=acknowledged)
        story.view(200, 1, [1, 2], nodes=[1])
        kept = [*((offset, 100 + offset) for offset in range(7)), *((o, 300 + o) for o in range(7, 20))]
        story.final(*kept, end=20, at_ms=5_000)
        result = check_log(story.history())
        assert rule in result.counts
        assert lost(result) == {f"log-0/0@{offset}": False for offset in (7, 8, 9, 12)}
        assert result.validity is Validity.VALID

    def test_without_another_leader_no_record_is_below_an_earlier_one(self) -> None:
        story = written()
        story.send(150, 900, 8)
        story.final(*((offset, 100 + offset) for offset in range(10)), end=10, at_ms=5_000)
        assert {each.id for each in check_log(story.history()).anomalies if each.illegal} == {
            "inconsistent-offsets",
            "lost-write",
            "realtime-order",
        }


class TestFault:
    def test_without_an_election_it_permits_nothing(self) -> None:
        story = written()
        story.fault(30, 40, "kill", "n1")
        story.epochs((0, 0))
        assert lost(judged(story, 7, 7)) == {f"log-0/0@{offset}": True for offset in (7, 8, 9)}

    def test_a_leader_that_leads_again_keeps_its_log(self) -> None:
        story = written()
        story.fault(30, 50, "kill", "n1")
        story.changed(40, leader=-1)
        story.changed(60, leader=1)
        story.view(62, 2, [1])
        story.epochs((0, 0), (2, 10))
        assert all(lost(judged(story, 7, 7)).values())

    def test_where_the_metadata_log_is_missing_it_permits_a_loss(self) -> None:
        story = written()
        story.fault(30, 40, "kill", "n1")
        story.final(*((offset, 100 + offset) for offset in range(7)), end=7, at_ms=5_000)
        history = story.history(metadata_log=False)
        result = check_log(history)
        assert lost(result) == {f"log-0/0@{offset}": False for offset in (7, 8, 9)}
        assert result.validity is Validity.VALID
        assert [permit.event.where for permit in licences_of(history).of(HERE)] == [HERE]

    def test_after_the_end_of_the_metadata_log_it_is_unknown_who_led(self) -> None:
        story = written()
        story.changed(60, leader=2)
        story.view(62, 1, [1, 2])
        story.epochs((0, 0), (1, 7))
        story.final(*((offset, 100 + offset) for offset in range(7)), end=7, at_ms=5_000)
        result = check_log(story.history(cut=2))
        assert lost(result) == {f"log-0/0@{offset}": False for offset in (7, 8, 9)}
        assert result.validity is Validity.UNKNOWN
        assert "the metadata log shows elections only until 0.002 s" in str(result.unknown_because)

    @pytest.mark.parametrize(("isr", "licensed"), [([1], True), ([1, 2], False)])
    def test_the_only_copy_in_sync_may_have_been_wiped(self, isr: list[int], *, licensed: bool) -> None:
        """The limit of replicas in sync does not apply, and a consumer had received the record."""
        story = written()
        story.changed(22, isr=isr)
        who = {"client": "kafka-python", "isolation": "read_uncommitted"}
        chunk = [0, [9], [109]]
        story.both(25, 26, "poll", who, answer=who | {"records": [chunk]}, key=TOPIC)
        story.fault(30, 50, "wipe-disk", "n1", scope="all")
        story.changed(40, leader=-1)
        story.changed(60, leader=1)
        story.view(62, 2, [1])
        story.epochs((0, 0), (2, 0))
        found = lost(judged(story, 9, 9))
        assert found == {"log-0/0@9": not licensed}
