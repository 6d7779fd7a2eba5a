"""The metadata log that reaches farthest, and until when it is complete."""

from typing import Any

import pytest

from checkers.columns.tables import NEVER
from checkers.evidence.metadata_log import AppendTimes, farthest
from checkers.history.operations import History
from tests.checkers.admin_histories import AdminStory
from tests.checkers.log_histories import MS
from tests.checkers.logs.replicas.replica_histories import Batch, metadata


def read(story: AdminStory, node: str, epochs: list[int], end: int | None = None, **fields: Any) -> None:
    """A node's log has a record in each of these epochs."""
    records = [[offset, epoch, "LEADER_CHANGE", None] for offset, epoch in enumerate(epochs)]
    value = metadata([Batch(0, end or len(epochs))], records=records, **fields)
    story.observe(900, "metadata-log", value, node=node)


def leads(story: AdminStory, at_ms: float, epoch: int, mark: int, end: int | None = None) -> None:
    """A leader reports its high watermark, and where its log ends."""
    answer = {"began_ns": round((at_ms - 0.1) * MS), "leader_epoch": epoch, "high_watermark": mark}
    voters = [[1, None, mark if end is None else end, -1, -1]]
    answer |= {"leader_id": 1, "wall_ms": 0}
    story.observe(at_ms, "quorum", answer | {"answer": "leader", "voters": voters})


def history(story: AdminStory) -> History:
    return story.history(metadata_log=False)


def until_ms(story: AdminStory) -> float:
    recorded = history(story)
    log = farthest(recorded)
    assert log is not None
    until_ns = AppendTimes(recorded).complete_until_ns(log)
    return NEVER if until_ns == NEVER else until_ns / MS


class TestFarthest:
    @pytest.mark.parametrize(
        ("logs", "node"),
        [
            ([("n1", [1], 1, {}), ("n2", [1], 5, {}), ("n3", [1], 4, {})], "n2"),
            ([("n1", [1], 9, {}), ("n2", [1, 2], 2, {})], "n2"),
            ([("n1", [1], 9, {"error": "gone"}), ("n2", [1], 2, {})], "n2"),
            ([("n1", [1], 9, {"decoder_error": "no tool"}), ("n2", [], 1, {})], "n2"),
        ],
    )
    def test_the_newest_epoch_then_the_longest(
        self, logs: list[tuple[str, list[int], int, dict[str, Any]]], node: str
    ) -> None:
        story = AdminStory()
        for name, epochs, end, fields in logs:
            read(story, name, epochs, end, **fields)
        log = farthest(history(story))
        assert log is not None
        assert log.operation.node == node

    def test_none(self) -> None:
        story = AdminStory()
        assert farthest(history(story)) is None
        read(story, "n1", [1], error="gone", end=None)
        assert farthest(history(story)) is None


class TestComplete:
    def test_where_nobody_reported_more_to_the_end(self) -> None:
        story = AdminStory()
        read(story, "n1", [1, 1, 1])
        assert until_ms(story) == NEVER
        leads(story, 10, 1, 3, 7)
        leads(story, 11, 2, -1, 7)
        assert until_ms(story) == NEVER

    def test_where_its_epoch_went_on_until_its_last_record_was_appended(self) -> None:
        story = AdminStory()
        read(story, "n1", [1, 1, 1])
        for at_ms, mark in ((10, 1), (20, 2), (30, 3), (40, 4)):
            leads(story, at_ms, 1, mark)
        assert until_ms(story) == pytest.approx(19.9)

    def test_what_was_not_committed_proves_nothing_of_later_epochs(self) -> None:
        story = AdminStory()
        read(story, "n1", [1, 1, 1])
        for at_ms, mark, end in ((10, 1, 1), (20, 2, 2), (30, 2, 3)):
            leads(story, at_ms, 1, mark, end)
        assert until_ms(story) == NEVER
        leads(story, 25, 2, 3)
        assert until_ms(story) == pytest.approx(9.9)

    def test_of_its_own_epoch_nobody_reported(self) -> None:
        story = AdminStory()
        read(story, "n1", [1, 1, 1])
        leads(story, 25, 2, 3)
        assert until_ms(story) == 0

    def test_an_older_epoch_that_had_more_makes_all_of_it_doubtful(self) -> None:
        story = AdminStory()
        read(story, "n1", [1, 2, 2])
        leads(story, 20, 2, 2)
        leads(story, 10, 1, 9)
        leads(story, 30, 2, 3)
        assert until_ms(story) == 0


class TestEnd:
    """Records that are missing at the end, by the batches that are there."""

    @pytest.mark.parametrize(
        ("batches", "end"),
        [
            ([Batch(0, 2, 1), Batch(2, 1, 1), Batch(3, 1, 1)], 4),
            ([Batch(0, 2, 1), Batch(2, 1, 1), Batch(3, 2, 1)], 2),
            ([Batch(0, 2, 1), Batch(2, 1, 1, control=2)], 2),
            ([Batch(0, 2, 1), Batch(2, 1, 2)], 2),
            ([Batch(0, 2, 1)], 2),
        ],
    )
    def test_what_is_left_out_stands_alone(self, batches: list[Batch], end: int) -> None:
        story = AdminStory()
        records = [[offset, 1, "LEADER_CHANGE", None] for offset in (0, 1)]
        story.observe(900, "metadata-log", metadata(batches, records=records))
        log = farthest(history(story))
        assert log is not None
        assert log.end == end

    def test_none_of_it_is_there(self) -> None:
        story = AdminStory()
        story.observe(900, "metadata-log", metadata([Batch(0, 2), Batch(2, 2)]))
        log = farthest(history(story))
        assert log is not None
        assert (log.epoch, log.end) == (-1, 0)


def test_an_answer_that_contradicts_itself_gives_no_times() -> None:
    story = AdminStory()
    read(story, "n1", [1, 1, 1])
    leads(story, 10, 1, 3, end=2)
    assert AppendTimes(history(story)).span(0, 1).to_ns == NEVER
    leads(story, 20, 1, 3, end=3)
    assert AppendTimes(history(story)).span(0, 1).to_ns == 20 * MS
