"""A run's folder as the harness leaves it, without the run: what one carries out again."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from checkers.history.identity import IDENTITY_FILE, RunIdentity, encode_identity
from checkers.history.operations import JournalHeader, Operation, OperationType
from checkers.verdict.verdict import Anomaly, Validity, Verdict, result_of
from harness.faults.activate import as_value
from harness.plan.planning import RunOptions, RunPlan, plan_run
from harness.plan.replaying_plan import _as_set_up
from harness.plan.schedule import encode
from harness.vocabulary.faults import Fault
from results.store.runs import save_verdict

SECOND = 1_000_000_000
HEADER = JournalHeader(1, "abc", "x", "2026-11-22T01:00:00Z")
BEGAN_NS = 50 * SECOND
"""When the schedule began."""


class Recording:
    """Operations of one process, numbered as they come."""

    def __init__(self, process: str) -> None:
        self.process = process
        self.operations: list[Operation] = []

    def add(
        self, at_ms: float, kind: OperationType, f: str, key: Any = None, value: Any = None, **more: Any
    ) -> None:
        """One line of the journal, at a time after the schedule began."""
        time_ns = BEGAN_NS + round(at_ms * 1_000_000)
        index = len(self.operations)
        self.operations.append(
            Operation(
                index=index,
                time_ns=time_ns,
                process=self.process,
                type=kind,
                f=f,
                key=key,
                value=value,
                **more,
            )
        )

    def fault(
        self, name: str, fault: Fault, node: str, at_ms: tuple[int, int, int], by: str = "role", **more: Any
    ) -> None:
        """A fault that was injected, proven, and healed, at these times."""
        plan = {"kind": as_value(fault)["kind"], "spec": as_value(fault)}
        known = plan | {"targets": [node], "cut": [], "probe": {}}
        began, proven, healed = at_ms
        self.add(began, OperationType.INVOKE, "inject", name, plan)
        self.add(proven, OperationType.OK, "inject", name, known | {"resolved_by": by, **more})
        self.add(healed, OperationType.INVOKE, "heal", name, plan)
        self.add(healed + 100, OperationType.OK, "heal", name, known)

    def refused(self, name: str, fault: Fault, at_ms: int, why: str) -> None:
        """A fault that was not injected."""
        plan = {"kind": as_value(fault)["kind"], "spec": as_value(fault)}
        self.add(at_ms, OperationType.INVOKE, "inject", name, plan)
        self.add(at_ms, OperationType.FAIL, "inject", name, plan, error=why)

    def write(self, folder: Path) -> None:
        """Write the journal of the process."""
        lines = (msgspec.json.encode(each) + b"\n" for each in (HEADER, *self.operations))
        (folder / f"history-{self.process}.jsonl").write_bytes(b"".join(lines))


def a_verdict(
    validity: Validity,
    *anomalies: str,
    summary: str = "c3 led for 23225 ms",
    time_ns: int | None = None,
) -> Verdict:
    """One with these anomalies of the quorum checker."""
    found = [Anomaly(name, summary, "g", "s", time_ns=time_ns) for name in anomalies]
    return Verdict(validity, (result_of("quorum", found),))


def identity_of_plan(plan: RunPlan, **more: Any) -> RunIdentity:
    """The identity of a run of that plan."""
    return RunIdentity(
        run=more.pop("run", "abc"),
        scenario=plan.options.scenario,
        seed=plan.options.seed,
        kafka_version=plan.version,
        began_at="2026-11-22T01:00:00Z",
        reproduce=plan.reproduce,
        krucible_commit="123456789abc",
        options=msgspec.to_builtins(plan.options),
        replay_of=plan.replay_of,
        **more,
    )


def store_run(
    folder: Path, plan: RunPlan, verdict: Verdict | None, recordings: Iterable[Recording], **more: Any
) -> Path:
    """All that a run leaves of what it did."""
    folder.mkdir(parents=True)
    runner = Recording("runner")
    runner.add(-2000, OperationType.OK, "setup", None, SETUP | _as_set_up(plan))
    runner.add(-1000, OperationType.OK, "phase", "load")
    (folder / IDENTITY_FILE).write_bytes(encode_identity(identity_of_plan(plan, **more)))
    (folder / "schedule.json").write_bytes(encode(plan.schedule))
    for each in (runner, *recordings):
        each.write(folder)
    if verdict is not None:
        save_verdict(folder, verdict)
    return folder


SETUP = {
    "kafka_version": "4.3.1",
    "scenario": "s",
    "seed": 7,
    "features": {},
    "topics": [],
    "controller_fetch_timeout_ms": 2000,
    "observe_interval_ms": 250,
    "expected": None,
    "expected_anomalies": [],
}


def planned(scenario: str, seed: int = 7, **more: Any) -> RunPlan:
    """The plan of a run."""
    return plan_run(RunOptions(scenario=scenario, seed=seed, **more))
