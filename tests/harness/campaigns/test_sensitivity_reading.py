"""What a control of a measurement counts as, from its folder."""

from pathlib import Path

import msgspec
import pytest

from checkers.verdict.verdict import Anomaly, OpenAnomaly, Validity, Verdict, result_of
from harness.campaigns.sensitivity.reading import read_control, seen_in
from harness.plan.planning import RunOptions, plan_run
from harness.seeded_bugs.catalogue import bug_named
from results.campaigns.summary import Outcome
from results.sensitivity import BugOutcome, ControlRun, TimedAnomaly
from results.sensitivity.outcomes import OutcomeLine
from tests.harness.campaigns.planned_runs import put_run

NAME = "share-state-start-back"
FOUND = Anomaly(NAME, "it went back", "g", "s")
LEGAL = msgspec.structs.replace(FOUND, illegal=False, licence="a loss")
INVALID = Verdict(Validity.INVALID, (result_of("share-groups", [FOUND]),))
PERHAPS = result_of("share-groups", [LEGAL], open_anomalies=[OpenAnomaly(NAME, "a loss")])
UNKNOWN = Verdict(Validity.UNKNOWN, (PERHAPS,))


@pytest.mark.parametrize("as_expected", [True, False])
@pytest.mark.parametrize(
    ("verdict", "outcome", "illegal"),
    [(INVALID, Outcome.INVALID, (NAME,)), (UNKNOWN, Outcome.UNKNOWN, ())],
)
def test_what_a_scenario_accepts_is_allowed(
    tmp_path: Path, verdict: Verdict, outcome: Outcome, illegal: tuple[str, ...], *, as_expected: bool
) -> None:
    plan = plan_run(RunOptions(scenario="exploratory/share", seed=1))
    folder = put_run(tmp_path, plan, msgspec.structs.replace(verdict, as_expected=as_expected))
    control = read_control(ControlRun(scenario="exploratory/share", mode="combined", command="c"), folder)
    assert (control.outcome, control.anomalies) == (outcome, illegal)
    assert (control.allowed, control.alarm) == (as_expected, bool(illegal) and not as_expected)


def test_an_allowed_anomaly_decides_nothing_if_not_all_could_be_decided(tmp_path: Path) -> None:
    plan = plan_run(RunOptions(scenario="exploratory/share", seed=1))
    doubtful = result_of("share-groups", [FOUND], unknown_because="no final read")
    verdict = Verdict(
        Validity.INVALID, (doubtful,), Validity.VALID, (NAME,), as_expected=False, reasons=("no final read",)
    )
    folder = put_run(tmp_path, plan, verdict)
    control = read_control(ControlRun(scenario="exploratory/share", mode="combined", command="c"), folder)
    assert (control.outcome, control.anomalies, control.alarm) == (Outcome.UNKNOWN, (NAME,), False)


@pytest.mark.parametrize(
    ("scenario", "ending"),
    [("exploratory/share-altered", BugOutcome.ACCEPTED), ("gone/away", BugOutcome.SEEN)],
)
def test_a_bug_is_not_seen_by_what_its_scenario_accepts_now(scenario: str, ending: BugOutcome) -> None:
    line = OutcomeLine(
        bug="alter-start-kept",
        number=1,
        scenario=scenario,
        mode="combined",
        command="c",
        ending=BugOutcome.SEEN,
        found=(TimedAnomaly("share-state-initialised-again", 5),),
    )
    assert seen_in(line, bug_named(line.bug, "4.3.1"), "4.3.1").ending is ending
