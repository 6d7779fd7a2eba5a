"""The reassignment checker: what was asked for is reached, by the rule for when it is."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkers.administration.reassignments import check_reassignments
from checkers.history.operations import History
from checkers.judge import result_by
from checkers.verdict.verdict import CheckerResult, Validity
from tests.checkers.admin_histories import TOPIC, TOPIC_ID, AdminStory

PREMATURE, LOST = "reassignment-premature", "reassignment-lost"
NOT_RESTORED, TOO_FEW = "reassignment-not-restored", "too-few-replicas"
WITHOUT_END, UNASKED = "reassignment-without-end", "reassignment-unasked"
WITHOUT_RECORD, HELD_UP = "reassignment-without-record", "reassignment-held-up"
UNCOMMITTED = "reassignment-uncommitted"


def judged(story: AdminStory, **options: Any) -> CheckerResult:
    return check_reassignments(story.history(**options))


def moving(
    replicas: Sequence[int], target: Sequence[int], *, isr: Sequence[int] = (), **story: Any
) -> AdminStory:
    """A reassignment that was asked for at 50 ms and acknowledged at 52 ms, and is under way.

    All replicas are in sync, or, from 20 ms on, only those that are named.
    """
    recording = AdminStory(**story)
    recording.created(replicas)
    if isr:
        recording.changed(20, isr=list(isr))
    begin(recording, 51, replicas, target)
    recording.reassign(50, 52, target)
    return recording


def begin(story: AdminStory, at_ms: float, replicas: Sequence[int], target: Sequence[int]) -> None:
    removing = [replica for replica in replicas if replica not in target]
    adding = [replica for replica in target if replica not in replicas]
    story.changed(at_ms, replicas=[*target, *removing], addingReplicas=adding, removingReplicas=removing)


def complete(story: AdminStory, at_ms: float, target: Sequence[int], isr: Sequence[int]) -> None:
    story.changed(at_ms, replicas=list(target), isr=list(isr), addingReplicas=[], removingReplicas=[])


class TestPremature:
    @pytest.mark.parametrize("version", ["3.7.1", "3.8.0", "4.3.1"])
    def test_kafka_15665_fewer_added_than_removed_needs_all_of_them(self, version: str) -> None:
        story = AdminStory(kafka_version=version)
        story.created([1, 2, 3])
        story.changed(20, isr=[1, 2])
        story.reassign(50, 52, [2, 3])
        complete(story, 51, [2, 3], [2])
        result = judged(story)
        assert result.counts == {PREMATURE: 1}
        (anomaly,) = result.anomalies
        assert "to [2, 3] was completed while [3] of them were not in sync" in anomaly.summary

    @pytest.mark.parametrize(("target", "counts"), [([1, 2, 4], {PREMATURE: 1}), ([1, 2], {})])
    def test_what_is_added_and_completed_by_one_record_has_fetched_nothing(
        self, target: list[int], counts: dict[str, int]
    ) -> None:
        story = AdminStory()
        story.created([1, 2, 3])
        story.reassign(50, 52, target)
        complete(story, 51, target, target)
        result = judged(story)
        assert result.counts == counts
        for anomaly in result.anomalies:
            assert "was completed while [4] of them were not in sync" in anomaly.summary
            assert anomaly.explanation[-1] == (
                "Until then 4 had no copy of the partition, so it could not be in sync."
            )

    @pytest.mark.parametrize(("isr", "counts"), [([2, 3], {}), ([2], {PREMATURE: 1}), ([3], {PREMATURE: 1})])
    def test_the_same_after_a_while(self, isr: list[int], counts: dict[str, int]) -> None:
        story = moving([1, 2, 3], [2, 3], isr=[1, 2])
        complete(story, 80, [2, 3], isr)
        result = judged(story)
        assert result.counts == counts
        assert result.figures["completed"] == 1

    @pytest.mark.parametrize(
        ("isr", "counts", "out_of_sync"),
        [([2, 3], {}, 0), ([3], {}, 1), ([2], {PREMATURE: 1}, 0)],
    )
    def test_as_many_added_as_removed_needs_the_added_ones(
        self, isr: list[int], counts: dict[str, int], out_of_sync: int
    ) -> None:
        story = moving([1, 2], [2, 3])
        complete(story, 80, [2, 3], isr)
        result = judged(story)
        assert result.counts == counts
        assert result.figures["completed_with_replica_out_of_sync"] == out_of_sync

    def test_an_override_that_is_complete_at_once_is_judged_too(self) -> None:
        story = moving([1, 2, 3], [1, 2, 4])
        story.reassign(60, 62, [2, 3])
        complete(story, 61, [2, 3], [2])
        assert judged(story).counts == {PREMATURE: 1}

    def test_another_order_needs_nothing(self) -> None:
        story = AdminStory()
        story.created([1, 2, 3])
        story.changed(20, isr=[1])
        story.reassign(50, 52, [3, 2, 1])
        story.changed(51, replicas=[3, 2, 1])
        result = judged(story)
        assert result.validity is Validity.VALID
        assert result.figures["completed"] == 0


class TestEndings:
    def test_a_cancelled_one_leaves_what_there_was(self) -> None:
        story = moving([1, 2], [2, 3])
        story.reassign(60, 62, None)
        complete(story, 61, [2, 1], [1, 2])
        result = judged(story)
        assert result.validity is Validity.VALID
        assert (result.figures["cancelled"], result.figures["cancellations_asked"]) == (1, 1)

    def test_a_cancelled_one_that_leaves_something_else(self) -> None:
        story = moving([1, 2], [2, 3])
        story.reassign(60, 62, None)
        complete(story, 61, [1, 3], [1, 3])
        assert judged(story).counts == {NOT_RESTORED: 1}

    def test_one_that_is_overridden_goes_elsewhere(self) -> None:
        story = moving([1, 2], [2, 3])
        story.reassign(60, 62, [2, 4])
        story.changed(61, replicas=[2, 4, 1, 3], addingReplicas=[4], removingReplicas=[1, 3])
        result = judged(story)
        assert result.validity is Validity.VALID
        assert (result.figures["overridden"], result.figures["ongoing_in_the_end"]) == (1, 1)

    def test_changes_of_the_isr_do_not_end_it(self) -> None:
        story = moving([1, 2], [2, 3])
        story.changed(60, isr=[2])
        result = judged(story)
        assert result.validity is Validity.VALID
        assert (result.figures["overridden"], result.figures["ongoing_in_the_end"]) == (0, 1)


class TestRequests:
    @pytest.mark.parametrize("target", [[2, 3], None])
    def test_an_acknowledged_one_comes_into_the_metadata(self, target: list[int] | None) -> None:
        story = moving([1, 2], [3, 1])
        story.reassign(3000, 3002, target)
        (anomaly,) = judged(story).anomalies
        assert anomaly.id == LOST
        assert "never reached the metadata log" in anomaly.summary
        assert "adding [3], removing [2]" in anomaly.explanation[0]

    def test_it_is_not_undone_unless_asked(self) -> None:
        story = moving([1, 2], [2, 3])
        complete(story, 80, [2, 1], [1, 2])
        (anomaly,) = judged(story).anomalies
        assert anomaly.id == LOST
        assert "was undone without a request" in anomaly.summary

    @pytest.mark.parametrize(
        ("end_ms", "asked", "valid"),
        [
            (72, {}, True),
            (72, {"how": "info"}, True),
            (None, {}, True),
            (72, {"code": 7}, True),
            (72, {"code": None}, True),
            (72, {"how": "fail"}, False),
            (72, {"code": 39}, False),
            (72, {"code": 85}, True),  # a broker that lost the controller's answer asked again
            (70.2, {"code": 85}, False),
        ],
    )
    def test_a_later_request_may_have_undone_it(
        self, end_ms: float | None, asked: dict[str, Any], *, valid: bool
    ) -> None:
        story = moving([1, 2], [2, 3])
        story.reassign(70, end_ms, None, **asked)
        complete(story, 71, [2, 1], [1, 2])
        assert (judged(story).validity is Validity.VALID) is valid

    def test_one_for_what_there_is_changes_nothing(self) -> None:
        story = AdminStory()
        story.created([1, 2])
        story.reassign(50, 52, [1, 2])
        assert judged(story).validity is Validity.VALID

    def test_a_refused_one_asks_for_nothing(self) -> None:
        story = AdminStory()
        story.created([1, 2, 3])
        story.reassign(50, 52, [1], code=39)
        result = judged(story)
        assert result.validity is Validity.VALID
        assert result.figures["answers_by_code"] == {"39": 1}

    @pytest.mark.parametrize("happened", [True, False])
    def test_one_of_unknown_fate_is_looked_up(self, *, happened: bool) -> None:
        story = AdminStory()
        story.created([1, 2])
        story.reassign(50, 52, [2, 3], how="info")
        if happened:
            begin(story, 60, [1, 2], [2, 3])
        figures = judged(story).figures
        assert (figures["of_unknown_outcome"], figures["of_unknown_outcome_found"]) == (1, happened)

    def test_one_later_than_the_log_is_unknown(self) -> None:
        story = moving([1, 2], [2, 3])
        result = judged(story, cut=2)
        assert result.counts == {}
        assert result.validity is Validity.UNKNOWN
        assert "after the end of all metadata logs that could be read" in str(result.unknown_because)

    def test_a_partition_without_evidence_is_passed_over(self) -> None:
        story = AdminStory()
        story.reassign(50, 52, [2, 3])
        assert judged(story).validity is Validity.VALID
        result = judged(story, metadata_log=False)
        assert result.validity is Validity.UNKNOWN
        assert "no metadata log" in str(result.unknown_because)

    def test_one_that_was_made_before_the_partition_is_passed_over(self) -> None:
        story = AdminStory()
        story.reassign(1, 2, [2, 3])
        story.created([1, 2], at_ms=50)
        assert judged(story).validity is Validity.VALID


class TestTooFew:
    def test_nobody_asked_for_fewer(self) -> None:
        story = AdminStory()
        story.created([1, 2, 3])
        story.changed(60, replicas=[1, 2])
        (anomaly,) = judged(story).anomalies
        assert anomaly.id == TOO_FEW
        assert "no request asked for fewer than 3" in anomaly.summary

    @pytest.mark.parametrize(("target", "valid"), [([1, 2], True), ([1], True), ([4, 2, 3], False)])
    def test_somebody_did(self, target: list[int], *, valid: bool) -> None:
        story = AdminStory()
        story.created([1, 2, 3])
        story.reassign(50, 52, target, how="info")
        story.changed(60, replicas=[1, 2])
        assert (TOO_FEW not in judged(story).counts) is valid


class TestWithoutEnd:
    def test_a_broker_that_is_added_and_removed_is_waited_for_in_vain(self) -> None:
        story = moving([1, 2, 3], [1, 2, 3, 4])
        story.reassign(60, 62, [1, 2, 3])
        story.changed(61, addingReplicas=[4], removingReplicas=[4])
        story.changed(80, isr=[1, 2, 3, 4])
        result = judged(story)
        assert result.counts == {WITHOUT_END: 1}
        (anomaly,) = result.anomalies
        assert "to [1, 2, 3] did not complete although these replicas are in sync" in anomaly.summary
        assert "ISR [1, 2, 3, 4], adding [4], removing [4]" in anomaly.explanation[1]

    def test_one_whose_target_is_not_in_sync_yet_goes_on(self) -> None:
        result = judged(moving([1, 2, 3], [1, 2, 3, 4]))
        assert (result.counts, result.figures["ongoing_in_the_end"]) == ({}, 1)

    def test_one_that_ended_later_was_not_without_end(self) -> None:
        story = moving([1, 2, 3], [1, 2, 3, 4])
        story.changed(80, isr=[1, 2, 3, 4])
        complete(story, 90, [1, 2, 3, 4], [1, 2, 3, 4])
        assert judged(story).counts == {HELD_UP: 1}


def test_how_many_were_seen_and_for_how_long() -> None:
    story = AdminStory()
    one = [TOPIC, 0, [1, 2, 3], [3], [1]]
    for at_ms, ongoing in ((10, [one]), (20, [one, one]), (40, [one]), (50, []), (60, [one]), (70, [one])):
        story.observe(at_ms, "reassignments", {"node": "n1", "began_ns": 0, "ongoing": ongoing})
    figures = judged(story).figures
    assert (figures["ongoing_max"], figures["ongoing_ms_max"]) == (2, 30)


class TestListed:
    """What is listed as under way, against the metadata log; it moves from 51 ms to 80 ms."""

    MOVE = (TOPIC, 0, (1, 4, 2, 3), (4,), (2, 3))

    def listed(self, at_ms: float, *ongoing: Sequence[Any]) -> AdminStory:
        story = moving([1, 2, 3], [1, 4])
        complete(story, 80, [1, 4], [1, 4])
        value = {"node": "n1", "began_ns": 0, "ongoing": [*ongoing]}
        for time_ms in (at_ms, at_ms + 1):
            story.observe(time_ms, "reassignments", value)
        return story

    @pytest.mark.parametrize(
        ("at_ms", "move", "found"),
        [
            (60, MOVE, False),
            (60, (TOPIC, 0, (3, 2, 1, 4), (4,), (3, 2)), False),
            (85, MOVE, False),  # reported by who does not know yet that it is over
            (45, MOVE, True),
            (60, (TOPIC, 0, (1, 4, 2, 3), (4,), (2,)), True),
            (60, (TOPIC, 0, (1, 5, 2, 3), (5,), (2, 3)), True),
            (60, (TOPIC, 1, (1, 4, 2, 3), (4,), (2, 3)), True),
            (60, ("other", 0, (1, 4, 2, 3), (4,), (2, 3)), True),
            (3000, (TOPIC, 0, (9, 8), (9,), (8,)), False),  # later than the log was read
        ],
    )
    def test_is_or_was_in_the_log(self, at_ms: float, move: Sequence[Any], *, found: bool) -> None:
        result = judged(self.listed(at_ms, move), began_ns=1_000_000_000)
        assert result.counts == ({WITHOUT_RECORD: 1} if found else {})
        assert result.figures["ongoing_listed"] == 1

    def test_the_anomaly_names_who_listed_it_and_what_there_was(self) -> None:
        story = self.listed(45, self.MOVE)
        (anomaly,) = judged(story, began_ns=1_000_000_000).anomalies
        assert anomaly.summary == (
            "n1 listed at 0.045 s a reassignment of log-0/0 as ongoing (adding [4], removing [2, "
            "3]); the metadata log did not have it before 0.051 s."
        )
        assert (anomaly.subject, anomaly.time_ns, len(anomaly.explanation)) == ("log-0/0", 45_000_000, 2)

    @pytest.mark.parametrize(("at_ms", "found"), [(200, False), (0.3, True)])
    def test_of_a_topic_that_was_removed_nothing_is_asked_but_that_it_was(
        self, at_ms: float, *, found: bool
    ) -> None:
        story = self.listed(at_ms, (TOPIC, 0, (9, 8), (9,), (8,)))
        story.record(90, "REMOVE_TOPIC_RECORD", {"topicId": TOPIC_ID})
        counts = judged(story, began_ns=1_000_000_000).counts
        assert counts == ({WITHOUT_RECORD: 1} if found else {})

    @pytest.mark.parametrize("options", [{"log_start": 1}, {"metadata_log": False}, {"began_ns": 1}])
    def test_what_the_log_may_lack_is_not_judged(self, options: dict[str, Any]) -> None:
        assert judged(self.listed(60, (TOPIC, 0, (9, 8), (9,), (8,))), **options).counts == {}

    def test_it_is_something_to_judge(self) -> None:
        story = AdminStory()
        story.created()
        assert judged(story).validity is Validity.NOT_EXERCISED
        story.observe(60, "reassignments", {"node": "n1", "began_ns": 0, "ongoing": [self.MOVE]})
        assert judged(story, began_ns=1_000_000_000).counts == {WITHOUT_RECORD: 1}

    @pytest.mark.parametrize("journal", ["nemesis", "admin"])
    def test_without_what_it_rests_on_nothing_is_decided(self, journal: str) -> None:
        whole = self.listed(60, (TOPIC, 0, (9, 8), (9,), (8,))).history(began_ns=1_000_000_000)
        history = History("run", "", whole.operations, lacking=frozenset([journal]))
        result = result_by("reassignments", check_reassignments, history)
        assert (result.validity, result.counts) == (Validity.UNKNOWN, {})

    def test_without_the_listings_some_may_be_missed(self) -> None:
        whole = self.listed(60, self.MOVE).history(began_ns=1_000_000_000)
        history = History("run", "", whole.operations, lacking=frozenset(["observer-reassignments"]))
        result = result_by("reassignments", check_reassignments, history)
        assert result.validity is Validity.UNKNOWN
        assert "reassignments under way" in str(result.unknown_because)


class TestListedUncommitted:
    """A target that is listed at 70 ms, but not in the log then; another controller leads from 80 ms on."""

    LISTED = (TOPIC, 0, (1, 3, 4, 2), (4,), (2,))

    def story(
        self,
        *,
        asked_ms: float = 60,
        answered_ms: float | None = 95,
        target: Sequence[int] = (1, 3, 4),
        how: str = "info",
        deposed: bool = True,
        ends_first: bool = False,
        at_ms: Sequence[float] = (70,),
    ) -> AdminStory:
        story = moving([1, 2, 3], [1, 2, 4])
        if ends_first:
            complete(story, 55, [1, 2, 4], [1, 2, 4])
        story.reassign(asked_ms, answered_ms, target, how=how)
        story.epoch += deposed
        story.changed(80, isr=[1, 2])
        for time_ms in at_ms:
            value = {"node": "n1", "began_ns": round((time_ms - 1) * 1e6), "ongoing": [self.LISTED]}
            story.observe(time_ms, "reassignments", value)
        return story

    def counts(self, story: AdminStory) -> dict[str, int]:
        return dict(judged(story, began_ns=9_000_000_000).counts)

    def test_the_target_of_an_unanswered_request_of_a_former_leader_is_told_apart(self) -> None:
        story = self.story()
        result = judged(story, began_ns=9_000_000_000)
        assert result.counts == {UNCOMMITTED: 1}
        (anomaly,) = result.anomalies
        assert anomaly.summary == (
            "n1 listed at 0.070 s the target [1, 3, 4] of log-0/0 (adding [4], removing [2]), which was "
            "requested at 0.060 s; the metadata log never had it."
        )
        assert (anomaly.subject, anomaly.time_ns, len(anomaly.witness)) == ("log-0/0", 70_000_000, 4)

    def test_so_it_is_if_the_next_leader_commits_it(self) -> None:
        story = self.story(how="ok")
        story.changed(90, replicas=[1, 3, 4, 2], addingReplicas=[4], removingReplicas=[2])
        assert self.counts(story) == {UNCOMMITTED: 1}

    @pytest.mark.parametrize(
        "other",
        [
            {"deposed": False},
            {"asked_ms": 75},
            {"asked_ms": 82, "at_ms": (85,)},  # only the new leader can have got it
            {"answered_ms": 65, "how": "ok"},
            {"target": (1, 2, 3, 4)},
            {"how": "fail"},
            {"ends_first": True},
            {"at_ms": (2_000,)},  # a leader without a quorum has resigned by then
        ],
        ids=str,
    )
    def test_any_other_has_no_excuse(self, other: dict[str, Any]) -> None:
        found = self.counts(self.story(**other))
        found.pop(LOST, None)
        assert found == {WITHOUT_RECORD: 1}

    def test_one_that_stays_is_both(self) -> None:
        assert self.counts(self.story(at_ms=(70, 75, 2_000, 2_001))) == {UNCOMMITTED: 1, WITHOUT_RECORD: 1}

    def test_without_the_answers_of_leaders_it_is_not_decided(self) -> None:
        whole = self.story(deposed=False).history(began_ns=9_000_000_000)
        history = History("run", "", whole.operations, lacking=frozenset(["observer-quorum-c1"]))
        assert result_by("reassignments", check_reassignments, history).counts == {}

    @pytest.mark.parametrize(("at_ms", "found"), [(70, UNCOMMITTED), (85, WITHOUT_RECORD)])
    def test_without_limits_of_time_it_must_come_before_the_next_leader(
        self, at_ms: float, found: str
    ) -> None:
        whole = self.story(at_ms=(at_ms,)).history(began_ns=9_000_000_000)
        left = tuple(operation for operation in whole.operations if operation.f != "setup")
        assert check_reassignments(History("run", "", left)).counts == {found: 1}


TARGET = st.lists(st.sampled_from([1, 2, 3, 4]), min_size=1, max_size=3, unique=True)


def correct(targets: Sequence[list[int]], *, drop: int | None = None, early: int | None = None) -> History:
    """A controller that carries out each request; but for one record, or one replica of the ISR."""
    story = AdminStory()
    replicas = isr = [1, 2, 3]
    story.created(replicas)
    for number, target in enumerate(targets):
        at_ms = 3000.0 * (number + 1)
        if number != drop:
            if set(target) == set(replicas):
                story.changed(at_ms + 1, replicas=target)
            elif set(target) <= set(isr):
                isr = target
                complete(story, at_ms + 1, target, isr)
            else:
                begin(story, at_ms + 1, replicas, target)
                added = [replica for replica in target if replica not in replicas]
                isr = [replica for replica in target if number != early or replica != added[0]]
                complete(story, at_ms + 500, target, isr)
            replicas = target
        story.reassign(at_ms, at_ms + 2, target)
    return story.history()


class TestUnasked:
    """Replicas that nobody asked for."""

    @pytest.mark.parametrize(
        ("asked", "how", "found"),
        [(None, "ok", True), ([1, 2, 4], "ok", False), ([1, 2, 4], "info", False), ([1, 2, 5], "ok", True)],
    )
    def test_at_once(self, asked: list[int] | None, how: str, *, found: bool) -> None:
        story = AdminStory()
        story.created([1, 2, 3])
        if asked is not None:
            story.reassign(50, 52, asked, how=how)
        complete(story, 51, [1, 2, 4], [1, 2, 4])
        assert (UNASKED in judged(story).counts) is found

    def test_begun(self) -> None:
        story = AdminStory()
        story.created([1, 2, 3])
        begin(story, 51, [1, 2, 3], [1, 2, 4])
        result = judged(story)
        assert result.counts == {UNASKED: 1}
        (anomaly,) = result.anomalies
        assert "was being moved to the replicas [1, 2, 4], which no request asked for" in anomaly.summary

    def test_other_changes_add_nothing(self) -> None:
        story = AdminStory()
        story.created([1, 2, 3])
        story.changed(20, isr=[1, 2])
        story.changed(30, replicas=[3, 2, 1])
        assert judged(story).counts == {}


@given(st.lists(TARGET, min_size=1, max_size=5))
def test_what_a_correct_controller_does_is_valid(targets: list[list[int]]) -> None:
    assert check_reassignments(correct(targets)).validity is Validity.VALID


@given(st.lists(TARGET, min_size=1, max_size=5), st.data())
def test_a_request_that_is_forgotten_is_found(targets: list[list[int]], data: st.DataObject) -> None:
    before = [[1, 2, 3], *targets]
    changing = [number for number, target in enumerate(targets) if target != before[number]]
    if changing:
        history = correct(targets, drop=data.draw(st.sampled_from(changing)))
        assert check_reassignments(history).counts == {LOST: 1}


@given(st.lists(TARGET, min_size=1, max_size=5), st.data())
def test_an_added_replica_that_is_not_in_sync_is_found(targets: list[list[int]], data: st.DataObject) -> None:
    before = [[1, 2, 3], *targets]
    adding = [number for number, target in enumerate(targets) if set(target) - set(before[number])]
    if adding:
        history = correct(targets, early=data.draw(st.sampled_from(adding)))
        assert check_reassignments(history).counts == {PREMATURE: 1}
