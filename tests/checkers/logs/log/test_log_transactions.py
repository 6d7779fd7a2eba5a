"""Records of transactions in the log: who must, may and must not be given them."""

import pytest

from checkers.columns.tables import SendOutcome
from checkers.evidence.loading import columns_of
from checkers.verdict.verdict import Validity
from tests.checkers.log_histories import history_of, ids_of, judged, only

COMMITTED = "p0 txn commit 0@0=1 0@1=2\n"
ABORTED = "p0 txn abort 0@0=1\np1 send 0@2=2\n"
DOUBTED = "p0 txn doubt 0@0=1\np1 send 0@2=2\n"


def test_its_sends_are_loaded_with_its_fate() -> None:
    sends = columns_of(
        history_of(COMMITTED + "p0 txn abort 0@3=3 0@-=4\np1 txn doubt 0@5=5\np2 begin 0=6")
    ).sends
    assert sends.value.tolist() == [1, 2, 3, 4, 5, 6]
    assert sends.offset.tolist() == [0, 1, 3, -1, 5, -1]
    names = [SendOutcome(code).name for code in sends.outcome]
    assert names == ["OK", "OK", "ABORTED", "ABORTED", "INFO", "INFO"]
    assert sends.transactional.all()
    assert not columns_of(history_of("p0 send 0@0=1")).sends.transactional.any()


def test_a_committed_transaction_is_read_by_all() -> None:
    result = judged(COMMITTED + "a final 0 0..3 0@0=1 0@1=2\nc final 0 0..3 0@0=1 0@1=2")
    assert result.validity is Validity.VALID
    assert result.counts == {}


class TestAborted:
    def test_it_may_stand_in_the_log_for_those_who_read_everything(self) -> None:
        result = judged(ABORTED + "r9 poll 0@0=1\na final 0 0..3 0@0=1 0@2=2\nc final 0 0..3 0@2=2")
        assert result.validity is Validity.VALID
        assert result.figures["aborted_records"] == 1

    def test_it_may_never_have_come_to_the_log(self) -> None:
        assert ids_of("p0 txn abort 0@-=1\na final 0 0..0\nc final 0 0..0") == {}

    def test_a_read_committed_reader_is_given_it(self) -> None:
        result = judged(ABORTED + "r9 committed 0@0=1\na final 0 0..3 0@0=1 0@2=2\nc final 0 0..3 0@2=2")
        anomaly = only(result)
        assert (anomaly.id, anomaly.illegal, anomaly.witness) == ("G1a", True, (2, 6))
        assert anomaly.explanation == (
            "operation 2 (0.002 s): the transaction that sent 1 was aborted.",
            "operation 6 (0.004 s): a poll by kafka-python (read_committed) returned 1 at log-0/0@0.",
        )

    def test_a_final_read_finds_it(self) -> None:
        counts = ids_of(ABORTED + "a final 0 0..3 0@0=1 0@2=2\nc final 0 0..3 0@0=1 0@2=2")
        assert counts == {"G1a": 1}

    def test_it_was_polled_where_no_offset_was_acknowledged(self) -> None:
        assert ids_of("p0 txn abort 0@-=1\nr9 committed 0@0=1\na final 0 0..2 0@0=1") == {"G1a": 1}

    def test_it_disappears_from_the_log(self) -> None:
        counts = ids_of(ABORTED + "r9 poll 0@0=1\na final 0 0..3 0@2=2\nc final 0 0..3 0@2=2")
        assert counts == {"lost-write": 1}

    def test_readers_of_everything_must_agree_on_it(self) -> None:
        counts = ids_of(ABORTED + "a final 0 0..3 0@0=1 0@2=2\nb final 0 0..3 0@2=2")
        assert counts == {"client-disagreement": 1}

    def test_a_later_attempt_committed_the_same_value(self) -> None:
        text = "p0 txn abort 0@0=1\np0 txn commit 0@2=1\na final 0 0..4 0@0=1 0@2=1\n"
        assert ids_of(text + "c final 0 0..4 0@2=1") == {}
        assert ids_of(text + "c final 0 0..4 0@0=1 0@2=1") == {"G1a": 1}

    def test_readers_of_committed_records_alone_decide_nothing_about_it(self) -> None:
        assert judged("p0 txn abort 0@0=1\nc final 0 0..2").validity is Validity.VALID

    def test_nobody_misses_it(self) -> None:
        result = judged("p0 txn abort 0@0=1")
        assert (result.counts, result.figures["undecided_records"]) == ({}, 0)


class TestCommitted:
    def test_readers_of_committed_records_lack_it(self) -> None:
        anomaly = only(judged(COMMITTED + "a final 0 0..3 0@0=1 0@1=2\nc final 0 0..3 0@0=1"))
        assert (anomaly.id, anomaly.subject) == ("lost-write", "log-0/0@1")
        assert anomaly.summary == ("2 was acknowledged at log-0/0@1 but is in no read_committed final read")
        assert anomaly.explanation[1].startswith("operation 6")

    def test_one_of_two_readers_of_committed_records_lacks_it(self) -> None:
        finals = "a final 0 0..3 0@0=1 0@1=2\nc final 0 0..3 0@0=1\nd final 0 0..3 0@0=1 0@1=2"
        assert ids_of(COMMITTED + finals) == {"client-disagreement": 1}

    def test_only_readers_of_committed_records_have_it(self) -> None:
        finals = "a final 0 0..3 0@0=1\nc final 0 0..3 0@0=1 0@1=2"
        assert ids_of(COMMITTED + finals) == {"client-disagreement": 1}

    def test_nobody_has_it(self) -> None:
        assert ids_of(COMMITTED + "a final 0 0..3 0@0=1\nc final 0 0..3 0@0=1") == {"lost-write": 1}

    def test_behind_an_open_transaction_readers_of_committed_records_do_not_decide(self) -> None:
        text = "p1 txn doubt 0@0=9\np0 txn commit 0@1=1\np2 send 0@2=2\na final 0 0..3 0@0=9 0@1=1 0@2=2\n"
        result = judged(text + "c final 0 0..0")
        assert result.counts == {}
        assert result.validity is Validity.UNKNOWN
        assert result.figures["undecided_records"] == 2

    def test_it_came_after_the_end_was_listed(self) -> None:
        text = "p0 begin 0=1\nphase final-read\nc final 0 0..0\na final 0 0..1 0@0=1\np0 commit 0@0=1"
        assert judged(text).validity is Validity.VALID


class TestDoubted:
    END = "a final 0 0..3 0@0=1 0@2=2\n"

    @pytest.mark.parametrize("seen", ["0@0=1 0@2=2", "0@2=2"])
    def test_it_may_be_committed_or_not(self, seen: str) -> None:
        result = judged(DOUBTED + self.END + f"c final 0 0..3 {seen}\nd final 0 0..3 {seen}")
        assert result.validity is Validity.VALID
        assert result.figures["indeterminate_found_records"] == int("=1" in seen)

    def test_all_readers_of_committed_records_must_agree(self) -> None:
        counts = ids_of(DOUBTED + self.END + "c final 0 0..3 0@2=2\nd final 0 0..3 0@0=1 0@2=2")
        assert counts == {"client-disagreement": 1}

    def test_a_poll_knew_that_it_was_committed(self) -> None:
        text = DOUBTED + "r9 committed 0@0=1\n" + self.END
        assert ids_of(text + "c final 0 0..3 0@2=2") == {"lost-write": 1}
        assert ids_of(text + "c final 0 0..3 0@0=1 0@2=2") == {}


class TestPolls:
    SENT = "p0 txn {} 0@0=1\np1 send 0@2=2\nr9 assign 0@0\n"
    END = "\na final 0 0..3 0@0=1 0@2=2"

    @pytest.mark.parametrize(
        ("fate", "poll", "found"),
        [
            ("commit", "r9 committed 0@2=2", {"poll-skip": 1}),
            ("abort", "r9 committed 0@2=2", {}),
            ("doubt", "r9 committed 0@2=2", {}),
            ("doubt", "r9 committed 0@2=2\nr8 committed 0@0=1", {"poll-skip": 1}),
            ("abort", "r9 poll 0@2=2", {"poll-skip": 1}),
            ("doubt", "r9 poll 0@2=2", {"poll-skip": 1}),
            ("commit", "r9 committed 0@0=1 0@2=2", {}),
        ],
    )
    def test_what_may_be_passed_over(self, fate: str, poll: str, found: dict[str, int]) -> None:
        assert ids_of(self.SENT.format(fate) + poll + self.END) == found

    def test_within_a_transaction(self) -> None:
        sent = "p0 send 0@0=1 0@1=2 0@2=3\n"
        end = "\na final 0 0..4 0@0=1 0@1=2 0@2=3"
        assert ids_of(sent + "p1 txn commit <0@0=1 <0@2=3" + end) == {"int-poll-skip": 1}
        assert ids_of(sent + "p1 txn commit <0@0=1\np1 txn abort <0@2=3" + end) == {"poll-skip": 1}
        assert ids_of(sent + "p1 txn doubt <0@1=7" + end)["phantom"] == 1

    def test_a_new_assignment_in_a_poll(self) -> None:
        sent = "p0 send 0@0=1 0@1=2 0@2=3\n"
        end = "\na final 0 0..3 0@0=1 0@1=2 0@2=3"
        assert ids_of(sent + "r9 poll 0@0=1\nr9 poll 0@2=3" + end) == {"poll-skip": 1}
        assert ids_of(sent + "r9 poll 0@0=1\nr9 poll assigned:0@2 0@2=3" + end) == {}
        assert ids_of(sent + "r9 poll 0@0=1\nr9 poll assigned: 0@2=3" + end) == {}
        assert ids_of(sent + "r9 poll 0@0=1\nr9 poll assigned:0@1 0@2=3" + end) == {"poll-skip": 1}


def test_offsets_within_a_transaction_go_down() -> None:
    text = "p0 txn commit 0@1=1 0@0=2\na final 0 0..3 0@0=2 0@1=1\nc final 0 0..3 0@0=2 0@1=1"
    assert ids_of(text) == {"int-nonmonotonic-send": 1}


def test_a_transaction_stands_below_what_was_known_before_it_began() -> None:
    text = "p1 send 0@4=9\np0 txn abort 0@0=1\na final 0 0..5 0@0=1 0@4=9"
    assert ids_of(text) == {"realtime-order": 1}
