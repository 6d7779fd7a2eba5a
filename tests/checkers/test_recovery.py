"""The recovery checker: what must work again after healing, and how long it did not."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkers.history import History
from checkers.recovery import check_recovery
from checkers.verdict import Validity

Story = Callable[..., History]

RECOVERED = "30 recover ok 900/60000 log-0/0:1:1,2:acked log-0/1:2:2,1:acked\n"


def test_all_partitions_back(story: Story) -> None:
    result = check_recovery(story(RECOVERED))
    assert result.validity is Validity.VALID
    assert result.figures == {"took_ms": 900, "unavailable_ms_max": None, "faults": []}


@pytest.mark.parametrize(
    ("partition", "lack"),
    [
        ("log-0/1:-:1,2:acked", "no leader"),
        ("log-0/1:1:1:acked", "replicas [2] outside the ISR"),
        ("log-0/1:1:1,2:-", "no acknowledged write"),
    ],
)
def test_a_partition_that_lacks_something(story: Story, partition: str, lack: str) -> None:
    result = check_recovery(story(f"30 recover info 60000/60000 log-0/0:1:1,2:acked {partition}"))
    assert result.validity is Validity.INVALID
    (anomaly,) = result.anomalies
    assert anomaly.id == "not-recovered"
    assert anomaly.subject == "log-0/1"
    assert lack in anomaly.summary
    assert anomaly.witness == (2,)


def test_every_partition_is_told(story: Story) -> None:
    result = check_recovery(story("30 recover info 60000/60000 log-0/0:-:1,2:acked log-0/1:-:1:-"))
    assert result.counts == {"not-recovered": 2}


def test_a_partition_that_recovery_left_out_makes_it_unknown(story: Story) -> None:
    topics = [{"name": "log-0", "partitions": 3}]
    result = check_recovery(story(RECOVERED, setup={"topics": topics}))
    assert result.validity is Validity.UNKNOWN
    assert result.unknown_because == "recovery did not look at log-0/2"


def test_all_partitions_of_the_setup_looked_at(story: Story) -> None:
    topics = [{"name": "log-0", "partitions": 2}]
    assert check_recovery(story(RECOVERED, setup={"topics": topics})).validity is Validity.VALID
    assert check_recovery(story(RECOVERED, without_setup=True)).validity is Validity.VALID


def test_too_late_is_not_recovered(story: Story) -> None:
    result = check_recovery(story("99 recover ok 61000/60000 log-0/0:1:1,2:acked"))
    assert result.counts == {"not-recovered": 1}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        pytest.param("", "no recover operation", id="none"),
        pytest.param("30 recover info 0/60000", "it took too long", id="nothing told"),
        pytest.param("30 recover ok 0/60000", "no reason given", id="nothing told, no reason"),
        pytest.param("30 recover ok 900/60000 none", "no partition", id="no partitions"),
        pytest.param(
            "30 recover info 900/60000 log-0/0:1:1,2:acked", "without success", id="info, yet all is well"
        ),
    ],
)
def test_unknown(story: Story, text: str, why: str) -> None:
    result = check_recovery(story(text))
    assert result.validity is Validity.UNKNOWN
    assert why in result.unknown_because


def test_unavailability_of_each_fault_and_longest(story: Story) -> None:
    result = check_recovery(
        story(
            RECOVERED
            + """
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
    assert result.figures["faults"] == [
        {"id": "f1", "kind": "kill", "targets": ["c1"], "partition": "log-0/0", "unavailable_ms": 3000},
        {"id": "f2", "kind": "pause", "targets": ["c2"], "partition": None, "unavailable_ms": None},
    ]


def test_a_fault_that_was_never_healed_lasts_to_the_end(story: Story) -> None:
    result = check_recovery(story("1 send a/0 x1 ok\n2 f1 kill c1 ok\n8 send a/0 x1 ok\n20 send a/0 x1 ok"))
    assert result.figures["faults"][0]["unavailable_ms"] == 12_000


EVENT = st.tuples(st.integers(1, 60), st.sampled_from(["a/0", "a/1", "b/0"]))


@given(st.lists(EVENT, max_size=30), st.tuples(st.integers(0, 60), st.integers(0, 60)))
def test_unavailability_agrees_with_a_plain_loop(
    story: Story, events: list[tuple[int, str]], window: tuple[int, int]
) -> None:
    start, end = sorted(window)
    text = f"{start} f1 kill c1 ok\n{end + 0.5} f1 heal ok\n"
    text += "\n".join(f"{at} send {partition} x1 ok" for at, partition in events)
    longest = None
    for name in {partition for _, partition in events}:
        times = sorted(at for at, partition in events if partition == name)
        for i in range(len(times) - 1):
            if times[i] < end + 0.6 and times[i + 1] > start:
                longest = max(longest or 0, 1000 * (times[i + 1] - times[i]))
    assert check_recovery(story(text)).figures["faults"][0]["unavailable_ms"] == longest
