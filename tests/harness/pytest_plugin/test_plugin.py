"""The pytest plugin: scenarios are items, explained where they fail; nobody else's pytest run sees it."""

import json
import threading
import xml.etree.ElementTree as ET
from pathlib import Path

import msgspec
import pytest

import harness.pytest_plugin.items
import harness.pytest_plugin.running
import results.campaigns.step_summary
from checkers.history.identity import IDENTITY_FILE, encode_identity
from checkers.verdict.verdict import Anomaly, Validity, Verdict, result_of
from harness.campaigns.series import Venue
from harness.errors import EngineError
from harness.plan.planning import RunPlan
from harness.pytest_plugin import ROOM
from harness.vocabulary.version import DEFAULT_VERSION
from results.store.runs import save_verdict
from tests.results.story import IDENTITY

pytest_plugins = ["pytester"]
KEPT = (harness.pytest_plugin.items, harness.pytest_plugin.running, results.campaigns.step_summary)
"""Imported before the first test: what a session within a test imports, pytester forgets after it."""

SMOKE = str(ROOM / "smoke/partition.py")
CHAOS = str(ROOM / "exploratory/chaos.py")
LOST = Anomaly("lost-write", "7 is gone", "it stays", "docs", explanation=("first <this>", "then that"))
VALID = Verdict(Validity.VALID, (result_of("log", []),), Validity.VALID, as_expected=True)
INVALID = Verdict(
    Validity.INVALID, (result_of("log", [LOST]),), Validity.VALID, as_expected=False, reasons=("log: lost",)
)
UNKNOWN = Verdict(
    Validity.UNKNOWN,
    (result_of("log", [], unknown_because="half a history"),),
    Validity.VALID,
    as_expected=False,
)
KNOWN = msgspec.structs.replace(INVALID, expected=Validity.INVALID, as_expected=True)
PERHAPS = msgspec.structs.replace(UNKNOWN, as_expected=True)


class Runs:
    """Stands in for the clusters: verdicts by what is asked for, valid by default."""

    def __init__(self, store: Path) -> None:
        self.store = store
        self.plans: list[RunPlan] = []
        self.verdicts: dict[str, Verdict | Exception] = {}
        self.interrupt = False

    def __call__(self, plan: RunPlan, venue: Venue, cancelled: threading.Event) -> tuple[Path, Verdict]:
        self.plans.append(plan)
        verdict = self.verdicts.get("".join(plan.options.fault) or plan.options.scenario, VALID)
        if isinstance(verdict, Exception):
            raise verdict
        folder = venue.runs / plan.options.scenario / f"20261120T215657Z-{len(self.plans)}"
        folder.mkdir(parents=True)
        identity = msgspec.structs.replace(
            IDENTITY, scenario=plan.options.scenario, seed=plan.options.seed, reproduce=plan.reproduce
        )
        (folder / IDENTITY_FILE).write_bytes(encode_identity(identity))
        save_verdict(folder, verdict)
        if self.interrupt:
            cancelled.set()
        return folder, verdict


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch, pytester: pytest.Pytester) -> Runs:
    fake = Runs(pytester.path / "runs")
    monkeypatch.setattr("harness.pytest_plugin.running.run_one", fake)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    monkeypatch.setenv("KRUCIBLE_RUNS", str(fake.store))
    return fake


def test_one_item_for_a_scenario_and_one_for_each_kind_of_drawn_fault(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest_inprocess(SMOKE, CHAOS, "--collect-only", "-q")
    found = [line.rpartition("/")[2] for line in result.outlines if "::" in line]
    kinds = ("as-it-is", "partition", "kill", "pause", "stop")
    assert found == ["partition.py::as-it-is", *(f"chaos.py::{kind}" for kind in kinds)]


def test_options_reach_the_run_and_properties_the_junit_file(pytester: pytest.Pytester, runs: Runs) -> None:
    words = ("--seed", "7", "--kafka-version", "4.1.1", "--scenario-duration-s", "30", "--junitxml=out.xml")
    pytester.runpytest_inprocess(SMOKE, CHAOS, "-k", "smoke or kill", *words).assert_outcomes(passed=2)

    assert [plan.reproduce for plan in runs.plans] == [
        "krucible run smoke/partition --seed 7 --kafka-version 4.1.1",
        "krucible run exploratory/chaos --seed 7 --kafka-version 4.1.1 --duration-s 30 --fault=kill",
    ]
    case = next(ET.parse("out.xml").getroot().iter("testcase"))  # noqa: S314 - our own
    found = {one.attrib["name"]: one.attrib["value"] for one in case.iter("property")}
    assert found["seed"] == "7"
    assert found["reproduce"] == runs.plans[0].reproduce
    assert found["image"].startswith("krucible/kafka:4.3.1 sha256:")
    assert found["folder"] == str(runs.store / "smoke/partition/20261120T215657Z-1")


def test_a_failure_is_explained_and_not_traced_back(pytester: pytest.Pytester, runs: Runs) -> None:
    runs.verdicts["smoke/partition"] = INVALID
    result = pytester.runpytest_inprocess(SMOKE, "--seed", "7")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([
        "*krucible: seed 7, Kafka each scenario's own*",
        "*smoke/partition ?as-it-is?*",
        "verdict    INVALID (valid was expected)",
        f"reproduce  krucible run smoke/partition --seed 7 --kafka-version {DEFAULT_VERSION}",
        "    lost-write: 7 is gone",
        "      guarantee: it stays (docs)",
        "      first <this>",
        "FAILED *partition.py::as-it-is*",
    ])  # fmt: skip
    result.stdout.no_fnmatch_line("*Traceback*")
    result.stdout.no_fnmatch_line("*running.py:*")


def test_as_expected_decides_and_unknown_is_no_success(pytester: pytest.Pytester, runs: Runs) -> None:
    runs.verdicts = {"exploratory/chaos": UNKNOWN, "kill": KNOWN, "pause": EngineError("no engine", got="x")}
    runs.verdicts["stop"] = PERHAPS
    result = pytester.runpytest_inprocess(CHAOS, "--seed", "1")
    result.assert_outcomes(passed=3, failed=2)
    result.stdout.fnmatch_lines(["  could not decide: half a history", "no engine", "  got:      x"])


def test_the_first_failure_can_end_it(pytester: pytest.Pytester, runs: Runs) -> None:
    runs.verdicts["partition"] = INVALID
    pytester.runpytest_inprocess(CHAOS, "-x").assert_outcomes(passed=1, failed=1)
    assert len(runs.plans) == 2
    assert runs.plans[0].options.seed == runs.plans[1].options.seed


def test_an_interrupt_ends_the_session_once_the_run_has_healed(pytester: pytest.Pytester, runs: Runs) -> None:
    runs.interrupt = True
    session = pytester.inline_run(CHAOS, no_reraise_ctrlc=True)
    assert session.ret is pytest.ExitCode.INTERRUPTED
    assert len(runs.plans) == 1


def test_what_a_version_can_not_have_is_skipped_with_the_reason(
    pytester: pytest.Pytester, runs: Runs
) -> None:
    grow = str(ROOM / "kips/kip_853_grow.py")
    result = pytester.runpytest_inprocess(grow, "--kafka-version", "3.6.2", "-rs")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["*older than*"])
    assert runs.plans == []


def test_what_the_host_lacks_is_skipped_with_the_reason(
    pytester: pytest.Pytester, runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.pytest_plugin.running.lacking", lambda _: "only root may mount loop devices")
    result = pytester.runpytest_inprocess(SMOKE, "-rs")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["*only root may mount loop devices*"])
    assert runs.plans == []


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--kafka-version", "four"), "is not a Kafka version"),
        (("--seed", "-1"), "--seed is -1"),
        (("--seed", "x"), "invalid int value"),
    ],
)
def test_options_that_make_no_sense_are_reported(
    pytester: pytest.Pytester, runs: Runs, words: tuple[str, str], expected: str
) -> None:
    result = pytester.runpytest_inprocess(SMOKE, *words)
    assert result.ret is pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*{expected}*"])
    assert runs.plans == []


def test_a_duration_without_room_for_a_fault_fails_and_says_so(pytester: pytest.Pytester, runs: Runs) -> None:
    result = pytester.runpytest_inprocess(CHAOS, "-k", "kill", "--scenario-duration-s", "3")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*has no room for a fault*"])
    assert runs.plans == []


def test_a_ci_job_gets_its_summary_with_what_was_skipped(
    pytester: pytest.Pytester, runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = pytester.path / "page.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(page))
    runs.verdicts = {"partition": INVALID, "pause": EngineError("no engine"), "kill": KNOWN}
    pytester.runpytest_inprocess(
        CHAOS, str(ROOM / "kips/kip_853_grow.py"), "--kafka-version", "3.7.1", "--seed", "1"
    )
    text = page.read_text()
    assert "**❌ 2 Failed · 🙈 1 Skipped · 😷 1 Quarantined · ✅ 2 Passed** (5 runs)" in text
    assert "no engine" in text
    assert "older than" in text


@pytest.mark.slow
def test_other_peoples_options_and_modules_are_theirs(pytester: pytest.Pytester) -> None:
    pytester.makeconftest("def pytest_addoption(parser):\n    parser.addoption('--seed', default='theirs')\n")
    pytester.mkpydir("scenarios")
    pytester.path.joinpath("scenarios/partition.py").write_text("SCENARIO = 1\n")
    pytester.path.joinpath("scenarios/test_theirs.py").write_text(
        "def test_it(request):\n    assert request.config.getoption('--seed') == '5'\n"
    )
    result = pytester.runpytest_subprocess("scenarios", "--seed", "5")
    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("*krucible: seed*")


def test_modules_that_are_no_scenarios_are_not_collected(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest_inprocess(str(ROOM / "known_outcomes.py"), "--collect-only")
    assert result.ret is pytest.ExitCode.NO_TESTS_COLLECTED


@pytest.mark.slow
def test_workers_of_xdist_run_items_as_well(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{pytester.path}/nobody.sock")
    page = pytester.path / "page.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(page))
    result = pytester.runpytest_subprocess(SMOKE, "-n", "1", "--seed", "9", "--junitxml=out.xml")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*krucible setup*"])
    properties = ET.parse("out.xml").getroot().iter("property")  # noqa: S314 - our own
    assert json.dumps([one.attrib["value"] for one in properties]).count("--seed 9") == 1
    assert page.read_text().count("❌ 1 Failed") == 1


@pytest.mark.slow
def test_pytest_alone_loads_nothing_of_krucible_but_the_plugin(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        "import sys\n"
        "def test_it():\n"
        "    ours = {n for n in sys.modules if n.partition('.')[0] in ('harness', 'results', 'checkers')}\n"
        "    assert ours == {'harness', 'harness.pytest_plugin'}\n"
    )
    pytester.runpytest_subprocess().assert_outcomes(passed=1)
