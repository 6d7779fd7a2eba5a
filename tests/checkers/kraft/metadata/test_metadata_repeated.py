"""Creations of topics that may have been requested twice, because a fault was in force."""

import pytest

from checkers.history.operations import OK
from tests.checkers.admin_histories import AdminStory
from tests.checkers.kraft.metadata.test_metadata_recreated import NAME, again, ask, change, judged


@pytest.mark.parametrize(
    ("fault_ms", "topic_id", "found"),
    [
        (None, "id3", [f"changed-topic-id {NAME}"]),
        (11, "id3", []),
        # It was over when the creations were requested.
        (5, "id3", [f"changed-topic-id {NAME}"]),
        # The id of a topic that was deleted comes from no second request.
        (11, "id1", [f"resurrected-topic {NAME}"]),
    ],
)
def test_a_creation_that_a_fault_held_up_may_happen_again(
    fault_ms: int | None, topic_id: str, found: list[str]
) -> None:
    story = again()
    story.add(50, "runner", OK, "phase", key="final-read")
    ask(story, 60, (NAME, topic_id))
    if fault_ms is not None:
        story.fault(fault_ms, fault_ms + 1, "pause", "n1")
    assert judged(story.history(metadata_log=False)) == found


@pytest.mark.parametrize(("deleted_ms", "back"), [(20_000, True), (20_050, False)])
@pytest.mark.parametrize("final", [True, False])
def test_its_second_request_arrives_some_time_after_the_fault_at_most(
    deleted_ms: int, *, back: bool, final: bool
) -> None:
    story = AdminStory()
    story.created(at_ms=-20)
    change(story, 10, "-" if final else "id1")
    change(story, deleted_ms)
    if final:
        story.add(deleted_ms + 50, "runner", OK, "phase", key="final-read")
    ask(story, deleted_ms + 60, (NAME, "id3"))
    story.fault(11, 12, "pause", "n1")
    found = "resurrected-topic" if final else "changed-topic-id"
    assert judged(story.history(metadata_log=False)) == ([] if back else [f"{found} {NAME}"])


@pytest.mark.parametrize(
    ("fault", "took_ms", "back"), [("pause", 2, True), ("kill", 2, False), ("kill", 1_100, True)]
)
def test_a_kill_delays_only_a_request_for_which_a_client_waited(
    fault: str, took_ms: int, *, back: bool
) -> None:
    story = AdminStory()
    story.created(at_ms=-20)
    asked = {"partitions": 1, "replication_factor": 1}
    answer = asked | {"topic_id": "id1"}
    story.both(10, 10 + took_ms, "create-topic", asked, answer=answer, key=NAME)
    change(story, 1_200)
    ask(story, 1_300, (NAME, "id3"))
    story.fault(11, 12, fault, "n1")
    assert judged(story.history(metadata_log=False)) == ([] if back else [f"changed-topic-id {NAME}"])


@pytest.mark.parametrize("how", ["ok", "fail"])
def test_it_happens_again_only_after_a_deletion(how: str) -> None:
    story = AdminStory()
    story.created(at_ms=-20)
    change(story, 10, "id1")
    change(story, 20, how=how)
    story.fault(11, 12, "pause", "n1")
    ask(story, 60, (NAME, "id3"))
    assert judged(story.history(metadata_log=False)) == ([] if how == "ok" else [f"changed-topic-id {NAME}"])


@pytest.mark.parametrize(("fault_ms", "back"), [(21, True), (11, False)])
def test_a_topic_that_is_back_after_its_only_deletion(fault_ms: int, *, back: bool) -> None:
    story = AdminStory()
    story.created(at_ms=-20)
    change(story, 10, "-")
    change(story, 20)
    story.add(50, "runner", OK, "phase", key="final-read")
    ask(story, 60, (NAME, None))
    story.fault(fault_ms, fault_ms + 1, "pause", "n1")
    assert judged(story.history(metadata_log=False)) == ([f"resurrected-topic {NAME}"] if back else [])
