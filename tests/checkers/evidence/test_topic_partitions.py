"""Partitions of the run's topics: those of the set-up, and those that were added while it went on."""

from typing import Any

import pytest

from checkers.columns.sends import acknowledged
from checkers.columns.tables import NEVER
from checkers.evidence.administration import performed
from checkers.evidence.loading import columns_of
from checkers.evidence.topic_partitions import partitions_by, partitions_of, possible_partitions
from checkers.history.fitting import misfit_of
from checkers.history.operations import History, OperationType
from checkers.judge import judge
from checkers.licences.facts import Facts
from checkers.runs.additions import additions_loaded
from checkers.verdict.verdict import Validity
from tests.checkers.admin_histories import TOPIC, TOPIC_ID, AdminStory
from tests.checkers.log_histories import MS

SECOND_MS = 1_000
OK = OperationType.OK


def added(recording: AdminStory, at_ms: float, end_ms: float | None, count: int, **how: Any) -> None:
    asked = {"count": count, "to": "n1"}
    answer = asked | {"code": 0, "message": None, "took_ms": 1}
    recording.both(at_ms, end_ms, "create-partitions", asked, answer=answer, **({"key": TOPIC} | how))


def logged(recording: AdminStory, at_ms: float, partition: int) -> None:
    state = {"replicas": [1, 2, 3], "isr": [1, 2, 3], "leader": 1, "leaderEpoch": 0}
    recording.record(at_ms, "PARTITION_RECORD", {"partitionId": partition, "topicId": TOPIC_ID, **state})


def there(history: History) -> dict[int, float]:
    """Since when each partition was there, ms; -1 where nobody knows."""
    return {
        each.name.partition: -1 if each.there_ns == NEVER else each.there_ns / MS
        for each in possible_partitions(history)
    }


def certain(history: History) -> list[int]:
    return [each.name.partition for each in partitions_of(history)]


def test_without_a_set_up_there_are_none() -> None:
    assert possible_partitions(History("run", "", ())) == ()


def test_an_acknowledged_addition_is_there_from_the_answer_on() -> None:
    recording = AdminStory()
    added(recording, 20, 30, 3)
    history = recording.history(metadata_log=False)
    assert there(history) == {0: 0, 1: 30, 2: 30}
    assert [each.added for each in possible_partitions(history)] == [False, True, True]
    assert [str(each.name) for each in partitions_by(history, 30 * MS - 1)] == ["log-0/0"]
    assert len(partitions_by(history, 30 * MS)) == 3
    assert performed(history) == {"add-partitions": 1}


@pytest.mark.parametrize("how", ["info", "fail"])
def test_of_one_of_unknown_fate_the_metadata_log_decides(how: str) -> None:
    recording = AdminStory()
    recording.created()
    added(recording, 20, 22, 2, how=how)
    logged(recording, 25, 1)
    history = recording.history()
    assert there(history) == ({0: 0, 1: 25.4} if how == "info" else {0: 0})
    # Without the log it may be there: licences know it, and nothing is asked of it.
    blind = recording.history(metadata_log=False)
    assert there(blind) == ({0: 0, 1: -1} if how == "info" else {0: 0})
    assert certain(blind) == [0]
    assert len(Facts(blind).partitions) == len(there(blind))


def test_a_refusal_without_a_reason_leaves_it_open() -> None:
    recording = AdminStory()
    asked = {"count": 2, "to": "n1"}
    recording.both(20, 22, "create-partitions", asked | {"code": 7}, key=TOPIC, how="fail")
    recording.both(30, None, "create-partitions", asked, key=TOPIC)
    assert there(recording.history(metadata_log=False)) == {0: 0, 1: -1}


def test_the_first_of_several_requests_counts_and_those_of_other_topics_do_not() -> None:
    recording = AdminStory()
    added(recording, 10, 12, 2, how="info")
    added(recording, 20, 22, 2)
    added(recording, 30, 32, 3)
    added(recording, 40, 42, 3)
    added(recording, 40, 42, 9, key="made-1")
    assert there(recording.history(metadata_log=False)) == {0: 0, 1: 22, 2: 32}


def test_columns_have_what_is_there_and_nothing_was_recorded_of() -> None:
    recording = AdminStory()
    added(recording, 20, 22, 3)
    added(recording, 30, 32, 5, how="info")
    assert [name.partition for name in columns_of(recording.history(metadata_log=False)).partitions] == [
        0,
        1,
        2,
    ]


@pytest.mark.parametrize(("count", "fits"), [(1, True), (200_000, True), (0, False), (200_001, False)])
def test_no_more_are_believed_than_a_cluster_may_hold(count: int, *, fits: bool) -> None:
    recording = AdminStory()
    added(recording, 20, 22, count)
    asked = recording.history(metadata_log=False).of("create-partitions")[0]
    assert (misfit_of(asked) is None) is fits


class TestLoad:
    @staticmethod
    def observed(
        *sends_s: float, partition: int = 1, answered_s: float = 10, heal_s: float | None = 30
    ) -> str:
        recording = AdminStory()
        added(recording, 9 * SECOND_MS, answered_s * SECOND_MS, 2)
        if heal_s is not None:
            recording.add(heal_s * SECOND_MS, "runner", OK, "phase", key="heal")
        for number, at_s in enumerate(sends_s):
            asked, at_ms = [partition, number], at_s * SECOND_MS
            recording.both(at_ms, at_ms + 1, "send", [asked], answer=[[*asked, 0, "ok"]], key=TOPIC)
        history = recording.history(metadata_log=False)
        return "; ".join(
            f"{one.name} {one.met}: {one.observed}"
            for one in additions_loaded(acknowledged(history), history)
        )

    def test_a_record_before_healing_is_enough(self) -> None:
        assert self.observed(5, 20) == "added-partitions-loaded True: by 1 of 1"

    def test_one_after_it_or_elsewhere_is_none(self) -> None:
        assert self.observed(31) == "added-partitions-loaded False: by 0 of 1"
        assert self.observed(20, partition=0) == "added-partitions-loaded False: by 0 of 1"

    def test_nothing_is_asked_of_what_came_late(self) -> None:
        assert self.observed(answered_s=16) == ""

    def test_where_nothing_was_healed_all_are_in_time(self) -> None:
        assert self.observed(20, heal_s=None) == "added-partitions-loaded True: by 1 of 1"


def test_an_acknowledged_addition_of_which_the_log_lacks_one_partition_is_lost() -> None:
    recording = AdminStory()
    recording.created()
    config = {"resourceType": 2, "resourceName": TOPIC, "name": "min.insync.replicas", "value": "2"}
    recording.record(5, "CONFIG_RECORD", config)
    added(recording, 20, 30, 3)
    logged(recording, 24, 2)
    verdict = judge(recording.history())
    assert verdict.validity is Validity.INVALID
    found = [one for result in verdict.results for one in result.anomalies if one.id == "metadata-ack-lost"]
    assert [one.subject for one in found] == [TOPIC]
    assert "of its 3 partitions the log has 2" in " ".join(found[0].explanation)
