"""Blinks of every kind on a real cluster: proven and healed beside a fault, and ready for a replay."""

import random
from pathlib import Path

import msgspec
import pytest

from checkers.evidence.faults import fault_windows
from checkers.history.reading import read_history
from harness.cli import invoke
from harness.plan import planning
from harness.plan.blinks import BLINKS
from harness.plan.catalogue import load_scenario
from harness.plan.replaying_plan import OtherKafka, load_recorded, plan_replay
from harness.plan.schedule import blinks_of
from harness.record.ledger import pending_undos, read_ledger
from harness.vocabulary import FixedSchedule, Kill, Scenario, Step, broker
from results.store.runs import find_run

pytestmark = pytest.mark.cluster
NAME = "exploratory/gambits"
"""Of which the cluster and the load are taken."""
KINDS = [*BLINKS, *BLINKS]


def two_of_each() -> Scenario:
    """Two blinks of each kind, the first of them beside a broker that is killed."""
    scenario = load_scenario(NAME)
    source = random.Random(7)
    drawn = [BLINKS[kind](source, scenario.topology) for kind in KINDS]
    blinks = tuple(Step(6_000 + 2_500 * place, 400, fault) for place, fault in enumerate(drawn))
    alone = (Step(4_000, 8_000, Kill(broker(2))),)
    schedule = FixedSchedule(alone, blinks[-1].at_ms + 8_000, blinks=blinks)
    return msgspec.structs.replace(scenario, schedule=schedule)


def test_blinks_of_every_kind_are_proven_healed_and_can_be_replayed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planning, "load_scenario", lambda _: two_of_each())
    assert invoke(["run", NAME, "--seed", "7", "--runs", str(tmp_path)]) == 0

    folder = find_run(tmp_path, NAME)
    windows = [window for window in fault_windows(read_history(folder)) if window.blink]
    # What is held is proven by what clients send, of which there may be nothing within a second.
    sure = [window for window in windows if window.kind != "held-requests"]
    assert {window.kind for window in windows} == {"pause", "partition", "lost-answers", "held-requests"}
    assert all(window.proven for window in sure)
    assert all(window.healed_ns is not None for window in windows)
    assert pending_undos(read_ledger(folder)) == ()
    alone = next(window for window in fault_windows(read_history(folder)) if window.alone)
    beside = [window for window in windows if window.overlaps(alone.invoked_ns, alone.end_ns)]
    assert beside
    assert all("b2" not in window.targets for window in beside)

    again = plan_replay(load_recorded(folder), OtherKafka(), symbolic=False).plan.schedule
    assert len(blinks_of(again)) == len(windows)
