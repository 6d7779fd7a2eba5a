"""Every series of runs says which run comes next, so that its cluster can be started beside the end."""

import threading
from pathlib import Path
from typing import NoReturn

import pytest

from harness import cli
from harness.campaigns import making as running
from harness.campaigns.sensitivity import runs as sensitivity_runs
from harness.campaigns.series import Venue
from harness.cli.campaigns import qualify
from harness.errors import KrucibleError
from harness.plan.planning import RunPlan

SERIES = {
    "seeds": ["run", "smoke/partition", "--seeds", "1..3"],
    "sensitivity": ["sensitivity", "commit-not-applied", "min-isr-ignored", "--budget", "1x30"],
    "qualification": ["qualify", "--candidate", "4.3.1", "--preset", "smoke"],
    "track record": ["track-record", "--only", "KAFKA-15489", "--seeds", "2"],
}


@pytest.mark.parametrize("name", SERIES)
def test_a_run_knows_which_comes_next(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    ran: list[tuple[RunPlan, Venue]] = []

    def fail(plan: RunPlan, venue: Venue, _cancelled: threading.Event) -> NoReturn:
        ran.append((plan, venue))
        raise KrucibleError("no engine")

    monkeypatch.setenv("KRUCIBLE_RUNS", str(tmp_path))
    monkeypatch.setattr(running, "run_one", fail)
    for module in (qualify, sensitivity_runs):
        monkeypatch.setattr(module, "require_images", list)
    cli.invoke(SERIES[name])
    plans = [plan for plan, _host in ran]
    following = [venue.following for _plan, venue in ran]
    # A side of a known outcome is a campaign of its own: where one ends, nobody knows what comes next.
    known = [
        (then, announced)
        for then, announced in zip([*plans[1:], None], following, strict=True)
        if announced and then
    ]
    assert [announced for then, announced in known if announced != then] == []
    assert len(known) >= 2
    assert len({venue.series for _plan, venue in ran} - {None}) == 1
