"""Leader epochs that replicas noted: against their batches, each other, and the metadata log."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import pytest

from checkers.history.operations import History, Operation, OperationType
from checkers.logs.replicas.judging import check_replicas
from checkers.verdict.verdict import CheckerResult, Validity
from tests.checkers.logs.replicas.replica_histories import (
    SETUP,
    TOPIC_ID,
    Batch,
    final_read,
    history_of,
    leads,
    metadata,
    observed,
    recovered,
    replica,
)

Entries = Sequence[tuple[int, int]]
LOG = (Batch(0, 3), Batch(3, 2), Batch(5, 2, leader_epoch=1), Batch(7, 3, leader_epoch=3))
NOTES = ((0, 0), (1, 5), (3, 7))
ALL = ("n1", "n2", "n3")


def noted(node: str, entries: Entries) -> Operation:
    value = {"node": node, "topic": "log-0", "partition": 0, "entries": [list(each) for each in entries]}
    return Operation(
        0, 6, "observer-replicas", OperationType.OK, "observe", "leader-epochs", value, node=node
    )


def noted_history(
    notes: Mapping[str, Entries],
    *others: Operation,
    logs: Mapping[str, Any] | None = None,
    isr: Sequence[int] = (1, 2, 3),
    setup: Mapping[str, Any] | None = None,
    start: int = 0,
) -> History:
    """All replicas hold `LOG` unless `logs` has others, and noted this."""
    values = {node: replica(LOG) for node in ALL} | dict(logs or {})
    read = final_read(10)
    begun = Operation(0, 0, read.process, read.type, read.f, read.key, {**read.value, "start": start})
    return history_of(
        *others,
        recovered(isr),
        begun,
        *(observed(node, value) for node, value in values.items()),
        *(noted(node, entries) for node, entries in notes.items()),
        setup=setup,
    )


def judged(notes: Mapping[str, Entries], *others: Operation, **kwargs: Any) -> CheckerResult:
    return check_replicas(noted_history(notes, *others, **kwargs))


def same(entries: Entries = NOTES) -> dict[str, Entries]:
    return dict.fromkeys(ALL, entries)


class TestAgainstBatches:
    def test_notes_that_go_with_them_are_valid(self) -> None:
        result = judged(same())
        assert result.validity is Validity.VALID
        assert (result.figures["epoch_notes"], result.figures["epoch_batches"]) == (9, 12)

    @pytest.mark.parametrize(
        ("entries", "offset"),
        [
            (((0, 0), (1, 4), (3, 7)), 3),
            (((0, 0), (1, 6), (3, 7)), 5),
            (((0, 0), (2, 5), (3, 7)), 5),
            (((0, 0), (3, 7)), 5),
            (((0, 0), (1, 5)), 7),
            (((1, 5), (3, 7)), 0),
            ((), 0),
            (((0, 0), (1, 5), (3, 5)), 5),
            (((0, 0), (1, 5), (1, 7)), 5),
        ],
    )
    def test_notes_that_do_not_are_found(self, entries: Entries, offset: int) -> None:
        result = judged(same() | {"n2": entries})
        assert result.validity is Validity.INVALID
        assert result.counts["epoch-note-contradicted"] == 1
        (found,) = (each for each in result.anomalies if each.id == "epoch-note-contradicted")
        assert found.subject == f"log-0/0@{offset}"
        assert len(found.witness) == 2

    def test_an_epoch_without_batches_at_the_end_is_legal(self) -> None:
        assert judged(same() | {"n1": (*NOTES, (4, 10))}).counts == {}

    def test_what_was_not_committed_is_not_compared(self) -> None:
        longer = replica([*LOG, Batch(10, leader_epoch=5)])
        assert judged(same(), logs={"n2": longer}).counts == {}

    def test_a_replica_out_of_sync_is_not_judged(self) -> None:
        assert judged(same() | {"n3": ((0, 0),)}, isr=(1, 2)).counts == {}

    def test_the_start_of_the_log_cuts_them(self) -> None:
        cut = ((0, 3), (1, 5), (3, 7))
        assert judged(same(cut), start=3).counts == {}
        assert judged(same(cut)).counts == {"epoch-note-contradicted": 3}
        retained = {"topics": [{**SETUP["topics"][0], "config": {"retention.ms": "1000"}}]}
        assert judged(same(cut), setup=retained).counts == {}
        assert judged(same(()), setup=retained).counts == {"epoch-note-contradicted": 3}

    def test_a_loss_of_power_may_bring_an_older_file_back(self) -> None:
        plan = {"kind": "power-loss", "spec": {}}
        struck = (
            Operation(0, 0, "nemesis", OperationType.INVOKE, "inject", "f1", plan),
            Operation(0, 1, "nemesis", OperationType.OK, "inject", "f1", plan | {"targets": ["n2"]}),
        )
        assert judged(same() | {"n2": ((0, 0), (1, 5))}, *struck).counts == {}

    def test_a_replica_whose_notes_are_lost_is_a_doubt(self) -> None:
        result = judged({"n1": NOTES, "n3": NOTES})
        assert result.unknown_because == "no leader epoch checkpoint of n2 for log-0/0 was recorded"
        assert judged({"n1": NOTES, "n3": NOTES}, logs={"n2": replica([], end=10)}).counts == {
            "replica-divergence": 1
        }

    def test_a_history_without_any_is_judged_without_them(self) -> None:
        result = judged({})
        assert result.validity is Validity.VALID
        assert result.figures["epoch_notes"] == 0


class TestAgainstEachOther:
    EMPTY = replica([Batch(0, 3), Batch(9, leader_epoch=3)])
    COMPACTED: ClassVar = {"topics": [{**SETUP["topics"][0], "config": {"cleanup.policy": "compact"}}]}

    def test_what_batches_do_not_tell_is_compared_too(self) -> None:
        log = replica([Batch(0, 3), Batch(8, 2, leader_epoch=3)])
        result = judged(
            {"n1": ((0, 0), (1, 5), (3, 8)), "n2": ((0, 0), (1, 6), (3, 8))},
            logs={"n1": log, "n2": log, "n3": log},
            isr=(1, 2),
        )
        (found,) = (each for each in result.anomalies if each.id == "epoch-start-divergence")
        assert found.subject == "log-0/0@5"
        assert found.summary.endswith("began at offset 5 by the checkpoint of n1, and at 6 by that of n2")

    def test_replicas_of_a_compacted_topic_may_have_fetched_it_anew(self) -> None:
        notes = {"n1": ((0, 0), (1, 5), (3, 9)), "n2": ((0, 0), (1, 6), (3, 9)), "n3": ((0, 0), (3, 9))}
        result = judged(notes, logs=dict.fromkeys(ALL, self.EMPTY), setup=self.COMPACTED)
        assert result.counts == {}

    def test_where_the_leader_noted_nothing_there_is_nothing_to_compare(self) -> None:
        result = judged({"n2": NOTES, "n3": NOTES}, logs={"n1": replica([], end=10, log_start=10)})
        assert "epoch-start-divergence" not in result.counts

    def test_first_notes_and_what_is_not_committed_may_differ(self) -> None:
        notes = {"n1": (*NOTES, (4, 10)), "n2": (*NOTES, (4, 11)), "n3": ((0, 0), (1, 5), (3, 7))}
        assert judged(notes).counts == {}


class TestAgainstElections:
    def elected(self, *changes: Mapping[str, Any], **fields: Any) -> Operation:
        """The metadata log: node 1 leads in epoch 0, then these changes."""
        topic = {"name": "log-0", "topicId": TOPIC_ID}
        partition = {"partitionId": 0, "topicId": TOPIC_ID}
        made = {**partition, "leader": 1, "leaderEpoch": 0, "isr": [1, 2, 3], "replicas": [1, 2, 3]}
        records = [
            [0, 1, "TOPIC_RECORD", topic],
            [1, 1, "PARTITION_RECORD", made],
            *(
                [2 + place, 1, "PARTITION_CHANGE_RECORD", partition | dict(change)]
                for place, change in enumerate(changes)
            ),
        ]
        return observed("n1", metadata([Batch(0, len(records))], records=records, **fields))

    WHOLE = ({"leader": 2}, {"leader": -1}, {"leader": 3})

    def test_epochs_that_elections_began_are_valid(self) -> None:
        result = judged(same(), self.elected(*self.WHOLE), leads("n1", 5))
        assert result.validity is Validity.VALID
        assert result.figures["epochs_traced"] == 3

    @pytest.mark.parametrize(
        ("changes", "epochs"),
        [
            (({"leader": 2}, {"leader": 3}), {"3"}),
            (({"leader": -1}, {"leader": 2}, {"leader": 3}), {"1"}),
            (({"leader": -1}, {"leader": 2}), {"1", "3"}),
        ],
    )
    def test_others_are_found_once_each(self, changes: Any, epochs: set[str]) -> None:
        result = judged(same(), self.elected(*changes), leads("n1", 2))
        found = [each for each in result.anomalies if each.id == "epoch-without-election"]
        assert {each.summary.split("leader epoch ")[1].split()[0] for each in found} == epochs
        assert result.counts == {"epoch-without-election": len(epochs)}
        assert all(len(each.witness) == 2 for each in found)

    def test_a_note_alone_is_found(self) -> None:
        result = judged(same() | {"n1": (*NOTES, (9, 10))}, self.elected(*self.WHOLE), leads("n1", 5))
        assert result.counts == {"epoch-without-election": 1}
        assert "has it in the leader epoch checkpoint at offset 10" in result.anomalies[0].explanation[0]

    def test_where_the_metadata_log_may_lack_one_there_is_a_doubt(self) -> None:
        result = judged(same(), self.elected({"leader": 2}), leads("n1", 99))
        assert result.validity is Validity.UNKNOWN
        assert "does not have all elections of log-0/0" in str(result.unknown_because)

    def test_another_topic_of_that_name_is_not_traced(self) -> None:
        other = replica([Batch(0, leader_epoch=8)], topic_id="AAAAAAAAAAAAAAAAAAAAAA")
        result = judged(same(), self.elected(*self.WHOLE), leads("n1", 5), logs={"n3": other}, isr=(1, 2))
        assert result.counts == {}
