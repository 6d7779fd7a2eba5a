"""Unclean elections license losses from the offset on at which the new leader's epoch begins, no others."""

from typing import Any

import pytest

from checkers.columns.tables import PartitionName
from checkers.history.operations import OperationType
from checkers.licences import licences_of
from checkers.logs.log import check_log
from checkers.verdict.verdict import CheckerResult, Validity
from tests.checkers.admin_histories import READER, TOPIC, AdminStory
from tests.checkers.logs.replicas.replica_histories import Batch

HERE = PartitionName(TOPIC, 0)
CONFIG = {"unclean.leader.election.enable": "true"}


def lossy(*, ends_ms: float = 800, **setup: Any) -> AdminStory:
    """Ten records; what stood from offset 7 on is gone after broker 2 was elected uncleanly in epoch 2."""
    story = AdminStory(**setup)
    story.created()
    story.view(5, 0, [1])
    for offset in range(10):
        story.send(10 + offset, 100 + offset, offset)
    story.changed(40, isr=[1], leader=-1)
    story.view(42, 1, [])
    story.changed(61, isr=[2], leader=2, leaderRecoveryState=1)
    story.view(63, 2, [2])
    story.changed(64, leaderRecoveryState=0)
    story.send(70, 200, 7)
    story.final(*((offset, 100 + offset) for offset in range(7)), (7, 200), end=8, at_ms=ends_ms)
    return story


def judged(story: AdminStory, **options: Any) -> CheckerResult:
    return check_log(story.history(**options))


def illegal(result: CheckerResult) -> set[str]:
    return {anomaly.id for anomaly in result.anomalies if anomaly.illegal}


def test_without_a_request_or_a_config_nothing_is_licensed() -> None:
    story = lossy()
    story.epochs((0, 0), (2, 7))
    assert {"lost-write"} <= illegal(judged(story))


class TestRequest:
    def test_what_the_new_leader_did_not_have_may_vanish(self) -> None:
        story = lossy()
        story.elect(60, 62)
        story.epochs((0, 0), (2, 7))
        result = judged(story)
        assert result.validity is Validity.VALID
        assert result.counts["lost-write"] == 3
        (lost,) = {anomaly.licence for anomaly in result.anomalies if anomaly.id == "lost-write"}
        assert str(lost).startswith("ElectLeaders UNCLEAN: operation ")
        assert "broker 2 was elected uncleanly" in str(lost)
        assert "leader epoch 2 begins at offset 7, and records below it must still be there" in str(lost)

    @pytest.mark.parametrize("start", [7, 8, 9])
    def test_below_its_log_everything_is_due(self, start: int) -> None:
        story = lossy()
        story.elect(60, 62)
        story.epochs((0, 0), (2, start))
        result = judged(story)
        lost = {str(a.subject): a.illegal for a in result.anomalies if a.id == "lost-write"}
        assert lost == {f"log-0/0@{offset}": offset < start for offset in (7, 8, 9)}
        assert ("inconsistent-offsets" in illegal(result)) is (start > 7)

    @pytest.mark.parametrize("how", ["info", "lost"])
    def test_one_of_unknown_fate_may_have_done_it(self, how: str) -> None:
        story = lossy()
        story.elect(60, None if how == "lost" else 62, how="info")
        story.epochs((0, 0), (2, 7))
        assert judged(story).validity is Validity.VALID

    @pytest.mark.parametrize(
        "asked",
        [
            {"how": "fail"},
            {"code": 83},
            {"kind": "preferred"},
        ],
    )
    def test_one_that_did_not_do_it_licenses_nothing(self, asked: dict[str, Any]) -> None:
        story = lossy()
        story.elect(60, 62, **asked)
        story.epochs((0, 0), (2, 7))
        assert "lost-write" in illegal(judged(story))

    @pytest.mark.parametrize("code", [0, 7, -1, 84, None])
    def test_one_that_may_have_done_it_licenses(self, code: int | None) -> None:
        story = lossy()
        story.elect(60, 62, code=code)
        story.epochs((0, 0), (2, 7))
        assert judged(story).validity is Validity.VALID

    @pytest.mark.parametrize("code", [0, None])
    def test_one_for_all_partitions_counts_for_each(self, code: int | None) -> None:
        story = lossy()
        story.elect(60, 62, code=code, all_partitions=True)
        story.epochs((0, 0), (2, 7))
        assert judged(story).validity is Validity.VALID

    def test_one_at_another_time_licenses_nothing(self) -> None:
        story = lossy()
        story.elect(300, 301)
        story.epochs((0, 0), (2, 7))
        assert "lost-write" in illegal(judged(story))

    def test_a_clean_election_that_was_requested_as_unclean_licenses_nothing(self) -> None:
        story = AdminStory()
        story.created()
        story.send(10, 100, 0)
        story.changed(40, isr=[1, 2], leader=-1)
        story.elect(60, 62)
        story.changed(61, leader=2)
        story.final(end=0)
        story.epochs((2, 0))
        assert illegal(judged(story)) == {"lost-write"}

    def test_what_was_sent_after_it_is_due(self) -> None:
        story = lossy(ends_ms=2100)
        story.elect(60, 62)
        story.epochs((0, 0), (2, 7))
        story.send(2000, 300, 8)
        result = judged(story)
        assert [a.subject for a in result.anomalies if a.id == "lost-write" and a.illegal] == ["log-0/0@8"]

    def test_what_was_gone_before_it_was_not_its_doing(self) -> None:
        story = lossy(ends_ms=30)
        story.elect(60, 62)
        story.epochs((0, 0), (2, 7))
        assert "lost-write" in illegal(judged(story))

    @pytest.mark.parametrize(("back_to", "legal"), [(7, True), (6, False)])
    def test_a_reader_may_go_back_to_where_the_log_was_cut_off(self, back_to: int, *, legal: bool) -> None:
        story = lossy()
        story.elect(60, 62)
        story.epochs((0, 0), (2, 7))
        asked = READER
        for at_ms, offset, value in ((30, 9, 109), (71, back_to, 200 if back_to == 7 else 106)):
            polled = asked | {"records": [[0, [offset], [value]]]}
            story.add(at_ms, 99, OperationType.INVOKE, "poll", key=TOPIC, value=asked)
            story.add(at_ms + 0.5, 99, OperationType.OK, "poll", key=TOPIC, value=polled)
        found = {a.id: a.illegal for a in judged(story).anomalies}
        assert found["nonmonotonic-poll"] is not legal

    def test_two_in_a_row_are_distinguished(self) -> None:
        story = AdminStory()
        story.created()
        story.send(10, 100, 0)
        story.send(11, 101, 1)
        story.changed(40, isr=[1], leader=-1)
        story.elect(60, 62)
        story.changed(61, isr=[2], leader=2, leaderRecoveryState=1)
        story.changed(70, leader=-1)
        story.elect(80, 82)
        story.changed(81, isr=[3], leader=3)
        story.epochs((0, 0), (2, 1), (4, 1))
        permits = licences_of(story.history()).of(HERE)
        assert [permit.event.above for permit in permits] == [1, 1]


class TestWithoutTheMetadataLog:
    def test_the_first_epoch_that_nobody_had_seen_is_taken(self) -> None:
        story = lossy()
        story.elect(60, 62)
        story.epochs((0, 0), (2, 7))
        result = judged(story, metadata_log=False)
        assert result.validity is Validity.VALID
        assert "leader epoch 2 begins at offset 7" in str(result.anomalies[0].licence)

    @pytest.mark.parametrize(("how", "valid"), [("info", True), ("ok", False)])
    def test_one_without_an_answer_may_be_held_in_a_later_one(self, how: str, *, valid: bool) -> None:
        story = AdminStory()
        story.view(5, 0, [1])
        story.elect(60, 62, how=how)
        story.view(70, 1, [2])
        story.send(2000, 100, 0)
        story.view(2500, 2, [3])
        story.epochs((0, 0))
        story.final(end=0, at_ms=3000)
        assert (judged(story, metadata_log=False).validity is not Validity.INVALID) is valid

    def test_one_that_failed_licenses_nothing(self) -> None:
        story = lossy()
        story.elect(60, 62, how="fail")
        story.epochs((0, 0), (2, 7))
        assert "lost-write" in illegal(judged(story, metadata_log=False))

    def test_batches_tell_it_too(self) -> None:
        story = lossy()
        story.elect(60, 62)
        story.batches(Batch(0, 10, leader_epoch=0), node="n1")
        story.batches(Batch(0, 7, leader_epoch=0), Batch(7, 1, leader_epoch=2), node="n2")
        story.batches(Batch(0, 7, leader_epoch=0), node="n3")
        story.batches(node="n4")
        result = judged(story, metadata_log=False)
        assert result.validity is Validity.VALID
        assert "leader epoch 2 begins at offset 7" in str(result.anomalies[0].licence)

    @pytest.mark.parametrize("entries", [[], [(0, 0)]])
    def test_without_the_bound_the_verdict_is_unknown(self, entries: list[tuple[int, int]]) -> None:
        story = lossy()
        story.elect(60, 62)
        story.epochs(*entries)
        result = judged(story, metadata_log=False)
        assert result.validity is Validity.UNKNOWN
        assert "from an unknown offset on" in str(result.unknown_because)
        assert "from an unknown offset on" in str(result.anomalies[0].licence)

    def test_where_nobody_saw_any_epoch_the_bound_is_unknown(self) -> None:
        story = AdminStory()
        story.send(10, 100, 0)
        story.elect(60, 62)
        story.final(end=0)
        story.epochs((2, 0))
        assert judged(story, metadata_log=False).validity is Validity.UNKNOWN

    def test_an_unknown_bound_does_not_matter_where_nothing_is_lost(self) -> None:
        story = AdminStory()
        story.send(10, 100, 0)
        story.elect(60, 62)
        story.final((0, 100), end=1)
        assert judged(story, metadata_log=False).validity is Validity.VALID

    def test_a_config_licenses_moves_and_faults_within_the_bound(self) -> None:
        story = lossy(config=CONFIG)
        story.epochs((0, 0), (2, 7))
        result = judged(story, metadata_log=False)
        assert result.validity is Validity.VALID
        story.fault(41, 45, "kill", "n1")
        assert len(licences_of(story.history(metadata_log=False)).of(HERE)) == 3

    def test_partitions_that_it_has_are_judged_by_it_all_the_same(self) -> None:
        story = AdminStory(config=CONFIG, topics=[{"name": TOPIC, "partitions": 2}])
        story.created()
        for partition in (0, 1):
            story.view(5, 0, [1], partition=partition)
            story.view(63, 2, [2], partition=partition)
        licences = licences_of(story.history())
        assert licences.of(HERE) == ()
        assert len(licences.of(PartitionName(TOPIC, 1))) == 1

    def test_a_log_that_begins_with_a_snapshot_does_not_reach_back(self) -> None:
        story = AdminStory(config=CONFIG)
        story.changed(61, isr=[2], leader=2, leaderRecoveryState=1)
        snapshot = ["00000000000000000007-0000000001.checkpoint", [[0, 1, "TOPIC_RECORD", TOPIC_RECORD]]]
        history = story.history(checkpoint=[*snapshot])
        assert licences_of(history).of(HERE) == ()


TOPIC_RECORD = {"name": TOPIC, "topicId": "pl2yURLxReyXmuf8pnFOsg"}


class TestConfig:
    @pytest.mark.parametrize("start", [7, 8])
    def test_the_same_bound_holds(self, start: int) -> None:
        story = lossy(config=CONFIG)
        story.epochs((0, 0), (2, start))
        result = judged(story)
        assert (result.validity is Validity.VALID) is (start == 7)

    @pytest.mark.parametrize(("version", "valid"), [("3.8.1", False), ("3.9.0", True)])
    def test_it_is_ignored_before_3_9(self, version: str, *, valid: bool) -> None:
        story = lossy(config=CONFIG, kafka_version=version)
        story.epochs((0, 0), (2, 7))
        assert (judged(story).validity is Validity.VALID) is valid

    @pytest.mark.parametrize(("value", "valid"), [("true", True), ("false", False)])
    def test_it_may_be_set_while_the_run_goes_on(self, value: str, *, valid: bool) -> None:
        story = lossy()
        asked = {"config": "unclean.leader.election.enable", "value": value}
        story.both(30, 31, "alter-topic", asked, key=TOPIC)
        story.epochs((0, 0), (2, 7))
        assert (judged(story).validity is Validity.VALID) is valid

    def test_a_fault_without_an_unclean_election_licenses_nothing(self) -> None:
        story = AdminStory(config=CONFIG)
        story.created()
        story.fault(41, 45, "kill", "n1")
        assert licences_of(story.history()).of(HERE) == ()


class TestLastKnownLeader:
    @pytest.mark.parametrize(("level", "valid"), [(1, True), (0, False)])
    def test_its_election_needs_no_permission_where_it_is_kept(self, level: int, *, valid: bool) -> None:
        story = AdminStory(features={"eligible.leader.replicas.version": level})
        story.created()
        story.view(5, 0, [1])
        story.send(10, 100, 0)
        story.changed(40, isr=[], leader=-1, lastKnownElr=[1])
        story.changed(50, isr=[1], leader=1, leaderRecoveryState=1, lastKnownElr=[])
        story.epochs((2, 0))
        story.final(end=0)
        assert (judged(story).validity is Validity.VALID) is valid


class TestWhoseNoteCounts:
    """The elected replica's own; broker 2 is elected in epoch 2."""

    def lost(self, story: AdminStory) -> dict[str, bool]:
        story.elect(60, 62)
        found = judged(story).anomalies
        return {str(a.subject).partition("@")[2]: a.illegal for a in found if a.id == "lost-write"}

    @pytest.mark.parametrize(("of_others", "of_leader"), [(7, 9), (9, 7), (7, 7)])
    def test_others_do_not_change_it(self, of_others: int, of_leader: int) -> None:
        story = lossy()
        for node, start in (("n1", of_others), ("n2", of_leader), ("n3", of_others)):
            story.epochs((0, 0), (2, start), node=node)
        assert self.lost(story) == {str(offset): offset < of_leader for offset in (7, 8, 9)}

    def test_one_whose_disk_was_wiped_since_has_it_from_others(self) -> None:
        story = lossy()
        story.fault(90, 95, "wipe-disk", "n2", scope="all")
        story.epochs((0, 0), (2, 9), node="n2")
        story.epochs((0, 0), (2, 9), node="n1")
        assert self.lost(story) == {"7": True, "8": True, "9": False}

    def test_one_whose_disk_was_wiped_before_is_believed(self) -> None:
        story = lossy()
        story.fault(2, 4, "wipe-disk", "n2", scope="all")
        story.epochs((0, 0), (2, 9), node="n2")
        story.epochs((0, 0), (2, 7), node="n1")
        assert self.lost(story) == {"7": True, "8": True, "9": False}

    def test_others_that_disagree_are_a_doubt(self) -> None:
        story = lossy()
        story.epochs((0, 0), (2, 6), node="n1")
        story.epochs((0, 0), (2, 9), node="n3")
        story.elect(60, 62)
        result = judged(story)
        assert result.validity is Validity.UNKNOWN
        assert "replicas disagree whether leader epoch 2 begins at offset 6 or 9" in str(
            result.unknown_because
        )
        assert "replicas disagree" in str(judged(story, metadata_log=False).unknown_because)

    def test_above_all_that_they_say_there_is_no_doubt(self) -> None:
        story = lossy()
        story.epochs((0, 0), (2, 5), node="n1")
        story.epochs((0, 0), (2, 7), node="n3")
        assert self.lost(story) == {"7": False, "8": False, "9": False}
        assert judged(story).validity is Validity.VALID

    def test_nothing_that_is_reported_is_a_doubt(self) -> None:
        story = lossy()
        story.elect(60, 62)
        assert judged(story).validity is Validity.UNKNOWN

    def test_an_epoch_that_added_nothing_began_where_the_next_one_did(self) -> None:
        story = lossy()
        story.changed(72, isr=[2, 3])
        story.changed(75, leader=3)
        story.epochs((0, 0), (3, 8), node="n2")
        assert self.lost(story) == {"7": True, "8": False, "9": False}

    @pytest.mark.parametrize(("leader", "validity"), [(2, Validity.INVALID), (3, Validity.UNKNOWN)])
    def test_unless_another_one_was_elected_uncleanly_meanwhile(
        self, leader: int, validity: Validity
    ) -> None:
        story = lossy()
        story.changed(72, leader=-1)
        story.changed(75, isr=[leader], leader=leader, leaderRecoveryState=1)
        story.view(77, 4, [leader])
        story.epochs((0, 0), (4, 8), node=f"n{leader}")
        story.elect(60, 62)
        assert judged(story).validity is validity

    def test_the_metadata_log_shows_who_leads_in_a_later_epoch(self) -> None:
        """Of a loss of power, which ends with the first epoch that nobody had seen."""
        story = AdminStory()
        story.created()
        story.view(5, 0, [1, 2])
        story.send(10, 100, 0)
        story.send(11, 101, 1)
        story.fault(20, 30, "power-loss", "n1", "n2", "n3")
        story.changed(31, leader=-1)
        story.changed(32, leader=2)
        story.epochs((0, 0), (2, 2), node="n1")
        story.epochs((0, 0), (2, 1), node="n2")
        story.final((0, 100), end=1)
        assert judged(story).validity is Validity.VALID


class TestWhatABrokerLogged:
    """Its note is gone with the records that it was about; broker 2 is elected in epoch 2."""

    def lost(self, story: AdminStory) -> dict[str, bool]:
        story.elect(60, 62)
        result = judged(story)
        assert result.validity is not Validity.UNKNOWN
        return {str(a.subject).partition("@")[2]: a.illegal for a in result.anomalies if a.id == "lost-write"}

    @pytest.mark.parametrize("start", [7, 8])
    def test_the_end_of_its_log_as_it_began_the_epoch_is_the_bound(self, start: int) -> None:
        story = lossy()
        story.begun(2, start, node="n2")
        story.epochs((2, 9), node="n1")
        assert self.lost(story) == {str(offset): offset < start for offset in (7, 8, 9)}

    def test_lines_of_others_do_not_count(self) -> None:
        story = lossy()
        story.begun(2, 7, node="n1")
        story.elect(60, 62)
        assert judged(story).validity is Validity.UNKNOWN

    def test_one_that_starts_as_the_leader_reports_another_end(self) -> None:
        story = lossy()
        story.begun(2, 9, node="n2", previous=-1)
        story.elect(60, 62)
        assert judged(story).validity is Validity.UNKNOWN
        again = lossy()
        again.begun(2, 7, node="n2", previous=1)
        again.begun(2, 9, node="n2", previous=-1)
        assert self.lost(again) == {"7": False, "8": False, "9": False}

    def test_of_a_topic_that_was_created_again_nothing_is_known(self) -> None:
        story = lossy()
        story.begun(2, 7, node="n2")
        story.begun(1, 0, node="n3", topic_id="chF0WpWT")
        story.elect(60, 62)
        assert judged(story).validity is Validity.UNKNOWN

    @pytest.mark.parametrize(("what", "decided"), [("beginning", 0), ("epoch-begun", 0), ("loaded", 1)])
    def test_a_node_of_which_lines_are_lacking_shows_nothing(self, what: str, decided: int) -> None:
        story = lossy()
        story.begun(2, 7, node="n2")
        story.observe(900, "log-lacking", {"what": what, "why": "some are left out"}, node="n2")
        story.elect(60, 62)
        assert (judged(story).validity is not Validity.UNKNOWN) == decided

    def test_a_wiped_disk_does_not_change_it(self) -> None:
        story = lossy()
        story.fault(90, 95, "wipe-disk", "n2", scope="all")
        story.epochs((0, 0), (2, 9), node="n2")
        story.begun(2, 8, node="n2")
        assert self.lost(story) == {"7": True, "8": False, "9": False}

    @pytest.mark.parametrize(("notes", "bound"), [([(2, 9)], 8), ([(0, 0), (2, 9)], 9)])
    def test_only_a_first_note_may_have_moved_with_the_start_of_the_log(
        self, notes: list[tuple[int, int]], bound: int
    ) -> None:
        story = lossy()
        story.epochs(*notes, node="n2")
        story.begun(2, 8, node="n2")
        assert self.lost(story) == {str(offset): offset < bound for offset in (7, 8, 9)}


class TestMissedEpochs:
    """Broker 2 has ten records of epoch 0, broker 3 leads in epoch 1 from 5 on, then broker 2 again."""

    def forked(self, *, sent_ms: float = 45) -> AdminStory:
        story = AdminStory()
        story.created([2, 3, 1])
        story.view(5, 0, [2])
        story.changed(40, isr=[3], leader=3)
        story.view(42, 1, [3])
        story.send(sent_ms, 100, 6)
        story.changed(50, leader=-1)
        story.elect(60, 62)
        story.changed(61, isr=[2], leader=2, leaderRecoveryState=1)
        story.view(63, 3, [2])
        story.epochs((0, 0), (3, 10), node="n2")
        story.final(end=10)
        return story

    def test_what_was_appended_in_one_may_vanish(self) -> None:
        story = self.forked()
        story.epochs((0, 0), (1, 5), node="n3")
        result = judged(story)
        assert result.validity is Validity.VALID
        assert "leader epoch 1 begins at offset 5" in str(result.anomalies[0].licence)

    @pytest.mark.parametrize("start", [7, 10, 12])
    def test_what_stood_below_it_is_due(self, start: int) -> None:
        story = self.forked()
        story.epochs((0, 0), (1, start), node="n3")
        assert "lost-write" in illegal(judged(story))

    def test_what_was_there_before_it_is_due(self) -> None:
        story = self.forked(sent_ms=10)
        story.epochs((0, 0), (1, 5), node="n3")
        assert "lost-write" in illegal(judged(story))

    @pytest.mark.parametrize(("until_ms", "due"), [(39, True), (45, False)])
    def test_what_was_sent_before_and_acknowledged_in_it_may_vanish(
        self,
        until_ms: float,
        due: bool,  # noqa: FBT001 - a parameter
    ) -> None:
        story = self.forked(sent_ms=45)
        story.send(10, 101, 7, until_ms=until_ms)
        story.epochs((0, 0), (1, 5), node="n3")
        assert ("lost-write" in illegal(judged(story))) == due

    def test_what_it_replaced_may_be_back_although_it_was_sent_earlier(self) -> None:
        """Broker 2 has record 99 at offset 6, which nobody knows; broker 3 has record 100 there."""
        story = self.forked(sent_ms=41)
        story.add(11, 700, OperationType.INVOKE, "send", key=TOPIC, value=[[0, 99]])
        story.add(31, 700, OperationType.INFO, "send", key=TOPIC, value=[[0, 99, None, "info"]])
        story.final((6, 99), end=10, at_ms=820)
        story.epochs((0, 0), (1, 5), node="n3")
        result = judged(story)
        assert "inconsistent-offsets" in {anomaly.id for anomaly in result.anomalies}
        assert illegal(result) == set()

    def test_where_nothing_shows_where_it_began_there_is_a_doubt(self) -> None:
        assert judged(self.forked()).validity is Validity.UNKNOWN
        assert "lost-write" in illegal(judged(self.forked(sent_ms=10)))

    def test_its_beginning_may_be_known_from_the_log_of_its_leader_alone(self) -> None:
        story = self.forked()
        story.begun(1, 5, node="n3")
        assert judged(story).validity is Validity.VALID

    def test_one_that_its_leader_never_began_has_no_records(self) -> None:
        """Broker 3 logged another epoch, but not epoch 1, which no replica has."""
        story = self.forked()
        story.begun(0, 0, node="n3")
        assert "lost-write" in illegal(judged(story))

    @pytest.mark.parametrize("what", ["beginning", "epoch-begun"])
    def test_a_leader_of_which_lines_are_lacking_may_have_begun_it(self, what: str) -> None:
        story = self.forked()
        story.begun(0, 0, node="n3")
        story.observe(900, "log-lacking", {"what": what, "why": "some are left out"}, node="n3")
        assert judged(story).validity is Validity.UNKNOWN

    def test_one_that_some_replica_has_was_begun(self) -> None:
        noted = self.forked()
        noted.begun(0, 0, node="n3")
        noted.epochs((1, 7), node="n1")
        assert judged(noted).validity is Validity.UNKNOWN


class TestPossiblyMissedEpochs(TestMissedEpochs):
    """The same, but all notes of broker 2 are gone, and its log has epoch 3."""

    def forked(self, *, sent_ms: float = 45, isr: tuple[int, ...] = (3,)) -> AdminStory:
        story = AdminStory()
        story.created([2, 3, 1])
        story.view(5, 0, [2])
        story.changed(40, isr=[3], leader=3)
        story.view(42, 1, [3])
        story.send(sent_ms, 100, 6)
        story.changed(47, isr=list(isr))
        story.changed(50, leader=-1)
        story.elect(60, 62)
        story.changed(61, isr=[2], leader=2, leaderRecoveryState=1)
        story.view(63, 3, [2])
        story.begun(3, 10, node="n2", previous=2)
        story.final(end=10)
        return story

    def test_what_was_appended_in_one_may_vanish(self) -> None:
        story = self.forked()
        story.epochs((0, 0), (1, 5), node="n3")
        result = judged(story)
        assert result.validity is Validity.UNKNOWN
        assert "from offset 5 on, where leader epoch 1 begins, if the elected replica has not seen it" in str(
            result.unknown_because
        )

    def test_its_beginning_may_be_known_from_the_log_of_its_leader_alone(self) -> None:
        for start, validity in ((5, Validity.UNKNOWN), (7, Validity.INVALID)):
            story = self.forked()
            story.begun(1, start, node="n3")
            assert judged(story).validity is validity

    def test_one_in_which_it_was_in_sync_at_the_end_was_seen(self) -> None:
        story = self.forked(isr=(3, 2))
        story.begun(1, 5, node="n3")
        assert "lost-write" in illegal(judged(story))

    @pytest.mark.parametrize(("sent_ms", "validity"), [(45, Validity.UNKNOWN), (41, Validity.INVALID)])
    def test_what_was_committed_while_it_was_in_sync_was_seen(
        self, sent_ms: float, validity: Validity
    ) -> None:
        story = AdminStory()
        story.created([2, 3, 1])
        story.view(5, 0, [2])
        story.changed(40, isr=[3, 2], leader=3)
        story.view(40.5, 1, [3, 2])
        story.view(43, 1, [3, 2])
        story.changed(44, isr=[3])
        story.send(sent_ms, 100, 6)
        story.changed(50, leader=-1)
        story.elect(60, 62)
        story.changed(61, isr=[2], leader=2, leaderRecoveryState=1)
        story.view(63, 3, [2])
        story.begun(3, 10, node="n2", previous=2)
        story.begun(1, 5, node="n3")
        story.final(end=10)
        assert judged(story).validity is validity

    def test_what_is_permitted_for_certain_is_in_no_doubt(self) -> None:
        """Epoch 5 of broker 2 begins at 5 as well, and its notes tell what it had seen."""
        story = self.forked()
        story.begun(1, 5, node="n3")
        story.changed(70, leader=-1)
        story.elect(80, 82)
        story.changed(81, isr=[3], leader=3, leaderRecoveryState=1)
        story.view(83, 5, [3])
        story.epochs((0, 0), (5, 5), node="n3")
        assert judged(story).validity is Validity.VALID

    def test_those_before_one_that_it_led_were_seen_or_gone_before(self) -> None:
        story = self.forked()
        story.begun(1, 5, node="n3")
        story.changed(70, leader=-1)
        story.elect(80, 82)
        story.changed(81, isr=[2], leader=2, leaderRecoveryState=1)
        story.view(83, 5, [2])
        story.begun(5, 12, node="n2", previous=4)
        bounds = [permit.event.above for permit in licences_of(story.history()).of(HERE)]
        assert bounds == [10, 12, 5]


class TestNotesThatWereCut:
    """All notes before that of epoch 3 are gone with the records; broker 2 may have missed epoch 1."""

    def forked(self, *, sent_ms: float = 45) -> AdminStory:
        story = TestMissedEpochs().forked(sent_ms=sent_ms)
        story.epochs((3, 10), node="n2")
        return story

    def test_where_its_log_ended_at_the_start_of_the_log_it_may_have_missed_epochs(self) -> None:
        for start, validity in ((5, Validity.UNKNOWN), (7, Validity.INVALID)):
            story = self.forked()
            story.begun(3, 10, node="n2", previous=2)
            story.begun(1, start, node="n3")
            assert judged(story).validity is validity

    @pytest.mark.parametrize(("sent_ms", "validity"), [(45, Validity.UNKNOWN), (10, Validity.INVALID)])
    def test_without_a_line_nobody_knows_where_its_log_ended(
        self, sent_ms: float, validity: Validity
    ) -> None:
        """What was committed while it was in sync it had in any case."""
        assert judged(self.forked(sent_ms=sent_ms)).validity is validity

    def test_the_first_note_of_a_missed_epoch_moves_as_well(self) -> None:
        story = TestMissedEpochs().forked()
        story.epochs((1, 7), node="n3")
        story.begun(1, 5, node="n3")
        assert judged(story).validity is Validity.VALID


class TestNotesOfOthers:
    """Broker 2's own note and line of epoch 3 are gone."""

    def forked(self) -> AdminStory:
        story = TestMissedEpochs().forked()
        story.epochs((0, 0), node="n2")
        story.epochs((0, 0), (3, 10), node="n1")
        return story

    def test_it_may_have_missed_epochs_as_well(self) -> None:
        for start, validity in ((5, Validity.UNKNOWN), (7, Validity.INVALID)):
            story = self.forked()
            story.begun(1, start, node="n3")
            assert judged(story).validity is validity

    @pytest.mark.parametrize(
        ("notes", "validity"),
        [
            ([((0, 0), (1, 5))], Validity.VALID),
            ([((0, 0), (1, 7))], Validity.INVALID),
            ([((1, 7),)], Validity.UNKNOWN),
            ([((0, 0), (1, 7)), ((0, 0), (1, 5))], Validity.UNKNOWN),
        ],
        ids=["below", "above", "first of all", "at issue"],
    )
    def test_a_missed_epoch_began_where_others_noted_it(
        self, notes: list[tuple[tuple[int, int], ...]], validity: Validity
    ) -> None:
        story = TestMissedEpochs().forked()
        for node, entries in zip(("n1", "n4"), notes, strict=False):
            story.epochs(*entries, node=node)
        assert judged(story).validity is validity


class TestRevivedRecords:
    """Broker 2 writes over what broker 3 has from 5 on, broker 3 brings it back, and broker 2 leads again."""

    def alternating(self, *, rejoined: bool = False, begins: bool = True) -> AdminStory:
        story = AdminStory()
        story.created([2, 3, 1])
        story.view(5, 0, [2])
        story.changed(40, isr=[3], leader=3)
        story.view(42, 1, [3])
        story.changed(50, leader=-1)
        story.elect(60, 62)
        story.changed(61, isr=[2], leader=2, leaderRecoveryState=1)
        story.view(63, 3, [2])
        if rejoined:
            story.changed(65, isr=[2, 3], leaderRecoveryState=0)
            story.changed(66, isr=[2])
        story.changed(1_970, leader=-1)
        story.elect(2_000, 2_002)
        story.changed(2_001, isr=[3], leader=3, leaderRecoveryState=1)
        story.view(2_003, 5, [3])
        story.send(4_000, 100, 6)
        story.changed(4_900, leader=-1)
        story.elect(5_000, 5_002)
        story.changed(5_001, isr=[2], leader=2, leaderRecoveryState=1)
        story.view(5_003, 7, [2])
        story.begun(1, 5, node="n3")
        if begins:
            story.begun(3, 5, node="n2", previous=2)
        story.begun(5, 9, node="n3", previous=4)
        story.final(end=10, at_ms=9_000)
        return story

    def test_an_epoch_that_was_never_begun_wrote_nothing_over(self) -> None:
        story = self.alternating(begins=False)
        story.begun(7, 8, node="n2", previous=6)
        assert "lost-write" in illegal(judged(story))

    @pytest.mark.parametrize("noted", [True, False])
    def test_they_may_vanish_again(self, *, noted: bool) -> None:
        story = self.alternating()
        if noted:
            story.epochs((0, 0), (3, 5), (7, 8), node="n2")
        else:
            story.begun(7, 8, node="n2", previous=6)
        result = judged(story)
        assert result.validity is Validity.UNKNOWN
        assert "from offset 5 on, where leader epoch 3 begins" in str(result.unknown_because)

    def test_not_if_the_other_one_had_taken_over_what_was_written_over_them(self) -> None:
        story = self.alternating(rejoined=True)
        story.epochs((0, 0), (3, 5), (7, 8), node="n2")
        assert "lost-write" in illegal(judged(story))


def test_a_broker_that_did_not_know_yet_may_have_acknowledged() -> None:
    story = lossy()
    story.elect(60, 62)
    story.epochs((0, 0), (2, 7))
    story.view(75, 1, [1], nodes=[1])
    story.view(95, 2, [2], nodes=[1])
    (permit,) = licences_of(story.history()).of(HERE)
    assert permit.event.to_ns == 1_063_000_000
