"""With acks=1, an election permits the loss of what its leader lacks; nothing else does."""

import pytest

from checkers.columns.tables import PartitionName
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
