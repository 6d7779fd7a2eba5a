"""What is fetched by a topic's id was appended to that topic, not to one that had its name before."""

from typing import Any

import pytest

from checkers.history.operations import FAIL, INFO, OK, OperationType
from checkers.kraft.metadata import check_metadata
from tests.checkers.admin_histories import AdminStory

NAME = "made-1"


def create(story: AdminStory, at_ms: float, topic_id: str, name: str = NAME) -> None:
    asked = {"partitions": 1, "replication_factor": 2}
    story.both(at_ms, at_ms + 1, "create-topic", asked, answer=asked | {"topic_id": topic_id}, key=name)


def append(story: AdminStory, at_ms: float, value: int, how: OperationType = OK, name: str = NAME) -> None:
    asked = {"topic_id": "id", "value": value}
    story.both(at_ms, at_ms + 1, "append-record", asked, answer=asked, key=name, how=how.value)


def fetch(
    story: AdminStory, topic_id: str, *records: tuple[int, Any], start: int = 0, how: str = "ok"
) -> None:
    answer = {"topic_id": topic_id, "log_start": start, "records": [list(each) for each in records]}
    story.both(90, 91, "fetch-records", {"topic_id": topic_id}, answer=answer, key=NAME, how=how)


def story(how: OperationType = OK) -> AdminStory:
    """A topic with record 7, deleted and created again, with record 8."""
    recording = AdminStory()
    create(recording, 10, "id1")
    append(recording, 20, 7, how)
    recording.both(30, 31, "delete-topic", None, key=NAME)
    create(recording, 40, "id2")
    append(recording, 50, 8)
    return recording


def found(recording: AdminStory) -> list[str]:
    result = check_metadata(recording.history(metadata_log=False))
    return [anomaly.summary for anomaly in result.anomalies if anomaly.id == "deleted-topic-read"]


@pytest.mark.parametrize("records", [[(0, 8)], []])
def test_records_of_the_topic_itself(records: list[tuple[int, int]]) -> None:
    recording = story()
    fetch(recording, "id2", *records)
    assert found(recording) == []
    figures = check_metadata(recording.history(metadata_log=False)).figures
    assert (figures["records_fetched"], figures["recreated_topics_fetched"]) == (len(records), 1)


@pytest.mark.parametrize(
    ("records", "why"),
    [
        ([(0, 7)], "7 at offset 0, which was appended to another topic"),
        ([(0, 7), (1, 8)], "7 at offset 0, which was appended to another topic"),
        ([(0, 9)], "9 at offset 0, which was appended to another topic"),
        ([(0, "garbage")], "'garbage', which was never appended"),
        ([(0, 77)], "77, which was never appended"),
        ([(1, 8)], "8 at offset 1, but at most 1 records were appended"),
    ],
)
def test_records_of_others(records: list[tuple[int, Any]], why: str) -> None:
    recording = story()
    append(recording, 60, 9, name="made-2")
    fetch(recording, "id2", *records)
    (summary,) = found(recording)
    assert why in summary


def test_a_log_that_does_not_begin_at_its_beginning() -> None:
    recording = story()
    fetch(recording, "id2", start=2)
    assert "a log from offset 2 on" in found(recording)[0]


def test_a_request_that_was_held_up_may_find_the_new_topic() -> None:
    recording = story(INFO)
    fetch(recording, "id2", (0, 8), (1, 7))
    assert found(recording) == []


def test_one_that_was_refused_is_nowhere() -> None:
    recording = story(FAIL)
    fetch(recording, "id2", (0, 7))
    assert len(found(recording)) == 1


def test_the_old_topic_may_be_fetched_for_a_while() -> None:
    recording = story()
    fetch(recording, "id1", (0, 7))
    assert found(recording) == []
    assert check_metadata(recording.history(metadata_log=False)).figures["recreated_topics_fetched"] == 0


@pytest.mark.parametrize(("topic_id", "how"), [("id3", "ok"), ("id2", "fail")])
def test_what_has_nothing_to_compare_with(topic_id: str, how: str) -> None:
    recording = story()
    fetch(recording, topic_id, (0, 7), how=how)
    assert found(recording) == []


def test_a_shape_that_nobody_knows_is_unknown() -> None:
    recording = story()
    recording.both(90, 91, "fetch-records", None, answer={"topic_id": 7}, key=NAME)
    assert "topic_id" in str(check_metadata(recording.history(metadata_log=False)).unknown_because)


def test_an_answer_to_what_nobody_asked_for() -> None:
    recording = story()
    recording.add(60, 99, OK, "append-record", key=NAME, value={"topic_id": "id2", "value": 9})
    fetch(recording, "id2", (0, 9))
    assert "was never appended" in found(recording)[0]
