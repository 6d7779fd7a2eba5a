"""Topics that are created again under their old names: each is judged for itself, and ids never come back."""

import msgspec
import pytest

from checkers.evidence.metadata_log import TimeBounds
from checkers.history.operations import OK, History
from checkers.kraft.metadata import check_metadata
from checkers.kraft.metadata.loading import metadata_of
from checkers.kraft.metadata.logged import BEFORE, LoggedRecord
from checkers.kraft.metadata.matching import AcknowledgedChange, TopicChange, matched
from checkers.kraft.metadata.topic_lives import deleted_id, lives_of
from tests.checkers.admin_histories import TOPIC, TOPIC_ID, AdminStory
from tests.checkers.kraft.metadata.metadata_histories import history_of

NAME = "made-1"
AGAIN = "0 create t id1\n0 delete t\n0 create t id2"
BOTH = "0 create t id1\n0 delete t\n0 create t id2\n0 delete t"


def found(text: str) -> list[str]:
    return [anomaly.id for anomaly in check_metadata(history_of(text)).anomalies]


def at_the_end(text: str, listed: str = "") -> list[str]:
    return found(f"{text}\nphase final-read\n1 list b1 {listed}")


@pytest.mark.parametrize(
    ("text", "listed", "ids"),
    [
        (AGAIN, "t=id2", []),
        (AGAIN, "t=-", []),
        (AGAIN, "t=id1", ["resurrected-topic"]),
        (AGAIN, "t=id3", ["changed-topic-id"]),
        (AGAIN, "", ["lost-topic"]),
        (BOTH, "", []),
        (BOTH, "t=id1", ["resurrected-topic"]),
        (BOTH, "t=id2", ["resurrected-topic"]),
        (BOTH, "t=-", ["resurrected-topic"]),
        ("0 create t id1\n0 delete t\n0 > create t\n0 info", "", []),
        ("0 create t id1\n0 delete t\n0 > create t\n0 info", "t=id2", []),
        ("0 create t id1\n0 delete t\n0 > create t\n0 info", "t=id1", ["resurrected-topic"]),
        # It may have been asked for twice, and the second time after the deletion.
        ("0 > create t\n0 info\n0 delete t", "t=id2", []),
        ("0 > create t\n0 info\n1 list b1 t=id2\n0 delete t", "t=id2", ["resurrected-topic"]),
        # A deletion of unknown fate may come after the second creation.
        ("0 create t id1\n0 > delete t\n0 info\n0 create t id2", "", []),
        ("0 create t id1\n0 delete t\n0 > create t\n0 fail", "", []),
        ("0 create t id1\n0 delete t\n0 > create t\n0 fail", "t=id1", ["resurrected-topic"]),
        ("0 create t -\n0 delete t\n0 create t -\n1 list b1 t=id1", "t=id2", []),
        ("0 create t -\n1 list b1 t=id1\n0 delete t\n0 create t -", "t=id1", ["resurrected-topic"]),
        ("0 delete t", "", []),
    ],
)
def test_of_a_name_the_last_topic_counts(text: str, listed: str, ids: list[str]) -> None:
    assert at_the_end(text, listed) == ids


@pytest.mark.parametrize("again", ["0 create t -", "0 create u -"])
@pytest.mark.parametrize("share", [0.0, 0.5])
def test_a_run_that_is_meant_to_must_create_some_again(share: float, again: str) -> None:
    history = history_of(f"setup metadata 1\n0 create t -\n0 delete t\n{again}")
    first, *others = history.operations
    value = {**first.value, "workload": {"kind": "metadata", "recreated_share": share}}
    first = msgspec.structs.replace(first, value=value)
    result = check_metadata(msgspec.structs.replace(history, operations=(first, *others)))
    met = {each.name: each.met for each in result.assumptions}
    assert met.get("topics-recreated") == (again.endswith("t -") if share else None)


def test_more_ids_than_topics() -> None:
    lists = "\n".join(f"1 list b{n} t={topic_id}" for n, topic_id in enumerate(("id1", "id2", "id3")))
    assert found(f"0 create t -\n0 delete t\n0 create t -\n{lists}") == ["changed-topic-id"]
    assert found(f"0 create t id1\n0 delete t\n0 create t -\n{lists}") == ["changed-topic-id"]
    assert found(f"0 create t id1\n0 delete t\n0 > create t\n0 info\n{lists}") == []


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("0 create t id1\n0 delete t\n0 create t id1", ["reused-topic-id"]),
        ("0 create t id1\n0 create u id1", ["reused-topic-id"]),
        ("0 create t -\n1 list b1 t=id1\n0 delete t\n0 create t id1", ["reused-topic-id"]),
        ("0 create t -\n1 list b1 t=id1\n0 create u id1", ["reused-topic-id"]),
        # Its creation was under way already.
        ("0 > create t\n1 list b1 t=id1\n0 ok id1", []),
        (AGAIN, []),
    ],
)
def test_an_id_is_given_once(text: str, ids: list[str]) -> None:
    assert found(text) == ids


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("0 create t id1\n0 create t id2", ["topic-created-twice"]),
        ("0 create t id1\n0 > delete t\n0 fail\n0 create t -", ["topic-created-twice"]),
        ("0 create t id1\n0 > delete t\n0 info\n0 create t id2", []),
        ("0 create t id1\n0 > create t\n2 delete t\n0 ok id2", []),
        ("0 > create t\n2 > create t\n0 ok id1\n2 ok id2", []),
        ("0 > create t\n0 info\n0 create t id2", []),
        ("0 create t id1\n0 > create t\n0 info", []),
        ("0 create t id1\n0 > delete t\n0 info\n0 create t id2\n0 create t id3", []),
        (f"{AGAIN}\n0 create t id3", ["topic-created-twice"]),
    ],
)
def test_a_name_belongs_to_one_topic_at_a_time(text: str, ids: list[str]) -> None:
    assert found(text) == ids


@pytest.mark.parametrize(
    ("lists", "ids"),
    [
        ("1 list b1 t=id2\n1 list b1 t=id1", ["returned-topic-id"]),
        ("1 list b1 t=id2\n1 list b1 t=-\n1 list b1 t=id2 u=-", []),
        ("1 list b1 t=id2\n1 list b2 t=id1", []),
        ("1 list b1 t=id1\n1 list b1 t=id2", []),
        ("1 > list b1\n2 > list b1\n1 ok t=id2\n2 ok t=id1", []),
    ],
)
def test_a_broker_does_not_go_back_to_an_older_topic(lists: str, ids: list[str]) -> None:
    assert found(f"0 > create u\n{AGAIN.replace('0 ', '3 ')}\n{lists}") == ids


def change(story: AdminStory, at_ms: float, topic_id: str | None = None, *, how: str = "ok") -> None:
    """A creation, if an id is given, or without one a deletion; each takes 2 ms."""
    if topic_id is None:
        story.both(at_ms, at_ms + 2, "delete-topic", None, key=NAME, how=how)
    else:
        asked = {"partitions": 1, "replication_factor": 1}
        answer = asked | {"topic_id": None if topic_id == "-" else topic_id}
        story.both(at_ms, at_ms + 2, "create-topic", asked, answer=answer, key=NAME, how=how)


def record(
    story: AdminStory, at_ms: float, topic_id: str, *, removed: bool = False, name: str = NAME
) -> None:
    if removed:
        story.record(at_ms, "REMOVE_TOPIC_RECORD", {"topicId": topic_id})
        return
    story.record(at_ms, "TOPIC_RECORD", {"name": name, "topicId": topic_id})
    story.record(at_ms, "PARTITION_RECORD", {"partitionId": 0, "topicId": topic_id, "replicas": [1]})


def ask(story: AdminStory, at_ms: float, *topics: tuple[str, str | None]) -> None:
    story.both(at_ms, at_ms + 1, "list-topics", None, answer=[list(topic) for topic in topics], key="n1")


def again(first: str = "id1", second: str = "id2") -> AdminStory:
    """Created, deleted, created again: asked for at 10, 20 and 30 ms, each in the log 1 ms later."""
    story = AdminStory()
    story.created(at_ms=-20)
    story.record(-18, "CONFIG_RECORD", CONFIG)
    change(story, 10, first)
    change(story, 20)
    change(story, 30, second)
    return story


CONFIG = {"resourceType": 2, "resourceName": TOPIC, "name": "min.insync.replicas", "value": "2"}


def logged_lives(story: AdminStory, *offsets_ms: float) -> AdminStory:
    for at_ms, (topic_id, removed) in zip(
        offsets_ms, (("id1", False), ("id1", True), ("id2", False)), strict=False
    ):
        record(story, at_ms, topic_id, removed=removed)
    return story


def judged(recorded: AdminStory | History) -> list[str]:
    history = recorded.history() if isinstance(recorded, AdminStory) else recorded
    return [f"{anomaly.id} {anomaly.subject}" for anomaly in check_metadata(history).anomalies]


class TestLog:
    @pytest.mark.parametrize(("first", "second"), [("id1", "id2"), ("-", "-"), ("id1", "-"), ("-", "id2")])
    def test_each_creation_has_a_record_of_its_own(self, first: str, second: str) -> None:
        assert judged(logged_lives(again(first, second), 11, 21, 31)) == []
        assert judged(logged_lives(again(first, second), 11, 21)) == [f"metadata-ack-lost {NAME}"]

    def test_each_deletion_has_a_record_of_its_own(self) -> None:
        for ids in (("id1", "id2"), ("-", "-")):
            story = again(*ids)
            change(story, 40)
            logged_lives(story, 11, 21, 31)
            assert judged(story) == [f"metadata-ack-lost {NAME}"]
            record(story, 41, "id2", removed=True)
            assert judged(story) == []

    def test_one_that_was_appended_after_the_answer(self) -> None:
        story = AdminStory()
        story.created(at_ms=-20)
        story.record(-18, "CONFIG_RECORD", CONFIG)
        change(story, 10, "-")
        record(story, 30, "id1")
        assert judged(story) == [f"metadata-ack-early {NAME}"]

    def test_an_id_that_is_given_again(self) -> None:
        story = logged_lives(again("id1", "-"), 11, 21)
        record(story, 31, "id1")
        assert f"reused-topic-id {NAME}" in judged(story)

    def test_a_name_that_is_taken(self) -> None:
        story = AdminStory()
        story.created(at_ms=-20)
        story.record(-18, "CONFIG_RECORD", CONFIG)
        record(story, 11, "id1")
        record(story, 12, "id2")
        assert judged(story) == [f"topic-created-twice {NAME}"]
        assert check_metadata(story.history()).anomalies[0].time_ns is not None

    def test_names_of_a_snapshot_that_the_log_goes_on_from(self) -> None:
        story = AdminStory()
        story.created(at_ms=-20)
        story.record(-18, "CONFIG_RECORD", CONFIG)
        kept = [[0, 1, "TOPIC_RECORD", {"name": TOPIC, "topicId": TOPIC_ID}]]
        early = story.history(log_start=0, checkpoint=["00000000000000000000-0000000000.checkpoint", kept])
        assert "reused-topic-id log-0" in judged(early)
        late = story.history(log_start=1, checkpoint=["00000000000000000005-0000000001.checkpoint", kept])
        assert judged(late) == []


class TestListed:
    def test_ids_that_the_log_has(self) -> None:
        story = logged_lives(again(), 11, 21, 31)
        ask(story, 15, (NAME, "id1"))
        ask(story, 28, (NAME, "id1"))  # its cache is old, and that is legal
        ask(story, 35, (NAME, "id2"), ("other", None))
        assert "listed-against-log made-1" not in judged(story)
        figures = check_metadata(story.history()).figures
        assert (figures["ids_listed"], figures["ids_finally_due"]) == (4, 0)

    @pytest.mark.parametrize(
        ("at_ms", "topic", "why"),
        [
            (35, (NAME, "id3"), "never created a topic with that id"),
            (35, (NAME, TOPIC_ID), f"created {TOPIC} with that id"),
            (12, (NAME, "id2"), "was appended later"),
        ],
    )
    def test_ids_that_it_does_not_have(self, at_ms: float, topic: tuple[str, str], why: str) -> None:
        story = logged_lives(again("-", "-"), 11, 21, 31)
        ask(story, at_ms, topic)
        ask(story, at_ms + 2, topic)
        (anomaly,) = [a for a in check_metadata(story.history()).anomalies if a.id == "listed-against-log"]
        assert why in anomaly.summary
        assert len(anomaly.witness) == 2

    @pytest.mark.parametrize(
        ("end_ms", "topics", "against"),
        [
            (20_000, [(NAME, "id2")], False),
            (20_000, [(NAME, None)], False),
            (20_000, [(NAME, "id1")], True),
            (20_000, [], True),
            (5_000, [(NAME, "id1")], False),
            (5_000, [], False),
        ],
    )
    def test_the_last_lists(
        self, end_ms: float, topics: list[tuple[str, str | None]], *, against: bool
    ) -> None:
        story = logged_lives(again("-", "-"), 11, 21, 31)
        story.add(end_ms - 10, "runner", OK, "phase", key="final-read")
        ask(story, end_ms, *topics)
        assert (f"listed-against-log {NAME}" in judged(story)) is against

    def test_a_disk_that_was_emptied_explains_it(self) -> None:
        story = logged_lives(again(), 11, 21, 31)
        ask(story, 35, (NAME, "id3"))
        story.fault(20, 30, "wipe-disk", "n2", scope="all")
        found = check_metadata(story.history()).anomalies
        assert [a.illegal for a in found if a.id == "listed-against-log"] == [False]


class TestFaults:
    def test_a_deletion_that_a_fault_held_up_may_happen_again(self) -> None:
        story = again("-", "-")
        story.add(50, "runner", OK, "phase", key="final-read")
        ask(story, 60)
        assert "lost-topic made-1" in judged(story.history(metadata_log=False))
        story.fault(19, 21, "pause", "n1")
        assert judged(story.history(metadata_log=False)) == []

    def test_a_second_creation_after_it(self) -> None:
        story = again("-", "-")
        change(story, 40, "-")
        assert judged(story.history(metadata_log=False)) == [f"topic-created-twice {NAME}"]
        story.fault(19, 21, "pause", "n1")
        assert judged(story.history(metadata_log=False)) == []

    @pytest.mark.parametrize("what", ["fault", "node"])
    def test_a_broker_that_began_anew_may_tell_of_what_was(self, what: str) -> None:
        story = again()
        ask(story, 40, (NAME, "id2"))
        ask(story, 50, (NAME, "id1"))
        assert f"returned-topic-id {NAME}" in judged(story.history(metadata_log=False))
        if what == "fault":
            story.fault(45, 46, "kill", "n1")
        else:
            story.observe(45, "node", {"status": "running", "exit_code": None, "oom": False})
        assert judged(story.history(metadata_log=False)) == []


class TestUnknown:
    UNKNOWN = "UnknownTopicOrPartitionError: [Error 3] UnknownTopicOrPartitionError"

    def test_a_topic_that_was_made_again_is_known(self) -> None:
        story = logged_lives(again(), 11, 21, 31)
        story.both(40, 42, "delete-topic", None, key=NAME, how="info", error=self.UNKNOWN)
        assert judged(story) == [f"acknowledged-topic-unknown {NAME}"]
        record(story, 41, "id2", removed=True)
        assert judged(story) == []


class TestConfigs:
    def test_a_topic_that_is_made_again_has_none_of_the_old_ones(self) -> None:
        asked = {"config": "flush.ms", "value": "7", "to": "n1"}
        answer = asked | {"code": 0, "message": None, "took_ms": 1}
        story = logged_lives(again(), 11)
        story.record(12, "CONFIG_RECORD", CONFIG | {"resourceName": NAME, "name": "flush.ms", "value": "7"})
        story.both(14, 15, "alter-topic", asked, answer=answer, key=NAME)
        record(story, 21, "id1", removed=True)
        record(story, 31, "id2")
        assert judged(story) == []
        story.both(40, 41, "alter-topic", asked, answer=answer, key=NAME)
        assert judged(story) == [f"metadata-ack-lost {NAME}"]


class TestMatching:
    @staticmethod
    def of(from_ns: int, to_ns: int) -> LoggedRecord:
        return LoggedRecord(from_ns, 1, TimeBounds(from_ns, to_ns))

    def test_what_was_there_before_the_log(self) -> None:
        assert matched([AcknowledgedChange(5, 6, None)], [TopicChange("a", BEFORE)]) == [(BEFORE,)]

    def test_what_was_appended_before_the_question(self) -> None:
        assert matched([AcknowledgedChange(5, 6, None)], [TopicChange("a", self.of(1, 4))]) == [()]

    def test_one_of_a_later_call(self) -> None:
        late = self.of(10, 12)
        calls = [AcknowledgedChange(5, 6, None), AcknowledgedChange(9, 13, None)]
        assert matched(calls, [TopicChange("a", late)]) == [(), (late,)]
        assert matched(calls[:1], [TopicChange("a", late)]) == [(late,)]
        assert matched([calls[0], AcknowledgedChange(9, 13, "a")], [TopicChange("a", late)]) == [(), (late,)]


def test_which_topic_a_deletion_deleted() -> None:
    other = "2 create u id3\n3 > delete u\n3 info\n2 delete u"
    text = f"{AGAIN}\n0 > delete t\n0 fail\n0 delete t\n0 delete t\n{other}"
    metadata = metadata_of(history_of(text).operations)
    lives = lives_of(metadata, "t")
    assert [deleted_id(lives, each) for each in metadata.deleted["t"]] == ["id1", "id2", "id2", None]
    others = lives_of(metadata, "u")
    assert [deleted_id(others, each) for each in metadata.deleted["u"]] == ["id3", None]
    assert deleted_id([], metadata.deleted["t"][0]) is None
