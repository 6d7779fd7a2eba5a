"""``krucible hunt`` with runs that need no cluster: what is chosen, kept, resumed, found and told."""

import json
import threading
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from checkers.identity import RunIdentity, encode_identity
from checkers.verdict import Anomaly, Validity, Verdict, result_of
from harness import cli
from harness.cli import hunting, hunts, running
from harness.cli.campaigns import Campaign
from harness.cli.hosting import hunts as on_hosts
from harness.cli.hosting.orders import Order, Report
from harness.errors import KrucibleError
from harness.planning import RunPlan, plan_run
from harness.runner import Host
from results.measures import Measures, save_measures
from results.store import save_verdict
from tests.harness.fake_hosts import MASTER, FakeHosts
from tests.mutations.recordings import journals

LOST = Anomaly("lost-write", "17 is gone", "What is acknowledged stays.", "KIP-101", time_ns=12_000_000_000)
RECORDED = ("smoke", "chaos", "txn", "voters", "metadata")


class FakeRuns:
    """In the place of a single run: leaves the journals of a recorded one, and takes no time."""

    def __init__(self) -> None:
        self.plans: list[RunPlan] = []
        self.red: Sequence[int] = ()
        self.failing = False
        self.cancelled_at = 1_000

    def __call__(self, plan: RunPlan, host: Host, cancelled: threading.Event) -> tuple[Path, Verdict]:
        self.plans.append(plan)
        number = len(self.plans)
        if self.failing:
            raise KrucibleError("no engine")
        if number == self.cancelled_at:
            cancelled.set()
        name = f"20261123T0100{number:02}Z-{plan.options.seed}"
        folder = host.runs / plan.options.scenario / name
        folder.mkdir(parents=True)
        for file, content in journals(RECORDED[number % len(RECORDED)]).items():
            (folder / file).write_bytes(content)
        (folder / "run.json").write_bytes(encode_identity(identity(plan)))
        found = [LOST] if number in self.red else []
        validity = Validity.INVALID if found else Validity.VALID
        verdict = Verdict(validity, (result_of("log", found),), as_expected=not found)
        save_verdict(folder, verdict)
        save_measures(folder, Measures(duration_ms=50_000, operations=1, sent_ok=1))
        return folder, verdict

    def on_host(self, order: Order) -> Report:
        """The same on a host."""
        try:
            folder, _verdict = self(plan_run(order.options), Host(runs=order.site.store), threading.Event())
        except KrucibleError as error:
            return Report("h", failure=str(error))
        return Report("h", str(folder.relative_to(order.site.store)), "VALID after 20 s")


class Clock:
    """Every look takes a minute: a run is over two looks later, after a minute."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def monotonic(self) -> float:
        self.now_s += 60
        return self.now_s


def identity(plan: RunPlan) -> RunIdentity:
    return RunIdentity(
        run=f"r{plan.options.seed}",
        scenario=plan.options.scenario,
        seed=plan.options.seed,
        kafka_version=plan.version,
        began_at="2026-11-23T01:00:00Z",
        reproduce=plan.reproduce,
        options=msgspec.to_builtins(plan.options),
        seeded_bug=plan.options.seeded_bug or "",
    )


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> FakeRuns:
    monkeypatch.setenv("KRUCIBLE_RUNS", str(tmp_path / "runs"))
    made = FakeRuns()
    monkeypatch.setattr(running, "run_one", made)
    monkeypatch.setattr(hunting, "require_images", list)
    monkeypatch.setattr(hunts, "time", Clock())
    return made


def hunt(*words: str) -> int:
    return cli.invoke(["hunt", "--budget", "5m", "--duration-s", "20", *words])


def test_a_hunt_runs_until_no_run_fits_into_what_is_left(
    fake: FakeRuns, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert hunt() == 0
    assert len(fake.plans) == 5
    out = capsys.readouterr().out
    assert "=== run 1, 0 min of 5 min: krucible run " in out
    assert "=== run 5, 4 min of 5 min: krucible run " in out
    assert out.count("chosen     ") == out.count("reached    ") == 5
    assert "VALID: 5 runs, 5 valid" in out
    assert "left" not in out
    (summary,) = (tmp_path / "runs" / "hunts").glob("*/summary.md")
    assert "5 valid" in summary.read_text()
    kinds = {plan.options.scenario for plan in fake.plans}
    assert len(kinds) > 1


def test_every_run_says_why_it_was_chosen_and_how_it_is_run_again(fake: FakeRuns, tmp_path: Path) -> None:
    hunt()
    told = [json.loads(path.read_text()) for path in (tmp_path / "runs").glob("*/*/*/chosen.json")]
    assert sorted(one["number"] for one in told) == [1, 2, 3, 4, 5]
    assert {one["command"] for one in told} == {plan.reproduce for plan in fake.plans}
    assert all("never run" in one["why"] or "run " in one["why"] for one in told)
    first = next(one for one in told if one["number"] == 1)
    assert first["new_states"] > 10
    assert (tmp_path / "runs" / first["folder"] / "states.json").exists()


def test_the_same_store_and_seed_choose_the_same(
    fake: FakeRuns, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    hunt("--seed", "3")
    first = [plan.reproduce for plan in fake.plans]
    fake.plans.clear()
    monkeypatch.setenv("KRUCIBLE_RUNS", str(tmp_path / "others"))
    hunt("--seed", "3")
    assert [plan.reproduce for plan in fake.plans] == first
    fake.plans.clear()
    monkeypatch.setenv("KRUCIBLE_RUNS", str(tmp_path / "again"))
    hunt("--seed", "4")
    assert [plan.reproduce for plan in fake.plans] != first


def test_an_interrupted_hunt_goes_on_and_one_that_is_over_begins_anew(
    fake: FakeRuns, capsys: pytest.CaptureFixture[str]
) -> None:
    fake.cancelled_at = 3
    assert hunt() == 0
    assert "left     3 min; the same command goes on" in capsys.readouterr().out
    fake.cancelled_at = 1_000
    assert hunt() == 0
    told = capsys.readouterr().out
    assert "resuming: 2 runs of this hunt" in told
    assert "VALID: 5 runs, 5 valid" in told
    assert len(fake.plans) == 3 + 3
    assert hunt() == 0
    assert "resuming" not in capsys.readouterr().out
    assert len(fake.plans) == 6 + 5


def test_a_find_is_told_and_may_end_the_hunt(fake: FakeRuns, capsys: pytest.CaptureFixture[str]) -> None:
    fake.red = (2,)
    assert hunt() == 1
    out = capsys.readouterr().out
    assert len(fake.plans) == 5
    assert f"FOUND    {fake.plans[1].reproduce}" in out
    fake.plans.clear()
    assert hunt("--stop-at-first") == 1
    assert len(fake.plans) == 2


def test_a_bug_that_was_put_in_is_a_find_although_it_is_expected(fake: FakeRuns) -> None:
    fake.red = (1,)
    assert hunt("--stop-at-first", "--seeded-bug", "min-isr-ignored", "--scenarios", "exploratory/*") == 1
    (plan,) = fake.plans
    assert plan.options.seeded_bug == "min-isr-ignored"
    assert hunt("--stop-at-first", "--scenarios", "exploratory/*") == 0  # runs with a bug are no others' runs


def test_a_harness_that_fails_again_and_again_ends_the_hunt(
    fake: FakeRuns, capsys: pytest.CaptureFixture[str]
) -> None:
    fake.failing = True
    assert hunt() == 3
    assert len({plan.reproduce for plan in fake.plans}) == len(fake.plans) == hunts.FAILURES_MAX
    out = capsys.readouterr().out
    assert "FAILED: 3 runs, 3 failed" in out
    assert "left     2 min" in out
    fake.failing = False
    assert hunt() == 3  # what failed is told, and the hunt goes on
    assert len(fake.plans) == 5


def test_what_would_come_next_is_told_and_nothing_is_run(
    fake: FakeRuns, capsys: pytest.CaptureFixture[str]
) -> None:
    assert hunt("--plan") == 0
    told = capsys.readouterr().out
    assert "kinds of runs to choose from" in told
    hunt()
    assert f"next       {fake.plans[0].reproduce}\n" in told
    capsys.readouterr()
    assert hunt("--plan") == 0
    after = capsys.readouterr().out
    assert after != told
    assert len(fake.plans) == 5
    assert cli.invoke(["hunt", "--budget", "5s", "--plan"]) == 0
    assert "no run fits" in capsys.readouterr().out


@pytest.mark.usefixtures("fake")
def test_runs_that_can_not_be_read_or_are_of_other_kafkas_tell_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hunt("--kafka-version", "4.1.1")
    broken = tmp_path / "runs" / "smoke" / "20261123T020000Z-1"
    broken.mkdir(parents=True)
    (broken / "run.json").write_text("{}")
    for folder in (tmp_path / "runs").glob("*/*/2026*"):
        path = folder / "run.json"
        path.write_text(path.read_text().replace(folder.parent.name, "no-such-scenario"))
    capsys.readouterr()
    hunt("--kafka-version", "4.1.1", "--plan")
    assert "like it" in capsys.readouterr().out
    hunt("--plan")
    assert "no run tells what to expect" in capsys.readouterr().out


@pytest.mark.usefixtures("fake")
def test_a_run_whose_history_is_gone_counts_as_one_that_showed_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hunt()
    for journal in (tmp_path / "runs").glob("*/*/2026*/*"):
        if journal.name == "states.json" or journal.name.startswith("history"):
            journal.unlink()
    capsys.readouterr()
    hunt()
    told = capsys.readouterr()
    assert told.err.count("its history can't be read; it counts as showing nothing") == 5
    assert "of 10 runs" in told.out


@pytest.mark.parametrize(
    "words", [("--budget", "2"), ("--budget", "2h x"), ("--budget", "99999h"), ("--scenarios", "no/thing")]
)
def test_what_makes_no_sense_is_refused(fake: FakeRuns, words: tuple[str, ...]) -> None:
    assert cli.invoke(["hunt", *words]) == 64
    assert fake.plans == []


@pytest.mark.parametrize(("text", "seconds"), [("2h", 7_200), ("1h30m", 5_400), ("90s", 90)])
def test_times(text: str, seconds: int) -> None:
    assert hunting.Time().convert(text, None, None) == seconds


@pytest.fixture
def minutes_on_hosts(fake: FakeRuns, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that is done by a host takes as many minutes as runs were begun since."""
    monkeypatch.setattr(on_hosts, "monotonic", lambda: 60.0 * len(fake.plans))


@pytest.mark.usefixtures("minutes_on_hosts")
def test_a_host_chooses_each_run_by_all_that_have_ended_and_the_same_again(
    fake: FakeRuns, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    FakeHosts({"a": fake.on_host}).stand_in(monkeypatch)
    assert hunt("--master", MASTER) == 0
    first = [plan.reproduce for plan in fake.plans]
    out = capsys.readouterr().out
    assert "--- run 5, 4 min of 5 min, to a: krucible run " in out
    assert "VALID: 5 runs, 5 valid" in out
    told = [json.loads(path.read_text()) for path in (tmp_path / "runs").glob("*/*/*/chosen.json")]
    assert sorted(one["number"] for one in told) == [1, 2, 3, 4, 5]
    fake.plans.clear()
    assert hunt("--master", MASTER, "--runs", str(tmp_path / "again")) == 0
    assert [plan.reproduce for plan in fake.plans] == first


def test_hosts_get_runs_that_differ_and_share_the_time(
    fake: FakeRuns, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    together, lock = threading.Barrier(2), threading.Lock()

    def in_pairs(order: Order) -> Report:
        together.wait(60)
        with lock:
            return fake.on_host(order)

    FakeHosts({"a": in_pairs, "b": in_pairs}).stand_in(monkeypatch)
    real = hunts.Hunt.take

    def take(
        self: hunts.Hunt, found: hunts.Next, campaign: Campaign, _s: float, *, interrupted: bool
    ) -> None:
        real(self, found, campaign, 60.0, interrupted=interrupted)

    monkeypatch.setattr(hunts.Hunt, "take", take)
    assert hunt("--budget", "3m", "--master", MASTER) == 0
    assert len({plan.reproduce for plan in fake.plans}) == len(fake.plans) == 6
    assert "VALID: 6 runs, 6 valid" in capsys.readouterr().out


@pytest.mark.usefixtures("minutes_on_hosts")
def test_the_first_find_of_a_host_ends_the_hunt(
    fake: FakeRuns, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fake.red = (2,)
    FakeHosts({"a": fake.on_host}).stand_in(monkeypatch)
    assert hunt("--stop-at-first", "--master", MASTER) == 1
    assert len(fake.plans) == 2
    assert "FOUND    krucible run" in capsys.readouterr().out


@pytest.mark.usefixtures("minutes_on_hosts")
def test_hosts_that_only_fail_end_the_hunt(fake: FakeRuns, monkeypatch: pytest.MonkeyPatch) -> None:
    fake.failing = True
    FakeHosts({"a": fake.on_host}).stand_in(monkeypatch)
    assert hunt("--master", MASTER) == 3
    assert len(fake.plans) == hunts.FAILURES_MAX
