"""Compaction and transactions: the last committed record of a key stays, whatever was aborted after it."""

import pytest

from checkers.logs.log.licensing import COMPACTED, EXPIRED, UNDECIDED
from checkers.verdict.verdict import Validity
from tests.checkers.log_histories import judged

SETUP = "setup cleanup=compact keys=2\n"
OLD = "p0 send 0@0=1\n"
"""A record with key 1, outside a transaction."""
MARKS = "setup cleanup=compact keys=2 tombstones=2 marks=1\n"
"""Values 2 and 3 are tombstones, 5 is none; they are kept for 1 ms."""


def illegal(text: str) -> set[tuple[str, str | None]]:
    """Ids and subjects of the illegal anomalies."""
    return {(found.id, found.subject) for found in judged(text).anomalies if found.illegal}


def licences(text: str) -> dict[str | None, str | None]:
    """The licence of each loss, by subject."""
    return {found.subject: found.licence for found in judged(text).anomalies if found.id == "lost-write"}


def test_a_later_record_that_was_aborted_replaces_nothing() -> None:
    text = SETUP + OLD + "p1 txn abort 0@1=3\na final 0 0..3\nc final 0 0..3"
    assert illegal(text) == {("lost-write", "log-0/0@0")}
    assert licences(text)["log-0/0@1"] == COMPACTED


def test_nor_if_readers_at_read_uncommitted_still_find_it() -> None:
    text = SETUP + OLD + "p1 txn abort 0@1=3\na final 0 0..3 0@1=3\nc final 0 0..3"
    assert illegal(text) == {("lost-write", "log-0/0@0")}


def test_a_later_record_that_was_committed_replaces_the_one_before() -> None:
    text = SETUP + OLD + "p1 txn commit 0@1=3\na final 0 0..3 0@1=3\nc final 0 0..3 0@1=3"
    assert judged(text).validity is Validity.VALID
    assert licences(text) == {"log-0/0@0": COMPACTED}


@pytest.mark.parametrize("found", ["", " 0@1=3"], ids=["removed", "still there"])
def test_an_aborted_record_may_be_there_for_those_who_read_everything(found: str) -> None:
    text = SETUP + OLD + f"p1 txn abort 0@1=3\na final 0 0..3 0@0=1{found}\nc final 0 0..3 0@0=1"
    assert judged(text).validity is Validity.VALID


def test_an_aborted_record_is_never_returned_as_a_committed_one() -> None:
    """As where its marker has gone before it."""
    text = SETUP + OLD + "p1 txn abort 0@1=3\na final 0 0..3 0@0=1 0@1=3\nc final 0 0..3 0@0=1 0@1=3"
    assert illegal(text) == {("G1a", "log-0/0@1")}


def test_a_record_of_an_undecided_transaction_may_have_been_aborted_and_removed() -> None:
    text = SETUP + OLD + "p1 txn doubt 0@1=3\na final 0 0..3 0@0=1\nc final 0 0..3 0@0=1"
    assert judged(text).validity is Validity.VALID
    assert licences(text) == {"log-0/0@1": UNDECIDED}


@pytest.mark.parametrize("seen", ["a final 0 0..3 0@1=3\nc final 0 0..3", "a final 0 0..3 0@1=3"])
def test_or_committed_so_that_it_replaced_another(seen: str) -> None:
    assert judged(SETUP + OLD + f"p1 txn doubt 0@1=3\n{seen}").validity is not Validity.INVALID


def test_one_that_nobody_found_replaced_nothing() -> None:
    text = SETUP + OLD + "p1 txn doubt 0@1=3\na final 0 0..3\nc final 0 0..3"
    assert illegal(text) == {("lost-write", "log-0/0@0")}


def test_one_that_a_reader_got_as_a_committed_one_stays() -> None:
    text = SETUP + OLD + "p1 txn doubt 0@1=3\nr9 committed 0@1=3\na final 0 0..3 0@0=1\nc final 0 0..3 0@0=1"
    assert illegal(text) == {("lost-write", "log-0/0@1")}


@pytest.mark.parametrize(("end", "lost"), [("abort", True), ("commit", False), ("doubt", False)])
def test_a_tombstone_deletes_if_it_may_be_committed(end: str, *, lost: bool) -> None:
    text = MARKS + f"p0 send 0@0=5\np1 txn {end} 0@1=3\nphase heal\nphase x\na final 0 0..3\nc final 0 0..3"
    assert illegal(text) == ({("lost-write", "log-0/0@0")} if lost else set())
    if not lost:
        assert licences(text)["log-0/0@0"] == EXPIRED


def test_readers_may_pass_over_what_was_aborted() -> None:
    text = SETUP + (
        "p1 txn abort 0@1=3\np0 send 0@3=2\nr8 assign 0@0\nr8 poll 0@3=2\nr9 assign 0@0\nr9 committed 0@3=2\n"
        "a final 0 0..4 0@3=2\nc final 0 0..4 0@3=2"
    )
    assert judged(text).validity is Validity.VALID


def test_a_record_between_others_is_not_passed_over_because_a_later_one_was_aborted() -> None:
    text = (
        SETUP
        + OLD
        + (
            "p1 txn abort 0@1=3\np0 send 0@3=2\nr9 assign 0@0\nr9 committed 0@3=2\n"
            "a final 0 0..4 0@0=1 0@3=2\nc final 0 0..4 0@0=1 0@3=2"
        )
    )
    assert illegal(text) == {("poll-skip", "log-0/0@0")}
