"""What became of a record, by the logs that were observed: against an answer looked up batch by batch."""

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from checkers.columns.tables import PartitionName
from checkers.evidence.replicas import batches_of
from tests.checkers.logs.replicas.replica_histories import (
    Batch,
    history_of,
    metadata,
    observed,
    replica,
    unread,
)

HERE = PartitionName("log-0", 0)
TRANSACTIONAL, CONTROL = 0x10, 0x20


@st.composite
def logs(draw: st.DrawFn) -> list[Batch]:
    offset, found = draw(st.integers(0, 5)), []
    for _ in range(draw(st.integers(0, 6))):
        count = draw(st.integers(1, 4))
        producer = draw(st.sampled_from([(-1, -1, -1), (7, 0, 3), (8, 2, 100)]))
        attributes = draw(st.sampled_from([0, TRANSACTIONAL, TRANSACTIONAL | CONTROL]))
        found.append(Batch(offset, count, draw(st.integers(0, 3)), *producer, attributes=attributes))
        offset += count + draw(st.integers(0, 2))
    return found


@given(st.lists(logs(), max_size=3))
def test_fates_are_those_of_the_batch_that_spans_the_offset(stored: list[list[Batch]]) -> None:
    nodes = [f"n{place}" for place in range(len(stored))]
    batches = batches_of(
        history_of(*(observed(node, replica(log)) for node, log in zip(nodes, stored, strict=True)))
    )
    offsets = np.arange(40)

    fates = batches.fates(HERE, offsets)

    assert fates.nodes == tuple(nodes)
    assert fates.held.shape == (len(nodes), 40)
    for offset in range(40):
        spans = [[b for b in log if b.base_offset <= offset <= b.last_offset] for log in stored]
        assert fates.held[:, offset].tolist() == [bool(found) for found in spans]
        first = next((found[0] for found in spans if found), Batch(0, leader_epoch=-1))
        assert fates.producer_id[offset] == first.producer_id
        assert fates.producer_epoch[offset] == first.producer_epoch
        assert fates.leader_epoch[offset] == first.leader_epoch
        sequence = first.base_sequence
        assert fates.sequence[offset] == (sequence if sequence < 0 else sequence + offset - first.base_offset)
        assert fates.transactional[offset] == bool(first.attributes & TRANSACTIONAL)
        assert fates.control[offset] == bool(first.attributes & CONTROL)


@given(logs())
def test_ranges_are_the_offsets_that_are_held(log: list[Batch]) -> None:
    batches = batches_of(history_of(observed("n1", replica(log))))

    ranges = batches.ranges(HERE)["n1"]

    held = [offset for batch in log for offset in range(batch.base_offset, batch.last_offset + 1)]
    assert [offset for first, last in ranges for offset in range(first, last + 1)] == held
    assert all(last + 1 < first for (_, last), (first, _) in pairwise(ranges))


def test_a_batch_out_of_order_is_found_all_the_same() -> None:
    batches = batches_of(history_of(observed("n1", replica([Batch(5, 2), Batch(0, 2), Batch(0, 1)]))))

    assert batches.ranges(HERE) == {"n1": [(0, 1), (5, 6)]}
    assert batches.logs[0].rows_at(np.array([0, 1, 4, 6])).tolist() == [2, -1, -1, 0]


def test_a_log_that_could_not_be_read_shows_nothing() -> None:
    batches = batches_of(history_of(observed("n2", unread()), observed("n1", replica([Batch(0)]))))

    assert [log.node for log in batches.of(HERE)] == ["n1", "n2"]
    assert batches.readable(HERE) == ("n1",)
    assert batches.fates(HERE, np.array([0])).nodes == ("n1",)
    assert batches.ranges(HERE) == {"n1": [(0, 0)]}
    assert (batches.logs[1].start, batches.logs[1].end, len(batches.logs[1])) == (0, 0, 0)


def test_what_is_observed_last_counts_and_metadata_is_apart() -> None:
    batches = batches_of(
        history_of(
            observed("n1", replica([Batch(0)])),
            observed("n1", replica([Batch(0), Batch(1)])),
            observed("n1", replica([Batch(0)], partition=1)),
            observed("n1", metadata([Batch(0)])),
        )
    )

    assert batches.partitions == (HERE, PartitionName("log-0", 1))
    assert [len(log) for log in batches.logs] == [2, 1]
    assert [str(log.partition) for log in batches.metadata_logs] == ["__cluster_metadata/0"]


def test_a_history_without_any_replica_has_no_fates() -> None:
    fates = batches_of(history_of()).fates(HERE, np.array([1, 2]))

    assert fates.held.shape == (0, 2)
    assert fates.producer_id.tolist() == [-1, -1]
    assert not fates.transactional.any()
