"""What nodes reported of partitions and the quorum: equal answers in a row are one row."""

from collections import defaultdict
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from checkers.history.operations import History, Operation, OperationType
from results.pipeline.rows.states import cluster_state_of
from results.pipeline.schemas import SILENCE_NS
from tests.results.pipeline.small_tables import S

FULL, SHORT = [0, 1, 4, [1, 2], [1, 2], None], [0, 1, 4, [1, 2], [1], None]
OTHER = [1, -1, 4, [1, 2], [2, 1], [2]]
Observation = tuple[float, str, dict[str, Any]]


def observed(key: str, *observations: Observation) -> History:
    """A history of (second, node, value)."""
    return History(
        "a1",
        "",
        tuple(
            Operation(
                i, int(at_s * S), f"observer-{node}", OperationType.OK, "observe", key, value, None, node
            )
            for i, (at_s, node, value) in enumerate(observations)
        ),
    )


def of_topics(*observations: Observation) -> History:
    return observed(
        "partitions", *((at_s, node, {"began_ns": 0, "topics": v}) for at_s, node, v in observations)
    )


def leads(epoch: int, high_watermark: int, voters: tuple[int, ...] = (1, 2)) -> dict[str, Any]:
    leading = {"leader_id": 1, "leader_epoch": epoch, "high_watermark": high_watermark, "wall_ms": 1}
    ends = [[voter, None, high_watermark + 3, -1, -1] for voter in voters]
    return {"began_ns": 1, "answer": "leader", "voters": ends, "observers": []} | leading


def rows_of(history: History, *names: str) -> list[tuple[Any, ...]]:
    """The named columns, times in seconds."""
    rows = cluster_state_of(history).to_pylist()
    for row in rows:
        row |= {name: row[name] / S for name in ("time_ns", "until_ns")}
    return [tuple(row[name] for name in names) for row in rows]


def stretches_of(history: History) -> list[tuple[Any, ...]]:
    """Who reported it, from when to when, in how many answers, of which partition, and who was in sync."""
    return rows_of(history, "view", "time_ns", "until_ns", "answers", "topic", "partition", "isr")


def test_answers_in_a_row_that_say_the_same_are_one_row() -> None:
    history = of_topics(*((at_s, "n1", {"t": [FULL, OTHER]}) for at_s in (1, 2, 2.5)))
    assert stretches_of(history) == [
        ("n1", 1, 2.5, 3, "t", 0, [1, 2]),
        ("n1", 1, 2.5, 3, "t", 1, [2, 1]),
    ]
    assert rows_of(history, "leader", "leader_epoch", "elr", "replicas", "voters") == [
        (1, 4, None, [1, 2], None),
        (None, 4, [2], [1, 2], None),
    ]


def test_a_change_begins_a_row_of_the_partition_that_changed_alone() -> None:
    answers = ({"t": [FULL, OTHER]}, {"t": [SHORT, OTHER]}, {"t": [SHORT, OTHER]}, {"t": [FULL, OTHER]})
    assert stretches_of(of_topics(*((i, "n1", answer) for i, answer in enumerate(answers)))) == [
        ("n1", 0, 0, 1, "t", 0, [1, 2]),
        ("n1", 0, 3, 4, "t", 1, [2, 1]),
        ("n1", 1, 2, 2, "t", 0, [1]),
        ("n1", 3, 3, 1, "t", 0, [1, 2]),
    ]


def test_any_column_that_changes_begins_a_row() -> None:
    others: tuple[list[Any], ...] = (
        [0, 2, 4, [1, 2], [1, 2], None],
        [0, 2, 5, [1, 2], [1, 2], None],
        [0, 2, 5, [2, 1], [1, 2], None],
        [0, 2, 5, [2, 1], [2, 1], None],
        [0, 2, 5, [2, 1], [2, 1], []],
    )
    history = of_topics(*((i, "n1", {"t": [state]}) for i, state in enumerate((FULL, *others))))
    assert rows_of(history, "time_ns", "answers") == [(at_s, 1) for at_s in range(6)]


def test_a_partition_that_vanishes_ends_its_row_and_a_topic_made_again_begins_one() -> None:
    answers: tuple[dict[str, Any], ...] = (
        {"t": [FULL], "u": [FULL]},
        {"t": [FULL]},
        {"t": [FULL]},
        {"u": [FULL], "t": [FULL]},
        {},
    )
    assert stretches_of(of_topics(*((i, "n1", answer) for i, answer in enumerate(answers)))) == [
        ("n1", 0, 3, 4, "t", 0, [1, 2]),
        ("n1", 0, 0, 1, "u", 0, [1, 2]),
        ("n1", 3, 3, 1, "u", 0, [1, 2]),
    ]


def test_views_do_not_end_one_another() -> None:
    history = of_topics(
        (1, "n1", {"t": [FULL]}),
        (1.1, "n2", {"t": [SHORT]}),
        (2, "n1", {"t": [FULL]}),
        (2.1, "n2", {"t": [SHORT]}),
        (3, "n1", {"t": [SHORT]}),
        (3.1, "n2", {"t": [SHORT]}),
    )
    assert stretches_of(history) == [
        ("n1", 1, 2, 2, "t", 0, [1, 2]),
        ("n2", 1.1, 3.1, 3, "t", 0, [1]),
        ("n1", 3, 3, 1, "t", 0, [1]),
    ]


def test_silence_ends_a_row() -> None:
    """Between its answers a view that was killed reported nothing, and what it reports then is news."""
    gap_s = SILENCE_NS / S
    history = of_topics(*((at_s, "n1", {"t": [SHORT]}) for at_s in (5, 5 + gap_s, 5.5 + 2 * gap_s)))
    assert rows_of(history, "time_ns", "until_ns", "answers") == [
        (5, 5 + gap_s, 2),
        (5.5 + 2 * gap_s, 5.5 + 2 * gap_s, 1),
    ]


def test_the_quorum_has_a_row_for_every_change_and_only_while_the_view_leads() -> None:
    refusal = {"began_ns": 1, "answer": "not-leader"}
    history = observed(
        "quorum",
        (1, "n1", leads(5, 10)),
        (1.2, "n2", refusal),
        (1.4, "n1", leads(5, 10)),
        (1.6, "n1", leads(5, 11)),
        (1.8, "n1", leads(5, 11, (1, 2, 3))),
        (2, "n1", refusal),
        (2.2, "n1", leads(5, 11, (1, 2, 3))),
    )
    columns = ("subject", "time_ns", "until_ns", "answers", "high_watermark", "end_offset", "voters")
    assert rows_of(history, *columns) == [
        ("quorum", 1, 1.4, 2, 10, 13, [1, 2]),
        ("quorum", 1.6, 1.6, 1, 11, 14, [1, 2]),
        ("quorum", 1.8, 1.8, 1, 11, 14, [1, 2, 3]),
        ("quorum", 2.2, 2.2, 1, 11, 14, [1, 2, 3]),
    ]


def test_of_answers_of_the_quorum_that_differ_in_no_column_a_row_is_made() -> None:
    """When a voter fetched last, and the time of the wall clock are new in every answer."""
    later = leads(5, 10) | {"wall_ms": 9, "voters": [[1, None, 13, 7, 7], [2, None, 13, 8, 8]]}
    history = observed("quorum", (1, "n1", leads(5, 10)), (2, "n1", later))
    assert rows_of(history, "time_ns", "until_ns", "answers") == [(1, 2, 2)]


STATES = st.tuples(
    st.integers(0, 1),
    st.sampled_from([-1, 1, 2]),
    st.integers(0, 1),
    st.just([1, 2]),
    st.sampled_from([[1], [1, 2]]),
    st.sampled_from([None, [2]]),
)
TOPICS = st.dictionaries(
    st.sampled_from("tu"), st.lists(STATES.map(list), max_size=2, unique_by=lambda state: state[0])
)
NODES, STEPS_NS = st.sampled_from(["n1", "n2"]), st.sampled_from([S // 4, S, SILENCE_NS, SILENCE_NS + 1])
ANSWERS = st.lists(st.tuples(NODES, STEPS_NS, st.booleans(), TOPICS), max_size=12)
Place = tuple[str, str, int]
Laid = dict[Place, list[tuple[int, Any]]]
"""What each view reported of each partition, with times."""


@given(ANSWERS)
def test_rows_laid_out_are_the_answers_again_and_no_two_of_them_could_be_one(
    drawn: list[tuple[str, int, bool, dict[str, Any]]],
) -> None:
    last: dict[str, dict[str, Any]] = {}
    time_ns, observations = 0, []
    for node, after_ns, again, topics in drawn:
        time_ns += after_ns
        last[node] = last.get(node, topics) if again else topics
        observations.append((time_ns / S, node, last[node]))
    history = of_topics(*observations)
    rows = cluster_state_of(history).to_pylist()
    heard_ns, answers = laid_out(history)

    found: Laid = defaultdict(list)
    ends_ns: dict[Place, int] = {}
    assert [row["time_ns"] for row in rows] == sorted(row["time_ns"] for row in rows)
    for row in rows:
        place, state, of_view = place_of(row), state_of(row), heard_ns[row["view"]]
        within = [at_ns for at_ns in of_view if row["time_ns"] <= at_ns <= row["until_ns"]]
        assert len(within) == row["answers"]
        assert all(later - earlier <= SILENCE_NS for earlier, later in pairwise(within))
        if found[place] and found[place][-1][1] == state:
            absent = any(ends_ns[place] < at_ns < row["time_ns"] for at_ns in of_view)
            assert absent or row["time_ns"] - ends_ns[place] > SILENCE_NS
        found[place] += [(at_ns, state) for at_ns in within]
        ends_ns[place] = row["until_ns"]
    assert found == answers


def laid_out(history: History) -> tuple[dict[str, list[int]], Laid]:
    """When each view answered, and what it reported of each partition."""
    heard_ns: dict[str, list[int]] = defaultdict(list)
    answers: Laid = defaultdict(list)
    for operation in history.operations:
        node = str(operation.node)
        heard_ns[node].append(operation.time_ns)
        for topic, partitions in operation.value["topics"].items():
            for partition, *state in partitions:
                answers[node, topic, partition].append((operation.time_ns, state))
    return heard_ns, answers


def place_of(row: dict[str, Any]) -> Place:
    return row["view"], row["topic"], row["partition"]


def state_of(row: dict[str, Any]) -> list[Any]:
    leader = -1 if row["leader"] is None else row["leader"]
    return [leader, *(row[name] for name in ("leader_epoch", "replicas", "isr", "elr"))]
