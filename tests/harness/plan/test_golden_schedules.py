"""What a seed stands for: a schedule of each kind, byte for byte as it was when it was written down.

A change of these files changes every seed: runs can't be made again by their line, and measurements that are
under way begin anew.  Where that is meant, ``python -m tests.harness.plan.test_golden_schedules`` writes
them, and the commit says so.
"""

import json
import random
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from harness.plan.catalogue import load_scenario, scenario_names
from harness.plan.gambits import GAMBITS, drawn_gambit
from harness.plan.schedule import encode, plan
from harness.vocabulary import DiskKind, Gambit, Mode, Quorum, RandomSchedule, Topology

FOLDER = Path(__file__).parent / "golden"
SEED = 7
DURATION_MS = 60_000
LONG_MS = 600_000
"""So long that a random schedule has everything that its scenario can draw."""
KINDS = (
    "disks/replaced-during-reassignment",
    "exploratory/chaos",
    "exploratory/disks",
    "exploratory/gambits",
    "exploratory/gambits-copies-power",
    "exploratory/gambits-deletions",
    "exploratory/gambits-epochs",
    "exploratory/gambits-voters",
    "exploratory/metadata",
    "exploratory/no-majority",
    "exploratory/upgrade",
    "exploratory/upgrade-failures",
    "exploratory/upgrade-power",
    "findings/late-heartbeat",
    "kips/kip-853-grow",
    "regressions/kafka-17375-lowered-segment",
    "regressions/kafka-19192-old-bootstrap-file",
    "regressions/kafka-19383-revived-topic",
    "regressions/kafka-20554-planned-move",
    "regressions/kafka-20742-added-partitions",
    "smoke/partition",
)
"""Faults with blinks and operations, disks, mixes of gambits, majorities, a rolling upgrade, scripts, fixed
steps, and operations at given times.
"""
EVERY_GAMBIT = "every-gambit"
"""The golden of all gambits, each drawn once: a scenario may draw few of them within a minute."""
GAMBITS_SEED = 8
"""The seed of that golden, with which gambits have all kinds of conditions, not only one of two."""
LARGE = Topology(mode=Mode.ISOLATED, controllers=5, brokers=4, quorum=Quorum.DYNAMIC, disk=DiskKind.LOOP_EXT4)
"""A cluster that every gambit fits."""


def scheduled(name: str, duration_ms: int) -> bytes:
    """The schedule of a scenario under the seed; a random one has the given duration."""
    scenario = load_scenario(name)
    schedule = scenario.schedule
    if isinstance(schedule, RandomSchedule):
        schedule = replace(schedule, duration_ms=duration_ms)
    return encode(plan(schedule, scenario.topology, SEED))


def all_gambits() -> bytes:
    """A line for each gambit; each has a random source of its own, so that a new one changes no other."""
    lines = []
    for kind in sorted(GAMBITS):
        moves, lasts_ms = drawn_gambit(kind, LARGE, random.Random(f"{GAMBITS_SEED} {kind}"))
        lines.append(msgspec.json.encode(Gambit(0, kind, moves, lasts_ms)))
    return b"[\n" + b",\n".join(lines) + b"\n]\n"


def drawn(name: str) -> bytes:
    """The schedule that a golden must have."""
    return all_gambits() if name == EVERY_GAMBIT else scheduled(name, DURATION_MS)


def golden(name: str) -> Path:
    """The file of a scenario."""
    return FOLDER / f"{name.replace('/', '-')}.json"


def tags(value: object) -> Iterator[tuple[str, str]]:
    """The tags of all structs of a decoded schedule, each with its field."""
    if isinstance(value, list):
        for each in value:
            yield from tags(each)
    elif isinstance(value, dict):
        yield from ((field, value[field]) for field in ("kind", "type", "schedule") if field in value)
        for each in value.values():
            yield from tags(each)


@pytest.mark.parametrize("name", [*KINDS, EVERY_GAMBIT])
def test_a_seed_stands_for_what_it_stood_for(name: str) -> None:
    assert drawn(name).decode() == golden(name).read_text()


def test_every_tag_that_a_scenario_plans_is_in_a_golden() -> None:
    held = {tag for path in FOLDER.glob("*.json") for tag in tags(json.loads(path.read_bytes()))}
    planned = {tag: name for name in scenario_names() for tag in tags(json.loads(scheduled(name, LONG_MS)))}
    missing = {tag: name for tag, name in planned.items() if tag not in held}
    assert not missing, "add a scenario that plans the tag to KINDS"
    assert {kind for field, kind in held if field == "kind"} >= set(GAMBITS)


def test_no_golden_is_left_over() -> None:
    assert {path.name for path in FOLDER.iterdir()} == {golden(name).name for name in (*KINDS, EVERY_GAMBIT)}


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for each in (*KINDS, EVERY_GAMBIT):
        golden(each).write_bytes(drawn(each))
