"""What share polls return is what producers wrote and other readers find; what permits a difference."""

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from checkers.columns.tables import PartitionName
from checkers.history.journals import VALUES_PER_WORKER
from checkers.history.operations import FAIL, INFO, INVOKE, OK, History, OperationType
from checkers.judge import NEEDS
from checkers.licences import Permit, licences_of
from checkers.share_groups import CHECKER, check_share_groups, contents
from checkers.verdict.verdict import Anomaly, CheckerResult, Validity
from checkers.verdict.withholding import MissingParts, withheld
from tests.checkers.share_groups.share_histories import CLIENT, GROUP, TOPIC, ShareStory, value_at

PHANTOM, WRONG, MISSING = "share-phantom", "share-wrong-record", "share-not-in-log"
PLACE = f"{GROUP}: {TOPIC}/0"


class Story(ShareStory):
    """A story with a set-up of one's own, and with readers whose records are given."""

    def configured(self, workload: Mapping[str, Any] | None = None, **config: str) -> None:
        """The set-up of a run, with some config of the topic."""
        topics = [{"name": TOPIC, "partitions": 1, "config": config}]
        settings = {"kind": "shares", **(workload or {})}
        self.add(
            "runner", OK, "setup", None, {"kafka_version": "4.3.1", "workload": settings, "topics": topics}
        )

    def sent(
        self, values: Mapping[int, Any], outcome: OperationType = OK, partition: int = 0, process: int = 90
    ) -> None:
        """A producer sends values, each of which gets the offset that is given."""
        asked = [[partition, value] for value in values.values()]
        self.add(process, INVOKE, "send", TOPIC, asked)
        acknowledged = [[partition, value, offset, "ok"] for offset, value in values.items()]
        self.add(process, outcome, "send", TOPIC, acknowledged if outcome is OK else asked)

    def reads(
        self, records: Mapping[int, Any], isolation: str = "read_uncommitted", *, start: int = 0, end: int = 0
    ) -> int:
        """A final read, to the end if that is the last record; the position of its completion."""
        asked = {"client": CLIENT, "isolation": isolation, "partition": 0}
        self.add("reader", INVOKE, "final-read", TOPIC, asked)
        position = max(records, default=start - 1) + 1
        run = [[0, list(records), list(records.values())]] if records else []
        answer = {**asked, "start": start, "end": end or position, "position": position, "records": run}
        return self.add("reader", OK, "final-read", TOPIC, answer)

    def asks(self, f: str, key: str, value: Any, outcome: OperationType = OK) -> None:
        """An administrator asks for something."""
        self.add("admin", INVOKE, f, key, value)
        self.add("admin", outcome, f, key, value)


def log(*offsets: int) -> dict[int, int]:
    """The records that are at some offsets."""
    return {offset: value_at(offset) for offset in offsets}


def judged(story: ShareStory) -> CheckerResult:
    return check_share_groups(story.history())


def found(story: ShareStory) -> dict[str, int]:
    return judged(story).counts


def only(story: ShareStory) -> Anomaly:
    (anomaly,) = judged(story).anomalies
    return anomaly


def fed(*offsets: int) -> Story:
    """A producer's records are acknowledged."""
    story = Story()
    story.configured()
    story.sent(log(*offsets))
    return story


# What producers wrote.


@pytest.mark.parametrize("value", [7, "7", "no number"])
def test_a_value_that_nobody_sent(value: int | str) -> None:
    story = fed(0, 1, 2)
    at = story.polls(1, {0: 1, 1: 1, 2: 1}, {1: value})
    story.reads(log(0, 1, 2))
    anomaly = only(story)
    assert (anomaly.id, anomaly.illegal, anomaly.subject) == (PHANTOM, True, f"{PLACE}@1")
    assert anomaly.witness == (at - 1, at)
    assert anomaly.summary == (
        f"{PLACE}@1 was {value!r} to the share poll of operation {at}, but this value was never sent"
    )


def test_a_value_that_was_sent_to_another_partition() -> None:
    story = fed(0, 1)
    story.sent({0: 77}, partition=1)
    story.polls(1, {0: 1, 1: 1}, {1: 77})
    assert only(story).summary.endswith(f"but this value was sent to {TOPIC}/1 only")


@pytest.mark.parametrize(("outcome", "counts"), [(FAIL, {PHANTOM: 1}), (INFO, {})])
def test_a_value_whose_send_failed(outcome: OperationType, counts: dict[str, int]) -> None:
    story = fed(0, 1)
    story.sent({2: 77}, outcome)
    story.polls(1, {0: 1, 2: 1}, {2: 77})
    assert found(story) == counts
    assert all("its send failed" in anomaly.summary for anomaly in judged(story).anomalies)


def test_a_value_that_was_sent_again_after_its_send_failed() -> None:
    story = fed(0, 1)
    story.sent({2: 77}, FAIL)
    story.sent({2: 77})
    story.polls(1, {2: 1}, {2: 77})
    assert found(story) == {}


def test_each_value_is_counted_once() -> None:
    story = fed(0, 1)
    for process in (1, 2, 3):
        story.polls(process, {0: process, 1: process}, {0: 7, 1: 8})
    assert found(story) == {PHANTOM: 2}


def test_a_topic_without_a_send_has_other_producers() -> None:
    story = Story()
    story.polls(1, {0: 1})
    assert found(story) == {}


@pytest.mark.parametrize(
    ("value", "lacking", "counts"),
    [
        pytest.param(5 * VALUES_PER_WORKER + 1, "worker-5", {}, id="its sender's journal is missing"),
        pytest.param(5 * VALUES_PER_WORKER + 1, "worker-4", {PHANTOM: 1}, id="another one is missing"),
        pytest.param("odd", "worker-5", {PHANTOM: 1}, id="no worker sends such a value"),
    ],
)
def test_a_value_of_a_worker_whose_journal_is_missing(
    value: Any, lacking: str, counts: dict[str, int]
) -> None:
    story = fed(0, 1, 2)
    story.polls(1, {0: 1, 1: 1}, {1: value})
    history = msgspec.structs.replace(story.history(), lacking=frozenset({lacking}))
    assert check_share_groups(history).counts == counts


def test_if_all_values_may_be_of_a_missing_journal_nothing_is_compared() -> None:
    story = Story()
    story.configured()
    story.polls(1, {0: 1}, {0: 5 * VALUES_PER_WORKER})
    story.polls(1, {0: 2}, {0: 5 * VALUES_PER_WORKER + 1})
    history = msgspec.structs.replace(story.history(), lacking=frozenset({"worker-5"}))
    assert check_share_groups(history).counts == {}


# What other readers find.


@pytest.mark.parametrize("values", [{1: value_at(2), 2: value_at(1)}, {1: value_at(2)}])
def test_values_at_the_offsets_of_others(values: dict[int, int]) -> None:
    story = fed(0, 1, 2)
    at = story.polls(1, {0: 1, 1: 1, 2: 1}, values)
    result = judged(story)
    assert (result.validity, result.counts) == (Validity.INVALID, {WRONG: len(values)})
    assert result.anomalies[0].subject == f"{PLACE}@1"
    assert result.anomalies[0].witness == (1, 2, at - 1, at)
    assert result.anomalies[0].summary == (
        f"{PLACE}@1 was {value_at(2)} to the share poll of operation {at}, "
        f"and {value_at(1)} to the acknowledgement of operation 2"
    )


def test_a_value_that_a_final_read_contradicts() -> None:
    story = fed(0)
    story.sent(log(1), INFO)
    story.sent(log(2), INFO)
    story.polls(1, {1: 1})
    at = story.reads(log(0) | {1: value_at(2)})
    anomaly = only(story)
    assert (anomaly.id, anomaly.subject, anomaly.witness[-1]) == (WRONG, f"{PLACE}@1", at)
    assert anomaly.summary.endswith(f"and {value_at(2)} to the read of operation {at}")


def test_two_share_polls_that_contradict_each_other() -> None:
    story = Story()
    story.polls(1, {1: 1}, {1: "a"})
    story.polls(2, {1: 1}, {1: "a"})
    at = story.polls(2, {1: 1}, {1: "b"})
    anomaly = only(story)
    assert (anomaly.id, anomaly.witness) == (WRONG, (0, 1, at - 1, at))
    assert "was 'b'" in anomaly.summary
    reported = [line.partition(" s ")[2] for line in anomaly.explanation]
    assert reported == [
        "the share poll of operation 1 had 'a' there.",
        f"the share poll of operation {at} had 'b' there.",
    ]


def test_what_only_others_contradict_is_not_about_share_groups() -> None:
    story = fed(0, 1, 2)
    story.polls(1, {0: 1})
    story.reads(log(0) | {1: value_at(2), 2: value_at(1)})
    assert found(story) == {}


def test_odd_values_are_compared_with_those_of_other_readers() -> None:
    story = Story()
    story.configured()
    story.sent({0: "a", 1: "b", 2: "c"})
    story.polls(1, {0: 1, 1: 1, 2: 1}, {0: "a", 1: "b", 2: "d"})
    story.reads({0: "a", 1: "b", 2: "c"})
    assert found(story) == {PHANTOM: 1}
    story.polls(1, {0: 1}, {0: "b"})
    assert found(story) == {PHANTOM: 1, WRONG: 1}


# What permits another record.


def rewritten(story: Story) -> None:
    """An acknowledged record is replaced by another one, which a share poll returns."""
    story.sent(log(0, 1))
    story.add("x", INVOKE, "send", TOPIC, [[0, 77]])
    story.add("x", OK, "send", TOPIC, [[0, 77, 1, "ok"]])
    story.polls(1, {0: 1, 1: 1}, {1: 77})


def test_an_unclean_election_permits_another_record() -> None:
    story = Story()
    story.configured()
    rewritten(story)
    story.asks("elect-leaders", "unclean", {"partitions": [[TOPIC, 0]]}, INFO)
    assert only(story).illegal, "it was requested later"
    story = Story()
    story.configured()
    story.asks("elect-leaders", "unclean", {"partitions": [[TOPIC, 0]]}, INFO)
    rewritten(story)
    anomaly = only(story)
    assert (anomaly.id, anomaly.illegal) == (WRONG, False)
    assert "ElectLeaders UNCLEAN" in str(anomaly.licence)
    assert judged(story).validity is Validity.UNKNOWN, "from which offset on is unknown"


@pytest.mark.parametrize(
    ("acks", "returned", "illegal"), [("1", False, False), ("1", True, True), ("all", False, True)]
)
def test_without_acks_of_all_replicas_what_nobody_read_may_be_lost(
    acks: str,
    returned: bool,  # noqa: FBT001 - pytest's way
    illegal: bool,  # noqa: FBT001 - pytest's way
) -> None:
    story = Story()
    story.configured({"acks": acks, "idempotent": False})
    story.sent(log(0, 1))
    if returned:
        story.polls(1, {1: 1})
    story.fault()
    story.sent({1: 77})
    story.polls(1, {1: 1}, {1: 77})
    result = judged(story)
    assert [(anomaly.id, anomaly.illegal) for anomaly in result.anomalies] == [(WRONG, illegal)]
    assert result.validity is (Validity.INVALID if illegal else Validity.VALID)


def test_of_many_findings_illegal_ones_are_listed_first() -> None:
    story = Story()
    story.configured({"acks": "1", "idempotent": False})
    lost, kept = range(40), range(40, 45)
    again = {offset: 10_000 + offset for offset in (*lost, *kept)}
    story.sent(log(*lost, *kept))
    story.polls(1, dict.fromkeys(kept, 1))
    story.fault()
    story.sent(again)
    story.polls(1, dict.fromkeys(again, 1), again)
    result = judged(story)
    assert result.counts == {WRONG: 45}
    assert [anomaly.illegal for anomaly in result.anomalies].count(True) == len(kept)
    assert len(result.anomalies) == 20


# The end of the log, and places without a record.


def test_a_record_past_the_end_of_the_log() -> None:
    story = fed(0, 1, 2)
    at = story.polls(1, {1: 1, 9: 1}, {9: value_at(2)})
    last = story.reads(log(0, 1, 2))
    anomaly = only(story)
    assert (anomaly.id, anomaly.illegal, anomaly.subject) == (MISSING, True, f"{PLACE}@9")
    assert anomaly.witness == (at - 1, at, last)
    assert anomaly.summary == (
        f"{PLACE}@9 was {value_at(2)} to the share poll of operation {at}, but a final read from offset 0 "
        f"to the listed end 3 found no record there, operation {last}"
    )


@pytest.mark.parametrize(
    ("outcome", "how", "counts"),
    [
        pytest.param(OK, {}, {MISSING: 1}, id="its send was acknowledged before"),
        pytest.param(INFO, {}, {}, id="its send may have been carried out later"),
        pytest.param(OK, {"idempotent": False}, {}, id="its send may have been repeated later"),
        pytest.param(
            OK,
            {"idempotent": False, "durable_processes": [90]},
            {MISSING: 1},
            id="its process was idempotent",
        ),
    ],
)
def test_what_is_returned_after_the_end_was_listed(
    outcome: OperationType, how: dict[str, Any], counts: dict[str, int]
) -> None:
    story = Story()
    story.configured(how)
    story.sent(log(0, 1))
    story.sent({2: 77}, outcome)
    story.add("runner", OK, "phase", "final-read")
    story.polls(1, {9: 1}, {9: 77})
    story.reads(log(0, 1))
    assert found(story) == counts


def test_a_send_that_began_after_the_end_was_listed() -> None:
    story = fed(0, 1)
    story.add("runner", OK, "phase", "final-read")
    story.sent(log(2))
    story.polls(1, {2: 1})
    story.reads(log(0, 1))
    assert found(story) == {}


def test_a_place_between_records_where_there_is_none() -> None:
    story = fed(0, 1, 3)
    story.add("runner", OK, "phase", "final-read")
    story.polls(1, {1: 1, 2: 1}, {2: value_at(3)})
    story.reads(log(0, 1, 3))
    assert found(story) == {MISSING: 1}


def test_a_record_that_one_final_read_found_is_in_the_log() -> None:
    story = fed(0, 1, 2, 3)
    story.polls(1, {2: 1})
    story.reads(log(0, 1, 3))
    assert found(story) == {MISSING: 1}
    story.reads(log(0, 1, 2, 3))
    assert found(story) == {}


def test_the_first_final_read_is_shown() -> None:
    story = fed(0, 1, 3)
    story.polls(1, {2: 1}, {2: value_at(3)})
    last = story.reads(log(0, 1, 3))
    story.reads(log(0, 1, 3))
    assert only(story).witness[-1] == last


@pytest.mark.parametrize(
    ("isolation", "end"), [("read_committed", 0), ("read_uncommitted", 4)], ids=["of committed", "incomplete"]
)
def test_final_reads_that_do_not_cover_a_record(isolation: str, end: int) -> None:
    story = fed(0, 1, 2)
    story.polls(1, {2: 1})
    story.reads(log(0, 1), isolation, end=end)
    assert found(story) == {}


def test_without_a_final_read_nothing_is_missing() -> None:
    story = fed(0, 1)
    story.polls(1, {9: 1}, {9: value_at(1)})
    assert found(story) == {}


@pytest.mark.parametrize(("below", "illegal"), [(1, True), (2, False)])
def test_deleted_records_need_not_be_there(below: int, illegal: bool) -> None:  # noqa: FBT001 - pytest's way
    story = fed(0, 1, 2)
    story.polls(1, {1: 1})
    story.asks("delete-records", TOPIC, [[0, below]])
    story.reads(log(2), start=2)
    anomaly = only(story)
    assert (anomaly.id, anomaly.illegal) == (MISSING, illegal)
    assert judged(story).validity is (Validity.INVALID if illegal else Validity.VALID)


def test_deleted_records_do_not_permit_other_ones() -> None:
    story = fed(0, 1, 2)
    story.asks("delete-records", TOPIC, [[0, 2]])
    story.polls(1, {1: 1}, {1: value_at(2)})
    assert only(story).illegal


def test_compaction_removes_records() -> None:
    story = Story()
    story.configured({"keys": 4}, **{"cleanup.policy": "compact"})
    story.sent(log(0, 1, 2, 3))
    story.polls(1, {1: 1})
    story.reads(log(0, 2, 3))
    assert found(story) == {}
    story.polls(1, {1: 1}, {1: value_at(2)})
    assert found(story) == {WRONG: 1}


def test_an_unclean_election_permits_a_shorter_log() -> None:
    story = fed(0, 1, 2)
    story.polls(1, {2: 1})
    story.asks("elect-leaders", "unclean", {"partitions": [[TOPIC, 0]]}, INFO)
    story.reads(log(0, 1))
    result = judged(story)
    assert [(anomaly.id, anomaly.illegal) for anomaly in result.anomalies] == [(MISSING, False)]
    assert result.validity is Validity.UNKNOWN
    assert "may have been truncated legally" in str(result.unknown_because)


def test_a_known_gap_of_kafka_permits_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    class Gaps:
        """What permits losses, each as a known gap."""

        def __init__(self, history: History) -> None:
            self._sound = licences_of(history)

        def of(self, partition: PartitionName) -> tuple[Permit, ...]:
            return tuple(permit._replace(gap=True) for permit in self._sound.of(partition))

    monkeypatch.setattr(contents, "licences_of", Gaps)
    story = fed(0, 1, 2)
    story.polls(1, {2: 1})
    story.asks("elect-leaders", "unclean", {"partitions": [[TOPIC, 0]]}, INFO)
    story.reads(log(0, 1))
    anomaly = only(story)
    assert (anomaly.id, anomaly.illegal, anomaly.licence) == (MISSING, True, None)
    assert judged(story).validity is Validity.INVALID


def test_two_partitions_have_licences_of_their_own() -> None:
    story = Story()
    topics = [{"name": TOPIC, "partitions": 2}]
    value = {"kafka_version": "4.3.1", "workload": {"kind": "shares"}, "topics": topics}
    story.add("runner", OK, "setup", None, value)
    for partition in (0, 1):
        story.sent({0: 70 + partition, 1: 80 + partition}, partition=partition)
    story.asks("elect-leaders", "unclean", {"partitions": [[TOPIC, 1]]}, INFO)
    asked = story.begins_poll(1)
    runs = [[partition, [0], [80 + partition], [1]] for partition in (0, 1)]
    story.add(1, OK, "share-poll", TOPIC, asked | {"records": runs})
    result = judged(story)
    assert [(anomaly.subject, anomaly.illegal) for anomaly in result.anomalies] == [
        (f"{PLACE}@0", True),
        (f"{GROUP}: {TOPIC}/1@0", False),
    ]


# Missing evidence.


def test_missing_journals_make_the_rules_unknown_that_need_them() -> None:
    story = fed(0, 1, 2)
    story.polls(1, {0: 1, 1: 1, 9: 1}, {0: 7, 1: value_at(0), 9: value_at(2)})
    story.reads(log(0, 1, 2))
    result = judged(story)
    everything = {PHANTOM, WRONG, MISSING}
    assert set(result.counts) == everything

    def left(*missing: str, deleters: frozenset[str] = frozenset()) -> set[str]:
        lost = MissingParts(frozenset(missing), "shares", deleters)
        return set(withheld(result, NEEDS[CHECKER], lost).counts)

    for journal in ("nemesis", "admin", "replicas", "moves"):
        assert left(journal) == {PHANTOM}
    assert left("worker-3") == everything
    assert left("worker-3", deleters=frozenset({"worker-3"})) == {PHANTOM, WRONG}
    assert left("observer-partitions-b1") == everything
