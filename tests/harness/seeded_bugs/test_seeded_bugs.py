"""Seeded bugs: their files, their scripts, what a node's log has of them, and how a run gets one."""

from pathlib import Path

import pytest

from harness.cli.runs.run import run
from harness.cluster.images.model import silent
from harness.errors import UsageError
from harness.plan.planning import RunOptions, plan_run
from harness.seeded_bugs import seeding
from harness.seeded_bugs.catalogue import BUGS_VERSION, bug_named, bugs_below, seeded_bugs
from harness.seeded_bugs.header import BugFileError, SeededBug, parse_bug
from harness.seeded_bugs.page import render_page
from harness.seeded_bugs.reach import reach_text, read_traces, stage_in
from harness.seeded_bugs.script import script_of
from harness.seeded_bugs.seeding import SCRIPT_FILE, with_bug
from harness.seeded_bugs.traces import FAILURES_MAX, BugStage, Traces, stage_of, traces_in
from harness.vocabulary import Mode, Topology
from harness.vocabulary.topology import Role
from harness.vocabulary.version import DEFAULT_VERSION

PAGE = Path(__file__).parents[3] / "docs/seeded-bugs.md"
GOOD = """\
# summary: A leader forgets
#   what it took.
# breaks: What was taken is kept.
# source: KIP-1
# faults: kill reassign
# workloads: log
# anomalies: lost-write unseen
# versions: 4.1.1 4.3.1
# nodes: broker
RULE a leader forgets
CLASS org.apache.kafka.Leader
METHOD take
AT ENTRY
BIND n:int = 1
IF n == 1
   AND TRUE
DO TRIGGERED; RETURN
ENDRULE
"""
BY_VERSION = """\
# summary: A leader forgets.
# breaks: What was taken is kept.
# source: KIP-1
# faults: none
# workloads: log
# anomalies: lost-write
# versions: 4.1.1 4.3.1
# nodes: broker
RULE a leader forgets
# versions: 4.1.1
CLASS org.apache.kafka.Leader
METHOD take
AT ENTRY
IF TRUE
DO TRIGGERED; RETURN
ENDRULE

RULE a leader forgets
# versions: 4.3.1
CLASS org.apache.kafka.Leader
METHOD takeAll
AT ENTRY
IF TRUE
DO TRIGGERED; RETURN
ENDRULE

RULE a leader remembers
CLASS org.apache.kafka.Leader
METHOD give
AT ENTRY
IF TRUE
DO RETURN
ENDRULE
"""


def bug(text: str = GOOD) -> SeededBug:
    return parse_bug("replication", "forgets", text)


def test_a_file_says_everything_of_its_bug() -> None:
    parsed = bug()
    assert parsed.summary == "A leader forgets what it took."
    assert parsed.faults == ("kill", "reassign")
    assert parsed.anomalies == ("lost-write", "unseen")
    assert parsed.versions == ("4.1.1", "4.3.1")
    assert parsed.nodes == (Role.BROKER,)
    assert parsed.rules == GOOD


def test_the_load_may_be_all_that_it_takes() -> None:
    assert bug(GOOD.replace("kill reassign", "none")).faults == ()


@pytest.mark.parametrize(
    ("line", "old", "new", "problem"),
    [
        (1, "# summary: A", "# sumary: A", "expected `# summary: …`, got `# sumary:`"),
        (1, "# summary: A", "#summary: A", "expected `# key: text` or"),
        (1, "it took.", "it took", "the last ends with a full stop"),
        (1, "# summary", "#   more\n# summary", "expected `# key: text` or"),
        (4, "# source: KIP-1\n", "", "expected `# source: …`, got `# faults:`"),
        (5, "kill reassign", "kil", "'kil' is unknown, expected for example kill"),
        (5, "kill reassign", "kill kill", "a word is repeated"),
        (6, "log", "none", "'none' is unknown"),
        (7, "lost-write", "lost-wrote", "'lost-wrote' is unknown, expected for example lost-write"),
        (8, "4.1.1 4.3.1", "4.3", "'4.3' is not a Kafka version"),
        (8, "4.1.1 4.3.1", "4.3.1 4.1.1", "expected ascending versions"),
        (9, "# nodes: broker\n", "", "expected `# nodes: …`"),
        (9, "# nodes: broker", "# nodes: observer", "'observer' is unknown"),
        (10, "# nodes: broker", "# nodes: broker\n# extra: text", "expected the rules, got `# extra:`"),
        (10, "RULE ", "RULES ", "expected a Byteman rule"),
        (10, "DO TRIGGERED; ", "DO ", "no rule counts its triggers"),
        (10, "DO TRIGGERED; ", "DO TRIGGERED_ALL(); ", "no rule counts its triggers"),
    ],
)
def test_what_is_wrong_is_reported_with_its_file_and_line(
    line: int, old: str, new: str, problem: str
) -> None:
    with pytest.raises(BugFileError) as caught:
        bug(GOOD.replace(old, new, 1))
    assert str(caught.value).startswith(f"replication/forgets.btm, line {line}: ")
    assert problem in str(caught.value)


def test_areas_and_names_are_of_one_shape() -> None:
    with pytest.raises(BugFileError, match="no area is called 'odd'"):
        parse_bug("odd", "forgets", GOOD)
    with pytest.raises(BugFileError, match="a name is of lower-case words"):
        parse_bug("replication", "For_gets", GOOD)


def test_a_script_keeps_the_lines_of_its_rules_and_reports_what_becomes_of_them() -> None:
    lines = script_of(bug(), "4.3.1").splitlines()
    reached = 'IF (NOT flag("krucible-bug forgets") OR traceln("krucible-bug forgets reached at " + '
    assert lines[14].startswith(reached)
    assert lines[14].endswith("AND (n == 1")
    assert lines[15] == "   AND TRUE)"
    assert lines[16].startswith(
        'DO String.valueOf(incrementCounter("krucible-bug forgets", 1)).matches("10*")'
    )
    assert lines[16].endswith("; RETURN")
    assert lines[13] == "BIND n:int = 1"
    assert any("krucible-bug forgets installed at" in line for line in lines)


def test_a_rule_may_count_and_do_nothing_else() -> None:
    lines = script_of(bug(GOOD.replace("DO TRIGGERED; RETURN", "DO TRIGGERED")), "4.3.1").splitlines()
    assert lines[16].startswith("DO String.valueOf(incrementCounter(")
    assert lines[16].endswith(" + java.time.Instant.now())")


def test_a_version_gets_the_rules_for_it_and_those_for_all() -> None:
    several = bug(BY_VERSION)
    old, new = (script_of(several, version) for version in ("4.1.1", "4.3.1"))
    assert "METHOD take\n" in old
    assert "METHOD takeAll" not in old
    assert "METHOD takeAll" in new
    assert "METHOD take\n" not in new
    assert all("RULE a leader remembers" in one for one in (old, new))
    # Byteman's messages have lines, so a rule that stays keeps its own.
    line_of_last = BY_VERSION.splitlines().index("RULE a leader remembers")
    assert [one.splitlines().index("RULE a leader remembers") for one in (old, new)] == [line_of_last] * 2


@pytest.mark.parametrize(
    ("line", "old", "new", "problem"),
    [
        (10, "# versions: 4.1.1\n", "# versions: 3.9.0\n", "the bug is not for Kafka 3.9.0"),
        (10, "# versions: 4.1.1\n", "# versions: 4.1\n", "'4.1' is not a Kafka version"),
        (11, "# versions: 4.1.1\nCLASS", "CLASS x\n# versions: 4.1.1\nCLASS", "below a line `RULE name`"),
        (9, "# versions: 4.3.1\n", "# versions: 4.1.1\n", "no rule for Kafka 4.3.1 counts its triggers"),
    ],
)
def test_rules_for_some_versions_are_checked(line: int, old: str, new: str, problem: str) -> None:
    with pytest.raises(BugFileError) as caught:
        bug(BY_VERSION.replace(old, new))
    assert str(caught.value).startswith(f"replication/forgets.btm, line {line}: ")
    assert problem in str(caught.value)


def test_a_folder_has_each_name_once(tmp_path: Path) -> None:
    for area in ("kraft", "replication"):
        (tmp_path / area).mkdir()
        (tmp_path / area / "forgets.btm").write_text(GOOD)
        (tmp_path / area / "notes.txt").touch()
    with pytest.raises(
        BugFileError, match=r"replication/forgets\.btm, line 1: kraft already has a bug of that name"
    ):
        bugs_below(tmp_path)
    (tmp_path / "kraft" / "forgets.btm").unlink()
    assert list(bugs_below(tmp_path)) == ["forgets"]


def test_a_bug_is_asked_for_by_its_name_and_for_versions_that_it_fits() -> None:
    name = next(iter(seeded_bugs()))
    assert bug_named(name, "4.3.1").name == name
    with pytest.raises(UsageError, match="there is no seeded bug 'min-isr-ignord'") as caught:
        bug_named("min-isr-ignord", "4.3.1")
    assert "min-isr-ignored" in caught.value.expected
    with pytest.raises(UsageError, match=r"does not fit Kafka 3\.6\.2"):
        bug_named(name, "3.6.2")


def test_every_bug_fits_the_version_that_sensitivity_measures_and_the_newest() -> None:
    fitting = set.intersection(*(set(bug.versions) for bug in seeded_bugs().values()))
    assert {BUGS_VERSION, DEFAULT_VERSION} <= fitting


def line(what: str, second: int = 0, name: str = "forgets") -> str:
    return f"krucible-bug {name} {what} at 2026-11-22T10:00:{second:02}.123456Z\n"


def test_a_log_without_the_bug_shows_nothing() -> None:
    log = "INFO started\n" + line("installed", name="another")
    assert traces_in(log, "forgets") == Traces()
    assert stage_of([traces_in(log, "forgets")]) is BugStage.NOT_INJECTED
    assert stage_of([]) is BugStage.NOT_INJECTED


def test_each_life_of_a_node_adds_to_its_triggers() -> None:
    log = (
        line("installed") + line("reached", 1) + line("triggered 1", 2) + "INFO x\n" + line("triggered 10", 3)
    )
    log += line("installed", 4) + line("installed", 5) + line("reached", 6) + line("triggered 1", 7)
    traces = traces_in(log, "forgets")
    assert traces == Traces(installed=3, reached=2, triggered=11, first_at="2026-11-22T10:00:02.123456Z")
    assert stage_of([Traces(), traces]) is BugStage.TRIGGERED


def test_stages_are_distinguished() -> None:
    installed = traces_in(line("installed"), "forgets")
    reached = traces_in(line("installed") + line("reached"), "forgets")
    assert stage_of([installed, Traces()]) is BugStage.NEVER_REACHED
    assert stage_of([installed, reached]) is BugStage.NEVER_TRIGGERED


def test_what_byteman_could_not_use_is_reported() -> None:
    failure = "Rule.ensureTypeCheckedCompiled : error type checking rule a leader forgets"
    traces = traces_in(line("installed") + f"{failure}\n" * (FAILURES_MAX + 1), "forgets")
    assert traces.failures == (failure,) * FAILURES_MAX
    assert stage_of([traces]) is BugStage.NOT_INJECTED


def logs(folder: Path, **log_of: str) -> Path:
    for node, log in log_of.items():
        (folder / "nodes" / node).mkdir(parents=True)
        (folder / "nodes" / node / "server.log").write_text(log)
    return folder


def test_a_runs_folder_shows_what_became_of_its_bug(tmp_path: Path) -> None:
    begun = line("installed") + line("reached", 1)
    red = read_traces(
        logs(tmp_path, n1=begun, n2=begun + line("triggered 1", 9), n3=begun + line("triggered 1000", 8)),
        "forgets",
    )
    assert stage_in(tmp_path, "forgets") is BugStage.TRIGGERED
    assert reach_text("forgets", red) == (
        "forgets: triggered at least 1,001 times on n2, n3, first at 2026-11-22T10:00:08.123456Z"
    )


def test_a_node_without_a_log_shows_nothing_of_the_bug(tmp_path: Path) -> None:
    (tmp_path / "nodes" / "n2").mkdir(parents=True)
    quiet = read_traces(logs(tmp_path, n1=line("installed") + line("reached")), "forgets")
    assert list(quiet) == ["n1"]
    assert stage_in(tmp_path, "forgets") is BugStage.NEVER_TRIGGERED
    assert reach_text("forgets", quiet) == "forgets: never triggered"
    assert stage_in(tmp_path / "nodes", "forgets") is None
    failed = {"n1": Traces(installed=1, failures=("Rule.x : error",))}
    assert reach_text("forgets", failed) == "forgets: not injected (Rule.x : error)"


@pytest.fixture
def agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    jar = tmp_path / "byteman.jar"
    monkeypatch.setattr(seeding, "byteman", lambda _progress: jar)
    return jar


def test_nodes_of_the_bugs_role_alone_get_it(tmp_path: Path, agent: Path) -> None:
    plain = Topology(mode=Mode.ISOLATED, node_jvm_options={"b1": ("-Dx",), "c1": ("-Dy",)})
    seeded = with_bug(plain, "min-isr-ignored", "4.3.1", tmp_path, silent)
    option = "-javaagent:/opt/krucible-bug/byteman.jar=script:/opt/krucible-bug/bug.btm"
    assert seeded.node_jvm_options == {
        "b1": ("-Dx", option),
        "b2": (option,),
        "b3": (option,),
        "c1": ("-Dy",),
    }
    assert [file.source for file in seeded.node_files] == [str(agent), str(tmp_path / SCRIPT_FILE)]
    assert "krucible-bug min-isr-ignored installed" in (tmp_path / SCRIPT_FILE).read_text()
    assert seeded.problems() == []


def test_without_a_bug_nothing_changes(tmp_path: Path) -> None:
    assert with_bug(Topology(), "", "4.3.1", tmp_path, silent) == Topology()
    assert list(tmp_path.iterdir()) == []


def test_the_page_has_every_bug() -> None:
    text = PAGE.read_text()
    assert render_page(text) == text, "run: make docs"
    with pytest.raises(ValueError, match="the page has no line"):
        render_page("# Seeded bugs\n")


def test_a_run_with_a_bug_is_to_find_it() -> None:
    asked = RunOptions(
        scenario="exploratory/chaos", seed=3, seeded_bug="min-isr-ignored", kafka_version=BUGS_VERSION
    )
    plan = plan_run(asked)
    assert "--seeded-bug min-isr-ignored" in plan.reproduce
    assert plan.expectation.validity == "invalid"
    assert "acked-below-min-isr" in plan.expectation.anomalies
    with run.make_context("run", ["smoke/partition", "--seeded-bug", "min-isr-ignored"]) as context:
        assert context.params["seeded_bug"] == "min-isr-ignored"
    with pytest.raises(UsageError, match="there is no seeded bug"):
        plan_run(RunOptions(scenario="exploratory/chaos", seed=3, seeded_bug="nothing"))


def test_a_bug_that_does_not_fit_the_run_s_version_is_refused_with_one_that_does() -> None:
    with pytest.raises(UsageError, match=r"min-isr-ignored does not fit Kafka 4\.2\.0") as caught:
        plan_run(
            RunOptions(
                scenario="exploratory/chaos", seed=3, seeded_bug="min-isr-ignored", kafka_version="4.2.0"
            )
        )
    assert caught.value.next_step == f"--kafka-version {seeded_bugs()['min-isr-ignored'].versions[-1]}"
