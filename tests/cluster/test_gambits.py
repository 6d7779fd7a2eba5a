"""Every gambit is played to its end on a real cluster, its faults proven and healed, and nothing is lost."""

import random
from pathlib import Path

import msgspec
import pytest

from checkers.faults import fault_windows
from checkers.history import OperationType
from checkers.reading import read_history
from checkers.verdict import Validity
from harness import planning
from harness.catalogue import load_scenario
from harness.cli import invoke
from harness.gambits import GAMBITS, drawn_gambit
from harness.vocabulary import FixedSchedule, Gambit, Scenario
from results.store import find_run, load_verdict

pytestmark = pytest.mark.cluster
CLEANING = ("interrupted-cleaning", "interrupted-truncation")
ELSEWHERE = {
    "group-coordinator",
    "transaction-coordinator",
    "voters-power",
    "copies-power",
    "reassignment",
    "switched-configs",
    "absent-replica",
    "held-requests",
    *CLEANING,
}
"""Those that need another workload, more brokers, or disks of their own."""
OTHERS = tuple(kind for kind in GAMBITS if kind not in ELSEWHERE)
EARLIER = ("rolling-bounce", "deaf-preferred")
"""A bounce leaves partitions that are not led by their preferred leaders."""


def one_of_each(scenario: Scenario, kinds: tuple[str, ...]) -> Scenario:
    """The scenario with one gambit of each kind, in this order."""
    gambits: list[Gambit] = []
    at_ms = 3_000
    for kind in kinds:
        moves, lasts_ms = drawn_gambit(kind, scenario.topology, random.Random(f"7 {kind}"))
        gambits.append(Gambit(at_ms, kind, moves, lasts_ms))
        at_ms += lasts_ms + 1_000
    # Room for conditions that take longer than they are thought to: none is begun after the end.
    schedule = FixedSchedule((), at_ms + 30_000, gambits=tuple(gambits))
    return msgspec.structs.replace(scenario, schedule=schedule)


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("exploratory/gambits", (*EARLIER, *(kind for kind in OTHERS if kind not in EARLIER))),
        ("exploratory/gambits-offsets", ("group-coordinator",)),
        ("exploratory/gambits-txn", ("transaction-coordinator",)),
        ("exploratory/gambits-held", ("held-requests",)),
        ("exploratory/gambits-power", ("voters-power",)),
        ("exploratory/gambits-copies-power", ("copies-power",)),
        ("exploratory/gambits-reassignments", ("reassignment",)),
        ("exploratory/gambits-configs", ("switched-configs",)),
        ("exploratory/gambits-metadata", ("absent-replica",)),
        ("exploratory/gambits-deletions", CLEANING),
        ("exploratory/gambits-compacted", CLEANING),
    ],
)
def test_every_gambit_is_played_and_proven(
    name: str, kinds: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = kinds
    for attempt in ("first", "second"):
        played = play(name, left, tmp_path / attempt, monkeypatch)
        left = tuple(kind for kind in left if kind not in played)
        if not left:
            return
    pytest.fail(f"in two runs these were not played to their end: {', '.join(left)}")


LATE = ("did not come about", "the schedule is over")
"""How a gambit ends on a host that is too busy for what it waits for."""


def play(name: str, kinds: tuple[str, ...], runs: Path, monkeypatch: pytest.MonkeyPatch) -> frozenset[str]:
    """Run a scenario with these gambits; returns those that were played to their end."""
    scenario = one_of_each(load_scenario(name), kinds)
    monkeypatch.setattr(planning, "load_scenario", lambda _: scenario)

    code = invoke(["run", name, "--seed", "7", "--runs", str(runs)])

    folder = find_run(runs, name)
    verdict = load_verdict(folder)
    history = read_history(folder)
    ended = {o.value["kind"]: o for o in history.of("gambit") if o.type is not OperationType.INVOKE}
    assert set(ended) == set(kinds)
    errors = {kind: o.error for kind, o in ended.items() if o.error is not None}
    assert all(str(error).endswith(LATE) for error in errors.values()), errors
    assert (code, verdict.validity) == (0, Validity.VALID), verdict.reasons
    windows = fault_windows(history)
    assert all(window.proven and window.healed_ns is not None for window in windows)
    played = frozenset(kind for kind in ended if kind not in errors)
    assert {window.gambit for window in windows} >= {str(ended[kind].key) for kind in played}
    return played
