"""The replicas checker against logs replicated as they should be, and against every change of one."""

import random
from collections.abc import Callable

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from checkers.logs.replicas.judging import check_replicas
from checkers.verdict.verdict import Validity
from tests.checkers.logs.replicas.replica_histories import NODES, Batch, replica, replicated

FEW = settings(max_examples=60)
SEEDS = st.integers(0, 2**32)


class Replication:
    """A partition that leaders of rising epochs append to; followers have all of it, or more, or less.

    Attributes:
        log: what is committed.
        end: its end.
        replicas: what each node holds: the log from some start on, and a tail that is not committed.
    """

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._sequences: dict[tuple[int, int], int] = {}
        self._producers: dict[int, int] = {}
        self._epoch = 0
        self.log: list[Batch] = []
        for _ in range(self._random.randint(4, 30)):
            self.log.append(self._batch(self.log[-1].last_offset + 1 if self.log else 0))
        self.end = self.log[-1].last_offset + 1
        self.replicas = {node: self._replica() for node in NODES}

    def _batch(self, offset: int) -> Batch:
        self._epoch += self._random.choice((0, 0, 0, 1))
        count = self._random.randint(1, 4)
        producer = self._random.choice((-1, 9001, 9002))
        epoch = self._producers.get(producer, 0) + self._random.choice((0, 0, 1))
        self._producers[producer] = epoch
        who = (producer, -1 if producer < 0 else epoch)
        sequence = -1 if producer < 0 else self._sequences.get(who, 0)
        self._sequences[who] = sequence + count
        return Batch(offset, count, self._epoch, *who, sequence, self._random.getrandbits(32))

    def _replica(self) -> list[Batch]:
        first = self._random.randrange(len(self.log) // 2)
        tail = [Batch(self.end, leader_epoch=self._epoch, crc=self._random.getrandbits(32))]
        return self.log[first:] + tail * self._random.randint(0, 1)


Change = Callable[[list[Batch], int], list[Batch]]
CHANGES: dict[str, tuple[Change, str]] = {
    "drop": (lambda log, row: log[:row] + log[row + 1 :], "replica-divergence"),
    "content": (
        lambda log, row: [*log[:row], log[row]._replace(crc=log[row].crc ^ 1), *log[row + 1 :]],
        "replica-divergence",
    ),
    "higher epoch": (
        lambda log, row: [*log[:row], log[row]._replace(leader_epoch=99), *log[row + 1 :]],
        "leader-epoch-regression",
    ),
    "merge": (
        lambda log, row: [
            *log[:row],
            log[row]._replace(count=log[row].count + log[row + 1].count),
            *log[row + 2 :],
        ],
        "replica-divergence",
    ),
    "swap": (
        lambda log, row: [*log[:row], log[row + 1], log[row], *log[row + 2 :]],
        "overlapping-batches",
    ),
    "twice": (lambda log, row: [*log[: row + 1], *log[row:]], "overlapping-batches"),
    "cut": (lambda log, row: log[: row + 1], "short-replica"),
}


@FEW
@given(SEEDS)
def test_what_was_replicated_as_it_should_be_is_valid(seed: int) -> None:
    made = Replication(seed)

    result = check_replicas(replicated(made.replicas, made.end))

    assert result.validity is Validity.VALID, result
    assert result.figures["batches_compared"] > 0


@FEW
@pytest.mark.parametrize("change", CHANGES)
@given(seed=SEEDS, data=st.data())
def test_every_change_of_one_replica_is_found(change: str, seed: int, data: st.DataObject) -> None:
    made = Replication(seed)
    node = data.draw(st.sampled_from(NODES))
    # Where all logs have begun, and before the last committed batch, so that it is between two others.
    first = max(log[0].base_offset for log in made.replicas.values())
    log = made.replicas[node]
    rows = [
        i for i, batch in enumerate(log) if batch.base_offset > first and batch.last_offset < made.end - 1
    ]
    assume(rows)
    changed, expected = CHANGES[change]
    changed_replica = changed(log, data.draw(st.sampled_from(rows)))

    result = check_replicas(replicated(made.replicas | {node: changed_replica}, made.end))

    assert result.validity is Validity.INVALID
    assert result.counts.get(expected, 0) > 0, result.counts


@FEW
@given(SEEDS, st.integers(0, 3), st.integers(0, 40))
def test_a_sequence_that_comes_again_is_found(seed: int, place: int, distance: int) -> None:
    made = Replication(seed)
    mine = [batch for batch in made.log if batch.producer_id >= 0]
    assume(mine)
    again = mine[place % len(mine)]._replace(base_offset=made.end + distance, leader_epoch=99)
    log = [*made.log, again]

    result = check_replicas(replicated(dict.fromkeys(NODES, log), made.end))

    assert result.counts["duplicate-batch"] == 3
    assert ("offset-gap" in result.counts) is (distance > 0)


@FEW
@given(SEEDS)
def test_the_order_of_replicas_does_not_matter(seed: int) -> None:
    made = Replication(seed)
    log = made.replicas["n2"]
    made.replicas["n2"] = [log[0]._replace(crc=0), *log[1:]]
    replicas = {node: replica(batches) for node, batches in made.replicas.items()}
    turned = dict(reversed(replicas.items()))

    first, second = (check_replicas(replicated(each, made.end)) for each in (replicas, turned))

    assert first.counts == second.counts
    assert first.figures == second.figures
    assert [a.summary for a in first.anomalies] == [a.summary for a in second.anomalies]
