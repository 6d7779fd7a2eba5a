"""Signatures of one cause in runs with other seeds, nodes, offsets and times, and of different causes."""

import pytest

from checkers.verdict.verdict import Anomaly, Validity, Verdict, result_of
from results.failures.signatures import FailureSignature, signatures_in
from results.run.wording import normalised
from tests.checkers.log_histories import judged

NO_DIGIT, DIGIT = "kQzWvRbTnGhJcLmXpYdFsA", "3Zx-9Qk_TnGhJcLmXpYdFs"


def signature(checker: str, name: str, summary: str, subject: str | None) -> str:
    """The id of the signature of a run with this anomaly."""
    found = Anomaly(name, summary, "g", "s", subject=subject, illegal=True)
    (one,) = signatures_in(Verdict(Validity.INVALID, (result_of(checker, [found]),), None, ()))
    return one.id


@pytest.mark.parametrize(
    ("checker", "name", "one", "other"),
    [
        (
            "log",
            "lost-write",
            ("17 was acknowledged at log-0/3@42 but is in no final read", "log-0/3@42"),
            ("3000000031 was returned to a reader at log-11/0@7 but is in no final read", "log-11/0@7"),
        ),
        (
            "transactions",
            "G-single",
            ("2 transactions in a circle (G-single): T1 wr T2 rw T1", "T1"),
            ("5 transactions in a circle (G-single): T1 rw T2 wr T3 ww T4 ww T5 process T1", "T1"),
        ),
        (
            "registers",
            "nonlinearizable",
            ("r6 must have held 51 at a time at which it held null throughout.", "r6"),
            ("r0 must have held 47 at a time at which it held 22 throughout.", "r0"),
        ),
        (
            "registers",
            "nonlinearizable",
            ("r6 must have held null and 37 at one time.", "r6"),
            ("r0 must have held 47 and 22 at one time.", "r0"),
        ),
        (
            "elections",
            "ineligible-leader",
            ("Broker 1 was elected, and was neither in the ISR [2, 3] nor in the ELR [].", "log-0/3"),
            ("Broker 3 was elected, and was neither in the ISR [2] nor in the ELR [1].", "log-0/0"),
        ),
        (
            "coordinators",
            "two-coordinators",
            ("b1 and b2 answered as coordinator of group readers", "group readers"),
            ("b1 and b2 and b3 answered as coordinator of group readers", "group readers"),
        ),
        (
            "metadata",
            "resurrected-topic",
            ("orders was deleted, but kafka-python listed it afterwards.", "orders"),
            ("events was deleted, but kafka-python listed it afterwards.", "events"),
        ),
        (
            "groups",
            "unassigned",
            ("readers assigned orders/3 to no member within 30 s", "readers: orders/3"),
            ("writers assigned orders/3, orders/11 to no member within 31 s", "writers: orders/3"),
        ),
        (
            "nodes",
            "missing",
            (f"b1 had no log log-0-3 of the topic {DIGIT}, 7.5 s after it became a replica.", "b1"),
            (f"b2 had no log log-0-1 of the topic {NO_DIGIT}, 12.0 s after it became a replica.", "b2"),
        ),
    ],
)
def test_one_cause_has_one_signature(
    checker: str, name: str, one: tuple[str, str], other: tuple[str, str]
) -> None:
    assert signature(checker, name, *one) == signature(checker, name, *other)


def logged(offset: int, partitions: str, error: str) -> str:
    """A line of a log as the checker of nodes quotes it: cut after 300 characters."""
    line = (
        f"2026-11-28T01:08:59.0{offset}Z ERROR [metadata-loader-{offset}] Encountered fatal fault: cannot "
        f"apply at offset {offset} the records of {partitions} (org.apache.kafka.FaultHandler) {error}: "
        "cannot read them into memory, because the file was closed or its position is not that of a batch, "
        "and the loader can't continue without these records of the metadata log, so it ends the process"
    )
    return f"b1 at {offset / 10} s: {line[:300]}"


def test_where_a_quoted_line_is_cut_does_not_matter() -> None:
    texts = [
        logged(9, "log-0-1", "java.io.UncheckedIOException"),
        logged(1_204_417, "log-0-1,log-0-2,log-0-3", "java.io.UncheckedIOException"),
    ]
    assert texts[0][-10:] != texts[1][-10:]
    assert len({signature("nodes", "node-log-fatal", text, "b1") for text in texts}) == 1


def test_another_exception_in_a_quoted_line_is_another_failure() -> None:
    errors = ("java.io.UncheckedIOException", "java.lang.IllegalStateException")
    texts = [logged(9, "log-0-1", error) for error in errors]
    assert len({signature("nodes", "node-log-fatal", text, "b1") for text in texts}) == 2


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The commit of group-1 was answered with 16, but b1 led.", "The commit of group-1 was lost."),
        ("log-0/3 has no leader", "log-0/3 has no full ISR"),
        ("it was not killed or stopped", "out of memory"),
        ("got _FENCED for 1 record", "got OUT_OF_ORDER_SEQUENCE_NUMBER for 1 record"),
        ("failed with UnknownMemberException", "failed with UnreleasedInstanceIdError"),
    ],
)
def test_different_causes_have_different_signatures(one: str, other: str) -> None:
    assert signature("log", "a", one, "log-0/3") != signature("log", "a", other, "log-0/3")


def test_ids_of_kafka_without_a_digit_are_no_words_and_names_of_classes_are() -> None:
    assert len(NO_DIGIT) == len("UnknownMemberException") == 22
    assert normalised(f"{NO_DIGIT} and {DIGIT}") == "# and #"
    assert normalised("UnknownMemberException") == "UnknownMemberException"
    assert normalised("NOT_ENOUGH_REPLICAS_XY") == "NOT_ENOUGH_REPLICAS_XY"


def of_history(text: str) -> tuple[FailureSignature, ...]:
    """The signatures of a history of sends, polls and final reads."""
    return signatures_in(Verdict(Validity.INVALID, (judged(text),), None, ()))


LOSSES = (
    "p0 send 0@0=1 0@1=2\na final 0 0..1 0@0=1",
    "p7 send 1@0=31 1@1=32 1@2=33 1@3=34\nb final 1 0..2 1@0=31 1@1=32",
    "p3 send 0@0=5 0@?=6\nr9 assign 0@0\nr9 poll 0@0=5 0@1=6\na final 0 0..1 0@0=5",
)
DUPLICATES = (
    "p0 send 0@0=1\na final 0 0..2 0@0=1 0@1=1",
    "p5 send 1@0=8 1@1=9\nb final 1 0..4 1@0=8 1@1=9 1@2=9 1@3=9",
)


def test_judged_histories_of_one_cause_have_one_signature_and_those_of_others_another() -> None:
    losses, duplicates = {of_history(text) for text in LOSSES}, {of_history(text) for text in DUPLICATES}
    assert len(losses) == len(duplicates) == 1
    assert [one.anomaly for one in losses.pop()] == ["lost-write"]
    assert [one.anomaly for one in duplicates.pop()] == ["duplicate"]
