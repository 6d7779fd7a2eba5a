"""The logs of coordinators: which records they lack, and why they are not known."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pytest

from checkers.evidence.coordinator_logs import CoordinatorLog
from checkers.evidence.share_states import share_states_of, unread_share_states
from checkers.evidence.transaction_states import states_of, unread_states
from checkers.history.operations import History
from checkers.history.packing import Types, packed_rows
from checkers.history.share_states import SHARE_BATCH_TYPES, SHARE_STATE_TYPES
from checkers.history.transaction_states import STATE_TYPES
from tests.checkers.admin_histories import TOPIC_ID, AdminStory


class Kind(NamedTuple):
    """One of the topics: key of the observations, columns, other fields, and functions of a history."""

    topic: str
    key: str
    types: Types
    fields: Mapping[str, Any]
    logs: Callable[[History], Mapping[int, CoordinatorLog[Any]]]
    unread: Callable[[History], Iterator[str]]


TRANSACTIONS = Kind(
    "__transaction_state",
    "transaction-states",
    STATE_TYPES,
    {"ids": ["a"], "sets": [{}]},
    states_of,
    unread_states,
)
SHARES = Kind(
    "__share_group_state",
    "share-states",
    SHARE_STATE_TYPES,
    {"places": [["g", TOPIC_ID, 0]], "batches": packed_rows([], SHARE_BATCH_TYPES)},
    share_states_of,
    unread_share_states,
)
UNREAD: Mapping[str, Any] = {"error": "gone", "columns": {}, "count": 0}
both = pytest.mark.parametrize("kind", [TRANSACTIONS, SHARES], ids=lambda kind: kind.key)


def seen(kind: Kind, partition: int, *offsets: int, **changes: Any) -> dict[str, Any]:
    """The value of an observation with records at these offsets."""
    rows = [(offset, *[0] * (len(kind.types) - 1)) for offset in offsets]
    value = {"began_ns": 1, "partition": partition, "end": offsets[-1] + 1 if offsets else 0, **kind.fields}
    return value | {"count": len(rows), "columns": packed_rows(rows, kind.types)} | changes


def history_of(
    kind: Kind, *values: Mapping[str, Any], made: Sequence[int] = (), topic: str | None = None, **setup: Any
) -> History:
    """The observations, in a run whose metadata log has the partitions `made` of the topic."""
    story = AdminStory(**setup)
    story.record(1, "TOPIC_RECORD", {"name": topic or kind.topic, "topicId": TOPIC_ID})
    for at_ms, number in enumerate(made, start=2):
        state = {"replicas": [1], "isr": [1], "leader": 1, "leaderEpoch": 0}
        story.record(at_ms, "PARTITION_RECORD", {"partitionId": number, "topicId": TOPIC_ID, **state})
    for value in values:
        story.observe(800, kind.key, value)
    return story.history()


@both
@pytest.mark.parametrize(
    ("offsets", "changes", "gaps", "lacks_end", "whole"),
    [
        ((), {}, [], False, True),
        ((), {"end": 1}, [], True, False),
        ((0, 1, 2), {}, [False, False, False], False, True),
        ((1, 2), {}, [True, False], False, False),
        ((0, 1, 4, 5), {}, [False, False, True, False], False, False),
        ((0, 1), {"end": 3}, [False, False], True, False),
        ((0, 1), {"unread": [1]}, [False, False], False, False),
        ((0, 1), {"error": "gone"}, [False, False], False, False),
        ((), UNREAD, [], False, False),
    ],
)
def test_records_that_a_log_lacks(
    kind: Kind,
    offsets: Sequence[int],
    changes: Mapping[str, Any],
    gaps: list[bool],
    *,
    lacks_end: bool,
    whole: bool,
) -> None:
    log = kind.logs(history_of(kind, seen(kind, 3, *offsets, **changes)))[3]
    assert (log.gaps.tolist(), log.lacks_end, log.whole) == (gaps, lacks_end, whole)
    assert (log.records["offset"].tolist(), log.seen.columns) == ([*offsets], {})


@both
def test_every_partition_that_is_not_known_has_its_reason(kind: Kind) -> None:
    values = [
        seen(kind, 4, 0, unread=[7, 9]),
        seen(kind, 2, **UNREAD, unread=[8]),
        seen(kind, 1, 0),
        seen(kind, 0, **UNREAD),
    ]
    history = history_of(kind, *values, made=range(7), evidence=[kind.key])
    assert [*kind.unread(history)] == [
        f"{kind.topic}-0 was not read: gone",
        f"{kind.topic}-2 was not read: gone",
        f"{kind.topic}-4 has records that can't be decoded, at 7",
        f"the records of {kind.topic}-3 were not gathered",
        f"the records of {kind.topic}-5 were not gathered",
        f"the records of {kind.topic}-6 were not gathered",
    ]


@both
@pytest.mark.parametrize(
    "setup",
    [
        {},
        {"evidence": ["replicas"], "made": (0,)},
        {"evidence": ["transaction-states", "share-states"]},
        {"evidence": ["transaction-states", "share-states"], "made": (0,), "topic": "other"},
    ],
)
def test_what_need_not_be_there_is_no_reason(kind: Kind, setup: Mapping[str, Any]) -> None:
    assert [*kind.unread(history_of(kind, **setup))] == []
    assert [*kind.unread(history_of(kind, seen(kind, 0, 0), **setup))] == []
