"""What the log checker reports of order: of polls within an assignment, and of sends in real time."""

import pytest

from checkers.verdict.verdict import Validity
from tests.checkers.log_histories import ids_of, judged, only


class TestPolls:
    SENT = "p0 send 0@0=1 0@1=2 0@2=3\nr9 assign 0@0\n"

    @pytest.mark.parametrize(
        ("polls", "found"),
        [
            ("r9 poll 0@0=1\nr9 poll 0@2=3", {"poll-skip": 1}),
            ("r9 poll 0@0=1 0@2=3", {"int-poll-skip": 1}),
            ("r9 poll 0@2=3", {"poll-skip": 1}),
            ("r9 poll 0@0=1 0@1=2\nr9 poll 0@1=2 0@2=3", {"nonmonotonic-poll": 1}),
            ("r9 poll 0@0=1 0@1=2 0@2=3 0@1=2", {"int-nonmonotonic-poll": 1}),
            ("r9 assign 0@1\nr9 poll 0@0=1 0@1=2", {"nonmonotonic-poll": 1}),
            ("r9 poll 0@0=1\nr9 assign 0@2\nr9 poll 0@2=3", {}),
            ("r9 poll 0@0=1\nr9 assign 0@0\nr9 poll 0@0=1 0@1=2 0@2=3", {}),
            ("r9 poll 0@0=1\nr8 poll 0@2=3", {}),
            ("r9 poll 0@0=1\nr9 poll\nr9 poll 0@1=2", {}),
        ],
    )
    def test_steps(self, polls: str, found: dict[str, int]) -> None:
        end = "\na final 0 0..3 0@0=1 0@1=2 0@2=3"
        assert ids_of(self.SENT + polls + end) == found

    def test_a_gap_where_nothing_is_known_is_no_skip(self) -> None:
        assert ids_of("p0 send 0@0=1 0@5=2\nr9 assign 0@0\nr9 poll 0@0=1 0@5=2") == {}

    def test_a_skip_names_the_assignment_where_nothing_came_before(self) -> None:
        anomaly = judged(self.SENT + "r9 poll 0@2=3\na final 0 0..3 0@0=1 0@1=2 0@2=3").anomalies[0]
        assert anomaly.summary == "2 known records were skipped, 1 at log-0/0@0 among them"
        assert "operation 4: the consumer was assigned the start position log-0/0@0." in anomaly.explanation

    def test_a_final_read_out_of_order(self) -> None:
        counts = ids_of("p0 send 0@0=1 0@1=2\na final 0 0..2 0@1=2 0@0=1")
        assert counts == {"int-nonmonotonic-poll": 1}

    def test_what_a_final_read_leaves_out_is_no_skip(self) -> None:
        counts = ids_of("p0 send 0@0=1 0@1=2 0@2=3\na final 0 0..3 0@0=1 0@2=3")
        assert counts == {"lost-write": 1}

    def test_final_reads_follow_no_other(self) -> None:
        text = "p0 send 0@0=1\na final 0 0..1 0@0=1\na final 0 0..1 0@0=1"
        assert ids_of(text) == {}

    def test_lag_is_a_figure(self) -> None:
        text = "p0 send 0@0=1 0@1=2 0@2=3\nr9 assign 0@0\nr9 poll 0@0=1\np0 send 0@3=4\nr9 poll 0@1=2 0@2=3"
        assert judged(text).figures["lag_records_max"] == 2


class TestOrder:
    END = "\na final 0 0..2 0@0={} 0@1={}"

    def test_acknowledged_below_what_was_acknowledged_before(self) -> None:
        result = judged("p0 send 0@1=1\np1 send 0@0=2" + self.END.format(2, 1))
        anomaly = only(result)
        assert anomaly.id == "realtime-order"
        assert anomaly.subject == "log-0/0@0"
        assert anomaly.witness == (2, 3, 4)
        assert anomaly.summary == ("2 is at log-0/0@0, below offset 1, which was known before its send began")

    def test_below_what_a_reader_had_been_given(self) -> None:
        text = "p0 > 0=1\nr9 poll 0@1=1\np1 > 0=2" + self.END.format(2, 1)
        assert ids_of(text) == {"realtime-order": 1}

    def test_sends_that_overlap_have_no_order(self) -> None:
        text = "p1 > 0=2\np0 send 0@1=1\np1 < 0@0=2" + self.END.format(2, 1)
        assert ids_of(text) == {}

    def test_a_process_sends_backwards(self) -> None:
        counts = ids_of("p0 send 0@1=1\np0 send 0@0=2" + self.END.format(2, 1))
        assert counts == {"nonmonotonic-send": 1, "realtime-order": 1}

    def test_a_batch_is_appended_backwards(self) -> None:
        text = "p0 send 0@1=1 0@0=2" + self.END.format(2, 1)
        assert ids_of(text) == {"int-nonmonotonic-send": 1}
        assert judged(text).validity is Validity.INVALID
        assert only(judged(text)).summary == ("one process sent 2 after 1, but 2 is before it at log-0/0@0")

    def test_without_idempotence_a_batch_may_be_reordered(self) -> None:
        result = judged("setup idempotent=no\np0 send 0@1=1 0@0=2" + self.END.format(2, 1))
        assert result.validity is Validity.VALID
        assert result.counts == {"int-nonmonotonic-send": 1}
