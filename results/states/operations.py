"""States of operations: what befell the cluster, and the coordinator asked, when they began and ended."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from checkers.coordinators import offsets_partition, transactions_partition
from checkers.history import INVOKE, History, Operation, OperationType
from checkers.partition_changes import PartitionChanges, partition_changes
from results.states.partitions import LED, leaders_of, moves
from results.states.tracks import Integers, Track, Visited, Word, at, beside, joined, spans, told, walked
from results.states.trouble import CLUSTER_TROUBLES, Trouble

GAMBIT = "gambit"
OF_THE_HARNESS = frozenset(
    ("inject", "heal", "recover", "await", "perform", "configure", "moves", "choose", GAMBIT, "control",
     "assign", "final-read"),
)  # fmt: skip
"""Operations that are not asked of Kafka, or only once all is over; all others have states."""
ADMINISTRATION = {
    "elect-leaders": 0,
    "alter-reassignments": 1,
    "add-voter": 2,
    "remove-voter": 2,
    "create-topic": 3,
    "delete-topic": 3,
    "alter-topic": 3,
    "delete-records": 4,
}
"""Column of `ADMIN_WORDS` that each admin operation under way counts in."""
OUTCOMES = ("ok", "fail", "info")
_TYPES = {OperationType.OK: 0, OperationType.FAIL: 1, OperationType.INFO: 2}
BEGUN = (Word("cluster", CLUSTER_TROUBLES),)
ENDED = (Word("ended", OUTCOMES), Word("cluster", CLUSTER_TROUBLES))
COORDINATED = (Word("coordinator", LED),)
MOVED = ("", "once", "again")
COORDINATED_END = (Word("ended", OUTCOMES), Word("coordinator", LED), Word("moved", MOVED))
"""Moved: how often the coordinator was elected anew while the operation was under way."""
ADMIN_WORDS = (
    Word("electing", ("", "yes")),
    Word("reassigning", ("", "asked", "moving")),
    Word("voters", ("", "yes")),
    Word("topics", ("", "yes")),
    Word("deleting-records", ("", "yes")),
    Word("cluster", CLUSTER_TROUBLES),
)
"""Admin operations that are not answered yet; partitions move until the log says otherwise."""
_MOVING = 5


class Asked(NamedTuple):
    """Operations as columns, one row each, in the order of their ends.

    Attributes:
        names: of the operations.
        keys: ids of transactions and groups with what was asked of them.
        f: place in `names`.
        key: place in `keys`, of coordinated operations; -1 of others.
        outcome: place in `OUTCOMES`.
        from_ns: when they were invoked.
        to_ns: when they were completed.
    """

    names: tuple[str, ...]
    keys: tuple[tuple[str, str], ...]
    f: Integers
    key: Integers
    outcome: Integers
    from_ns: Integers
    to_ns: Integers


_COORDINATED = {
    **dict.fromkeys(("txn", "init-transactions", "describe-transaction"), transactions_partition),
    **dict.fromkeys(
        ("commit", "commit-offset", "fetch-offsets", "delete-offsets", "delete-group"), offsets_partition
    ),
}
"""By which partition's leader an operation is answered."""


def operations_visited(history: History, trouble: Trouble) -> Visited:
    """States and transitions of operations, coordinated ones, and admin operations under way at one time.

    Raises:
        msgspec.ValidationError: an observation is not as docs/histories.md says.
    """
    asked, changes = _asked(history), partition_changes(history)
    return joined(
        [
            _of_cluster(asked, trouble),
            *_of_coordinators(history, asked, changes, trouble),
            _of_administration(asked, changes, trouble),
            _of_gambits(history),
        ]
    )


def _asked(history: History) -> Asked:
    """Operations that were answered in any way; one that never was has no end to tell of."""
    begun: dict[int | str, Operation] = {}
    keys: dict[tuple[str, str], int] = {}
    rows: list[tuple[int, int, int, int, int]] = []
    numbers: dict[str, int] = {}
    for operation in history.operations:
        if operation.f in OF_THE_HARNESS:
            continue
        if operation.type is INVOKE:
            begun[operation.process] = operation
            continue
        before = begun.pop(operation.process, None)
        if before is not None:
            number = numbers.setdefault(operation.f, len(numbers))
            key = (operation.f, str(before.key))
            place = keys.setdefault(key, len(keys)) if operation.f in _COORDINATED else -1
            rows.append((number, place, _TYPES[operation.type], before.time_ns, operation.time_ns))
    columns = np.array(rows, np.int64).reshape(-1, 5).T
    return Asked(tuple(numbers), tuple(keys), *columns)


def _of_cluster(asked: Asked, trouble: Trouble) -> Visited:
    begun, ended = (at(trouble.cluster, times) for times in (asked.from_ns, asked.to_ns))
    end = np.concatenate((asked.outcome[:, None], ended), axis=1)
    return _paired(asked.names, asked.f, (BEGUN, begun), (ENDED, end))


def _of_coordinators(
    history: History, asked: Asked, changes: PartitionChanges, trouble: Trouble
) -> Iterator[Visited]:
    """Of each id, by the leaders of the partition that keeps its state."""
    for place, (f, key) in enumerate(asked.keys):
        name = _COORDINATED[f](history, key)
        if name is None:
            continue
        rows = asked.key == place
        leaders = leaders_of(name, changes, trouble)
        begun, before = _coordinator(leaders, asked.from_ns[rows], trouble)
        ended, after = _coordinator(leaders, asked.to_ns[rows], trouble)
        moved = np.minimum(after - before, len(MOVED) - 1)
        end = np.stack((asked.outcome[rows], ended, moved), axis=1)
        yield _paired(asked.names, asked.f[rows], (COORDINATED, begun[:, None]), (COORDINATED_END, end))


def _coordinator(leaders: Track, times_ns: Integers, trouble: Trouble) -> Integers:
    """What befell the coordinator at each of some times, a place in `LED`; how many elections there were."""
    column, nobody, elections = at(leaders, times_ns).T
    troubles = at(trouble.nodes, times_ns)
    return np.stack((np.where(nobody, 0, troubles[np.arange(len(troubles)), column] + 1), elections))


def _of_administration(asked: Asked, changes: PartitionChanges, trouble: Trouble) -> Visited:
    """Which admin operations were under way at one time, and what befell the cluster then."""
    columns = {number: ADMINISTRATION[f] for number, f in enumerate(asked.names) if f in ADMINISTRATION}
    requests = [
        (columns[f], from_ns, to_ns)
        for f, from_ns, to_ns in zip(
            *(c.tolist() for c in (asked.f, asked.from_ns, asked.to_ns)), strict=True
        )
        if f in columns
    ]
    under_way = spans([*requests, *((_MOVING, *span) for span in moves(changes))], _MOVING + 1)
    struck, place = beside(trouble.cluster, under_way).places
    open_ = under_way.rows[place] > 0
    rows = open_[:, :_MOVING].astype(np.int64)
    rows[:, 1] = np.where(open_[:, _MOVING], 2, rows[:, 1])
    rows = np.concatenate((rows, trouble.cluster.rows[struck]), axis=1)
    return walked("administration", ADMIN_WORDS, rows, ("",), np.zeros(len(rows), np.int64))


def _of_gambits(history: History) -> Visited:
    """How each gambit ended; it is told at its end alone."""
    ended = (
        f"{GAMBIT} kind={operation.value['kind']} ended={operation.type}"
        for operation in history.of(GAMBIT)
        if operation.type is not INVOKE
    )
    return Visited(frozenset(ended), frozenset())


def _paired(
    names: Sequence[str],
    f: Integers,
    begun: tuple[tuple[Word, ...], Integers],
    ended: tuple[tuple[Word, ...], Integers],
) -> Visited:
    """Operations, each of which began in one state and ended in another; columns are those of the words."""
    (before, begun_rows), (after, ended_rows) = begun, ended
    pairs = np.unique(np.concatenate((f[:, None], begun_rows, ended_rows), axis=1), axis=0).tolist()
    width = 1 + len(before)
    steps = frozenset(
        (told(names[row[0]], before, row[1:width]), "", told(names[row[0]], after, row[width:]))
        for row in pairs
    )
    return Visited(frozenset(state for step in steps for state in (step[0], step[2])), steps)
