"""Topics that come and go at random: kept ones are never found fault with, any single defect always is."""

import random
from collections.abc import Callable
from itertools import pairwise

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from checkers.history.operations import History, Operation, OperationType
from checkers.kraft.metadata import check_metadata
from checkers.kraft.metadata.loading import metadata_of
from checkers.kraft.metadata.topic_lives import Life, lives_of
from tests.checkers.kraft.metadata.metadata_histories import history_of

BROKERS = ("b1", "b2", "b3")
Mutation = Callable[[list[Operation], random.Random], str | None]


def simulated(seed: int, steps: int) -> History:
    """A cluster whose brokers apply one log, each at its own time, until all of it at the end.

    Names of topics that are gone are taken again.  A change of unknown fate happens later, or never.
    """
    draw = random.Random(seed)
    log: list[tuple[str, str | None]] = []
    applied = dict.fromkeys(BROKERS, 0)
    late: list[tuple[str, str | None]] = []
    lines: list[str] = []
    names = lives = 0

    def change(name: str, topic_id: str | None) -> None:
        known = draw.random() < 0.8
        (log if known else late).append((name, topic_id))
        lines.append(f"0 > {'delete' if topic_id is None else 'create'} {name}")
        lines.append(
            f"0 ok{f' {topic_id}' if topic_id and draw.random() < 0.5 else ''}" if known else "0 info"
        )

    def listed(broker: str) -> str:
        there = dict(log[: applied[broker]])  # of each name the last change
        return " ".join(f"{name}={there[name]}" for name in sorted(there) if there[name])

    for _ in range(steps):
        there, open_names = dict(log), {name for name, _ in late}
        gone = [name for name in there if there[name] is None and name not in open_names]
        match draw.randrange(4):
            case 0:
                names, lives = names + 1, lives + 1
                name = draw.choice(gone) if gone and draw.random() < 0.7 else f"t{names}"
                change(name, f"id-{lives}")
            case 1:
                made = [name for name in there if there[name] and name not in open_names]
                if made:
                    change(draw.choice(made), None)
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
    return history_of("\n".join(lines))


@given(st.integers(0, 2**32), st.integers(0, 60))
def test_a_correct_cluster_is_never_found_fault_with(seed: int, steps: int) -> None:
    result = check_metadata(simulated(seed, steps))
    assert not result.counts
    assert result.unknown_because is None


@given(st.integers(0, 2**32), st.integers(0, 60), st.integers(0, 6))
def test_a_single_defect_is_always_found(seed: int, steps: int, which: int) -> None:
    history = simulated(seed, steps)
    operations = list(history.operations)
    expected = MUTATIONS[which](operations, random.Random(seed))
    result = check_metadata(msgspec.structs.replace(history, operations=tuple(operations)))
    assert (expected in result.counts) if expected else not result.counts


def _list_again(
    operations: list[Operation], at: int, change: Callable[[dict[str, str | None]], object]
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


def _lives(operations: list[Operation]) -> dict[str, list[Life]]:
    found = metadata_of(operations)
    return {name: lives for name in found.created if (lives := lives_of(found, name))}


def _lose(operations: list[Operation], draw: random.Random) -> str | None:
    last = {name: lives[-1] for name, lives in _lives(operations).items()}
    kept = [n for n, life in last.items() if life.creation.acknowledged and life.kept and life.settled]
    if not kept:
        return None
    _list_again(operations, _final_list(operations, draw), lambda topics: topics.pop(draw.choice(kept)))
    return "lost-topic"


def _bring_back(operations: list[Operation], draw: random.Random) -> str | None:
    found = _lives(operations).items()
    deleted = [
        n for n, lives in found if lives[-1].deleted and all(life.creation.acknowledged for life in lives)
    ]
    if not deleted:
        return None
    name = draw.choice(deleted)
    _list_again(operations, _final_list(operations, draw), lambda topics: topics.update({name: None}))
    return "resurrected-topic"


def _bring_old_back(operations: list[Operation], draw: random.Random) -> str | None:
    """A topic that was recreated is listed with the id that it had before."""
    old = [
        (name, life.topic_id)
        for name, lives in _lives(operations).items()
        for life in lives[:-1]
        if life.topic_id and life.deleted
    ]
    if not old:
        return None
    _list_again(operations, _final_list(operations, draw), lambda topics: topics.update([draw.choice(old)]))
    return "resurrected-topic"


def _reuse(operations: list[Operation], draw: random.Random) -> str | None:
    """A topic is created again with the id that it had before."""
    again = [
        (before.topic_id, after.creation.last)
        for lives in _lives(operations).values()
        for before, after in pairwise(lives)
        if before.topic_id and after.topic_id
    ]
    if not again:
        return None
    old, answer = draw.choice(again)
    value = {**answer.value, "topic_id": old}
    operations[answer.index] = msgspec.structs.replace(answer, value=value)
    return "reused-topic-id"


def _rename(operations: list[Operation], draw: random.Random) -> str | None:
    """A topic is listed with an id more than were created."""
    at = _final_list(operations, draw)
    ids: dict[str, set[str]] = {}
    for listing in metadata_of(operations).listings:
        for name, topic_id in listing.topics.items():
            ids.setdefault(name, set()).add(topic_id or "")
    lives = {name: some for name, some in _lives(operations).items() if name in dict(operations[at].value)}
    full = [
        name
        for name, some in sorted(lives.items())
        if all(life.creation.acknowledged for life in some)
        and len(ids[name] | {life.topic_id for life in some} - {None}) == len(some)
    ]
    if not full:
        return None
    name = draw.choice(full)
    _list_again(operations, at, lambda topics: topics.update({name: "another"}))
    return "changed-topic-id"


def _diverge(operations: list[Operation], draw: random.Random) -> str | None:
    at = _final_list(operations, draw)
    there = sorted(dict(operations[at].value))
    if not there:
        return None
    _list_again(operations, at, lambda topics: topics.pop(draw.choice(there)))
    return "divergent-metadata"


MUTATIONS: tuple[Mutation, ...] = (
    _invent,
    _lose,
    _bring_back,
    _rename,
    _diverge,
    _bring_old_back,
    _reuse,
)
