"""What a seed stands for: a schedule of each kind, byte for byte as it was when it was written down.

A change of these files changes every seed: runs can't be made again by their line, and measurements that are
under way begin anew.  Where that is meant, ``python -m tests.harness.plan.test_golden_schedules`` writes
them, and the commit says so.
"""

from pathlib import Path

import pytest
from msgspec.structs import replace

from harness.plan.catalogue import load_scenario
from harness.plan.schedule import encode, plan
from harness.vocabulary import RandomSchedule

FOLDER = Path(__file__).parent / "golden"
SEED = 7
DURATION_MS = 60_000
KINDS = (
    "exploratory/chaos",
    "exploratory/disks",
    "exploratory/gambits",
    "exploratory/gambits-copies-power",
    "exploratory/gambits-deletions",
    "exploratory/gambits-epochs",
    "exploratory/gambits-voters",
    "exploratory/metadata",
    "exploratory/no-majority",
    "kips/kip-853-grow",
    "smoke/partition",
)
"""Faults with blinks and operations, disks, gambits of each module, majorities, a script, fixed steps."""


def drawn(name: str) -> bytes:
    """The schedule of a scenario under the seed."""
    scenario = load_scenario(name)
    schedule = scenario.schedule
    if isinstance(schedule, RandomSchedule):
        schedule = replace(schedule, duration_ms=DURATION_MS)
    return encode(plan(schedule, scenario.topology, SEED))


def golden(name: str) -> Path:
    """The file of a scenario."""
    return FOLDER / f"{name.replace('/', '-')}.json"


@pytest.mark.parametrize("name", KINDS)
def test_a_seed_stands_for_what_it_stood_for(name: str) -> None:
    assert drawn(name).decode() == golden(name).read_text()


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for each in KINDS:
        golden(each).write_bytes(drawn(each))
