"""Transactions by the epochs of their batches and markers, without clients."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkers.columns.tables import NEVER, PartitionName
from checkers.history.operations import Operation, OperationType
from checkers.licences import LicenceEvent, Licences, Permit
from checkers.logs.replicas import client_results
from checkers.logs.replicas.judging import check_replicas
from checkers.verdict.verdict import CheckerResult
from tests.checkers.logs.replicas.replica_histories import (
    SETUP,
    TOPIC_ID,
    Batch,
    final_read,
    history_of,
    observed,
    replica,
)

TRANSACTIONAL, MARKER = 0x10, 0x30
ABORT, COMMIT = 0, 1
OTHER, SHARED = "marker-of-another-transaction", "marker-shared"
Entry = tuple[str, int]
"""A batch (``d``), a commit marker (``c``) or an abort marker (``a``), and its epoch."""


def log_of(*entries: Entry, producer: int = 7) -> list[Batch]:
    kinds = {"c": COMMIT, "a": ABORT}
    return [
        Batch(
            offset,
            producer_id=producer,
            producer_epoch=epoch,
            attributes=MARKER if kind in kinds else TRANSACTIONAL,
            control=kinds.get(kind, -1),
        )
        for offset, (kind, epoch) in enumerate(entries)
    ]


def read_to(end: int, partition: int) -> list[Operation]:
    """A final read that listed this end."""
    ended = final_read(end, partition=partition)
    asked = {name: ended.value[name] for name in ("client", "isolation", "partition")}
    began = Operation(0, 0, ended.process, OperationType.INVOKE, ended.f, ended.key, asked)
    return [began, ended]


def judged(*logs: Sequence[Batch], others: Sequence[Operation] = (), **setup: Any) -> CheckerResult:
    """Each of two nodes has these logs of the partitions from 0 on."""
    states = [
        {"topic": "log-0", "partition": number, "leader": 1, "isr": [1, 2]} for number in range(len(logs))
    ]
    topic = {"name": "log-0", "topic_id": TOPIC_ID, "partitions": len(logs)}
    return check_replicas(
        history_of(
            Operation(0, 1, "runner", OperationType.OK, "recover", "log-0", {"partitions": states}),
            *(each for number, log in enumerate(logs) for each in read_to(log[-1].last_offset + 1, number)),
            *others,
            *(
                observed(node, replica(log, partition=number))
                for number, log in enumerate(logs)
                for node in ("n1", "n2")
            ),
            setup={**SETUP, "topics": [topic], **setup},
        )
    )


def aborted_by_hand(producer: int) -> Operation:
    asked = {"producer_id": producer, "epoch": 1, "partition": 0, "to": 1}
    return Operation(0, 0, 9, OperationType.INVOKE, "abort-transaction", "log-0", asked)


def lowered(level: int, upgrade_type: str = "safe-downgrade") -> Operation:
    """A request for a level of ``transaction.version`` whose answer is unknown."""
    asked = {"level": level, "to": "n1", "upgrade_type": upgrade_type}
    return Operation(0, 0, 9, OperationType.INVOKE, "update-feature", "transaction.version", asked)


def transaction(*records: tuple[int, int | None]) -> list[Operation]:
    """A committed transaction with records in these partitions, at these offsets."""
    asked = {"client": "c", "end": "commit", "consumed": []}
    mops = [["send", "log-0", number, 10 * number + (offset or 5)] for number, offset in records]
    answered = [[*mop, offset] for mop, (_, offset) in zip(mops, records, strict=True)]
    return [
        Operation(0, 0, 7, OperationType.INVOKE, "txn", "t-1", {**asked, "mops": mops}),
        Operation(0, 0, 7, OperationType.OK, "txn", "t-1", {**asked, "mops": answered, "ended": "commit"}),
    ]


class TestLegal:
    @pytest.mark.parametrize(
        ("entries", "second"),
        [
            pytest.param((("d", 0), ("c", 0), ("d", 0), ("a", 0), ("d", 0), ("c", 0)), 0, id="version 1"),
            pytest.param((("d", 0), ("c", 1), ("d", 1), ("c", 2), ("d", 2)), 2, id="version 2"),
            pytest.param((("d", 0), ("c", 1), ("d", 1), ("a", 2), ("d", 2), ("c", 2)), 1, id="1 after it"),
            pytest.param((("d", 0), ("a", 2), ("d", 3), ("a", 3)), 0, id="aborts raise epochs as they like"),
            pytest.param((("d", 0), ("c", 1), ("c", 1), ("a", 2), ("d", 2), ("c", 3)), 2, id="markers alone"),
            pytest.param((("d", 0), ("c", 1), ("d", 5), ("c", 5)), 1, id="another client by the same id"),
            pytest.param((("d", 32766), ("c", 32767)), 1, id="the last epoch"),
        ],
    )
    def test_what_coordinators_write_is_valid(self, entries: Sequence[Entry], second: int) -> None:
        result = judged(log_of(*entries))
        assert result.counts == {}
        ended = sum(one[0] == "d" != other[0] for one, other in pairwise(entries))
        assert result.figures["ends_by_epochs"] == ended
        assert result.figures["commits_of_version_2"] == second

    def test_a_transaction_has_the_same_commit_in_all_partitions(self) -> None:
        result = judged(log_of(("d", 0), ("c", 1)), log_of(("d", 0), ("d", 0), ("c", 1), ("d", 1)))
        assert result.counts == {}
        assert result.figures["commits_of_version_2"] == 2

    def test_producers_are_judged_apart(self) -> None:
        other = log_of(("d", 1), ("a", 1), producer=8)
        of_two = [
            *log_of(("d", 0), ("c", 1)),
            *(each._replace(base_offset=2 + each.base_offset) for each in other),
        ]
        assert judged(of_two).counts == {}

    def test_without_transactions_there_is_nothing_to_judge(self) -> None:
        assert judged([Batch(0)]).figures["ends_by_epochs"] == 0


@pytest.mark.parametrize(
    ("above", "below", "epochs", "answers"),
    [
        ((4,), None, True, True),
        ((3,), None, False, True),
        ((2,), None, False, True),
        ((1,), None, False, False),
        ((0,), None, False, False),
        ((None,), None, False, False),
        ((4, 1), None, False, False),
        ((None,), 9, True, True),
    ],
)
def test_the_part_of_a_log_below_a_truncation_is_judged(
    monkeypatch: pytest.MonkeyPatch,
    above: Sequence[int | None],
    below: int | None,
    *,
    epochs: bool,
    answers: bool,
) -> None:
    """An acknowledged commit has an abort marker at 1, and a later commit marker at 3 has a wrong epoch."""
    place = PartitionName("log-0", 0)
    events = [LicenceEvent(0, NEVER, place, "an event", below=below, above=each) for each in above]
    licences = Licences({"log-0": [Permit(each, covers_returned=True, text="a permit") for each in events]})
    monkeypatch.setattr(client_results, "licences_of", lambda _: licences)
    log = log_of(("d", 0), ("a", 0), ("d", 0), ("c", 2))
    found = judged(log, others=transaction((0, 0))).counts
    assert (OTHER in found, "marker-against-answer" in found) == (epochs, answers)


class TestFound:
    def test_a_commit_beyond_the_next_epoch(self) -> None:
        result = judged(log_of(("d", 0), ("c", 2)))
        assert result.counts == {OTHER: 1}
        (found,) = result.anomalies
        assert found.subject == "log-0/0@1"
        assert found.summary == (
            "log-0/0 has the batch at 0 of producer 7 and epoch 0, and the next marker, at 1, is a commit of "
            "epoch 2: a commit has their epoch, or the next one"
        )

    @pytest.mark.parametrize("kind", ["c", "a"])
    def test_a_marker_of_the_transaction_before(self, kind: str) -> None:
        result = judged(log_of(("d", 0), ("c", 1), ("d", 1), (kind, 1)))
        assert result.counts == {OTHER: 1}
        (found,) = result.anomalies
        assert found.subject == "log-0/0@3"
        assert "their epoch is one of version 2" in found.summary
        assert len(found.explanation) == 4

    def test_that_the_epoch_is_one_of_version_2_may_show_in_another_partition(self) -> None:
        result = judged(log_of(("d", 1), ("a", 1)), log_of(("d", 0), ("c", 1)))
        assert result.counts == {OTHER: 1}
        assert len(result.anomalies[0].witness) == 2

    @pytest.mark.parametrize("marker", [("a", 0), ("a", 1), ("a", 2), ("c", 0)])
    def test_a_transaction_that_is_committed_elsewhere(self, marker: Entry) -> None:
        result = judged(log_of(("d", 0), ("c", 1)), log_of(("d", 0), marker))
        assert result.counts == {OTHER: 1}
        (found,) = result.anomalies
        assert found.subject == "log-0/1@1"
        assert "another partition has the commit marker of that epoch" in found.summary

    @pytest.mark.parametrize(
        ("end", "message", "subject"),
        [
            ((("c", 2),), "the marker at 2 ends both", "log-0/0@2"),
            ((("a", 5),), "the marker at 2 ends both", "log-0/0@2"),
            ((), "no marker ends them", "log-0/0@1"),
        ],
    )
    def test_batches_of_two_epochs_without_a_marker_between(
        self, end: Sequence[Entry], message: str, subject: str
    ) -> None:
        result = judged(log_of(("d", 0), ("d", 1), *end))
        assert result.counts == {SHARED: 1}
        (found,) = result.anomalies
        assert message in found.summary
        assert found.subject == subject

    def test_one_that_answers_of_clients_show_is_found_once(self) -> None:
        others = [*transaction((0, 0)), *transaction((0, 1))]
        result = judged(log_of(("d", 0), ("d", 1), ("c", 2)), others=others)
        assert result.counts == {SHARED: 1}
        assert "whose commit was acknowledged" in result.anomalies[0].summary


class TestSharedEpochs:
    LOGS = (log_of(("d", 0), ("c", 1)), log_of(("d", 0), ("c", 1)), log_of(("d", 0), ("a", 0)))

    def test_two_transactions_in_different_partitions_are_found(self) -> None:
        result = judged(*self.LOGS[:2], others=[*transaction((0, 0)), *transaction((1, 0))])
        assert result.counts == {"transaction-epoch-shared": 1}
        assert result.figures["transactions_of_version_2"] == 2
        (found,) = result.anomalies
        assert found.summary == (
            f"two transactions (operations {found.witness[0]} and {found.witness[1]}) have epoch 0 of "
            "producer 7, whose client speaks transactions of version 2"
        )
        assert found.subject == "log-0/1@0"
        assert len(found.witness) == 4

    def test_one_transaction_has_it_in_all_its_partitions(self) -> None:
        result = judged(*self.LOGS[:2], others=transaction((0, 0), (1, 0)))
        assert result.counts == {}
        assert result.figures["transactions_of_version_2"] == 1

    def test_the_next_one_has_the_next_epoch(self) -> None:
        log = log_of(("d", 0), ("c", 1), ("d", 1), ("c", 2))
        result = judged(log, others=[*transaction((0, 0)), *transaction((0, 2))])
        assert result.counts == {}
        assert result.figures["transactions_of_version_2"] == 2

    def test_with_version_1_all_of_them_have_one_epoch(self) -> None:
        log = log_of(("d", 0), ("c", 0), ("d", 0), ("c", 0))
        result = judged(log, others=[*transaction((0, 0)), *transaction((0, 2))])
        assert result.counts == {}
        assert result.figures["transactions_of_version_2"] == 0

    def test_records_that_were_not_acknowledged_or_have_no_batch_are_left_out(self) -> None:
        transactions = [*transaction((0, 0)), *transaction((1, None), (1, 9), (4, 0))]
        assert judged(*self.LOGS[:2], others=transactions).counts == {}


class TestLeftOut:
    LATE = (("d", 0), ("c", 1), ("d", 1), ("a", 1))

    def test_aborts_that_an_administrator_requested(self) -> None:
        assert judged(log_of(*self.LATE), others=[aborted_by_hand(7)]).counts == {}
        assert judged(log_of(*self.LATE), others=[aborted_by_hand(8)]).counts == {OTHER: 1}
        torn = (log_of(("d", 0), ("c", 1)), log_of(("d", 0), ("a", 0)))
        assert judged(*torn, others=[aborted_by_hand(7)]).counts == {}

    def test_epochs_of_version_2_that_clients_keep_when_they_change_to_version_1(self) -> None:
        kept = log_of(("d", 0), ("c", 1), ("d", 1), ("c", 1), ("d", 1), ("a", 1))
        with_2 = {"features": {"transaction.version": 2}}
        assert judged(kept, others=[lowered(1)], **with_2).counts == {}
        assert judged(kept, others=[lowered(2)], **with_2).counts == {OTHER: 2}
        assert judged(kept, others=[lowered(2, "upgrade")]).counts == {OTHER: 2}
        torn = (log_of(("d", 0), ("c", 1)), log_of(("d", 0), ("a", 0)))
        assert judged(*torn, others=[lowered(1)], **with_2).counts == {OTHER: 1}

    @pytest.mark.parametrize("topic", ["log-0", "__transaction_state"])
    def test_logs_and_states_that_may_have_been_truncated(self, topic: str) -> None:
        asked = {"partitions": [[topic, 0]], "to": "n1"}
        elect = Operation(0, 0, "admin", OperationType.INVOKE, "elect-leaders", "unclean", asked)
        result = judged(log_of(*self.LATE), others=[elect])
        assert result.counts == {}
        assert result.figures["ends_by_epochs"] == 0

    def test_logs_with_gaps(self) -> None:
        assert judged([*log_of(*self.LATE), Batch(9)]).counts == {"offset-gap": 1}

    def test_brokers_that_forget_producers_early(self) -> None:
        assert judged(log_of(*self.LATE), config={"producer.id.expiration.ms": "5000"}).counts == {}


class Coordinator:
    """Transactions of one transactional id over some partitions, with clients of both versions in turn."""

    def __init__(self, partitions: int) -> None:
        self.logs: list[list[Entry]] = [[] for _ in range(partitions)]
        self.epoch = 0
        self.places: list[tuple[int, int]] = []

    def initialise(self) -> None:
        self.epoch += 1

    def transaction(self, version: int, where: set[int], *, commits: bool) -> None:
        """Commit or abort a transaction; its places are remembered if it is a commit of version 2."""
        marked = self.epoch + (version == 2)
        for number in sorted(where):
            self.logs[number] += [("d", self.epoch), ("c" if commits else "a", marked)]
            if version == 2 and commits:
                self.places.append((number, len(self.logs[number]) - 1))
        self.epoch = marked


STEPS = st.lists(
    st.tuples(st.sampled_from((1, 2)), st.booleans(), st.sets(st.integers(0, 2), min_size=1)), min_size=1
)


def made(steps: Sequence[tuple[int, bool, set[int]]]) -> Coordinator:
    coordinator, before = Coordinator(3), 0
    for version, commits, where in steps:
        if version != before:
            coordinator.initialise()
            before = version
        coordinator.transaction(version, where, commits=commits)
    return coordinator


def counts_of(coordinator: Coordinator) -> dict[str, int]:
    return judged(*(log_of(*entries) for entries in coordinator.logs if entries)).counts


@settings(max_examples=40, deadline=None)
@given(STEPS)
def test_correct_coordinators_are_valid(steps: Sequence[tuple[int, bool, set[int]]]) -> None:
    assert counts_of(made(steps)) == {}


@settings(max_examples=40, deadline=None)
@given(STEPS, st.data())
def test_a_marker_of_version_2_that_is_wrong_in_one_partition_is_found(
    steps: Sequence[tuple[int, bool, set[int]]], data: st.DataObject
) -> None:
    """Of a transaction with two partitions or more, or that follows another one of its client."""
    coordinator = made([*steps, (2, True, {0, 1}), (2, True, {0, 1, 2})])
    number, row = data.draw(st.sampled_from(coordinator.places[-3:]))
    kind, epoch = coordinator.logs[number][row]
    wrong = data.draw(st.sampled_from((("a", epoch), ("a", epoch - 1), ("c", epoch - 1), ("c", epoch + 1))))
    coordinator.logs[number][row] = wrong
    assert kind == "c"
    assert OTHER in counts_of(coordinator)
