"""Metadata logs of which decoded records are missing are distinguished from those that are whole."""

from typing import Any

import pytest

from checkers.evidence.metadata_log import farthest
from checkers.evidence.metadata_whole import opaque_records, thinned_logs
from tests.checkers.admin_histories import AdminStory
from tests.checkers.logs.replicas.replica_histories import Batch, metadata

BATCHES = [Batch(0, 3), Batch(3, 1), Batch(4, 1), Batch(5, 2)]


def records(*offsets: int) -> list[list[Any]]:
    return [[offset, 1, "TOPIC_RECORD", {}] for offset in offsets]


def logs(**offsets: tuple[int, ...]) -> AdminStory:
    """Nodes' logs, all with the same batches, and with records decoded at these offsets."""
    story = AdminStory()
    for node, some in offsets.items():
        story.observe(900, "metadata-log", metadata(BATCHES, records=records(*some)), node=node)
    return story


WHOLE = (0, 1, 2, 3, 5, 6)


@pytest.mark.parametrize(
    ("offsets", "reports"),
    [
        pytest.param({"n1": WHOLE, "n2": WHOLE}, [], id="whole"),
        pytest.param({"n1": (1, 3, 6)}, [], id="no more is known of it"),
        pytest.param(
            {"n1": (0, 1, 2)},
            ["of n1's log hold 0 records of the batch at offset 5; at least 1 are expected"],
            id="halved",
        ),
        pytest.param(
            {"n1": (3, 5, 6)},
            ["of n1's log hold 0 records of the batch at offset 0; at least 1 are expected"],
            id="the first half gone",
        ),
        pytest.param(
            {"n1": (0, 1, 2, 5, 6), "n2": WHOLE},
            ["of n1's log hold 0 records of the batch at offset 3; at least 1 are expected"],
            id="another has it",
        ),
        pytest.param(
            {"n1": WHOLE, "n2": (0, 2, 3, 5, 6)},
            ["of n2's log hold 2 records of the batch at offset 0; at least 3 are expected"],
            id="another has more",
        ),
    ],
)
def test_what_is_missing_of_a_log(offsets: dict[str, tuple[int, ...]], reports: list[str]) -> None:
    history = logs(**offsets).history(metadata_log=False)
    assert [*thinned_logs(history).values()] == reports
    whole = [name for name in offsets if not any(f"of {name}'s" in each for each in reports)]
    log = farthest(history)
    assert log is not None
    assert log.operation.node == (whole or ["n1"])[0]


def test_a_marker_of_the_quorum_need_not_be_decoded() -> None:
    story = AdminStory()
    marker = metadata([Batch(0, 2, control=2)], records=[])
    story.observe(900, "metadata-log", marker, node="n1")
    assert thinned_logs(story.history(metadata_log=False)) == {}


@pytest.mark.parametrize(
    "problem", [{"error": "gone"}, {"decoder_error": "no tool"}, {"batches": {}, "count": 0}]
)
def test_of_a_log_that_was_not_read_nothing_is_missed(problem: dict[str, Any]) -> None:
    story = AdminStory()
    story.observe(900, "metadata-log", metadata(BATCHES, records=[]) | problem, node="n1")
    assert thinned_logs(story.history(metadata_log=False)) == {}


OPAQUE = [2, 1, "OPAQUE_RECORD", {"type": 2, "name": "TOPIC_RECORD", "version": 9, "size": 30}]
NAMELESS = [1, 1, "OPAQUE_RECORD", {"type": 99, "version": 0, "size": 30}]
CONTROL = [3, 1, "CONTROL", {"type": 7, "version": 0, "size": 3}]


@pytest.mark.parametrize(
    ("some", "snapshot", "reports"),
    [
        (records(*WHOLE), None, []),
        ([[3, 1, "CONTROL", None]], None, []),  # as Kafka's own tool had it, of versions of before
        (
            [OPAQUE, CONTROL],
            None,
            [
                (
                    "2 records of n1's metadata log could not be decoded, first: version 9 of "
                    "TOPIC_RECORD at offset 2"
                )
            ],
        ),
        (
            [CONTROL],
            None,
            ["1 records of n1's metadata log could not be decoded, first: version 0 of type 7 at offset 3"],
        ),
        (
            [],
            ["1.checkpoint", [NAMELESS]],
            ["1 records of n1's metadata log could not be decoded, first: version 0 of type 99 at offset 1"],
        ),
    ],
)
def test_records_of_a_later_kafka(some: list[Any], snapshot: list[Any] | None, reports: list[str]) -> None:
    story = AdminStory()
    value = metadata(BATCHES, records=some) | {"checkpoint": snapshot}
    story.observe(900, "metadata-log", value, node="n1")
    assert [*opaque_records(story.history(metadata_log=False))] == reports
