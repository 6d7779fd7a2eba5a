"""Every gambit is played to its end on a real cluster, its faults proven and healed, and nothing is lost."""

import random
from collections import Counter
from operator import itemgetter
from pathlib import Path

import msgspec
import pytest

from checkers.evidence.faults import fault_windows
from checkers.history.operations import History, OperationType
from checkers.history.reading import read_history
from checkers.verdict.verdict import Validity, Verdict
from harness.cli import invoke
from harness.nemesis.gambits import GambitCourse
from harness.plan import planning
from harness.plan.catalogue import load_scenario
from harness.plan.gambits import GAMBITS, drawn_gambit
from harness.vocabulary import (
    FixedSchedule,
    Gambit,
    GambitMove,
    LogWorkload,
    Scenario,
    Topology,
    Workload,
)
from results.store.runs import find_run, load_verdict

pytestmark = pytest.mark.cluster
CLEANING = ("interrupted-cleaning", "interrupted-truncation")
DELETIONS = ("trimmed-log", "torn-writes", "trimmed-while-held")
MOVES = ("reassignment", "cancelled-copy", "kept-leader")
METADATA = ("absent-replica",)
PIPELINED = ("held-sends", "refused-batches", "lossy-sends")
TRANSACTIONS = ("transaction-coordinator", "held-requests")
VOTERS = (
    "departing-leader",
    "overlapping-changes",
    "uncommitted-voters",
    "wiped-voter",
    "unfinished-change",
    "deaf-voter",
)
EPOCHS = ("held-shrink", "lone-epochs", "alternating-leaders", "uncommitted-changes")
SHARES = ("share-coordinator", "moved-share-coordinator", "moved-leader")
OPERATIONS = ("unregistered-broker", "unregistered-controller", "cordoned-broker", "lowered-feature")
MEMBERS = ("member-away",)
FEATURES = ("refused-downgrade",)
POWER = ("voters-power", "copies-power", "eligible-again")
ELSEWHERE = {
    *CLEANING, *DELETIONS, *TRANSACTIONS, *POWER, *MOVES, *PIPELINED, *METADATA, *VOTERS, *EPOCHS,
    *OPERATIONS, *SHARES, *MEMBERS, *FEATURES,
    "group-coordinator",
}  # fmt: skip
"""Those that need another workload, more nodes, or disks of their own."""
WORKED = {
    "exploratory/gambits-offsets": ("write", "read"),
    "exploratory/gambits-metadata": ("write", "read", "create-topic", "delete-topic", "list-topics"),
    "exploratory/gambits-compacted": ("send", "poll"),
}
"""Operations of workloads that no other test has on a cluster; of each at least `OFTEN` succeed."""
OFTEN = 20
OTHERS = tuple(kind for kind in GAMBITS if kind not in ELSEWHERE)
EARLIER = ("rolling-bounce", "deaf-preferred")
"""A bounce leaves partitions that are not led by their preferred leaders."""
CALM_MS = {"exploratory/gambits-txn": 10_000}
"""Load after the last gambit that is due: clients of each library have to commit and to be fenced."""
DRAWS = 30
ELECTING = (
    "cut-off-controller",
    "lagging-candidate",
    "lossy-voters",
    "stale-elected",
    "voters-power",
    *VOTERS,
)
"""Their shortest draws leave little time for an election of the quorum."""
SENDING = ("held-requests", "held-sends", "lossy-sends", "lost-answers")
"""Their faults are proven by what clients send meanwhile."""
LOADED = ("cut-off-leader",)
"""Its shortest draw may be over before clients have sent as much as a run asks for."""
DRAWN = {"held-follower": 11, "refused-downgrade": 3} | dict.fromkeys((*ELECTING, *SENDING, *LOADED), 7)
"""Draws of those that are not played as short as they can be.

Of the first one the follower is held for little longer than its proof takes, and stays in sync.  The second
one has a fault.
"""
NEVER_NS = 2**63 - 1


def one_of_each(name: str, kinds: tuple[str, ...]) -> Scenario:
    """The scenario with one gambit of each kind, in this order; it ends when the last one has ended."""
    scenario = load_scenario(name)
    gambits: list[Gambit] = []
    at_ms = 1_000
    for kind in kinds:
        moves, lasts_ms = drawn(kind, scenario.topology)
        gambits.append(Gambit(at_ms, kind, moves, lasts_ms))
        at_ms += lasts_ms
    schedule = FixedSchedule((), at_ms + CALM_MS.get(name, 0), gambits=tuple(gambits))
    return msgspec.structs.replace(scenario, schedule=schedule, workload=with_less_load(scenario.workload))


def with_less_load(workload: Workload) -> Workload:
    """Half the requests where there are many: what gambits wait for are conditions, and proofs need few."""
    if isinstance(workload, LogWorkload) and not workload.pipelined:
        return msgspec.structs.replace(workload, rate=workload.rate // 2)
    return workload


def drawn(kind: str, topology: Topology) -> tuple[tuple[GambitMove, ...], int]:
    """The draw of `DRAWN`, or the shortest of some; and how long it lasts, in milliseconds."""
    numbers = (DRAWN[kind],) if kind in DRAWN else range(DRAWS)
    sources = (random.Random(f"{number} {kind}") for number in numbers)
    return min((drawn_gambit(kind, topology, source) for source in sources), key=itemgetter(1))


@pytest.fixture
def in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """However long the conditions of one take, those after it are begun."""
    sound = GambitCourse.carry_out

    def carry_out(course: GambitCourse, name: str, gambit: Gambit, _: int) -> None:
        sound(course, name, gambit, NEVER_NS)

    monkeypatch.setattr(GambitCourse, "carry_out", carry_out)


@pytest.mark.parametrize(
    ("name", "alike"),
    [
        ("exploratory/gambits", "exploratory/gambits-configs"),
        ("exploratory/gambits-txn", "exploratory/gambits-held"),
        ("exploratory/gambits-power", "exploratory/gambits-copies-power"),
    ],
)
def test_a_run_stands_for_another_scenario_of_the_same_cluster_and_load(name: str, alike: str) -> None:
    one, other = load_scenario(name), load_scenario(alike)
    assert (one.topology, one.workload) == (other.topology, other.workload)


@pytest.mark.usefixtures("in_time")
@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("exploratory/gambits", (*EARLIER, *(kind for kind in OTHERS if kind not in EARLIER))),
        pytest.param("exploratory/gambits-offsets", ("group-coordinator",), marks=pytest.mark.long),
        pytest.param("exploratory/gambits-groups-modern", MEMBERS, marks=pytest.mark.long),
        ("exploratory/gambits-txn", TRANSACTIONS),
        pytest.param("exploratory/gambits-power", POWER, marks=pytest.mark.long),
        pytest.param("exploratory/gambits-reassignments", MOVES, marks=pytest.mark.long),
        pytest.param("exploratory/gambits-pipelined", PIPELINED, marks=pytest.mark.long),
        pytest.param("exploratory/gambits-metadata", METADATA, marks=pytest.mark.long),
        pytest.param("exploratory/gambits-deletions", DELETIONS, marks=pytest.mark.long),
        ("exploratory/gambits-voters", VOTERS),
        pytest.param("exploratory/gambits-features", FEATURES, marks=pytest.mark.long),
        pytest.param("exploratory/gambits-operations", OPERATIONS, marks=pytest.mark.long),
        pytest.param("exploratory/gambits-share", SHARES, marks=pytest.mark.long),
        pytest.param("exploratory/gambits-epochs", EPOCHS, marks=pytest.mark.long),
        ("exploratory/gambits-compacted", CLEANING),
    ],
)
def test_every_gambit_is_played_and_proven(
    name: str, kinds: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = kinds
    for attempt in ("first", "second", "third"):
        played = play(name, left, tmp_path / attempt, monkeypatch)
        left = tuple(kind for kind in left if kind not in played)
        if not left:
            return
    pytest.fail(f"in three runs these were not played to their end: {', '.join(left)}")


UNPROVEN = "not proven"
LATE = ("was not reached", UNPROVEN)
"""How a gambit ends on a host that is too busy for what it waits for, or for a probe; it is played again."""


FOUND = (
    "Unknown leader endpoints (Endpoints(endpoints={}))",
    "is inconsistent with current leader",
    "Unexpected acknowledgement from non-voter",
)
"""Last words of controllers that three of docs/findings.md describe: races of Kafka."""


def is_found(verdict: Verdict) -> bool:
    """Whether all that is illegal is the end of a controller that a finding describes."""
    illegal = [one for result in verdict.results for one in result.anomalies if one.illegal]
    return bool(illegal) and all(
        one.id == "node-died" and any(words in one.summary for words in FOUND) for one in illegal
    )


def play(name: str, kinds: tuple[str, ...], runs: Path, monkeypatch: pytest.MonkeyPatch) -> frozenset[str]:
    """Run a scenario with these gambits; returns those that were played to their end."""
    scenario = one_of_each(name, kinds)
    with monkeypatch.context() as planned:
        planned.setattr(planning, "load_scenario", lambda _: scenario)
        code = invoke(["run", name, "--seed", "7", "--runs", str(runs)])

    folder = find_run(runs, name)
    verdict = load_verdict(folder)
    history = read_history(folder)
    ended = {o.value["kind"]: o for o in history.of("gambit") if o.type is not OperationType.INVOKE}
    assert set(ended) == set(kinds)
    errors = {kind: o.error for kind, o in ended.items() if o.error is not None}
    assert all(str(error).endswith(LATE) for error in errors.values()), errors
    unmet = {one.name for result in verdict.results for one in result.assumptions if not one.met}
    unproven = any(str(error).endswith(UNPROVEN) for error in errors.values())
    if unproven and unmet == {"fault-proven"}:
        assert (code, verdict.validity) == (2, Validity.UNKNOWN), verdict.reasons
    elif "wiped-voter" in kinds and is_found(verdict):
        assert (code, verdict.validity) == (1, Validity.INVALID), verdict.reasons
    else:
        assert (code, verdict.validity) == (0, Validity.VALID), verdict.reasons
    assert_worked(history, verdict, name)
    windows = fault_windows(history)
    played = frozenset(kind for kind in ended if kind not in errors)
    whole = {str(ended[kind].key) for kind in played}
    assert all(window.proven for window in windows if window.gambit in whole)
    assert all(window.healed_ns is not None for window in windows)
    assert {window.gambit for window in windows} >= whole
    return played


def assert_worked(history: History, verdict: Verdict, name: str) -> None:
    """The load did what the workload is for, and the checkers saw it."""
    if name not in WORKED:
        return
    succeeded = Counter(o.f for o in history.operations if o.type is OperationType.OK)
    assert min(succeeded[f] for f in WORKED[name]) >= OFTEN, succeeded
    # Two clients at two isolation levels, each partition of at least two.
    assert succeeded["final-read"] >= 2 * 2 * 2
    kept = {result.checker: result for result in verdict.results}
    assert (kept["registers"].figures["registers"] > 0) == ("write" in WORKED[name])
    assert bool(kept["log"].counts.get("lost-write")) == (name == "exploratory/gambits-compacted")
