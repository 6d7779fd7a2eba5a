"""Topics that come and go at random: kept ones are never found fault with, any single defect always is."""

import random
from collections.abc import Callable

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from checkers.history import History, Operation, OperationType
from checkers.metadata import check_metadata
from checkers.metadata.loading import metadata_of
from tests.checkers.metadata.metadata_histories import told

BROKERS = ("b1", "b2", "b3")
Mutation = Callable[[list[Operation], random.Random], str | None]


def simulated(seed: int, steps: int) -> History:
    """A cluster whose brokers apply one log, each at its own time, until all of it at the end.

    A change of unknown fate happens later, or never.
    """
    draw = random.Random(seed)
    log: list[tuple[str, bool]] = []
    applied = dict.fromkeys(BROKERS, 0)
    late: list[tuple[str, bool]] = []
    lines: list[str] = []
    names = 0

    def change(name: str, *, exists: bool) -> None:
        known = draw.random() < 0.8
        log.append((name, exists)) if known else late.append((name, exists))
        what = "create" if exists else "delete"
        lines.append(f"0 > {what} {name}")
        lines.append(f"0 ok{f' id-{name}' if exists and draw.random() < 0.5 else ''}" if known else "0 info")

    def listed(broker: str) -> str:
        there = dict(log[: applied[broker]])  # of each name the last change
        return " ".join(f"{name}=id-{name}" for name in sorted(there) if there[name])

    for _ in range(steps):
        match draw.randrange(4):
            case 0:
                names += 1
                change(f"t{names}", exists=True)
            case 1 if log:
                made = [name for name, exists in log if exists and (name, False) not in (*log, *late)]
                if made:
                    change(draw.choice(made), exists=False)
            case 2 if late:
                log.append(late.pop())
            case _:
                broker = draw.choice(BROKERS)
                applied[broker] = draw.randint(applied[broker], len(log))
                lines.append(f"1 list {broker} {listed(broker)}")
    lines.append("phase final-read")
    for broker in BROKERS:
        applied[broker] = len(log)
        lines.append(f"1 list {broker} {listed(broker)}")
    return told("\n".join(lines))


@given(st.integers(0, 2**32), st.integers(0, 60))
def test_a_correct_cluster_is_never_found_fault_with(seed: int, steps: int) -> None:
    result = check_metadata(simulated(seed, steps))
    assert not result.counts
    assert result.unknown_because is None


@given(st.integers(0, 2**32), st.integers(0, 60), st.integers(0, 4))
def test_a_single_defect_is_always_found(seed: int, steps: int, which: int) -> None:
    history = simulated(seed, steps)
    operations = list(history.operations)
    expected = MUTATIONS[which](operations, random.Random(seed))
    result = check_metadata(msgspec.structs.replace(history, operations=tuple(operations)))
    assert (expected in result.counts) if expected else not result.counts


def _list_again(
    operations: list[Operation], at: int, change: Callable[[dict[str, str | None]], None]
) -> None:
    topics = dict(operations[at].value)
    change(topics)
    value = [list(pair) for pair in topics.items()]
    operations[at] = msgspec.structs.replace(operations[at], value=value)


def _final_list(operations: list[Operation], draw: random.Random) -> int:
    return len(operations) - 1 - 2 * draw.randrange(len(BROKERS))


def _invent(operations: list[Operation], draw: random.Random) -> str | None:
    lists = [o.index for o in operations if o.f == "list-topics" and o.type is OperationType.OK]
    _list_again(operations, draw.choice(lists), lambda topics: topics.update(nobody=None))
    return "phantom-topic"


def _lose(operations: list[Operation], draw: random.Random) -> str | None:
    found = metadata_of(operations)
    kept = [n for n, c in found.created.items() if c.acknowledged and n not in found.deleted]
    if not kept:
        return None
    _list_again(operations, _final_list(operations, draw), lambda topics: topics.pop(draw.choice(kept)))
    return "lost-topic"


def _bring_back(operations: list[Operation], draw: random.Random) -> str | None:
    deleted = [n for n, changes in metadata_of(operations).deleted.items() if changes[0].acknowledged]
    if not deleted:
        return None
    name = draw.choice(deleted)
    _list_again(operations, _final_list(operations, draw), lambda topics: topics.update({name: None}))
    return "resurrected-topic"


def _rename(operations: list[Operation], draw: random.Random) -> str | None:
    acknowledged = {n for n, change in metadata_of(operations).created.items() if change.acknowledged}
    at = _final_list(operations, draw)
    seen = sorted(acknowledged & dict(operations[at].value).keys())
    if not seen:
        return None
    name = draw.choice(seen)
    _list_again(operations, at, lambda topics: topics.update({name: "another"}))
    return "changed-topic-id"


def _diverge(operations: list[Operation], draw: random.Random) -> str | None:
    at = _final_list(operations, draw)
    there = sorted(dict(operations[at].value))
    if not there:
        return None
    _list_again(operations, at, lambda topics: topics.pop(draw.choice(there)))
    return "divergent-metadata"


MUTATIONS: tuple[Mutation, ...] = (_invent, _lose, _bring_back, _rename, _diverge)
