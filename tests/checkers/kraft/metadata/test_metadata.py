"""Topics that come and go: every rule at its smallest, what is legal beside it, and what makes it unknown."""

import msgspec
import pytest

from checkers.kraft.metadata import CREATED_MIN, DELETED_MIN, check_metadata
from checkers.verdict.verdict import CheckerResult, Validity
from tests.checkers.kraft.metadata.metadata_histories import history_of

MANY = "\n".join(
    [f"9 create many-{i} -" for i in range(CREATED_MIN)] + [f"9 delete many-{i}" for i in range(CREATED_MIN)]
)
"""What a verdict needs; all of it is gone again."""


def judged(text: str) -> CheckerResult:
    return check_metadata(history_of(f"{MANY}\n{text}"))


def found(text: str) -> dict[str, int]:
    result = judged(text)
    assert (result.validity is Validity.INVALID) == bool(result.counts)
    return result.counts


def test_what_is_created_listed_and_deleted_is_valid() -> None:
    result = judged(
        """
        0 create t id1
        1 list b1 t=id1
        0 delete t
        0 create u -
        1 list b1 t=id1       # its cache is old, and that is legal
        phase final-read
        1 list b1 t=id1 u=id2 # not yet the last one
        1 list b1 u=id2
        2 list b2 u=id2
        """
    )
    assert result.validity is Validity.VALID
    assert result.figures == {
        "created_topics": CREATED_MIN + 2,
        "recreated_topics": 0,
        "deleted_topics": CREATED_MIN + 1,
        "indeterminate_changes": 0,
        "listings": 5,
    }


@pytest.mark.parametrize(
    "text",
    [
        "1 list b1 t=id1",
        "1 list b1 t=id1\n0 create t id1",
        "0 > create t\n0 fail\n1 list b1 t=id1",
    ],
)
def test_a_topic_that_nobody_created_is_a_phantom(text: str) -> None:
    assert found(f"{text}\nphase final-read\n1 list b1 t=id1") == {"phantom-topic": 1}


def test_a_topic_may_be_listed_while_it_is_created() -> None:
    assert not found("1 > list b1\n0 > create t\n1 ok t=id1\n0 ok id1\nphase final-read\n1 list b1 t=id1")


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("0 create t id1\n1 list b1 t=id2\n1 list b1 t=id3", {"changed-topic-id": 1}),
        ("0 create t -\n1 list b1 t=id1\n1 list b1 t=id2", {"changed-topic-id": 1}),
        ("0 create t -\n1 list b1 t=-\n1 list b1 t=id2", {}),
        ("0 > create t\n0 info\n1 list b1 t=id1\n1 list b1 t=id2", {}),
    ],
)
def test_a_topic_keeps_its_id(text: str, counts: dict[str, int]) -> None:
    last = text[-3:]
    assert found(f"{text}\nphase final-read\n1 list b1 t={last}") == counts


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("0 create t id1", {"lost-topic": 1}),
        ("0 create t id1\n0 > delete t\n0 fail", {"lost-topic": 1}),
        ("0 create t id1\n0 delete t", {}),
        ("0 create t id1\n0 > delete t\n0 info", {}),
        ("0 create t id1\n0 > delete t", {}),
        ("0 > create t\n0 info", {}),
        ("0 > create t", {}),
        ("0 > create t\n0 fail", {}),
    ],
)
def test_a_topic_that_was_created_stays_unless_somebody_deletes_it(text: str, counts: dict[str, int]) -> None:
    assert found(f"{text}\nphase final-read\n1 list b1") == counts


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("0 delete t", {"resurrected-topic": 1}),
        ("0 > delete t\n0 info\n0 delete t", {"resurrected-topic": 1}),
        ("0 > delete t\n0 info", {}),
        ("0 > delete t\n0 fail", {}),
        ("0 > delete t", {}),
    ],
)
def test_a_topic_that_was_deleted_is_gone(text: str, counts: dict[str, int]) -> None:
    assert found(f"0 create t id1\n{text}\nphase final-read\n1 list b1 t=id1") == counts


def test_a_deletion_that_ends_after_the_last_list_began_proves_nothing() -> None:
    text = "0 create t id1\n0 > delete t\nphase final-read\n1 > list b1\n0 ok\n1 ok t=id1"
    assert not found(text)


def test_brokers_end_up_with_the_same_topics() -> None:
    text = """
        0 > create t
        0 info
        phase final-read
        1 list b1 t=id1
        1 list b2
        1 list b3
        """
    result = judged(text)
    assert result.counts == {"divergent-metadata": 1}
    assert result.anomalies[0].subject == "b2"
    assert "t" in result.anomalies[0].summary


def test_brokers_end_up_with_the_same_ids() -> None:
    text = "0 > create t\n0 info\nphase final-read\n1 list b1 t=id1\n1 list b2 t=id2"
    assert found(text) == {"divergent-metadata": 1}


def test_the_proof_names_the_operations() -> None:
    (anomaly,) = judged("0 create t id1\nphase final-read\n1 list b1").anomalies
    begun = 2 * 2 * CREATED_MIN
    assert anomaly.witness == (begun + 1, begun + 4)
    assert anomaly.subject == "t"
    assert "created" in anomaly.summary
    assert anomaly.explanation == (
        f"Operation {begun + 1}: create-topic of t by process 0 ended ok.",
        f"Operation {begun + 4}: b1's list by process 1 ended ok.",
    )


def test_a_history_without_topics_that_come_and_go_does_not_exercise_it() -> None:
    assert check_metadata(history_of("setup log 2\nphase final-read")).validity is Validity.NOT_EXERCISED
    assert check_metadata(history_of("")).validity is Validity.NOT_EXERCISED


def test_a_workload_that_did_nothing_is_unknown() -> None:
    result = check_metadata(history_of("setup metadata 2\nphase final-read\n1 list b1\n1 list b2"))
    assert result.validity is Validity.UNKNOWN
    assert [assumption.met for assumption in result.assumptions] == [False, True]


@pytest.mark.parametrize("deleted", [DELETED_MIN - 1, DELETED_MIN])
def test_deletions_are_needed_too(deleted: int) -> None:
    changes = [f"0 create t{i} -" for i in range(CREATED_MIN)] + [f"0 delete t{i}" for i in range(deleted)]
    left = " ".join(f"t{i}=-" for i in range(deleted, CREATED_MIN))
    result = check_metadata(history_of("\n".join([*changes, "phase final-read", f"1 list b1 {left}"])))
    assert (result.validity is Validity.VALID) == (deleted >= DELETED_MIN)


@pytest.mark.parametrize("lists", ["", "1 list b1", "1 list b1\n1 list b1", "1 > list b2\n1 fail\n1 list b1"])
def test_every_broker_has_to_be_asked_at_the_end(lists: str) -> None:
    result = check_metadata(
        history_of(f"setup metadata 2\n{MANY}\n1 list b1\n1 list b2\nphase final-read\n{lists}")
    )
    assert result.validity is Validity.UNKNOWN
    assert {assumption.name: assumption.met for assumption in result.assumptions} == {
        "topics-changed": True,
        "topics-finally-listed": False,
    }


def test_without_a_final_phase_nothing_is_known() -> None:
    assert judged("0 create t id1\n1 list b1").validity is Validity.UNKNOWN


def test_only_the_first_final_phase_counts() -> None:
    assert found("0 create t id1\nphase final-read\n1 list b1\nphase final-read") == {"lost-topic": 1}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("0 > create t\n0 > list b1\n0 ok", "begins while another is outstanding"),
    ],
)
def test_a_shape_that_nobody_knows_is_unknown(text: str, reason: str) -> None:
    result = judged(text)
    assert result.validity is Validity.UNKNOWN
    assert reason in str(result.unknown_because)


@pytest.mark.parametrize(
    ("at", "changes", "reason"),
    [
        (1, {"key": 7}, "completes what was not begun"),
        (0, {"key": 7}, "the name of a topic is a text"),
        (1, {"value": {"topic_id": 7}}, "topic_id"),
        (3, {"value": [["t"]]}, "operation 3"),
        (3, {"f": "delete-topic"}, "completes what was not begun"),
        (0, {"f": "read"}, "completes what was not begun"),
    ],
)
def test_a_damaged_operation_is_unknown(at: int, changes: dict[str, object], reason: str) -> None:
    history = history_of("0 create t id1\n1 list b1 t=id1")
    operations = list(history.operations)
    operations[at] = msgspec.structs.replace(operations[at], **changes)
    result = check_metadata(msgspec.structs.replace(history, operations=tuple(operations)))
    assert result.validity is Validity.UNKNOWN
    assert reason in str(result.unknown_because)


def test_a_damaged_history_is_never_valid() -> None:
    text = f"{MANY}\nphase final-read\n1 list b1"
    assert check_metadata(history_of(text)).validity is Validity.VALID
    result = check_metadata(history_of(text, damage=("cut short",)))
    assert (result.validity, result.unknown_because) == (Validity.UNKNOWN, "cut short")
