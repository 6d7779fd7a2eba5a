"""``krucible track-record`` with runs that need no cluster, and whether what it lists can be run."""

import json
import threading
from pathlib import Path

import click
import pytest
from msgspec.structs import replace

from checkers.verdict.verdict import Anomaly, Validity, Verdict, result_of
from harness import cli
from harness.campaigns import making as running
from harness.campaigns.series import Venue
from harness.errors import KrucibleError
from harness.plan.catalogue import expectation_for, known_outcomes, load_scenario, scenario_names
from harness.plan.planning import RunOptions, RunPlan, plan_run
from harness.vocabulary import KnownOutcome, Side
from tests.harness.campaigns.planned_runs import put_run, write_setup

ZOMBIE = "KAFKA-15489"
OLD = ("--kafka-version", "3.6.2")
SIDES = [(known, side) for known in known_outcomes() for side in known.sides]


class FakeRuns:
    """In the place of a single run: leaves what a run leaves, and counts."""

    def __init__(self) -> None:
        self.done: list[tuple[str, int]] = []
        self.verdicts: dict[tuple[str, int], Validity] = {}
        self.failing: set[int] = set()
        self.interrupt_after = 1_000

    def __call__(self, plan: RunPlan, venue: Venue, cancelled: threading.Event) -> tuple[Path, Verdict]:
        click.echo("chatter of a run")
        options = plan.options
        if options.seed in self.failing:
            raise KrucibleError("no engine")
        self.done.append((plan.version, options.seed))
        validity = self.verdicts.get((plan.version, options.seed), plan.expectation.validity)
        found = [Anomaly(name, "s", "g", "s") for name in plan.expectation.anomalies]
        verdict = Verdict(
            validity, (result_of("quorum", found),), as_expected=validity is plan.expectation.validity
        )
        folder = put_run(venue.runs, plan, verdict, f"20261120T22000{len(self.done)}Z")
        if len(self.done) == self.interrupt_after:
            cancelled.set()
        return folder, verdict


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> FakeRuns:
    monkeypatch.setenv("KRUCIBLE_RUNS", str(tmp_path / "runs"))
    made = FakeRuns()
    monkeypatch.setattr(running, "run_one", made)
    return made


def record(*words: str) -> int:
    return cli.invoke(["track-record", "--only", ZOMBIE, *words])


def test_what_is_missing_is_run_once_and_the_page_comes_from_what_is_stored(
    fake: FakeRuns, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.md"
    assert record("--seeds", "2", "--out", str(page)) == 0
    assert fake.done == [("3.6.2", 1), ("3.6.2", 2), ("3.7.1", 1), ("3.7.1", 2)]
    captured = capsys.readouterr()
    assert captured.out == f"as expected; written to {page}\n"
    assert captured.err.count("chatter of a run") == 4
    written = page.read_text()
    assert "✅ 2 invalid of 2 | 2 `zombie-leader` |" in written
    command = "krucible run regressions/kafka-15489-zombie-leader --seeds 1..2 --kafka-version 3.6.2"
    assert f"\n{command}\n" in written

    for words in (("--no-run",), ()):
        assert record("--seeds", "2", *words) == 0
        assert capsys.readouterr().out == written
    assert len(fake.done) == 4


def test_the_runs_are_those_of_krucible_run_with_the_same_seeds(
    fake: FakeRuns, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["regressions/kafka-15489-zombie-leader", "--seeds", "1..1", "--kafka-version", "3.6.2"]
    assert cli.invoke(["run", *words]) == 1
    capsys.readouterr()
    assert record("--no-run", "--json") == 2
    seen = json.loads(capsys.readouterr().out)
    assert [side["standing"] for side in seen["sides"]] == ["as expected", "unknown"]
    assert len(fake.done) == 1


@pytest.mark.parametrize(
    ("verdict", "code", "standing"),
    [(Validity.VALID, 1, "not as expected"), (Validity.UNKNOWN, 2, "unknown")],
)
def test_a_side_that_is_not_as_expected_shows_in_the_exit_code(
    fake: FakeRuns, capsys: pytest.CaptureFixture[str], verdict: Validity, code: int, standing: str
) -> None:
    fake.verdicts["3.6.2", 1] = verdict
    assert record("--json") == code
    seen = json.loads(capsys.readouterr().out)
    assert seen["standing"] == standing
    assert [side["standing"] for side in seen["sides"]] == [standing, "as expected"]


def test_later_sessions_add_runs_to_those_of_earlier_ones(
    fake: FakeRuns, capsys: pytest.CaptureFixture[str]
) -> None:
    assert record() == 0
    assert cli.invoke(["run", "regressions/kafka-15489-zombie-leader", "--seeds", "2..2", *OLD]) == 1
    assert fake.done == [("3.6.2", 1), ("3.7.1", 1), ("3.6.2", 2)]
    capsys.readouterr()
    assert record("--seeds", "3") == 0
    assert fake.done[3:] == [("3.6.2", 3), ("3.7.1", 2), ("3.7.1", 3)]
    page = capsys.readouterr().out
    assert "✅ 3 invalid of 3 |" in page
    assert "✅ 3 valid of 3 |" in page
    assert record("--seeds", "2", "--no-run") == 0
    assert "✅ 2 invalid of 2 |" in capsys.readouterr().out


def test_a_run_of_an_earlier_version_of_the_scenario_is_made_again(
    fake: FakeRuns, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert record() == 0
    (changed,) = (tmp_path / "runs" / "regressions" / "kafka-15489-zombie-leader").glob("*1Z-1")
    write_setup(changed, {"workload": {"kind": "log", "rate": 1}})
    capsys.readouterr()
    assert record("--no-run") == 2
    page = capsys.readouterr().out
    assert "❔ 1 missing of 1" in page
    assert "## Not counted\n" in page
    assert "\n- KAFKA-15489 on 3.6.2: 20261120T220001Z-1 had another workload\n" in page
    assert len(fake.done) == 2
    assert record() == 0
    assert fake.done[2:] == [("3.6.2", 1)]
    captured = capsys.readouterr()
    assert "not counted: 20261120T220001Z-1 had another workload\n" in captured.err
    assert "## Not counted" not in captured.out


def test_recorded_runs_count_without_the_store(
    fake: FakeRuns, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = ("--outcomes", str(tmp_path / "kept.json"))
    assert record(*kept) == 0
    monkeypatch.setenv("KRUCIBLE_RUNS", str(tmp_path / "another"))
    capsys.readouterr()
    assert record("--no-run", *kept) == 0
    assert "✅ 1 invalid of 1 | 1 `zombie-leader` |" in capsys.readouterr().out
    assert record("--seeds", "2", *kept) == 0
    assert fake.done == [("3.6.2", 1), ("3.7.1", 1), ("3.6.2", 2), ("3.7.1", 2)]
    assert "✅ 2 invalid of 2 |" in capsys.readouterr().out
    assert record("--no-run") == 2, "nothing of the first store"


def test_a_decided_run_counts_before_an_unknown_one(
    fake: FakeRuns, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = ("--outcomes", str(tmp_path / "kept.json"))
    fake.verdicts["3.6.2", 1] = Validity.UNKNOWN
    assert record(*kept) == 2
    monkeypatch.setenv("KRUCIBLE_RUNS", str(tmp_path / "another"))
    assert record(*kept) == 2, "an unknown run is made again"
    assert fake.done[2:] == [("3.6.2", 1)]
    del fake.verdicts["3.6.2", 1]
    assert record() == 0
    assert record("--no-run", *kept) == 0
    monkeypatch.setenv("KRUCIBLE_RUNS", str(tmp_path / "third"))
    assert record("--no-run", *kept) == 0


@pytest.mark.parametrize(("version", "surprise"), [("3.7.1", Validity.INVALID), ("3.6.2", Validity.VALID)])
def test_a_recorded_surprise_is_not_replaced_by_an_expected_run_of_another_store(
    fake: FakeRuns, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, surprise: Validity
) -> None:
    kept = ("--outcomes", str(tmp_path / "kept.json"))
    fake.verdicts[version, 1] = surprise
    assert record(*kept) == 1
    monkeypatch.setenv("KRUCIBLE_RUNS", str(tmp_path / "another"))
    del fake.verdicts[version, 1]
    assert record() == 0
    for _ in range(2):
        assert record("--no-run", *kept) == 1


def test_a_recorded_run_with_another_value_of_a_field_does_not_count(
    fake: FakeRuns, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "kept.json"
    assert record("--outcomes", str(path)) == 0
    document = json.loads(path.read_text())
    for run in document["runs"]:
        run["scenario"]["workload"]["rate"] += 1
    path.write_text(json.dumps(document))
    monkeypatch.setenv("KRUCIBLE_RUNS", str(tmp_path / "another"))
    assert record("--no-run", "--outcomes", str(path)) == 2
    for run in document["runs"]:
        run["scenario"]["workload"]["rate"] -= 1
        del run["scenario"]["workload"]["deletions_interval_ms"]
    path.write_text(json.dumps(document))
    assert record("--no-run", "--outcomes", str(path)) == 0, "a newer field had its default"
    assert len(fake.done) == 2


def test_a_recorded_run_of_an_earlier_version_of_the_scenario_does_not_count(
    fake: FakeRuns, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = ("--outcomes", str(tmp_path / "kept.json"))
    assert record(*kept) == 0
    scenario = load_scenario("regressions/kafka-15489-zombie-leader")
    other = replace(scenario, topology=replace(scenario.topology, config={"a": "b"}))
    monkeypatch.setattr("harness.plan.planning.load_scenario", lambda _name: other)
    monkeypatch.setenv("KRUCIBLE_RUNS", str(tmp_path / "another"))
    assert record("--no-run", *kept) == 2
    assert len(fake.done) == 2


def test_a_failed_run_is_not_recorded(fake: FakeRuns, tmp_path: Path) -> None:
    path = tmp_path / "kept.json"
    fake.failing = {1}
    assert record("--outcomes", str(path)) == 3
    assert not path.exists()


@pytest.mark.parametrize("content", ["{", '{"name":"package"}', '{"krucible_known_runs":2,"runs":[]}'])
def test_a_broken_record_is_refused(
    fake: FakeRuns, tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str
) -> None:
    path = tmp_path / "kept.json"
    path.write_text(content)
    assert record("--outcomes", str(path)) == 64
    assert str(path) in capsys.readouterr().err
    assert not fake.done
    assert path.read_text() == content


@pytest.mark.usefixtures("fake")
def test_a_run_is_compared_with_what_is_expected_now(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert record() == 0
    scenario = load_scenario("regressions/kafka-15489-zombie-leader")
    other = replace(scenario, expectations=(replace(scenario.expectations[0], anomalies=("x",)),))
    monkeypatch.setattr("harness.plan.planning.load_scenario", lambda _name: other)
    assert record("--no-run") == 1
    assert "1 invalid of 1, **not as expected**" in capsys.readouterr().out


def test_a_run_that_failed_is_tried_again(fake: FakeRuns, capsys: pytest.CaptureFixture[str]) -> None:
    fake.failing = {2}
    assert record("--seeds", "2") == 3
    captured = capsys.readouterr()
    assert "💥 1 failed, 1 valid of 2" in captured.out
    assert "seed 2 failed: no engine" in captured.err
    fake.failing = set()
    assert record("--seeds", "2") == 0
    assert fake.done == [("3.6.2", 1), ("3.7.1", 1), ("3.6.2", 2), ("3.7.1", 2)]


def test_an_interrupt_ends_it_and_the_page_says_what_is_missing(
    fake: FakeRuns, capsys: pytest.CaptureFixture[str]
) -> None:
    fake.interrupt_after = 2
    assert record("--seeds", "2") == 2
    assert fake.done == [("3.6.2", 1), ("3.6.2", 2)]
    page = capsys.readouterr().out
    assert "❔ 1 invalid, 1 missing of 2" in page
    assert "❔ 2 missing of 2" in page


def test_sides_may_differ_in_features_and_properties(fake: FakeRuns, monkeypatch: pytest.MonkeyPatch) -> None:
    side = Side(version="4.3.1", features={"f": 1}, config={"p": "q r"}, expected_red=False)
    known = KnownOutcome("KIP-1", "smoke/partition", (side,))
    monkeypatch.setattr("harness.cli.campaigns.track_record.known_outcomes", lambda: (known,))
    assert cli.invoke(["track-record"]) == 0
    assert fake.done == [("4.3.1", 1)]


def test_a_race_has_more_runs_of_its_red_side(fake: FakeRuns, monkeypatch: pytest.MonkeyPatch) -> None:
    sides = tuple(Side(version=version, expected_red=version == "4.2.1") for version in ("4.2.1", "4.3.1"))
    known = KnownOutcome("KIP-1", "smoke/partition", sides, tries=3)
    monkeypatch.setattr("harness.cli.campaigns.track_record.known_outcomes", lambda: (known,))
    assert cli.invoke(["track-record"]) == 2, "no run was red"
    assert fake.done == [("4.2.1", 1), ("4.2.1", 2), ("4.2.1", 3), ("4.3.1", 1)]


def test_an_unknown_name_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.invoke(["track-record", "--only", "KAFKA-1", "--no-run"]) == 64
    stderr = capsys.readouterr().err
    assert "KAFKA-1" in stderr
    assert ZOMBIE in stderr


def test_a_page_that_can_not_be_written_is_reported(
    fake: FakeRuns, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert record("--out", str(tmp_path / "nowhere" / "page.md")) == 3
    assert "the operating system refused" in capsys.readouterr().err
    assert len(fake.done) == 2


@pytest.mark.parametrize(
    ("known", "side"), SIDES, ids=[f"{known.scenario}-{number}" for number, (known, _) in enumerate(SIDES)]
)
def test_every_side_can_be_planned_and_its_scenario_expects_the_same(known: KnownOutcome, side: Side) -> None:
    plan = plan_run(
        RunOptions(
            scenario=known.scenario,
            seed=1,
            kafka_version=side.version,
            feature=side.features,
            config=side.config,
        )
    )
    assert plan.expectation == expectation_for(plan.scenario, side.version, side.features)
    assert (plan.expectation.validity is Validity.INVALID) is side.expected_red


def test_of_one_ticket_the_discovery_is_one() -> None:
    discoveries = {(known.ticket, known.discovered_by) for known in known_outcomes()}
    assert len(discoveries) == len({ticket for ticket, _ in discoveries})


def test_every_regression_is_on_record() -> None:
    recorded = {known.scenario for known in known_outcomes()}
    assert {name for name in scenario_names() if name.startswith("regressions/")} <= recorded
