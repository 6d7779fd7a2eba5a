"""What a run records of its scenario, without the run."""

import json
from pathlib import Path

import msgspec

from checkers.history.identity import IDENTITY_FILE, RunIdentity, encode_identity
from checkers.verdict.verdict import Verdict
from harness.campaigns.sensitivity.stored_runs import RUNNER_JOURNAL
from harness.cluster.cluster import DESCRIPTION_FILE, Description
from harness.cluster.rendering import Layout
from harness.plan.planning import RunPlan
from harness.plan.schedule import encode
from harness.record.folder import SCHEDULE_FILE
from results.store.runs import save_verdict

_RUN = "r"
_BEGAN_AT = "2026-11-20T22:00:00Z"


def put_run(runs: Path, plan: RunPlan, verdict: Verdict, began: str = "20261120T220001Z") -> Path:
    """A stored run of a plan, with its verdict."""
    folder = runs / plan.options.scenario / f"{began}-{plan.options.seed}"
    folder.mkdir(parents=True)
    identity = RunIdentity(
        run=_RUN,
        scenario=plan.options.scenario,
        seed=plan.options.seed,
        kafka_version=plan.version,
        began_at=_BEGAN_AT,
        reproduce=plan.reproduce,
    )
    (folder / IDENTITY_FILE).write_bytes(encode_identity(identity))
    record_scenario(folder, plan)
    save_verdict(folder, verdict)
    return folder


def record_scenario(folder: Path, plan: RunPlan) -> None:
    """Write the files by which a run is compared with its scenario."""
    (folder / SCHEDULE_FILE).write_bytes(encode(plan.schedule))
    layout = Layout(_RUN, _RUN, "10.213.0.0/24", "c", {})
    description = Description(_RUN, plan.version, plan.scenario.topology, layout)
    (folder / DESCRIPTION_FILE).write_bytes(msgspec.json.encode(description))
    setup = {
        "kafka_version": plan.version,
        "workload": {"workers": 9, **msgspec.to_builtins(plan.scenario.workload)},
        "assumptions": msgspec.to_builtins(plan.scenario.assumptions),
    }
    write_setup(folder, setup)


def write_setup(folder: Path, setup: dict[str, object]) -> None:
    """Write a runner's journal whose only operation is a setup."""
    header = {"krucible_history": 2, "run": _RUN, "journal": "runner", "began_at": _BEGAN_AT}
    operation = {"index": 0, "time_ns": 1, "process": "runner", "type": "ok", "f": "setup", "value": setup}
    lines = [json.dumps(line) for line in (header, operation)]
    (folder / RUNNER_JOURNAL).write_text("\n".join(lines) + "\n")
