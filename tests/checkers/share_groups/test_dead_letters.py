"""Dead-letter queues have records that were rejected or at the limit of deliveries, with right headers."""

from typing import Any

import msgspec
import pytest

from checkers.columns.tables import PartitionName
from checkers.evidence.loading import columns_of
from checkers.history.operations import FAIL, INVOKE, OK
from checkers.judge import judge
from checkers.licences.permits import LicenceEvent, Permit
from checkers.logs.log import check_log
from checkers.share_groups import check_share_groups, dead_letters
from checkers.share_groups.dead_letters import check_dead_letters
from checkers.verdict.verdict import CheckerResult, Validity
from tests.checkers.share_groups.share_histories import GROUP, LIMIT, TOPIC, ShareStory, value_at, whole

QUEUE = f"dlq.{GROUP}"


def headers(offset: int, count: int | None = 1, /, **changed: str | None) -> dict[str, str]:
    """The headers of a dead letter; those that are changed to None are missing."""
    texts: dict[str, str | None] = {"topic": TOPIC, "partition": "0", "offset": str(offset), "group": GROUP}
    texts["delivery.count"] = None if count is None else str(count)
    texts |= changed
    return {f"__dlq.errors.{name}": text for name, text in texts.items() if text is not None}


def reads(story: ShareStory, *letters: tuple[dict[str, str], Any], read: bool = True) -> None:
    """The queue is read, and has these records."""
    asked: dict[str, Any] = {"group": GROUP, "partition": 0}
    story.add("letters", INVOKE, "dead-letters", QUEUE, asked)
    records = [[at, texts, value] for at, (texts, value) in enumerate(letters)]
    answer = asked | {"end": len(records), "records": records}
    story.add("letters", OK if read else FAIL, "dead-letters", QUEUE, answer if read else asked)


def rejecting(*, kind: str = "reject", dead_letters: bool = True) -> ShareStory:
    """A group with a queue accepts records 0 to 11, and settles record 12 by another acknowledgement."""
    story = ShareStory()
    story.setup(GROUP)
    story.operations[0].value["workload"]["dead_letters"] = dead_letters
    story.sends(*range(13))
    story.polls(1, dict.fromkeys(range(13), 1))
    story.acknowledges(1, range(12))
    story.acknowledges(1, [12], kind)
    return story


def judged(story: ShareStory) -> CheckerResult:
    return check_dead_letters(story.history())


def test_a_rejected_record_is_a_dead_letter() -> None:
    story = rejecting()
    reads(story, (headers(12), value_at(12)), (headers(12), None))
    result = judged(story)
    assert (result.validity, result.counts) == (Validity.VALID, {})
    assert (result.figures["dead_letters"], result.figures["dead_letters_missing"]) == (2, 0)


def test_a_missing_dead_letter_is_a_figure() -> None:
    story = rejecting()
    story.polls(1, {13: 1})
    story.acknowledges(1, [13], "reject")
    reads(story, (headers(12), value_at(12)))
    result = judged(story)
    assert (result.validity, result.counts) == (Validity.VALID, {})
    assert (result.figures["dead_letters"], result.figures["dead_letters_missing"]) == (1, 1)


def test_a_queue_without_any_dead_letter_shows_nothing() -> None:
    story = rejecting()
    reads(story)
    result = judged(story)
    assert (result.validity, result.counts) == (Validity.UNKNOWN, {})
    (assumption,) = result.assumptions
    assert (assumption.name, assumption.met, assumption.observed) == (f"dead letters of {GROUP}", False, "0")
    assert result.figures["dead_letters_missing"] == 1


def test_a_dead_letter_of_a_record_that_nobody_rejected() -> None:
    story = rejecting()
    reads(story, (headers(3), value_at(3)))
    result = judged(story)
    assert (result.validity, result.counts) == (Validity.INVALID, {"dead-letter-unasked": 1})
    (anomaly,) = result.anomalies
    assert anomaly.summary == (
        f"{GROUP}: {TOPIC}/0@3: the dead letter {QUEUE}/0@0 has the delivery count 1, the limit is {LIMIT}, "
        "and no member asked to reject it"
    )


@pytest.mark.parametrize("count", [LIMIT, None])
def test_at_the_limit_of_deliveries_nobody_must_have_rejected_it(count: int | None) -> None:
    story = rejecting(kind="accept")
    reads(story, (headers(3, count), value_at(3)))
    assert judged(story).counts == {}


@pytest.mark.parametrize(
    ("texts", "value", "problem"),
    [
        (headers(12, group="share-9"), value_at(12), "names the group share-9"),
        (headers(12, topic="other"), value_at(12), "names the topic other"),
        (headers(12, LIMIT + 1), value_at(12), f"has the delivery count {LIMIT + 1}"),
        (headers(12, 0), value_at(12), "has the delivery count 0"),
        (headers(12), value_at(3), f"has the value {value_at(3)}"),
        (headers(12, offset=None), value_at(12), "has no header __dlq.errors.offset"),
        (headers(12, partition="x"), value_at(12), "has the header __dlq.errors.partition='x'"),
        (headers(12, **{"delivery.count": "-1"}), value_at(12), "has the header __dlq.errors.delivery.count"),
    ],
)
def test_a_dead_letter_that_names_no_record_of_its_group(
    texts: dict[str, str], value: int, problem: str
) -> None:
    story = rejecting()
    reads(story, (texts, value))
    result = judged(story)
    assert result.counts == {"dead-letter-wrong": 1}
    assert problem in result.anomalies[0].summary


def test_a_record_that_somebody_else_wrote_is_wrong_and_no_final_read_shows_what_became_of_it() -> None:
    """Only brokers write to a queue; the harness has no right to do so either."""
    story = rejecting()
    queue = {"name": QUEUE, "partitions": 1, "loaded": False, "read": False}
    story.operations[0].value["topics"].append(queue)
    story.add("probe", INVOKE, "send", QUEUE, [[0, 9_000_000_004]])
    story.add("probe", OK, "send", QUEUE, [[0, 9_000_000_004, 1, "ok"]])
    reads(story, (headers(12), value_at(12)), ({}, 9_000_000_004))
    result = judged(story)
    assert (result.validity, result.counts) == (Validity.INVALID, {"dead-letter-wrong": 1})
    assert f"the dead letter {QUEUE}/0@1 has no header" in result.anomalies[0].summary
    log = check_log(story.history())
    assert log.validity is Validity.UNKNOWN
    assert "no final read covers" in str(log.unknown_because)


def test_a_value_of_a_record_that_no_member_received_is_not_compared() -> None:
    story = rejecting()
    reads(story, (headers(40, LIMIT), value_at(3)))
    assert judged(story).counts == {}


@pytest.mark.parametrize("asked", [True, False])
def test_a_queue_that_was_not_read_leaves_only_these_rules_open(asked: bool) -> None:  # noqa: FBT001 - a case
    story = rejecting()
    if asked:
        reads(story, read=False)
    story.starts(13)
    story.lists(*range(13))
    result = judged(story)
    assert (result.validity, result.counts) == (Validity.UNKNOWN, {})
    assert result.unknown_because == f"the dead-letter queue of {GROUP} was not read completely"
    assert check_share_groups(story.history()).validity is Validity.VALID


def test_a_partition_that_was_not_read_leaves_them_open_and_findings_in_another_one_count() -> None:
    story = rejecting()
    reads(story, (headers(12), value_at(12)))
    asked: dict[str, Any] = {"group": GROUP, "partition": 1}
    story.add("letters", INVOKE, "dead-letters", QUEUE, asked)
    story.add("letters", FAIL, "dead-letters", QUEUE, asked)
    result = judged(story)
    assert (result.validity, result.unknown_because) == (
        Validity.UNKNOWN,
        f"the dead-letter queue of {GROUP} was not read completely",
    )
    reads(story, (headers(3), value_at(3)))
    assert judged(story).validity is Validity.INVALID


def test_only_another_value_may_follow_from_a_truncation(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another record may have had its offset; it would have named the same topic and the same group."""

    class Licences:
        def of(self, name: PartitionName) -> tuple[Permit, ...]:
            assert name == PartitionName(TOPIC, 0)
            event = LicenceEvent(0, 1, name, "a disk was lost", above=5)
            return (Permit(event, covers_returned=True, text="a disk was lost"),)

    monkeypatch.setattr(dead_letters, "licences_of", lambda _: Licences())
    story = rejecting()
    reads(story, (headers(12), value_at(3)))
    result = judged(story)
    assert (result.validity, result.counts) == (Validity.UNKNOWN, {"dead-letter-wrong": 1})
    assert str(result.unknown_because).endswith("may follow from a disk was lost")
    assert result.open_anomalies == ("dead-letter-wrong",)
    for texts, value in ((headers(3), value_at(4)), (headers(12, group="other"), value_at(12))):
        story = rejecting()
        reads(story, (texts, value))
        assert judged(story).validity is Validity.INVALID


def test_a_topic_that_a_member_wanted_to_poll_may_be_named() -> None:
    """The answer of that poll may have been lost, and the record may be at the limit of deliveries."""
    story = ShareStory()
    story.setup(GROUP)
    story.begins_poll(1)
    reads(story, (headers(0, LIMIT), value_at(0)))
    assert judged(story).counts == {}


@pytest.mark.parametrize("read", [True, False])
def test_no_final_read_of_a_queue_is_expected(read: bool) -> None:  # noqa: FBT001 - a case
    story = rejecting()
    queue = {"name": QUEUE, "partitions": 1, "loaded": False, "read": read}
    story.operations[0].value["topics"].append(queue)
    assert (PartitionName(QUEUE, 0) in columns_of(story.history()).partitions) is read


def test_without_queues_there_is_nothing_to_judge() -> None:
    assert judged(rejecting(dead_letters=False)).validity is Validity.NOT_EXERCISED
    assert judged(whole()).validity is Validity.NOT_EXERCISED


def test_the_journals_of_members_show_which_topics_a_group_has_and_what_it_rejected() -> None:
    """Without one of them, findings about topics and rejections are withheld."""
    story = rejecting()
    reads(story, (headers(3), value_at(3)), (headers(3, topic="other"), value_at(3)))
    history = msgspec.structs.replace(story.history(), lacking=frozenset({"worker-1"}))
    (result,) = (one for one in judge(history).results if one.checker == "dead-letters")
    assert (result.validity, result.anomalies) == (Validity.UNKNOWN, ())
