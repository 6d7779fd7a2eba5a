"""Records that may vanish one by one, deleted, retained no longer or compacted; and whose may not."""

import pytest

from checkers.columns.tables import PartitionName
from checkers.licences import licences_of
from checkers.verdict.verdict import CheckerResult, Validity
from tests.checkers.log_histories import TOPIC, history_of, ids_of, judged, only

SENT = "p0 send 0@0=1 0@1=2 0@2=3\n"
CUT = "a final 0 2..3 0@2=3"


class TestDeleteRecords:
    @pytest.mark.parametrize("outcome", ["ok", "info", "lost"])
    def test_what_was_deleted_on_request_may_be_gone(self, outcome: str) -> None:
        result = judged(SENT + f"r9 poll 0@0=1 0@1=2\ndelete {outcome} 0@2\n" + CUT)
        assert result.validity is Validity.VALID
        assert result.counts == {"lost-write": 2}
        assert result.anomalies[0].licence == (
            "DeleteRecords: operation 5 asked to delete the records of log-0/0 below offset 2; "
            "records below that offset are deleted on request (KIP-107)"
        )

    def test_one_that_was_refused_permits_nothing(self) -> None:
        assert judged(SENT + "delete fail 0@2\n" + CUT).validity is Validity.INVALID

    def test_only_records_below_its_offset(self) -> None:
        result = judged(SENT + "delete ok 0@1\n" + CUT)
        assert result.validity is Validity.INVALID
        assert {a.subject: a.illegal for a in result.anomalies} == {"log-0/0@0": False, "log-0/0@1": True}

    def test_only_of_its_partition_and_topic(self) -> None:
        two = "setup partitions=2\n" + SENT + "delete ok 1@2\na final 1 0..0\n" + CUT
        assert judged(two).validity is Validity.INVALID

    def test_a_consumer_may_pass_over_them_but_not_before(self) -> None:
        end = "\na final 0 2..3 0@2=3"
        before = SENT + "r9 assign 0@0\n{}\n{}" + end
        assert judged(before.format("delete ok 0@2", "r9 poll 0@2=3")).validity is Validity.VALID
        result = judged(before.format("r9 poll 0@2=3", "delete ok 0@2"))
        assert {a.id for a in result.anomalies if a.illegal} == {"poll-skip"}

    def test_readers_may_disagree_on_them(self) -> None:
        result = judged(SENT + "a final 0 0..3 0@0=1 0@1=2 0@2=3\ndelete ok 0@2\nb final 0 2..3 0@2=3")
        assert result.counts == {"client-disagreement": 2}
        assert result.validity is Validity.VALID

    def test_it_permits_no_other_value_at_an_offset(self) -> None:
        result = judged("p0 send 0@0=1 0@1=2\ndelete ok 0@2\np0 send 0@0=3\na final 0 0..1 0@0=3")
        assert {a.id for a in result.anomalies if a.illegal} >= {"inconsistent-offsets"}

    def test_a_partition_has_the_permits_of_its_own(self) -> None:
        licences = licences_of(history_of("setup partitions=3\ndelete ok 0@1 1@2"))
        permits = [licences.of(PartitionName(TOPIC, number)) for number in range(3)]
        assert [[permit.event.below for permit in some] for some in permits] == [[1], [2], []]


class TestRetention:
    @pytest.mark.parametrize(
        ("setup", "validity"),
        [
            ("retention=1000", Validity.VALID),
            ("bytes=1000", Validity.VALID),
            ("retention=1000 cleanup=compact,delete keys=100", Validity.VALID),
            ("retention=-1", Validity.INVALID),
            ("retention=60000", Validity.INVALID),
            ("retention=60000 bytes=1000", Validity.VALID),
            ("retention=1000 cleanup=compact keys=100", Validity.INVALID),
            ("partitions=1", Validity.INVALID),
        ],
    )
    def test_what_lies_below_the_beginning_may_be_gone(self, setup: str, validity: Validity) -> None:
        assert judged(f"setup {setup}\n" + SENT + CUT).validity is validity

    def test_a_log_that_begins_at_0_has_lost_nothing_to_it(self) -> None:
        result = judged("setup retention=60000\n" + SENT + "a final 0 0..3 0@1=2 0@2=3")
        assert {a.subject: a.illegal for a in result.anomalies} == {"log-0/0@0": True}

    def test_nothing_above_the_beginning(self) -> None:
        result = judged("setup retention=1000\n" + SENT + "a final 0 1..3 0@1=2")
        assert {a.subject: a.illegal for a in result.anomalies} == {"log-0/0@0": False, "log-0/0@2": True}

    @pytest.mark.parametrize(
        "young",
        [
            "p0 send 0@1=1 0@2=2 0@3=3\np0 send 0@x=5\np1 > 0=6\np1 ! info\n",
            "p0 run 0=1x3 1x3\n",
        ],
    )
    def test_what_is_too_young_is_kept(self, young: str) -> None:
        """Offset 0 was sent 2 s before what is judged, and the topic keeps its records for 2 s."""
        setup, old, wait = "setup retention=2000\n", "p0 send 0@0=9\n", "phase load\n" * 2000
        result = judged(setup + old + wait + young + "a final 0 4..4")
        lost = {a.subject: a.illegal for a in result.anomalies if a.id == "lost-write"}
        assert lost == {"log-0/0@0": False, "log-0/0@1": True, "log-0/0@2": True, "log-0/0@3": True}


class TestCompaction:
    SETUP = "setup cleanup=compact keys=2\n"
    SENT = "p0 send 0@0=1 0@1=2 0@2=3 0@3=4\n"

    def test_older_values_of_a_key_may_vanish(self) -> None:
        result = judged(self.SETUP + self.SENT + "a final 0 0..4 0@2=3 0@3=4")
        assert result.validity is Validity.VALID
        assert result.counts == {"lost-write": 2}
        assert "compact" in str(result.anomalies[0].licence)

    def test_the_latest_value_of_a_key_never(self) -> None:
        result = judged(self.SETUP + self.SENT + "a final 0 0..4 0@0=1 0@1=2 0@3=4")
        assert (only(result).subject, only(result).illegal) == ("log-0/0@2", True)

    def test_a_later_value_must_stand_in_the_final_read(self) -> None:
        result = judged(self.SETUP + self.SENT + "a final 0 0..4 0@3=4")
        assert {a.subject: a.illegal for a in result.anomalies} == {
            "log-0/0@0": True,
            "log-0/0@1": False,
            "log-0/0@2": True,
        }

    def test_other_keys_and_other_partitions_replace_nothing(self) -> None:
        assert (
            judged("setup cleanup=compact keys=9\n" + self.SENT + "a final 0 0..4 0@3=4").figures[
                "legal_anomalies"
            ]
            == {}
        )
        setup = "setup cleanup=compact keys=2 partitions=2\n"
        text = "p0 send 0@0=1 1@0=3\na final 0 0..1\na final 1 0..1 1@0=3"
        assert judged(setup + text).validity is Validity.INVALID

    def test_a_reader_may_pass_over_what_was_replaced_by_then(self) -> None:
        end = "\na final 0 0..4 0@2=3 0@3=4"
        passing = "r9 assign 0@0\nr9 poll 0@2=3 0@3=4"
        result = judged(self.SETUP + self.SENT + passing + end)
        assert result.validity is Validity.VALID
        assert result.counts == {"lost-write": 2, "poll-skip": 1}
        early = "p0 send 0@0=1 0@1=2\nr9 assign 0@0\nr9 poll 0@1=2\np0 send 0@2=3 0@3=4"
        result = judged(self.SETUP + early + end)
        assert {a.id for a in result.anomalies if a.illegal} == {"poll-skip"}

    def test_readers_may_disagree_on_what_was_replaced(self) -> None:
        whole = "a final 0 0..4 0@0=1 0@1=2 0@2=3 0@3=4"
        result = judged(self.SETUP + self.SENT + whole + "\nb final 0 0..4 0@2=3 0@3=4")
        assert result.validity is Validity.VALID
        assert result.counts == {"client-disagreement": 2}

    def test_aborted_records_vanish_and_replace_nothing(self) -> None:
        text = "p0 txn abort 0@0=1\np0 txn commit 0@2=3\np0 txn abort 0@4=5\n"
        result = judged(self.SETUP + text + "a final 0 0..6 0@2=3\nc final 0 0..6 0@2=3")
        assert result.validity is Validity.VALID
        assert result.figures["legal_anomalies"] == {"lost-write": 2}
        result = judged(self.SETUP + text + "a final 0 0..6 0@4=5\nc final 0 0..6")
        assert {a.subject: a.illegal for a in result.anomalies if a.id == "lost-write"}["log-0/0@2"]

    def test_values_that_are_no_numbers_have_no_key(self) -> None:
        result = judged(self.SETUP + "p0 send 0@0=x 0@1=y\na final 0 0..2 0@1=y")
        assert only(result).illegal

    def test_without_keys_it_is_unknown(self) -> None:
        result = judged("setup cleanup=compact\n" + self.SENT + "a final 0 0..4 0@3=4")
        assert result.validity is Validity.UNKNOWN
        assert "topic log-0 is compacted, and the setup record has no keys" in str(result.unknown_because)

    def test_nothing_was_sent(self) -> None:
        assert judged(self.SETUP + "a final 0 0..0").validity is Validity.NOT_EXERCISED


class TestTombstones:
    """Of two keys, values 2 and 3 are tombstones; a line takes a millisecond."""

    SENT = "p0 send 0@0=1 0@1=2 0@2=3\n"

    @staticmethod
    def judged(marks: int, text: str, lines: int, final: str, every: int = 2) -> CheckerResult:
        setup = f"setup cleanup=compact keys=2 tombstones={every} marks={marks}\n"
        return judged(setup + text + "phase load\n" * lines + final)

    @pytest.mark.parametrize(
        ("marks", "lines", "permitted"), [(1, 3, True), (5, 3, False), (5, 6, True), (3, 0, False)]
    )
    def test_one_may_go_when_it_has_been_kept(self, marks: int, lines: int, *, permitted: bool) -> None:
        result = self.judged(marks, self.SENT, lines, "a final 0 0..3 0@1=2")
        assert {a.subject: a.illegal for a in result.anomalies} == {
            "log-0/0@0": not permitted,
            "log-0/0@2": not permitted,
        }

    def test_other_records_stay(self) -> None:
        result = self.judged(1, self.SENT, 5, "a final 0 0..3 0@1=2", every=9)
        assert [a.illegal for a in result.anomalies] == [True, True]

    @pytest.mark.parametrize(("marks", "value", "permitted"), [(1, 3, True), (9, 3, False), (1, 5, False)])
    def test_one_of_unknown_fate_may_have_been_there(
        self, marks: int, value: int, *, permitted: bool
    ) -> None:
        text = f"p0 send 0@0=1 0@1=2\np0 send 0@?={value}\n"
        assert only(self.judged(marks, text, 5, "a final 0 0..3 0@1=2")).illegal is not permitted


class TestDurableProcesses:
    @pytest.mark.parametrize(
        ("process", "permitted"), [("p4", False), ("p9", False), ("p3", True), ("p8", True)]
    )
    @pytest.mark.parametrize(("acks", "place"), [("1", "0@0"), ("0", "0@-")])
    def test_their_records_stay(self, process: str, acks: str, place: str, *, permitted: bool) -> None:
        setup = f"setup acks={acks} durable=4 workers=5\nepoch 0 1\n"
        result = judged(setup + f"{process} send {place}=1\nepoch 0 2\na final 0 0..0")
        assert result.counts == {"lost-write": 1}
        assert (result.validity is Validity.VALID) is permitted

    def test_without_successors_the_number_is_the_process(self) -> None:
        setup = "setup acks=1 durable=4\nepoch 0 1\n"
        lost = "{} send 0@0=1\nepoch 0 2\na final 0 0..0"
        assert judged(setup + lost.format("p4")).validity is Validity.INVALID
        assert judged(setup + lost.format("p9")).validity is Validity.VALID

    def test_they_do_not_stand_twice(self) -> None:
        setup = "setup idempotent=no durable=4 workers=5\n"
        end = "\na final 0 0..2 0@0=1 0@1=1"
        assert judged(setup + "p4 send 0@0=1" + end).validity is Validity.INVALID
        assert judged(setup + "p3 send 0@0=1" + end).validity is Validity.VALID
        assert judged(setup + "p3 txn commit 0@0=1" + end).validity is Validity.INVALID

    def test_they_keep_the_order_of_a_batch(self) -> None:
        setup = "setup idempotent=no durable=4 workers=5\n"
        end = " send 0@1=1 0@0=2\na final 0 0..2 0@0=2 0@1=1"
        assert judged(setup + "p4" + end).validity is Validity.INVALID
        assert judged(setup + "p3" + end).validity is Validity.VALID

    def test_an_observer_is_none_of_them(self) -> None:
        assert ids_of("setup acks=1 durable=4 workers=5\np0 send 0@0=1\na final 0 0..1 0@0=1") == {}
