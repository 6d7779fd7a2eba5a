"""The availability checker: gaps in the acknowledgements of a partition, and how long writes took."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkers.history.operations import History
from checkers.runs.availability import PARTITIONS_REPORTED, check_availability
from checkers.verdict.verdict import Validity
from tests.checkers.log_histories import history_of

Story = Callable[..., History]


def test_nothing_is_available_and_nothing_wrong_where_nothing_was_sent(story: Story) -> None:
    result = check_availability(story(""))
    assert result.validity is Validity.NOT_EXERCISED
    assert result.figures == {
        "unavailable_ms_max": None,
        "latency_in_faults_ms": None,
        "latency_out_of_faults_ms": None,
        "faults": [],
        "partitions": [],
    }


def test_gaps_lie_between_islands_of_acknowledgements(story: Story) -> None:
    acks = {"a/0": (1.0, 1.5, 2.5, 4.0, 7.0, 7.5), "a/1": (1.0, 9.5), "a/2": (1.0, 2.0, 3.0)}
    text = "\n".join(f"{at} send {name} x1 ok" for name, times in acks.items() for at in times)
    assert check_availability(story(text)).figures["partitions"] == [
        {"partition": "a/1", "gaps": 1, "unavailable_ms": 8500, "unavailable_ms_max": 8500},
        {"partition": "a/0", "gaps": 2, "unavailable_ms": 4500, "unavailable_ms_max": 3000},
    ]


def test_only_the_worst_partitions_are_reported(story: Story) -> None:
    text = "\n".join(f"1 send a/{i} x1 ok\n{10 + i} send a/{i} x1 ok" for i in range(PARTITIONS_REPORTED + 5))
    partitions = check_availability(story(text)).figures["partitions"]
    assert [each["partition"] for each in partitions][:2] == ["a/24", "a/23"]
    assert len(partitions) == PARTITIONS_REPORTED


def test_latency_of_what_was_acknowledged_in_and_out_of_faults() -> None:
    figures = check_availability(
        history_of(
            """
            p0 send 0@1=1
            p0 > 0=2
            f1 inject kill
            f1 heal kill
            p0 < 0@2=2
            p0 send 0@3=3
            p0 send 0@x=4
            p0 txn commit 0@5=5
            """
        )
    ).figures
    assert figures["latency_in_faults_ms"] == {"p50": 3.5, "p99": 3.5}
    assert figures["latency_out_of_faults_ms"] == {"p50": 0.5, "p99": 0.5}
    assert figures["faults"][0]["latency_ms"] == {"p50": 3.5, "p99": 3.5}


def test_unavailability_of_each_fault_and_longest(story: Story) -> None:
    result = check_availability(
        story(
            """
            1.0 send log-0/0 x2 ok
            1.5 send log-0/1 x1 ok
            2.0 f1 kill c1 ok
            2.2 send log-0/0 x1 info
            2.5 send log-0/0 x1 lost
            4.0 send log-0/0 x1 ok
            4.5 send log-0/1 x1 ok
            5.0 f1 heal ok
            6.0 send log-0/0 x1 ok
            6.0 send log-1/0 x1 ok
            9.5 send log-1/0 x1 ok
            20 f2 pause c2 ok
            21 f2 heal ok
            """
        )
    )
    assert result.figures["unavailable_ms_max"] == 3500
    of_f1 = {"id": "f1", "kind": "kill", "targets": ["c1"], "partition": "log-0/0", "unavailable_ms": 3000}
    of_f2 = {"id": "f2", "kind": "pause", "targets": ["c2"], "partition": None, "unavailable_ms": None}
    assert result.figures["faults"] == [
        of_f1 | {"latency_ms": {"p50": 10.0, "p99": 10.0}},
        of_f2 | {"latency_ms": None},
    ]


def test_a_fault_that_was_never_healed_lasts_to_the_end(story: Story) -> None:
    result = check_availability(
        story("1 send a/0 x1 ok\n2 f1 kill c1 ok\n8 send a/0 x1 ok\n20 send a/0 x1 ok")
    )
    assert result.figures["faults"][0]["unavailable_ms"] == 12_000


@pytest.mark.parametrize(
    ("phases", "unavailable_ms"),
    [
        ("1 phase load\n9 phase heal\n10 phase recover\n12 phase final-read\n30 phase done", 10_000),
        ("1 phase load\n9 phase heal\n13 phase evidence\n30 send a/1 x1 ok", 11_000),
        ("1 phase load\n16 send a/1 x1 lost", 13_990),
        ("1 phase load\n2 phase final-read", 500),
        ("", 500),
    ],
)
def test_a_partition_that_never_acknowledges_again_is_unavailable_while_the_load_goes_on(
    story: Story, phases: str, unavailable_ms: float
) -> None:
    result = check_availability(story(f"1.5 send a/0 x1 ok\n2 send a/0 x1 ok\n{phases}"))
    assert result.figures["unavailable_ms_max"] == unavailable_ms


def test_so_it_is_in_faults_and_among_the_worst(story: Story) -> None:
    figures = check_availability(
        story("1 phase load\n2 send a/0 x1 ok\n3 f1 kill c1 ok\n8 f1 heal ok\n9 phase final-read")
    ).figures
    assert figures["faults"][0]["unavailable_ms"] == 7000
    assert figures["partitions"] == [
        {"partition": "a/0", "gaps": 1, "unavailable_ms": 7000, "unavailable_ms_max": 7000}
    ]


def test_what_the_load_does_not_write_to_is_not_unavailable_when_nobody_writes(story: Story) -> None:
    topics = [{"name": "a", "partitions": 1, "loaded": False}, {"name": "b", "partitions": 1}]
    text = "1 phase load\n2 send a/0 x1 ok\n4 send a/0 x1 ok\n7 send b/0 x1 ok\n10 phase final-read"
    assert check_availability(story(text, setup={"topics": topics})).figures["unavailable_ms_max"] == 3000


EVENT = st.tuples(st.integers(1, 60), st.sampled_from(["a/0", "a/1", "b/0"]))


@given(
    st.lists(EVENT, max_size=30),
    st.tuples(st.integers(0, 60), st.integers(0, 60)),
    st.none() | st.integers(1, 70),
)
def test_unavailability_agrees_with_a_plain_loop(
    story: Story, events: list[tuple[int, str]], window: tuple[int, int], over: int | None
) -> None:
    start, end = sorted(window)
    text = f"{start} f1 kill c1 ok\n{end + 0.5} f1 heal ok\n"
    text += "\n".join(f"{at} send {partition} x1 ok" for at, partition in events)
    text += "" if over is None else f"\n0 phase load\n{over} phase final-read"
    longest = None
    for name in {partition for _, partition in events}:
        times = sorted(at for at, partition in events if partition == name)
        times += [over] if over is not None and over > times[-1] else []
        for i in range(len(times) - 1):
            if times[i] < end + 0.6 and times[i + 1] > start:
                longest = max(longest or 0, 1000 * (times[i + 1] - times[i]))
    assert check_availability(story(text)).figures["faults"][0]["unavailable_ms"] == longest
