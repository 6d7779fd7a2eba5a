"""Brokers must know the producers that their logs have batches of."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import pytest

from checkers.history.operations import History, Operation, OperationType
from checkers.logs.replicas.judging import check_replicas
from checkers.verdict.verdict import Validity
from tests.checkers.logs.replicas.replica_histories import (
    Batch,
    final_read,
    history_of,
    observed,
    recovered,
    replica,
)

OK = OperationType.OK
CONTROL, TRANSACTIONAL = 0x20, 0x10
LOG = (
    Batch(0, 3, producer_id=7, producer_epoch=0, base_sequence=0),
    Batch(3, 2, producer_id=8, producer_epoch=1, base_sequence=0),
    Batch(5, 2, producer_id=7, producer_epoch=0, base_sequence=3),
    Batch(7),
)
KNOWN = ((7, 0, 4), (8, 1, 1))
Known = Sequence[tuple[int, int, int]]


def answered(
    node: str, known: Known, *, began_ns: int = 5, at_ns: int = 9, error: int = 0, topic: str = "log-0"
) -> Operation:
    value = {"began_ns": began_ns, "topics": {topic: [[0, error, [list(each) for each in known]]]}}
    return Operation(0, at_ns, "runner", OK, "observe", "producers", value, node=node)


def run(
    *answers: Operation,
    log: Sequence[Batch] = LOG,
    end: int = 8,
    isr: Sequence[int] = (1, 2),
    setup: Mapping[str, Any] | None = None,
    **fields: Any,
) -> History:
    """A run whose first two nodes have the same log at the end."""
    logs = [observed(node, replica(log, **fields)) for node in ("n1", "n2")]
    start = fields.get("log_start", 0)
    return history_of(recovered(isr), final_read(end, start=start), *logs, *answers, setup=setup)


def found(history: History) -> list[tuple[str | None, str]]:
    return [(each.subject, each.summary) for each in check_replicas(history).anomalies]


class TestForgotten:
    def test_all_are_known(self) -> None:
        result = check_replicas(run(answered("n1", KNOWN), answered("n2", KNOWN)))
        assert (result.validity, result.anomalies) == (Validity.VALID, ())
        assert result.figures["producers_known"] == 4

    @pytest.mark.parametrize(
        ("known", "message"),
        [
            pytest.param(
                KNOWN[:1], "epoch 1 and sequence number 1 of producer 8 at offset 4", id="one unknown"
            ),
            pytest.param((), "of producer 7 at offset 6, and the broker does not know it", id="none"),
            pytest.param(((7, 0, 3), KNOWN[1]), "and the broker knows epoch 0 and number 3", id="earlier"),
            pytest.param(((7, 0, 4), (8, 0, 9)), "and the broker knows epoch 0 and number 9", id="older"),
        ],
    )
    def test_one_is_not(self, known: Known, message: str) -> None:
        ((subject, summary),) = found(run(answered("n1", KNOWN), answered("n2", known)))
        assert str(subject).startswith("log-0/0@")
        assert message in summary
        assert summary.startswith("the log of log-0/0 on n2 has epoch ")

    @pytest.mark.parametrize("known", [((7, 0, 9), (8, 1, 1)), ((7, 1, -1), (8, 2, 0)), (*KNOWN, (9, 0, 0))])
    def test_later_ones_and_more_of_them_are_known(self, known: Known) -> None:
        assert found(run(answered("n2", known))) == []

    def test_only_who_is_in_sync_is_judged(self) -> None:
        assert found(run(answered("n2", ()), isr=(1,))) == []

    def test_only_what_is_committed_is_judged(self) -> None:
        assert found(run(answered("n1", ((7, 0, 2), (8, 1, 1))), end=5)) == []
        assert len(found(run(answered("n1", ((7, 0, 2), (8, 1, 1))), end=7))) == 1

    def test_what_was_deleted_is_not_judged(self) -> None:
        assert found(run(answered("n1", KNOWN[:1]), log_start=5)) == []
        assert len(found(run(answered("n1", KNOWN[:1]), log_start=3))) == 1

    def test_an_answer_of_before_the_disks_were_read_is_not_judged(self) -> None:
        assert found(run(answered("n1", (), began_ns=4))) == []

    def test_the_last_answer_counts(self) -> None:
        assert found(run(answered("n1", ()), answered("n1", KNOWN))) == []

    def test_brokers_that_are_to_forget_are_not_judged(self) -> None:
        setup = {"config": {"producer.id.expiration.ms": "1000"}}
        assert found(run(answered("n1", ()), setup=setup)) == []


class TestEpochs:
    MARKED = (
        Batch(0, 3, producer_id=7, producer_epoch=0, base_sequence=0, attributes=TRANSACTIONAL),
        Batch(3, producer_id=7, producer_epoch=1, attributes=CONTROL | TRANSACTIONAL, control=1),
        Batch(4),
    )

    @pytest.mark.parametrize(
        ("known", "number"),
        [(((7, 1, -1),), 0), (((7, 1, 5),), 0), (((7, 0, 2),), 1), ((), 1)],
    )
    def test_a_marker_begins_an_epoch_without_numbers(self, known: Known, number: int) -> None:
        history = run(answered("n1", known), log=self.MARKED, end=5)
        assert len(found(history)) == number

    def test_a_marker_of_the_same_epoch_keeps_the_number(self) -> None:
        batch, marker, last = self.MARKED
        log = (batch, marker._replace(producer_epoch=0), last)
        assert len(found(run(answered("n1", ((7, 0, -1),)), log=log, end=5))) == 1
        assert found(run(answered("n1", ((7, 0, 2),)), log=log, end=5)) == []

    def test_a_marker_that_compaction_removed_is_passed_over(self) -> None:
        batch, marker, last = self.MARKED
        log = (batch, marker._replace(count=0), last)
        history = run(answered("n1", ((7, 0, 2),)), log=log, end=5)
        assert "producer-forgotten" not in check_replicas(history).counts

    def test_numbers_go_round(self) -> None:
        batch = Batch(0, 3, producer_id=7, producer_epoch=0, base_sequence=2**31 - 1)
        assert found(run(answered("n1", ((7, 0, 1),)), log=(batch, Batch(3)), end=4)) == []
        assert len(found(run(answered("n1", ((7, 0, 0),)), log=(batch, Batch(3)), end=4))) == 1


def ahead(history: History) -> list[tuple[str | None, str]]:
    anomalies = check_replicas(history).anomalies
    return [(each.subject, each.summary) for each in anomalies if each.id == "producer-ahead"]


class TestAhead:
    """A broker knows no more of a producer than its log has."""

    BEFORE = 3

    def before(self, known: Known, *, log: Sequence[Batch] = LOG, isr: Sequence[int] = (1, 2)) -> History:
        """A run whose second node answered the same before its log was read, which began at 4, and after."""
        first = answered("n2", known, began_ns=2, at_ns=self.BEFORE)
        return run(first, answered("n2", known), log=log, isr=isr, began_ns=4)

    def test_what_the_log_has_is_known(self) -> None:
        result = check_replicas(self.before(KNOWN))
        assert (result.anomalies, result.figures["producers_taken_back"]) == ((), 2)
        assert "n1 did not answer which producers it knew of log-0/0 before" in str(result.unknown_because)

    def test_a_later_number_is_known(self) -> None:
        ((subject, summary),) = ahead(self.before(((7, 0, 6), (8, 1, 2))))
        assert subject == "log-0/0@6"
        assert summary == (
            "n2 knows sequence number 6 of producer 7 in epoch 0, "
            "and the last one in its log of log-0/0 is 4, at offset 6"
        )

    @pytest.mark.parametrize(
        ("number", "policy", "count"), [(6, "compact", 0), (6, "delete", 1), (7, "compact", 1)]
    )
    def test_what_compaction_removed_here_alone_is_known_rightly(
        self, number: int, policy: str, count: int
    ) -> None:
        """The cleaner took a batch that was truncated later for the producer's last one."""
        kept = Batch(7, 2, producer_id=7, producer_epoch=0, base_sequence=5)
        logs = [
            observed("n1", replica((*LOG[:3], kept, Batch(9)), began_ns=4)),
            observed("n2", replica((*LOG[:3], Batch(9)), began_ns=4)),
        ]
        known = ((7, 0, number), KNOWN[1])
        answers = [answered("n2", known, began_ns=2, at_ns=self.BEFORE), answered("n2", known)]
        setup = {"config": {"log.cleanup.policy": policy}}
        history = history_of(recovered((1, 2)), final_read(10, start=0), *logs, *answers, setup=setup)
        assert len(ahead(history)) == count

    @pytest.mark.parametrize(
        "known", [((7, 0, 3), (8, 1, 0)), ((7, 1, 9), (8, 2, 9)), (*KNOWN, (9, 0, 5)), ()], ids=str
    )
    def test_earlier_numbers_other_epochs_and_other_producers_are_not_judged(self, known: Known) -> None:
        assert ahead(self.before(known)) == []

    def test_numbers_go_round(self) -> None:
        log = (Batch(0, 3, producer_id=7, producer_epoch=0, base_sequence=2**31 - 4), Batch(3, 5))
        assert len(ahead(self.before(((7, 0, 0),), log=log))) == 1

    def test_an_epoch_of_markers_alone_has_no_numbers(self) -> None:
        marker = Batch(7, producer_id=7, producer_epoch=0, attributes=CONTROL | TRANSACTIONAL, control=1)
        assert ahead(self.before(((7, 0, 5),), log=(Batch(0, 7), marker))) == []

    def test_a_broker_that_knows_no_number_is_not_ahead(self) -> None:
        log = (Batch(0, 3, producer_id=7, producer_epoch=0, base_sequence=2**31 - 4), Batch(3, 5))
        assert ahead(self.before(((7, 0, -1),), log=log)) == []

    def test_only_who_is_in_sync_is_judged(self) -> None:
        assert ahead(self.before(((7, 0, 6),), isr=(1,))) == []

    def test_an_answer_that_came_when_the_log_was_being_read_is_not_judged(self) -> None:
        assert ahead(run(answered("n2", ((7, 0, 6),), began_ns=2, at_ns=5), began_ns=4)) == []

    def test_both_answers_must_have_the_number(self) -> None:
        first = answered("n2", ((7, 0, 6),), began_ns=2, at_ns=self.BEFORE)
        again = answered("n2", ((7, 0, 6),))
        assert len(ahead(run(first, again, began_ns=4))) == 1
        assert ahead(run(first, answered("n2", KNOWN), began_ns=4)) == []
        assert ahead(run(first, answered("n2", ((7, 0, 7), (8, 1, 1))), began_ns=4)) == []
        assert ahead(run(first, began_ns=4)) == []
        refused = answered("n2", (), began_ns=1, at_ns=2, error=6)
        assert len(ahead(run(refused, first, again, began_ns=4))) == 1

    def test_numbers_that_no_kafka_has_are_refused(self) -> None:
        with pytest.raises(msgspec.ValidationError):
            check_replicas(self.before(((7, 2**70, 6),)))


class TestUnanswered:
    SETUP: Mapping[str, Any] = {"evidence": ["replicas", "producers"]}

    def test_who_was_asked_and_did_not_tell_is_doubted(self) -> None:
        refused = answered("n2", (), error=6)
        result = check_replicas(run(answered("n1", KNOWN), refused, setup=self.SETUP))
        assert result.validity is Validity.UNKNOWN
        assert "n2 did not answer which producers it knows of log-0/0" in str(result.unknown_because)

    def test_who_answered_before_and_not_after_the_disks_were_read_is_doubted(self) -> None:
        early = answered("n2", KNOWN, began_ns=1, at_ns=2)
        for later in ((), (answered("n2", (), error=6),)):
            history = run(early, *later, answered("n1", KNOWN), setup=self.SETUP)
            assert "n2 did not answer" in str(check_replicas(history).unknown_because)

    def test_who_did_not_answer_at_all_is_not_doubted_here(self) -> None:
        result = check_replicas(run(answered("n1", KNOWN), setup=self.SETUP))
        assert result.validity is Validity.VALID

    def test_older_runs_asked_nobody(self) -> None:
        assert check_replicas(run(answered("n2", (), error=6))).validity is Validity.VALID
