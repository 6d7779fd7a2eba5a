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
from harness.cli import invoke
from harness.gambits import GAMBITS, drawn_gambit
from harness.vocabulary import FixedSchedule, Gambit, Scenario
from results.store import find_run, load_verdict

pytestmark = pytest.mark.cluster
ELSEWHERE = {"group-coordinator", "transaction-coordinator", "voters-power"}
"""Those that need another workload, or disks of their own."""
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
        ("exploratory/gambits-power", ("voters-power",)),
    ],
)
def test_every_gambit_is_played_and_proven(
    name: str, kinds: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario = one_of_each(planning.load_scenario(name), kinds)
    monkeypatch.setattr(planning, "load_scenario", lambda _: scenario)

    code = invoke(["run", name, "--seed", "7", "--runs", str(tmp_path)])

    folder = find_run(tmp_path, name)
    verdict = load_verdict(folder)
    history = read_history(folder)
    ended = {o.value["kind"]: o for o in history.of("gambit") if o.type is not OperationType.INVOKE}
    assert {kind: o.error for kind, o in ended.items()} == dict.fromkeys(kinds)
    assert (code, verdict.validity) == (0, Validity.VALID), verdict.reasons
    windows = fault_windows(history)
    assert all(window.proven and window.healed_ns is not None for window in windows)
    assert {window.gambit for window in windows} == {str(o.key) for o in ended.values()}
