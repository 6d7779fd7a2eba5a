"""Who is in sync by the metadata log, and replicas that leave the ISR after recovery."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import pytest

from checkers.history.operations import History, Operation, OperationType
from checkers.logs.replicas.judging import check_replicas
from checkers.verdict.verdict import CheckerResult, Validity
from tests.checkers.logs.replicas.replica_histories import (
    TOPIC_ID,
    Batch,
    final_read,
    history_of,
    metadata,
    observed,
    replica,
)

LOG = (Batch(0, 3), Batch(3, 2), Batch(5, 2))
INVOKE, OK = OperationType.INVOKE, OperationType.OK
RECOVERED_NS = 100


def changed(*isrs: Sequence[int]) -> Operation:
    """The metadata log: all three in sync, then these ISRs."""
    partition = {"partitionId": 0, "topicId": TOPIC_ID}
    made = {**partition, "leader": 1, "leaderEpoch": 0, "isr": [1, 2, 3], "replicas": [1, 2, 3]}
    changes = [{**partition, "isr": list(isr)} for isr in isrs]
    records = [[0, 1, "TOPIC_RECORD", {"name": "log-0", "topicId": TOPIC_ID}]]
    records += [[1, 1, "PARTITION_RECORD", made]]
    records += [[2 + i, 1, "PARTITION_CHANGE_RECORD", change] for i, change in enumerate(changes)]
    return observed("n1", metadata([Batch(0, len(records))], records=records))


def ends_at(time_ns: int, end: int) -> Operation:
    """The quorum's leader reports where its log ends, and that all of it is committed."""
    value = {
        "began_ns": time_ns,
        "answer": "leader",
        "leader_id": 1,
        "leader_epoch": 1,
        "high_watermark": end,
        "wall_ms": 0,
        "voters": [[1, None, end, -1, -1]],
        "observers": [],
    }
    return Operation(0, time_ns, "observer-quorum", OK, "observe", "quorum", value, node="n1")


def sent(offset: int, at_ns: int = 50) -> list[Operation]:
    value = [[0, 1000 + offset]]
    return [
        Operation(0, at_ns, 1, INVOKE, "send", "log-0", value),
        Operation(0, at_ns + 1, 1, OK, "send", "log-0", [[0, 1000 + offset, offset, "ok"]]),
    ]


def viewed(isr: Sequence[int], node: str = "n1") -> Operation:
    value = {"began_ns": RECOVERED_NS + 1, "topics": {"log-0": [[0, 1, 0, [1, 2, 3], list(isr), None]]}}
    return Operation(0, RECOVERED_NS + 2, f"observer-{node}", OK, "observe", "partitions", value, node=node)


def run(
    logs: Mapping[str, Any],
    *others: Operation,
    isrs: Sequence[Sequence[int]] = ((1, 2),),
    log: bool = True,
    left_ns: int = 200,
    setup: Mapping[str, Any] | None = None,
    **fields: Any,
) -> History:
    """All are in sync at the end of recovery; `isrs` follow at `left_ns`."""
    state = {"topic": "log-0", "partition": 0, "leader": 1, "isr": [1, 2, 3]}
    recovered = Operation(0, RECOVERED_NS, "runner", OK, "recover", "log-0", {"partitions": [state]})
    end = 2 + len(isrs)
    operations = [
        Operation(0, 40, "runner", OK, "phase", "recover"),
        recovered,
        ends_at(10, 2),
        ends_at(left_ns - 5, 2),
        ends_at(left_ns + 5, end),
        *others,
        msgspec.structs.replace(final_read(7), time_ns=290, type=INVOKE),
        msgspec.structs.replace(final_read(7), time_ns=300),
        *(msgspec.structs.replace(observed(node, value), time_ns=400) for node, value in logs.items()),
        *([msgspec.structs.replace(changed(*isrs), time_ns=500)] if log else []),
    ]
    history = history_of(*sorted(operations, key=lambda each: each.time_ns), setup=setup)
    return msgspec.structs.replace(history, **fields)


def logs(third: Sequence[Batch] | dict[str, Any]) -> dict[str, Any]:
    return {
        "n1": replica(LOG),
        "n2": replica(LOG),
        "n3": third if isinstance(third, dict) else replica(third),
    }


def counts(history: History) -> dict[str, int]:
    return check_replicas(history).counts


OTHER = (Batch(0, 3), Batch(3, 2, crc=9), Batch(5, 2))


class TestLeft:
    def judged(self, third: Any, *others: Operation, **fields: Any) -> CheckerResult:
        return check_replicas(run(logs(third), *sent(6), *others, **fields))

    def test_one_that_has_what_was_committed_is_valid(self) -> None:
        result = self.judged(LOG)
        assert result.validity is Validity.VALID
        assert (result.figures["left_isr"], result.figures["left_compared"]) == (1, 1)

    def test_one_that_differs_is_found(self) -> None:
        result = self.judged(OTHER)
        assert result.counts == {"replica-divergence": 1}
        assert "n3 was in sync when recovery ended; 7 was committed" in result.anomalies[0].explanation[0]

    def test_one_that_is_short_is_found(self) -> None:
        result = self.judged(LOG[:2])
        assert result.counts == {"short-replica": 1}
        assert len(result.anomalies[0].witness) == 2

    def test_what_was_committed_later_may_be_missing(self) -> None:
        late = run(logs(LOG[:2]), *sent(4), *sent(6, at_ns=150))
        assert counts(late) == {}
        assert counts(run(logs(LOG[:2]), *sent(6, at_ns=20))) == {}
        assert counts(run(logs(LOG[:2]))) == {}

    @pytest.mark.parametrize(("durable", "found"), [([1], True), ([], False)])
    def test_only_what_waits_for_all_is_committed(self, durable: list[int], *, found: bool) -> None:
        workload = {"acks": "1", "durable_processes": durable, "workers": 4}
        result = self.judged(LOG[:2], setup={"workload": workload})
        assert ("short-replica" in result.counts) is found

    @pytest.mark.parametrize(("nodes", "found"), [(["n3"], False), (["n2"], True)])
    def test_a_fault_that_came_later_excuses_it(self, nodes: list[str], *, found: bool) -> None:
        plan = {"kind": "kill", "spec": {}}
        fault = [
            Operation(0, 150, "nemesis", INVOKE, "inject", "f1", plan),
            Operation(0, 151, "nemesis", OK, "inject", "f1", plan | {"targets": nodes}),
        ]
        assert bool(self.judged(OTHER, *fault).counts) is found

    def test_one_that_may_have_left_before_is_not_judged(self) -> None:
        assert self.judged(OTHER, left_ns=RECOVERED_NS).counts == {}

    def test_without_the_metadata_log_nothing_is_judged(self) -> None:
        result = self.judged(OTHER, viewed([1, 2]), log=False)
        assert (result.counts, result.figures["left_isr"]) == ({}, 1)

    @pytest.mark.parametrize(
        "third", [replica(OTHER, topic_id="AAAAAAAAAAAAAAAAAAAAAA"), {**replica([]), "error": "x"}]
    )
    def test_a_log_that_records_nothing_of_it_is_not_judged(self, third: dict[str, Any]) -> None:
        assert self.judged(third).figures["left_compared"] == 0

    def test_a_run_without_a_recovery_phase_knows_of_nothing_committed(self) -> None:
        history = run(logs(LOG[:2]), *sent(6))
        kept = tuple(o for o in history.operations if o.f != "phase")
        placed = tuple(msgspec.structs.replace(o, index=i) for i, o in enumerate(kept))
        assert counts(msgspec.structs.replace(history, operations=placed)) == {}


class TestMembers:
    def test_an_old_view_keeps_nobody_out(self) -> None:
        assert counts(run(logs(OTHER), viewed([1, 2]), isrs=())) == {"replica-divergence": 1}

    def test_views_without_the_log_do(self) -> None:
        assert counts(run(logs(OTHER), viewed([1, 2]), isrs=(), log=False)) == {}

    def test_one_that_came_back_is_in_sync_if_brokers_tell_so(self) -> None:
        back = ((1, 2), (1, 2, 3))
        assert counts(run(logs(OTHER), viewed([1, 2, 3]), isrs=back)) == {"replica-divergence": 1}
        assert counts(run(logs(OTHER), viewed([1, 2]), isrs=back)) == {}

    def test_where_views_were_lost_the_log_decides(self) -> None:
        lacking = frozenset({"observer-partitions-n1"})
        known = check_replicas(run(logs(OTHER), isrs=(), lacking=lacking))
        assert known.counts == {"replica-divergence": 1}
        unknown = check_replicas(run(logs(OTHER), isrs=(), log=False, lacking=lacking))
        assert unknown.unknown_because == "the history does not have the in-sync replicas of log-0/0"


def test_a_journal_of_disks_that_was_cut_is_a_doubt() -> None:
    result = check_replicas(run(logs(LOG), isrs=(), lacking=frozenset({"replicas"})))
    assert result.validity is Validity.UNKNOWN
    assert "the nodes' disks (replicas)" in str(result.unknown_because)
