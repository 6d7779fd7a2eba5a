"""Every anomaly of the log checker: the least that shows it, and the least that must not."""

import pytest

from checkers.history.operations import History
from checkers.logs.log import check_log, screening
from checkers.logs.log.anomalies import ANOMALIES
from checkers.verdict.verdict import EXAMPLES_PER_ANOMALY, Validity
from tests.checkers.log_histories import history_of, ids_of, judged, only

CLEAN = """
    p0 send 0@0=1 0@1=2
    r9 assign 0@0
    r9 poll 0@0=1
    r9 poll 0@1=2
    a final 0 0..2 0@0=1 0@1=2
    b final 0 0..2 0@0=1 0@1=2
"""


def test_a_correct_log_is_valid() -> None:
    result = judged(CLEAN)
    assert result.validity is Validity.VALID
    assert result.counts == {}
    assert [assumption.met for assumption in result.assumptions] == [True]
    assert result.unknown_because is None


def test_figures_count_what_was_sent_and_returned() -> None:
    figures = judged("""
        phase load
        p0 send 0@0=1 0@1=2 0@?=3 0@x=4 0@?=5
        r9 poll 0@0=1
        phase heal
        a final 0 0..3 0@0=1 0@1=2 0@2=3
    """).figures
    assert figures == {
        "partitions": 1,
        "acknowledged_records": 2,
        "failed_records": 1,
        "aborted_records": 0,
        "indeterminate_records": 2,
        "indeterminate_found_records": 1,
        "polled_records": 1,
        "final_read_records": 3,
        "distinct_records": 3,
        "undecided_records": 0,
        "lag_records_max": 1,
        "acknowledged_records_per_s": 666.7,
        "duplicates_by": {},
        "legal_anomalies": {},
    }


def test_an_empty_history_is_unknown() -> None:
    result = check_log(History("", "", ()))
    assert result.validity is Validity.UNKNOWN
    assert result.figures["acknowledged_records_per_s"] == 0


class TestLostWrite:
    def test_an_acknowledged_record_is_not_in_the_final_read(self) -> None:
        result = judged("p0 send 0@0=1 0@1=2\na final 0 0..2 0@0=1")
        anomaly = only(result)
        assert result.validity is Validity.INVALID
        assert (anomaly.id, anomaly.subject, anomaly.witness) == ("lost-write", "log-0/0@1", (2, 4))
        assert anomaly.time_ns == 2_500_000
        assert anomaly.guarantee
        assert "KIP-966" in anomaly.source
        reader = "kafka-python (read_uncommitted)"
        assert anomaly.explanation == (
            "operation 2 (0.002 s): the send of 2 was acknowledged at log-0/0@1.",
            f"operation 4 (0.003 s): the final read by {reader} read log-0/0 from 0 to 2, the end.",
            "No final read of log-0/0 found 2.",
        )

    def test_a_record_that_a_reader_was_given_disappears(self) -> None:
        result = judged("p0 send 0@?=1\nr9 poll 0@0=1\na final 0 0..0")
        assert only(result).id == "lost-write"
        assert "returned to a reader" in only(result).summary

    def test_the_log_became_shorter(self) -> None:
        assert ids_of("p0 send 0@0=1 0@1=2\na final 0 0..1 0@0=1") == {"lost-write": 1}

    def test_the_log_begins_behind_it_and_nobody_deleted_it(self) -> None:
        result = judged("p0 send 0@0=1 0@1=2\na final 0 1..2 0@1=2")
        assert result.counts == {"lost-write": 1}
        assert result.validity is Validity.INVALID

    def test_an_acknowledgement_without_an_offset_claims_too(self) -> None:
        lost = judged("p0 send 0@-=1\na final 0 0..0")
        assert only(lost).subject == "log-0/0"
        assert ids_of("p0 send 0@-=1\na final 0 0..1 0@0=1") == {}

    def test_an_indeterminate_record_may_be_there_or_not(self) -> None:
        assert ids_of("p0 send 0@?=1\na final 0 0..0") == {}
        assert ids_of("p0 send 0@?=1\na final 0 0..1 0@0=1") == {}
        assert ids_of("p0 > 0=1\na final 0 0..1 0@0=1") == {}

    def test_what_was_acknowledged_after_the_final_read_began_is_not_asked_for(self) -> None:
        assert ids_of("p0 send 0@0=1\na final 0 0..1 0@0=1\np0 send 0@1=2") == {"unseen": 1}

    def test_an_incomplete_final_read_decides_on_what_it_passed(self) -> None:
        result = judged("p0 send 0@0=1 0@1=2 0@2=3\na final 0 0..3:2 0@0=1")
        assert result.validity is Validity.INVALID
        assert result.counts == {"lost-write": 1, "unseen": 1}

    def test_another_final_read_found_it_so_it_is_not_lost(self) -> None:
        counts = ids_of("p0 send 0@0=1\na final 0 0..1\nb final 0 0..1 0@0=1")
        assert counts == {"client-disagreement": 1}


class TestUnseen:
    def test_nobody_read_it_and_no_final_read_covers_it(self) -> None:
        result = judged("p0 send 0@0=1")
        assert result.validity is Validity.UNKNOWN
        assert not only(result).illegal
        assert only(result).id == "unseen"
        assert result.unknown_because == (
            "the final read is incomplete: 0 final reads to the end; no final read covers 1 known records"
        )

    def test_a_poll_saw_it(self) -> None:
        result = judged("p0 send 0@0=1\nr9 poll 0@0=1")
        assert result.counts == {}
        assert result.validity is Validity.UNKNOWN

    def test_below_the_start_of_the_log_nothing_is_decided_without_an_offset(self) -> None:
        result = judged("p0 send 0@-=1 0@1=2\na final 0 1..2 0@1=2")
        assert result.counts == {"unseen": 1}
        assert result.validity is Validity.UNKNOWN


class TestClientDisagreement:
    def test_only_one_isolation_level_sees_a_record(self) -> None:
        result = judged("p0 send 0@0=1\na final 0 0..1 0@0=1\nc final 0 0..1")
        anomaly = only(result)
        assert anomaly.id == "client-disagreement"
        assert anomaly.summary == (
            "1 at log-0/0@0 was read by kafka-python (read_uncommitted), not by kafka-python (read_committed)"
        )
        assert result.validity is Validity.INVALID

    def test_a_record_that_came_after_the_other_end_is_no_disagreement(self) -> None:
        assert ids_of("p0 > 0=1\na final 0 0..0\nb final 0 0..1 0@0=1") == {}

    def test_a_record_that_came_while_the_ends_were_listed_is_no_disagreement(self) -> None:
        """A reader lists the ends of all partitions first, then reads one after the other."""
        assert ids_of("phase final-read\np0 > 0=1\nb final 0 0..1 0@0=1\na final 0 0..0") == {}
        counts = ids_of("p0 send 0@0=1\nphase final-read\nb final 0 0..1 0@0=1\na final 0 0..0")
        assert counts == {"client-disagreement": 1}

    def test_a_final_read_that_ended_early_does_not_disagree(self) -> None:
        counts = ids_of("p0 send 0@0=1 0@1=2\na final 0 0..2 0@0=1 0@1=2\nb final 0 0..2:1 0@0=1")
        assert counts == {}


class TestDuplicate:
    TEXT = "p0 send 0@0=1\na final 0 0..2 0@0=1 0@1=1"

    def test_an_idempotent_value_stands_twice(self) -> None:
        result = judged(self.TEXT)
        assert result.validity is Validity.INVALID
        assert only(result).id == "duplicate"
        assert only(result).summary == "1 is at 2 offsets of log-0/0: 0 and 1"

    def test_without_idempotence_it_is_legal(self) -> None:
        result = judged("setup idempotent=no\n" + self.TEXT)
        assert result.validity is Validity.VALID
        assert result.counts == {"duplicate": 1}
        assert result.figures["legal_anomalies"] == {"duplicate": 1}
        assert "not idempotent" in str(only(result).licence)

    def test_an_application_may_send_a_value_twice(self) -> None:
        assert ids_of("p0 send 0@0=1\np0 send 0@1=1\na final 0 0..2 0@0=1 0@1=1") == {}

    def test_acknowledged_here_and_found_there(self) -> None:
        counts = ids_of("p0 send 0@0=1\np1 send 0@1=2\na final 0 0..3 0@1=2 0@2=1")
        assert counts == {"duplicate": 1}


class TestInconsistentOffsets:
    def test_two_clients_read_different_values(self) -> None:
        text = "p0 send 0@?=1 0@?=2\na final 0 0..1 0@0=1\nb final 0 0..1 0@0=2"
        anomaly = only(judged(text))
        assert anomaly.id == "inconsistent-offsets"
        assert anomaly.summary == "log-0/0@0 was 1 first and 2 later"
        assert anomaly.witness == (4, 6)

    def test_two_acknowledgements_name_one_offset(self) -> None:
        assert "inconsistent-offsets" in ids_of("p0 send 0@0=1\np1 send 0@0=2")

    def test_swapped_values_are_neither_lost_nor_doubled(self) -> None:
        counts = ids_of("p0 send 0@0=1 0@1=2\na final 0 0..2 0@0=2 0@1=1")
        assert counts == {"inconsistent-offsets": 2}

    def test_the_same_offset_in_two_partitions_is_two_places(self) -> None:
        counts = ids_of("""
            setup partitions=2
            p0 send 0@0=1 1@0=2
            a final 0 0..1 0@0=1
            a final 1 0..1 1@0=2
        """)
        assert counts == {}


class TestPhantom:
    def test_nobody_sent_it(self) -> None:
        anomaly = only(judged("r9 poll 0@0=rubbish\na final 0 0..0"))
        assert anomaly.id == "phantom"
        assert anomaly.summary == "'rubbish' is at log-0/0@0 but was never sent"

    def test_it_was_sent_to_another_partition(self) -> None:
        result = judged("setup partitions=2\np0 send 0@0=1\nr9 poll 1@0=1\nr9 poll 0@0=1")
        assert only(result).id == "phantom"
        assert "was sent to log-0/0 only" in only(result).summary

    def test_it_was_sent_but_never_answered(self) -> None:
        assert ids_of("p0 > 0=1\nr9 poll 0@0=1") == {}

    def test_a_phantom_in_the_final_read_does_not_hide_what_is_lost(self) -> None:
        assert ids_of("p0 send 0@0=1\na final 0 0..1 0@0=2") == {
            "inconsistent-offsets": 1,
            "lost-write": 1,
            "phantom": 1,
        }


class TestAbortedRead:
    def test_a_failed_send_is_read(self) -> None:
        anomaly = only(judged("p0 send 0@x=1\nr9 poll 0@0=1\na final 0 0..0"))
        assert anomaly.id == "G1a"
        assert anomaly.witness == (2, 4)
        assert "failed" in anomaly.explanation[0]

    def test_a_whole_operation_that_failed_fails_its_records(self) -> None:
        assert ids_of("p0 > 0=1\np0 ! fail\nr9 poll 0@0=1") == {"G1a": 1}
        assert ids_of("p0 > 0=1\np0 ! info\nr9 poll 0@0=1") == {}

    def test_another_attempt_may_have_happened(self) -> None:
        assert ids_of("p0 send 0@x=1\np0 send 0@?=1\nr9 poll 0@0=1") == {}


class TestLicences:
    def test_what_a_licence_covers_is_legal_and_reported_as_such(self) -> None:
        result = judged(
            "setup unclean=yes\nepoch 0 1\np0 send 0@0=1\nepoch 0 2\na final 0 0..0\nepochs 0 2@0"
        )
        assert result.validity is Validity.VALID
        assert result.counts == {"lost-write": 1}
        assert not only(result).illegal
        assert "increased from 1" in str(only(result).licence)
        assert "leader epoch 2 begins at offset 0" in str(only(result).licence)

    def test_a_truncation_licenses_what_follows_from_it(self) -> None:
        result = judged("""
            setup unclean=yes
            epoch 0 1
            p0 send 0@0=1 0@1=2 0@2=3
            r9 poll 0@0=1 0@1=2
            epoch 0 2
            p0 send 0@1=4
            r9 assign 0@0
            r9 poll 0@0=1
            a final 0 0..2 0@0=1 0@1=4
            epochs 0 1@0 2@1
        """)
        assert result.validity is Validity.VALID
        assert result.counts == {
            "inconsistent-offsets": 1,
            "lost-write": 2,
            "nonmonotonic-send": 1,
            "realtime-order": 1,
        }

    def test_with_acks_1_two_readers_must_agree_all_the_same(self) -> None:
        text = """
            setup acks=1
            epoch 0 1
            p0 send 0@0=1
            {}
            epoch 0 2
            p1 send 0@0=2
            a final 0 0..1 0@0=2
        """
        assert judged(text.format("phase load")).validity is Validity.VALID
        result = judged(text.format("r9 poll 0@0=1"))
        assert {anomaly.id: anomaly.illegal for anomaly in result.anomalies} == {
            "inconsistent-offsets": True,
            "lost-write": True,
        }

    def test_a_skip_of_what_another_reader_was_given_is_illegal(self) -> None:
        result = judged("""
            setup acks=1
            p1 send 0@0=1 0@1=2 0@2=3
            f1 inject kill
            r9 poll 0@0=1 0@2=3
            a final 0 0..3 0@0=1 0@1=2 0@2=3
        """)
        assert only(result).id == "int-poll-skip"
        assert only(result).illegal

    def test_a_skip_of_a_truncated_record_is_legal(self) -> None:
        result = judged("""
            setup acks=1
            p0 send 0@0=1 0@1=2
            f1 inject kill
            p1 send 0@2=3
            r9 poll 0@0=1 0@2=3
            a final 0 0..3 0@0=1 0@2=3
        """)
        assert result.validity is Validity.VALID
        assert result.counts == {"int-poll-skip": 1, "lost-write": 1}

    def test_with_acks_0_an_offset_gives_away_the_write_probe_whose_record_stays(self) -> None:
        result = judged("setup acks=0\np0 send 0@0=1\na final 0 0..0")
        assert result.counts == {"lost-write": 1}
        assert result.validity is Validity.INVALID

    def test_with_acks_0_nothing_is_promised(self) -> None:
        result = judged("setup acks=0\np0 send 0@-=1\na final 0 0..0")
        assert result.validity is Validity.VALID
        assert result.counts == {"lost-write": 1}

    def test_illegal_examples_come_before_legal_ones(self) -> None:
        many = " ".join(f"0@{n}={n}" for n in range(EXAMPLES_PER_ANOMALY + 5))
        result = judged(f"setup acks=1\np0 send {many}\nf1 inject kill\nr9 poll 0@24=24\na final 0 0..0")
        assert result.counts == {"lost-write": EXAMPLES_PER_ANOMALY + 5}
        assert result.figures["legal_anomalies"] == {"lost-write": EXAMPLES_PER_ANOMALY + 4}
        assert len(result.anomalies) == EXAMPLES_PER_ANOMALY
        assert result.validity is Validity.INVALID


class TestFinalRead:
    def test_a_partition_that_was_not_read_makes_it_unknown(self) -> None:
        result = judged("setup partitions=2\np0 send 0@0=1\na final 0 0..1 0@0=1")
        assert result.validity is Validity.UNKNOWN
        (assumption,) = result.assumptions
        assert assumption.name == "final-read-complete"
        assert assumption.expected == "2 final reads to the end (partitions x readers: 2 x 1)"
        assert assumption.observed == "1 final reads to the end"

    def test_a_reader_that_stopped_short_makes_it_unknown(self) -> None:
        result = judged("p0 send 0@0=1\na final 0 0..1 0@0=1\nb final 0 0..1:0")
        assert result.validity is Validity.UNKNOWN

    def test_a_second_attempt_completes_it(self) -> None:
        result = judged("p0 send 0@0=1\na final 0 0..1:0\na final 0 0..1 0@0=1")
        assert result.validity is Validity.VALID

    def test_what_is_visible_counts_without_any(self) -> None:
        result = judged("p0 send 0@0=1\nr9 poll 0@0=2\np1 send 0@1=2")
        assert result.validity is Validity.INVALID
        assert "inconsistent-offsets" in result.counts

    def test_damage_makes_a_clean_history_unknown(self) -> None:
        result = check_log(history_of(CLEAN, damage=("history-worker-3.jsonl, line 9: cut short",)))
        assert result.validity is Validity.UNKNOWN
        assert result.unknown_because == "history-worker-3.jsonl, line 9: cut short"


def test_offsets_far_apart_cost_no_memory() -> None:
    far = 2**61
    assert ids_of(f"p0 send 0@5=1\np0 send 0@{far}=2\na final 0 0..{far + 1} 0@5=1 0@{far}=2") == {}


def test_sparse_offsets_of_many_records_are_ranked_by_sorting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(screening, "SMALL", 64)  # more than that are judged by themselves
    places = [(10**12 + 1000 * n, n) for n in range(1, 80)]
    records = " ".join(f"0@{offset}={value}" for offset, value in places)
    result = judged(f"p0 send {records}\na final 0 {10**12}..{2 * 10**12} {records}")
    assert result.validity is Validity.VALID
    assert result.figures["distinct_records"] == len(places)


def test_every_promise_names_its_guarantee_and_source() -> None:
    assert all(promise.guarantee and promise.source for promise in ANOMALIES.values())
