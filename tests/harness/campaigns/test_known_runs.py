"""Which stored runs count for a known outcome."""

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from checkers.verdict.verdict import Validity, Verdict, result_of
from harness.campaigns.known_record import KnownRecord
from harness.campaigns.known_runs import KnownRuns, by_now, differences, known_runs
from harness.cluster.cluster import DESCRIPTION_FILE
from harness.plan.planning import RunOptions, RunPlan, plan_run
from harness.record.folder import SCHEDULE_FILE
from harness.vocabulary.scenario import FixedSchedule
from harness.vocabulary.workloads import LogWorkload
from results.campaigns.summary import Outcome, RunOutcome
from tests.harness.campaigns.planned_runs import put_run, record_scenario, write_setup

VALID = Verdict(Validity.VALID, (result_of("quorum", []),))


def plan(**given: object) -> RunPlan:
    asked = {"scenario": "smoke/partition", "seed": 1, "kafka_version": "4.3.1", **given}
    return plan_run(msgspec.convert(asked, RunOptions))


def with_scenario(of: RunPlan, **changes: object) -> RunPlan:
    return replace(of, scenario=replace(of.scenario, **changes))


def with_assumptions(of: RunPlan, **changes: object) -> RunPlan:
    return with_scenario(of, assumptions=replace(of.scenario.assumptions, **changes))


def test_the_newest_run_of_each_seed_counts(tmp_path: Path) -> None:
    plans = {seed: plan(seed=seed) for seed in (1, 2, 3)}
    put_run(tmp_path, plans[1], VALID, "20261120T220001Z")
    newest = put_run(tmp_path, plans[1], VALID, "20261120T220002Z")
    second = put_run(tmp_path, plans[2], VALID)
    put_run(tmp_path, plan(seed=3, kafka_version="4.2.1"), VALID)
    put_run(tmp_path, plan(seed=3, rate=50), VALID, "20261120T220003Z")
    assert known_runs(tmp_path, plans) == KnownRuns({1: newest, 2: second}, ())


def test_a_store_without_the_scenario_has_no_run_of_it(tmp_path: Path) -> None:
    assert known_runs(tmp_path, {1: plan()}) == KnownRuns({}, ())


def test_an_interrupted_run_does_not_count(tmp_path: Path) -> None:
    put_run(tmp_path, plan(), Verdict(Validity.UNKNOWN, ()))
    assert known_runs(tmp_path, {1: plan()}) == KnownRuns({}, ())


def test_an_older_run_counts_if_the_newest_had_another_scenario(tmp_path: Path) -> None:
    older = put_run(tmp_path, plan(), VALID, "20261120T220001Z")
    newer = put_run(tmp_path, plan(), VALID, "20261120T220002Z")
    record_scenario(newer, with_scenario(plan(), workload=LogWorkload(rate=7)))
    assert known_runs(tmp_path, {1: plan()}) == KnownRuns({1: older}, ())


@pytest.mark.parametrize(
    ("made_by", "parts"),
    [
        (lambda now: now, []),
        (lambda now: replace(now, schedule=FixedSchedule((), 1_000)), ["schedule"]),
        (
            lambda now: with_scenario(now, topology=replace(now.scenario.topology, config={"a": "b"})),
            ["topology"],
        ),
        (lambda now: with_scenario(now, workload=LogWorkload(rate=7)), ["workload"]),
        (lambda now: with_assumptions(now, why_lowered="other words"), []),
        (lambda now: with_assumptions(now, acked_before=7), ["assumptions"]),
    ],
)
def test_every_part_of_the_scenario_is_compared(
    tmp_path: Path, made_by: Callable[[RunPlan], RunPlan], parts: list[str]
) -> None:
    folder = put_run(tmp_path, plan(), VALID)
    record_scenario(folder, made_by(plan()))
    assert list(differences(plan(), folder)) == parts
    outdated = (f"{folder.name} had another {', '.join(parts)}",) if parts else ()
    assert known_runs(tmp_path, {1: plan()}).outdated == outdated


def test_a_run_that_lacks_its_scenario_does_not_count(tmp_path: Path) -> None:
    folder = put_run(tmp_path, plan(), VALID)
    (folder / SCHEDULE_FILE).write_text("{}")
    (folder / DESCRIPTION_FILE).unlink()
    write_setup(folder, {})
    assert list(differences(plan(), folder)) == ["schedule", "topology", "workload", "assumptions"]
    (folder / "history-runner.jsonl").unlink()
    assert list(differences(plan(), folder)) == ["schedule", "topology", "workload", "assumptions"]


def test_a_field_that_is_newer_than_the_run_had_its_default(tmp_path: Path) -> None:
    folder = put_run(tmp_path, plan(), VALID)
    workload = msgspec.to_builtins(plan().scenario.workload)
    workload.pop("deletions_interval_ms")
    assumptions = msgspec.to_builtins(plan().scenario.assumptions)
    assumptions.pop("why_lowered")
    write_setup(folder, {"workload": workload, "assumptions": assumptions})
    assert list(differences(plan(), folder)) == []


def test_a_run_is_compared_with_what_is_expected_now() -> None:
    red = RunOutcome(folder="f", outcome=Outcome.INVALID, as_expected=True, illegal=("lost-write",))
    assert by_now(red, plan()).as_expected is False
    valid = RunOutcome(folder="f", outcome=Outcome.VALID, as_expected=False)
    assert by_now(valid, plan()).as_expected is True
    failed = RunOutcome(folder="seed 1", outcome=Outcome.FAILED)
    assert by_now(failed, plan()) is failed


def test_consequences_are_expected_only_with_their_cause() -> None:
    share = plan(scenario="exploratory/share")
    caused = ("acknowledged-twice", "share-state-initialised-again")
    alone = RunOutcome(folder="f", outcome=Outcome.INVALID, illegal=caused[:1])
    assert by_now(alone, share).as_expected is False
    assert by_now(replace(alone, illegal=caused), share).as_expected is True


def test_an_accepted_anomaly_is_expected_only_if_all_else_was_decided() -> None:
    share = plan(scenario="exploratory/share")
    found = RunOutcome(folder="f", outcome=Outcome.INVALID, illegal=("share-state-initialised-again",))
    assert not by_now(found, share).undecided
    doubtful = by_now(replace(found, reasons=("log: there was no final read.",)), share)
    assert (doubtful.as_expected, doubtful.undecided) == (False, True)
    other = by_now(replace(doubtful, illegal=("lost-write",)), share)
    assert (other.as_expected, other.undecided) == (False, False)


def test_a_run_that_was_not_decided_in_all_replaces_no_decided_one_in_the_record() -> None:
    share = plan(scenario="exploratory/share")
    found = RunOutcome(folder="f", outcome=Outcome.INVALID, illegal=("share-state-initialised-again",))
    doubtful = replace(found, folder="g", reasons=("log: there was no final read.",))
    strange = replace(found, folder="h", illegal=("lost-write",))
    record = KnownRecord(None)
    counted = [
        record.add({1: share}, {1: run})[1].folder for run in (doubtful, found, doubtful, strange, doubtful)
    ]
    assert counted == ["g", "f", "f", "h", "h"]


def test_what_may_be_permitted_is_compared_with_what_is_expected_now() -> None:
    share = plan(scenario="exploratory/share")
    unknown = RunOutcome(folder="f", outcome=Outcome.UNKNOWN)
    assert by_now(unknown, share).as_expected is False
    perhaps = replace(unknown, open_anomalies=("share-state-initialised-again",))
    assert by_now(perhaps, share).as_expected is True
    assert by_now(replace(perhaps, open_anomalies=("acknowledged-twice",)), share).as_expected is False
