"""What is missing within logs: offsets between batches, and numbers of idempotent producers."""

from typing import Any

import pytest

from checkers.history.operations import Operation, OperationType
from checkers.logs.replicas.judging import check_replicas
from checkers.verdict.verdict import CheckerResult, Validity
from tests.checkers.logs.replicas.replica_histories import (
    SETUP,
    Batch,
    final_read,
    history_of,
    observed,
    recovered,
    replica,
    replicated,
)

TRANSACTIONAL, MARKER = 0x10, 0x30
NODES = ("n1", "n2", "n3")


def everywhere(*log: Batch, **options: Any) -> CheckerResult:
    """All replicas hold the same log."""
    end = max(batch.last_offset for batch in log) + 1
    return check_replicas(replicated(dict.fromkeys(NODES, log), end, **options))


def topic(**config: str) -> dict[str, Any]:
    return {"topics": [{**SETUP["topics"][0], "config": config}]}


def made(offset: int, sequence: int, count: int = 1, *, epoch: int = 0, producer: int = 9001) -> Batch:
    return Batch(offset, count, producer_id=producer, producer_epoch=epoch, base_sequence=sequence)


def marker(offset: int, *, epoch: int = 0, producer: int = 9001, coordinator: int = 0) -> Batch:
    return Batch(
        offset,
        producer_id=producer,
        producer_epoch=epoch,
        attributes=MARKER,
        control=0,
        coordinator_epoch=coordinator,
    )


class TestOffsets:
    HOLED = (Batch(0, 3), Batch(5, 2), Batch(7), Batch(9))

    def test_holes_that_all_replicas_share_are_found_once_each(self) -> None:
        result = everywhere(*self.HOLED)
        assert result.validity is Validity.INVALID
        assert result.counts == {"offset-gap": 2}
        first = result.anomalies[0]
        assert first.subject == "log-0/0@5"
        assert first.summary == "log-0/0 on n1: no batch has the offsets between 2 and 5"
        assert first.explanation[-1] == "n2, n3: the same."
        assert len(first.witness) == 1
        assert result.figures["neighbours_compared"] == 9

    def test_one_in_one_log_is_found_too(self) -> None:
        log = [Batch(0, 3), Batch(3, 2), Batch(5, 2)]
        result = check_replicas(replicated({"n1": log, "n2": log, "n3": [log[0], log[2]]}, 7))
        assert result.counts == {"offset-gap": 1, "replica-divergence": 1}

    def test_batches_that_follow_upon_each_other_have_none(self) -> None:
        assert everywhere(Batch(4, 3), Batch(7), Batch(8, 2)).counts == {}

    def test_compaction_makes_them(self) -> None:
        assert everywhere(*self.HOLED, setup=topic(**{"cleanup.policy": "compact"})).counts == {}

    @pytest.mark.parametrize(
        ("config", "value", "kind", "found"),
        [
            ("cleanup.policy", "compact,delete", "ok", False),
            ("cleanup.policy", "compact", "info", False),
            ("cleanup.policy", "compact", "fail", True),
            ("cleanup.policy", "delete", "ok", True),
            ("retention.bytes", "1", "ok", False),
            ("flush.ms", "1", "ok", True),
        ],
    )
    def test_a_config_that_was_altered_counts(
        self, config: str, value: str, kind: str, *, found: bool
    ) -> None:
        request = {"config": config, "value": value}
        altered = Operation(0, 0, "admin", OperationType(kind), "alter-topic", "log-0", request)
        log = observed("n1", replica(self.HOLED))
        history = history_of(recovered((1,)), final_read(10), altered, log)
        assert ("offset-gap" in check_replicas(history).counts) is found

    def test_retention_deletes_segments_while_they_are_read(self) -> None:
        assert everywhere(*self.HOLED, setup=topic(**{"retention.ms": "1000"})).counts == {}

    def test_below_the_start_of_the_log_nothing_is_due(self) -> None:
        read = final_read(10)
        read = Operation(0, 0, read.process, read.type, read.f, read.key, {**read.value, "start": 5})
        result = check_replicas(history_of(recovered((1,)), read, observed("n1", replica(self.HOLED))))
        assert [anomaly.subject for anomaly in result.anomalies] == ["log-0/0@9"]

    @pytest.mark.parametrize(
        ("kind", "targets", "found"),
        [
            ("power-loss", ["n1"], False),
            ("power-loss", ["n2"], True),
            ("power-loss", None, False),
            ("dead-disk", ["n1"], False),
            ("kill", ["n1"], True),
        ],
    )
    def test_a_loss_of_power_may_have_taken_a_segment(
        self, kind: str, targets: list[str] | None, *, found: bool
    ) -> None:
        plan = {"kind": kind, "spec": {}}
        struck = [Operation(0, 0, "nemesis", OperationType.INVOKE, "inject", "f1", plan)]
        if targets is not None:
            done = plan | {"targets": targets}
            struck.append(Operation(0, 1, "nemesis", OperationType.OK, "inject", "f1", done))
        history = history_of(*struck, recovered((1,)), final_read(10), observed("n1", replica(self.HOLED)))
        assert ("offset-gap" in check_replicas(history).counts) is found


class TestSequences:
    def test_numbers_in_their_order_are_valid(self) -> None:
        result = everywhere(
            made(0, 0, 5),
            made(5, 5),
            made(6, 0, producer=9002),
            made(7, 6, 2),
            marker(9),
            made(10, 8),
            made(11, 0, epoch=1),
            Batch(12),
        )
        assert result.validity is Validity.VALID
        assert result.figures["producer_batches"] == 21

    @pytest.mark.parametrize(
        "log",
        [
            (made(0, 0), made(1, 2)),
            (made(0, 0, 3), made(3, 4, 2)),
            (made(0, 0), made(1, 0, producer=9002), made(2, 2)),
            (made(0, 0), marker(1), made(2, 2)),
            (made(0, 0), made(1, 1, epoch=1)),
            (made(0, 0), marker(1, epoch=1), made(2, 1, epoch=1)),
            (made(0, 0), made(1, 2), made(2, 1)),
        ],
    )
    def test_numbers_that_are_missing_are_found(self, log: tuple[Batch, ...]) -> None:
        result = everywhere(*log)
        assert result.validity is Validity.INVALID
        assert result.counts == {"sequence-gap": 1}

    def test_what_the_log_holds_nothing_of_may_begin_anywhere(self) -> None:
        assert everywhere(made(0, 7), made(1, 9, producer=9002)).counts == {}

    def test_what_the_log_s_start_cut_off_is_not_compared(self) -> None:
        log = replica([made(0, 0), made(1, 5), made(2, 6)], log_start=1)
        assert check_replicas(replicated(dict.fromkeys(NODES, log), 3)).counts == {}

    def test_what_is_appended_twice_is_no_gap(self) -> None:
        found = everywhere(made(0, 0, 5), made(5, 5, 5), made(10, 0, 5), made(15, 10)).counts
        assert found == {"duplicate-batch": 3}

    def test_numbers_wrap(self) -> None:
        last = 2**31 - 3
        assert everywhere(made(0, last, 3), made(3, 0)).counts == {}

    def test_compaction_makes_gaps(self) -> None:
        compacted = topic(**{"cleanup.policy": "compact"})
        assert everywhere(made(0, 0), made(1, 2), setup=compacted).counts == {}

    @pytest.mark.parametrize("where", ["config", "node_config"])
    def test_brokers_that_forget_producers_early_take_what_comes(self, where: str) -> None:
        early = {"producer.id.expiration.ms": "5000"}
        setup = {where: early if where == "config" else {"n2": early}}
        result = everywhere(made(0, 0), made(1, 2), setup=setup)
        assert result.counts == {}
        assert result.figures["producer_batches"] == 0


class TestProducerEpochs:
    @pytest.mark.parametrize(
        ("log", "number"),
        [
            ((made(0, 0, epoch=1), made(1, 1, epoch=0)), 1),
            ((made(0, 0), marker(1, epoch=1), made(2, 1)), 1),
            ((made(0, 0, epoch=1), marker(1)), 1),
            ((made(0, 0), marker(1, epoch=1), marker(2)), 1),
            ((made(0, 0, epoch=2), marker(1, epoch=0), made(2, 1, epoch=1)), 2),
        ],
    )
    def test_one_that_was_over_is_found(self, log: tuple[Batch, ...], number: int) -> None:
        assert everywhere(*log).counts == {"producer-epoch-regression": number}

    def test_a_marker_may_be_sent_again_and_producers_are_apart(self) -> None:
        log = (made(0, 0, epoch=1), marker(1, epoch=1), marker(2, epoch=1), made(3, 0, producer=9002))
        assert everywhere(*log).counts == {}


class TestCoordinatorEpochs:
    def test_one_that_was_over_is_found(self) -> None:
        log = (made(0, 0), marker(1, coordinator=4), made(2, 1), marker(3, coordinator=3))
        result = everywhere(*log)
        assert result.counts == {"coordinator-epoch-regression": 1}
        assert result.anomalies[0].summary == (
            "log-0/0 on n1: after offset 1 the marker at 3 has an old coordinator epoch"
        )

    def test_coordinators_of_other_producers_and_unknown_ones_are_apart(self) -> None:
        log = (
            marker(0, coordinator=4),
            marker(1, coordinator=-1),
            marker(2, coordinator=3, producer=9002),
            marker(3, coordinator=4),
            marker(4, coordinator=6),
        )
        assert everywhere(*log).counts == {}
