"""A node that dies by itself under faults that are meant for it: it is found, and nothing else is lost."""

import os
import signal
from pathlib import Path

import msgspec
import pytest

from checkers.evidence.faults import fault_windows
from checkers.history.journals import missing_journals
from checkers.history.operations import OperationType
from checkers.history.reading import read_history
from checkers.verdict.verdict import Validity
from harness.cli import invoke
from harness.cluster.containers import NodeContainers
from harness.nemesis.nemesis import Nemesis
from harness.plan import planning
from harness.plan.catalogue import load_scenario
from harness.record.harness_failures import FAILURES_FILE
from harness.vocabulary import (
    Fault,
    FixedSchedule,
    Gambit,
    HeldRequests,
    Kill,
    LossPattern,
    LostAnswers,
    PacketLoss,
    Partition,
    Pattern,
    Pause,
    Role,
    Step,
    Stop,
    WipeDisk,
)
from harness.vocabulary.administration import Member, broker
from harness.vocabulary.gambits import FaultAt, InjectAll
from results.store.runs import find_run, load_verdict

pytestmark = pytest.mark.cluster
DEAD = broker(3)
FOR_THE_DEAD: tuple[Fault, ...] = (
    Pause(DEAD),
    Kill(DEAD),
    Stop(DEAD),
    WipeDisk(DEAD),
    LostAnswers(DEAD),
    HeldRequests(DEAD),
    PacketLoss(LossPattern.CLIENTS, DEAD),
    Partition(Pattern.ISOLATE_ONE, DEAD),
)
GAMBIT = Gambit(
    7_000, "flapping", (InjectAll((FaultAt("f1", DEAD, Pause()), FaultAt("f2", DEAD, Kill()))),), 500
)
AFTERWARDS = (Step(9_000, 5_000, LostAnswers(Member(Role.BROKER, 1))),)
SCHEDULE = FixedSchedule(
    (*(Step(500, 5_000, fault) for fault in FOR_THE_DEAD), *AFTERWARDS), 15_000, gambits=(GAMBIT,)
)


def end(node: NodeContainers) -> None:
    """End the node's process as nobody in the history does."""
    os.kill(node.state()["Pid"], signal.SIGKILL)


def test_a_node_that_dies_by_itself_is_what_a_run_reports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    scenario = load_scenario("smoke/partition")
    # Of two brokers that are left one answers nobody: few records are sent meanwhile.
    fewer = msgspec.structs.replace(scenario.assumptions, invoked_during=5)
    shorter = msgspec.structs.replace(scenario, schedule=SCHEDULE, assumptions=fewer)
    monkeypatch.setattr(planning, "load_scenario", lambda _: shorter)
    sound = Nemesis.carry_out

    def carry_out(nemesis: Nemesis, schedule: FixedSchedule, play: object) -> None:
        end(nemesis._bench.containers["n3"])
        sound(nemesis, schedule, play)  # type: ignore[arg-type]

    monkeypatch.setattr(Nemesis, "carry_out", carry_out)
    assert invoke(["run", "smoke/partition", "--seed", "7", "--runs", str(tmp_path)]) == 1

    folder = find_run(tmp_path, "smoke/partition")
    output = capsys.readouterr()
    history = read_history(folder)
    assert not history.of("harness-failure"), (folder / FAILURES_FILE).read_text()
    refused = [o for o in history.of("inject") if o.type is OperationType.FAIL]
    assert [o.value["refused"] for o in refused] == ["dead"] * (len(FOR_THE_DEAD) + 2)
    (window,) = fault_windows(history)
    assert (window.targets, window.proven, window.healed_ns is not None) == (("n1",), True, True)
    assert not missing_journals(history)
    verdict = load_verdict(folder)
    assert verdict.validity is Validity.INVALID, output
    anomalies = {one.id for result in verdict.results for one in result.anomalies if one.illegal}
    assert anomalies == {"node-died"}
    (recovered,) = (o for o in history.of("recover") if o.type is not OperationType.INVOKE)
    assert all(one["isr"] != one["replicas"] and one["write_acked"] for one in recovered.value["partitions"])
    assert recovered.value["took_ms"] < scenario.assumptions.recovery_ms
    # What the others hold is read and judged: a death is no reason not to look for what it cost.
    unmet = {one.name for result in verdict.results for one in result.assumptions if not one.met}
    assert unmet == {"faults-injected", "gambits-played"}
    unknown = {result.checker for result in verdict.results if result.validity is Validity.UNKNOWN}
    assert unknown == {"assumptions", "recovery"}, verdict.reasons
