"""The election checker: leaders that nobody allowed, and answers that no state allows."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkers.administration.elections import check_elections
from checkers.history.operations import History, OperationType
from checkers.verdict.verdict import CheckerResult, Validity
from tests.checkers.admin_histories import TOPIC_ID, AdminStory

UNLICENSED, CONTRADICTION = "unclean-election-unlicensed", "election-contradicts-state"


def judged(story: AdminStory, **options: Any) -> CheckerResult:
    return check_elections(story.history(**options))


def leaderless(**setup: Any) -> AdminStory:
    """Broker 1 alone is in sync and goes at 40 ms; 2 and 3 could be elected uncleanly."""
    story = AdminStory(**setup)
    story.created()
    story.changed(30, isr=[1])
    story.changed(40, leader=-1)
    return story


def unclean(story: AdminStory, at_ms: float = 61) -> None:
    story.changed(at_ms, isr=[2], leader=2, leaderRecoveryState=1)


class TestUnlicensed:
    def test_an_unclean_leader_that_nobody_allowed(self) -> None:
        story = leaderless()
        unclean(story)
        result = judged(story)
        assert result.validity is Validity.INVALID
        (anomaly,) = result.anomalies
        assert anomaly.id == UNLICENSED
        assert anomaly.subject == "log-0/0"
        assert "Broker 2 was elected leader of log-0/0 in leader epoch 2" in anomaly.summary
        assert result.figures["unclean_elections"] == 1

    @pytest.mark.parametrize(
        ("end_ms", "asked", "valid"),
        [
            (62, {}, True),
            (62, {"how": "info"}, True),
            (None, {}, True),
            (60.1, {}, False),
            (62, {"how": "fail"}, False),
            (62, {"kind": "preferred", "code": 80}, False),
            (62, {"code": 84}, True),  # a broker that lost the controller's answer asked again
            (62, {"code": None, "all_partitions": True}, True),
            (62, {"code": 83}, False),
        ],
    )
    def test_a_request_at_that_time_allows_it(
        self, end_ms: float | None, asked: dict[str, Any], *, valid: bool
    ) -> None:
        story = leaderless()
        story.elect(60, end_ms, **asked)
        unclean(story)
        assert (UNLICENSED not in judged(story).counts) is valid

    @pytest.mark.parametrize(("version", "valid"), [("3.8.1", False), ("3.9.0", True), ("4.3.1", True)])
    def test_the_config_allows_it_where_it_is_honoured(self, version: str, *, valid: bool) -> None:
        story = leaderless(config={"unclean.leader.election.enable": "true"}, kafka_version=version)
        unclean(story)
        assert (judged(story).validity is Validity.VALID) is valid

    @pytest.mark.parametrize(("level", "valid"), [(0, False), (1, True)])
    def test_the_last_known_leader_may_lead(self, level: int, *, valid: bool) -> None:
        story = AdminStory(features={"eligible.leader.replicas.version": level})
        story.created()
        story.changed(40, isr=[], leader=-1, lastKnownElr=[2])
        story.changed(50, isr=[2], leader=2, leaderRecoveryState=1, lastKnownElr=[])
        result = judged(story)
        assert (result.validity is Validity.VALID) is valid
        assert result.figures["elections_of_last_known_leader"] == 1

    def test_an_eligible_replica_may_lead(self) -> None:
        story = AdminStory()
        story.created()
        story.changed(40, isr=[], leader=-1, eligibleLeaderReplicas=[3])
        story.changed(50, isr=[3], leader=3, eligibleLeaderReplicas=[])
        result = judged(story)
        assert result.validity is Validity.VALID
        assert result.figures["elections_from_elr"] == 1
        assert result.figures["isr_shrinks"] == 1

    def test_a_second_one_while_the_leader_recovers_is_not_written_again(self) -> None:
        story = leaderless()
        story.elect(60, 62)
        unclean(story)
        story.changed(70, leader=-1)
        story.changed(80, isr=[3], leader=3)
        (anomaly,) = judged(story).anomalies
        assert "Broker 3" in anomaly.summary

    def test_a_leader_that_comes_back_while_it_recovers_is_clean(self) -> None:
        story = leaderless()
        story.elect(60, 62)
        unclean(story)
        story.changed(70, leader=-1)
        story.changed(80, leader=2)
        story.changed(85, isr=[2, 3], leaderRecoveryState=0)
        assert judged(story).validity is Validity.VALID

    def test_topics_that_the_run_did_not_make_for_its_load_are_judged_too(self) -> None:
        story = leaderless(topics=[])
        unclean(story)
        assert judged(story).counts == {UNLICENSED: 1}

    @pytest.mark.parametrize("topic", ["__consumer_offsets", "__transaction_state", "__share_group_state"])
    @pytest.mark.parametrize(
        ("asked", "enabled", "own", "valid"),
        [
            (None, False, [], False),
            (True, False, [], True),
            (False, False, [], False),
            (None, True, [], True),
            (None, True, ["false"], False),  # as Kafka makes the topic of transactions' states
            (None, True, ["false", None], False),
            (None, False, ["false", "true"], True),
        ],
    )
    def test_topics_of_kafkas_own(
        self, topic: str, own: list[str | None], *, asked: bool | None, enabled: bool, valid: bool
    ) -> None:
        """Asked for all partitions, or of another topic; enabled by the nodes, or by configs of the topic."""
        story = AdminStory(config={"unclean.leader.election.enable": str(enabled).lower()})
        story.record(1, "TOPIC_RECORD", {"name": topic, "topicId": TOPIC_ID})
        place = {"resourceType": 2, "resourceName": topic, "name": "unclean.leader.election.enable"}
        for value in own:
            story.record(2, "CONFIG_RECORD", place | {"value": value})
        partition = {"replicas": [1, 2, 3], "isr": [1, 2, 3], "leader": 1, "leaderEpoch": 0}
        story.record(3, "PARTITION_RECORD", {"partitionId": 0, "topicId": TOPIC_ID, **partition})
        story.changed(30, isr=[1])
        story.changed(40, leader=-1)
        if asked is not None:
            story.elect(60, 62, all_partitions=asked, code=None if asked else 0)
        unclean(story)
        result = judged(story)
        assert (UNLICENSED not in result.counts) is valid
        assert result.figures["elections_of_internal_topics"] == 1


class TestAnswers:
    @pytest.mark.parametrize(
        ("kind", "code", "valid"),
        [
            ("preferred", 84, True),
            ("preferred", 80, False),
            ("preferred", 0, False),
            ("preferred", 3, False),
            ("preferred", 42, True),
            ("unclean", 84, True),
            ("unclean", 83, False),
            ("unclean", 0, False),
            ("unclean", 3, False),
        ],
    )
    def test_while_the_preferred_one_leads(self, kind: str, code: int, *, valid: bool) -> None:
        story = AdminStory()
        story.created()
        story.elect(3000, 3002, kind=kind, code=code)
        result = judged(story)
        assert result.counts == ({} if valid else {CONTRADICTION: 1})
        assert result.figures["answers_by_type_and_code"] == {f"{kind} {code}": 1}

    @pytest.mark.parametrize(
        ("kind", "code", "valid"),
        [
            ("preferred", 84, False),
            ("preferred", 80, True),
            ("preferred", 0, False),
            ("unclean", 84, False),
            ("unclean", 83, True),
            ("unclean", 0, False),
        ],
    )
    def test_while_nobody_leads(self, kind: str, code: int, *, valid: bool) -> None:
        story = leaderless()
        story.elect(3000, 3002, kind=kind, code=code)
        assert judged(story).counts == ({} if valid else {CONTRADICTION: 1})

    @pytest.mark.parametrize(("isr", "valid"), [([2, 3], True), ([1, 2, 3], False)])
    def test_a_preferred_replica_in_sync_is_available(self, isr: list[int], *, valid: bool) -> None:
        story = AdminStory()
        story.created(leader=2)
        story.changed(20, isr=isr)
        story.elect(60, 62, kind="preferred", code=80)
        assert (judged(story).validity is Validity.VALID) is valid

    def test_in_sync_or_not_its_directory_may_be_gone_after_a_wipe(self) -> None:
        story = AdminStory()
        story.created(leader=2)
        story.elect(60, 62, kind="preferred", code=80)
        story.fault(20, 30, "wipe-disk", "n1", scope="all")
        assert judged(story).validity is Validity.VALID

    def test_an_election_that_happened_meanwhile_is_success(self) -> None:
        story = AdminStory()
        story.created(leader=2)
        story.elect(60, 62, kind="preferred")
        story.changed(61, leader=1)
        assert judged(story).validity is Validity.VALID

    def test_an_unclean_election_replaces_no_leader(self) -> None:
        story = AdminStory()
        story.created(leader=2)
        story.elect(60, 62)
        story.changed(61, leader=1)
        (anomaly,) = judged(story).anomalies
        assert "each leader elected meanwhile replaced a leader" in anomaly.summary
        assert "broker 1 led in epoch 1" in anomaly.explanation[0]

    @pytest.mark.parametrize("code", [84, 83])
    def test_a_state_that_changes_meanwhile_allows_both(self, code: int) -> None:
        story = leaderless()
        story.elect(39, 41, code=code)
        assert judged(story).validity is Validity.VALID

    def test_a_controller_that_lost_its_majority_may_be_behind(self) -> None:
        story = leaderless(controller_fetch_timeout_ms=20)
        story.elect(70, 72, code=84)
        assert judged(story).validity is Validity.VALID

    def test_before_3_7_it_may_be_behind_for_ever(self) -> None:
        story = leaderless(kafka_version="3.6.2")
        story.elect(5000, 5002, code=84)
        assert judged(story).validity is Validity.VALID

    @pytest.mark.parametrize("versions", [{"node_versions": {"n2": "3.6.2"}}, {"later_versions": ["3.6.2"]}])
    def test_one_node_that_may_be_behind_for_ever_is_enough(self, versions: dict[str, Any]) -> None:
        story = leaderless(**versions)
        story.elect(5000, 5002, code=84)
        assert judged(story).validity is Validity.VALID

    @pytest.mark.parametrize(("upgraded_ms", "valid"), [(6000, True), (4000, False)])
    def test_one_that_was_upgraded_before_the_request_is_not_behind_for_ever(
        self, upgraded_ms: int, *, valid: bool
    ) -> None:
        story = leaderless(node_versions={"n2": "3.6.2"}, later_versions=["4.3.1"])
        story.fault(upgraded_ms, upgraded_ms + 10, "upgrade", "n2", version="4.3.1")
        story.elect(5000, 5002, code=84)
        assert (judged(story).validity is Validity.VALID) is valid

    def test_a_partition_that_was_just_made_may_be_unknown(self) -> None:
        story = AdminStory()
        story.elect(1, 5, code=3)
        story.created(at_ms=3)
        assert judged(story).validity is Validity.VALID

    def test_one_that_was_removed_is_unknown(self) -> None:
        story = AdminStory()
        story.created()
        story.record(20, "REMOVE_TOPIC_RECORD", {"topicId": TOPIC_ID})
        story.elect(60, 62, code=3)
        assert judged(story).validity is Validity.VALID

    @pytest.mark.parametrize("how", ["info", "fail"])
    def test_what_was_not_answered_can_not_contradict(self, how: str) -> None:
        story = AdminStory()
        story.created()
        story.elect(60, 62, how=how)
        result = judged(story)
        assert result.validity is Validity.VALID
        assert result.figures["requests_of_unknown_outcome"] == (how == "info")

    @pytest.mark.parametrize(("code", "unknown"), [(7, 1), (31, 0)])
    def test_a_refusal_that_is_a_timeout_proves_nothing(self, code: int, unknown: int) -> None:
        story = leaderless()
        asked = {"partitions": None, "to": "n1"}
        story.add(60, "admin", OperationType.INVOKE, "elect-leaders", key="unclean", value=asked)
        answer = asked | {"code": code, "results": []}
        story.add(62, "admin", OperationType.FAIL, "elect-leaders", key="unclean", value=answer)
        unclean(story)
        result = judged(story)
        assert result.figures["requests_of_unknown_outcome"] == unknown
        assert (result.validity is Validity.VALID) is bool(unknown)


class TestEvidence:
    def test_without_the_metadata_log_nothing_is_known(self) -> None:
        story = AdminStory()
        story.created()
        assert judged(story, metadata_log=False).validity is Validity.NOT_EXERCISED
        story.elect(60, 62)
        result = judged(story, metadata_log=False)
        assert result.validity is Validity.UNKNOWN
        assert "no metadata log" in str(result.unknown_because)

    @pytest.mark.parametrize("options", [{"error": "gone"}, {"decoder_error": "no tool"}])
    def test_nor_with_one_that_can_not_be_read(self, options: dict[str, Any]) -> None:
        story = AdminStory()
        story.created()
        story.elect(60, 62)
        assert judged(story, **options).validity is Validity.UNKNOWN

    @pytest.mark.parametrize(("kind", "code"), [("unclean", 0), ("preferred", 84), ("unclean", 83)])
    def test_one_that_ends_before_an_answer_does_not_contradict_it(self, kind: str, code: int) -> None:
        story = leaderless()
        story.elect(60, 62, kind=kind, code=code)
        story.changed(61, isr=[1], leader=1)
        result = judged(story, cut=2)
        assert result.counts == {}
        assert result.validity is Validity.UNKNOWN
        assert "after the end of all metadata logs that could be read" in str(result.unknown_because)

    def test_nor_does_that_make_what_was_answered_before_unknown(self) -> None:
        story = AdminStory()
        story.created(leader=2)
        story.elect(20, 22, kind="preferred")
        for at_ms in (30, 40, 50):
            story.changed(at_ms, isr=[2])
        assert judged(story, cut=4).counts == {CONTRADICTION: 1}

    def test_of_unknown_partitions_nothing_is_known(self) -> None:
        story = AdminStory()
        story.elect(60, 62)
        assert judged(story).validity is Validity.VALID

    def test_an_empty_history_does_not_exercise_it(self) -> None:
        assert check_elections(History("", "", ())).validity is Validity.NOT_EXERCISED


def _answer(kind: str, leader: int) -> tuple[int, int | None]:
    """What a correct controller answers, and whom it elects: all three are in sync and up."""
    if kind == "preferred":
        return (84, None) if leader == 1 else (0, 1)
    return (84, None) if leader != -1 else (0, 1)


def _history(events: list[tuple[str, int]], wrong: Callable[[int, int], int]) -> History:
    story = AdminStory()
    story.created()
    leader, at_ms = 1, 3000.0
    for number, (kind, moved) in enumerate(events):
        if moved != leader:
            story.changed(at_ms, leader=moved)
            leader = moved
        code, elected = _answer(kind, leader)
        if elected is not None:
            story.changed(at_ms + 51, leader=elected)
            leader = elected
        story.elect(at_ms + 50, at_ms + 52, kind=kind, code=wrong(number, code))
        at_ms += 3000
    return story.history()


EVENTS = st.lists(
    st.tuples(st.sampled_from(["preferred", "unclean"]), st.sampled_from([-1, 1, 2, 3])),
    min_size=1,
    max_size=6,
)


@given(EVENTS)
def test_what_a_correct_controller_answers_is_valid(events: list[tuple[str, int]]) -> None:
    assert check_elections(_history(events, lambda _, code: code)).validity is Validity.VALID


@given(EVENTS, st.data())
def test_a_wrong_answer_is_found(events: list[tuple[str, int]], data: st.DataObject) -> None:
    changed = data.draw(st.integers(0, len(events) - 1))

    def wrong(number: int, code: int) -> int:
        return code if number != changed else (0 if code == 84 else 3)

    assert check_elections(_history(events, wrong)).counts == {CONTRADICTION: 1}
