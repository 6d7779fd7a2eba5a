"""A defect of the harness in the middle of a real run: healed, read, gathered, judged, and reported."""

import threading
from pathlib import Path
from typing import Any

import msgspec
import pytest

from checkers.evidence.faults import fault_windows
from checkers.history.reading import read_history
from checkers.verdict.verdict import Validity
from harness.cli import invoke
from harness.nemesis.nemesis import Nemesis
from harness.plan import planning
from harness.plan.catalogue import load_scenario
from harness.record.harness_failures import FAILURES_FILE
from harness.vocabulary import FixedSchedule, Kill, Partition, Pattern, Scenario, Step, Target
from harness.workloads.producing import ProducerWorker
from results.store.runs import find_run, load_verdict

pytestmark = pytest.mark.cluster
CUT = Step(2_000, 20_000, Partition(Pattern.ISOLATE_ONE, Target.ACTIVE_CONTROLLER))
NEVER_BEGUN = Step(6_000, 7_000, Kill(Target.RANDOM))
"""A nemesis looks at the load before it begins a fault: there the first one is in force."""


def of_two_faults(name: str) -> Scenario:
    """A scenario whose second fault begins during the first one."""
    return msgspec.structs.replace(load_scenario(name), schedule=FixedSchedule((CUT, NEVER_BEGUN), 30_000))


def test_a_worker_that_dies_throws_nothing_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    in_force = threading.Event()
    sound_begin, sound_send = Nemesis.begin, ProducerWorker.send_once

    def begin(nemesis: Nemesis, *fault: Any) -> bool:
        proven = sound_begin(nemesis, *fault)
        in_force.set()
        return proven

    def defect(worker: ProducerWorker) -> bool:
        if in_force.is_set():
            raise TypeError("a defect")
        return sound_send(worker)

    monkeypatch.setattr(Nemesis, "begin", begin)
    monkeypatch.setattr(ProducerWorker, "send_once", defect)
    monkeypatch.setattr(planning, "load_scenario", of_two_faults)
    assert invoke(["run", "smoke/partition", "--seed", "7", "--runs", str(tmp_path)]) == 3

    assert "TypeError: a defect" in capsys.readouterr().err
    folder = find_run(tmp_path, "smoke/partition")
    history = read_history(folder)
    assert [operation.key for operation in history.of("phase")][-3:] == ["final-read", "evidence", "done"]
    assert history.of("harness-failure")
    cut, never_begun = fault_windows(history)
    assert [cut.proven, never_begun.proven] == [True, False]
    assert cut.healed_ns is not None
    assert history.observed("metadata-log")
    verdict = load_verdict(folder)
    assert verdict.validity is Validity.UNKNOWN
    assert any("harness-lasted" in reason for reason in verdict.reasons)
    assert "a defect" in (folder / FAILURES_FILE).read_text()
    assert (folder / "report.html").exists()
