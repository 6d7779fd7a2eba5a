"""Registers that Kafka keeps: an acknowledged write may be executed a second time while a fault lasts.

The fault is in force from 10 s to 20 s.  Requests that it delayed are executed by 23 s.
"""

import pytest

from checkers.history.operations import OperationType
from checkers.registers import check_registers
from tests.checkers.admin_histories import AdminStory

INVOKE, OK = OperationType.INVOKE, OperationType.OK
OFFSET, CONFIG = "offset/g/log-0/0", "config/log-0/flush.ms"
FAULT = (10_000, 20_000)


def story_of(
    key: str, *writes: tuple[int, int | None], fault: str | None = "held-requests", heard: bool = False
) -> AdminStory:
    """Writes of 1, 2, … with their times, ms; recovery from 50 s on; a read of 1, at the end if not heard."""
    story = AdminStory(workload={"kind": "offsets" if key == OFFSET else "metadata"})
    if fault is not None:
        story.fault(*FAULT, fault, "n1")
    for value, (begun_ms, ended_ms) in enumerate(writes, start=1):
        story.both(begun_ms, ended_ms, "write", value, key=key)
    story.add(50_000, "runner", INVOKE, "recover", value={})
    story.add(50_001, "runner", OK, "recover", value={})
    if heard:
        story.both(70_000, 70_001, "read", None, answer=1, key=key)
    story.add(71_000, "runner", OK, "phase", key="final-read")
    story.both(72_000, 72_001, "read", None, answer=2 if heard else 1, key=key)
    return story


def illegal(story: AdminStory) -> list[str]:
    found = check_registers(story.history()).anomalies
    return [anomaly.id for anomaly in found if anomaly.illegal and anomaly.id != "stale-offset"]


@pytest.mark.parametrize(
    ("key", "first", "second", "fault", "wrong"),
    [
        pytest.param(OFFSET, (12_000, 14_200), (15_000, 15_010), "held-requests", False, id="asked twice"),
        pytest.param(OFFSET, (12_000, 12_900), (15_000, 15_010), "held-requests", True, id="asked once"),
        pytest.param(
            CONFIG, (12_000, 12_900), (15_000, 15_010), "held-requests", False, id="forwarded twice"
        ),
        pytest.param(OFFSET, (12_000, 14_200), (24_000, 24_010), "held-requests", True, id="it was over"),
        pytest.param(OFFSET, (12_000, 14_200), (22_000, 22_010), "held-requests", False, id="soon after it"),
        pytest.param(CONFIG, (5_000, 7_200), (15_000, 15_010), "held-requests", True, id="before the fault"),
        pytest.param(CONFIG, (25_000, 27_200), (28_000, 28_010), "held-requests", True, id="after the fault"),
        pytest.param(OFFSET, (12_000, 14_200), (15_000, 15_010), "kill", True, id="lost with the process"),
        pytest.param(OFFSET, (12_000, 14_200), (15_000, 15_010), None, True, id="no fault"),
    ],
)
@pytest.mark.parametrize("heard", [False, True])
def test_a_write_may_be_executed_again_while_a_fault_lasts(
    key: str, first: tuple[int, int], second: tuple[int, int], fault: str | None, *, wrong: bool, heard: bool
) -> None:
    story = story_of(key, first, second, fault=fault, heard=heard)
    expected = "nonmonotonic-after-heal" if heard else "lost-value"
    assert illegal(story) == ([expected] if wrong else [])


def test_a_value_that_no_later_write_can_have_restored_is_lost() -> None:
    assert illegal(story_of(OFFSET, (12_000, 14_200), (15_000, 15_010), (30_000, 30_010))) == ["lost-value"]


@pytest.mark.parametrize("key", [OFFSET, CONFIG])
def test_the_value_before_all_writes_comes_from_no_request(key: str) -> None:
    story = AdminStory(workload={"kind": "offsets" if key == OFFSET else "metadata"})
    story.fault(*FAULT, "held-requests", "n1")
    story.both(12_000, 14_200, "write", 1, key=key)
    story.add(71_000, "runner", OK, "phase", key="final-read")
    story.add(72_000, "reader", INVOKE, "read", key=key)
    story.add(72_001, "reader", OK, "read", key=key, value=None)
    assert illegal(story) == ["lost-value"]
