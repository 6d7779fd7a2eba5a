"""Histories of other harnesses: no set-up and no final reads, so what readers passed over decides."""

import pytest

from checkers.history.operations import History
from checkers.logs.log import check_log
from checkers.verdict.verdict import Validity
from tests.checkers.log_histories import judged, only

SENT = "foreign\np0 send 0@0=1 0@1=2 0@2=3\n"


def test_what_was_read_is_valid_without_a_final_read() -> None:
    result = judged(SENT + "r9 poll 0@0=1 0@1=2 0@2=3")
    assert result.validity is Validity.VALID
    assert result.assumptions == ()
    assert result.counts == {}


def test_the_order_of_real_time_is_seen_and_legal_where_nobody_knows_the_acks() -> None:
    text = "p0 send 0@5=1\np1 send 0@2=2\nr9 poll 0@2=2 0@5=1"
    result = judged(f"foreign\n{text}")
    assert result.counts == {"realtime-order": 1}
    assert result.validity is Validity.VALID
    assert judged(text).validity is Validity.INVALID


@pytest.mark.parametrize("text", ["foreign\nphase load", "foreign\np0 > 0=1", "foreign\np0 send 0@-=1"])
def test_nothing_known_is_unknown(text: str) -> None:
    result = judged(text)
    assert result.validity is Validity.UNKNOWN
    assert result.unknown_because == "nothing was acknowledged at an offset, and nothing was read"


def test_a_set_up_or_a_final_read_makes_it_ours() -> None:
    assert judged("p0 send 0@0=1\nr9 poll 0@0=1").validity is Validity.UNKNOWN
    assert judged(SENT + "r9 poll 0@0=1 0@1=2 0@2=3\na final 0 0..3:0").validity is Validity.UNKNOWN
    assert check_log(History("", "", ())).validity is Validity.UNKNOWN


class TestLostWrite:
    def test_readers_passed_over_it(self) -> None:
        result = judged(SENT + "r9 poll 0@0=1\nr9 poll assigned: 0@2=3")
        anomaly = only(result)
        assert result.validity is Validity.INVALID
        assert (anomaly.id, anomaly.subject, anomaly.witness) == ("lost-write", "log-0/0@1", (1, 5))
        assert anomaly.summary == "2 was acknowledged at log-0/0@1; offset 2 was read, 2 never was"
        assert anomaly.explanation[-1] == "2 was never returned to a client."

    def test_somebody_read_it_elsewhere_or_another_value_stands_there(self) -> None:
        assert "lost-write" not in judged(SENT + "r9 poll 0@2=3\nr8 poll 0@5=1 0@6=2").counts
        counts = judged("foreign\np0 send 0@0=1 0@?=2\nr9 poll 0@0=2 0@1=1").counts
        assert "lost-write" not in counts

    def test_another_partition_proves_nothing(self) -> None:
        result = judged("foreign\np0 send 0@0=1 1@1=2\nr9 poll 1@1=2")
        assert result.counts == {"unseen": 1}

    def test_a_record_of_a_committed_transaction(self) -> None:
        text = "foreign\np0 txn {} 0@0=1\np1 send 0@2=2\nr9 committed 0@2=2"
        assert judged(text.format("commit")).counts == {"lost-write": 1}
        assert judged(text.format("abort")).counts == {}
        assert judged(text.format("doubt")).counts == {}


class TestUnseen:
    def test_behind_all_that_was_read_it_may_be_lag(self) -> None:
        result = judged(SENT + "r9 poll 0@0=1")
        assert result.validity is Validity.VALID
        assert result.counts == {"unseen": 2}
        assert not result.anomalies[0].illegal
        assert result.anomalies[0].summary == (
            "2 was acknowledged at log-0/0@1; neither it nor any later record was ever read"
        )

    def test_nobody_ever_read_anything(self) -> None:
        assert judged(SENT).counts == {"unseen": 3}

    def test_without_an_offset_nothing_shows_whether_it_was_passed(self) -> None:
        assert judged("foreign\np0 send 0@-=1 0@7=2\nr9 poll 0@7=2").counts == {"unseen": 1}


def test_a_poll_skips_unless_its_assignment_is_new() -> None:
    text = SENT + "r8 poll 0@0=1 0@1=2 0@2=3\nr9 poll 0@0=1\nr9 poll {}0@2=3"
    assert judged(text.format("")).counts == {"poll-skip": 1}
    assert judged(text.format("assigned: ")).counts == {}


def test_an_aborted_read_within_a_transaction() -> None:
    text = "foreign\np0 txn abort 0@0=1\np1 txn {} <0@0=1"
    for end in ("commit", "abort", "doubt"):
        assert judged(text.format(end)).counts == {"G1a": 1}
