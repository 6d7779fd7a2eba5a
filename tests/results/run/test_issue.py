"""``issue.md``: everything a stranger needs, and nothing in it but text."""

import re
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkers.verdict.tallies import AnomalyTally
from checkers.verdict.verdict import Anomaly, Assumption, Validity, Verdict, result_of
from results.markup.trackers import Format
from results.report.cards.chronology import Chronology
from results.report.size_limits import STEPS
from results.run.causes import illegal_causes
from results.run.circumstances import Circumstances
from results.run.issue import CAUSES_MAX, ISSUE_FILE, render_issue, save_issue
from results.run.observation import FaultSeen, observe
from tests.results.story import IDENTITY, Run

FOLDER = Path("runs/smoke/partition/20261120T215657Z-7")


def of(*found: Anomaly, reasons: tuple[str, ...] = ("log: lost",), expected: tuple[str, ...] = ()) -> Verdict:
    results = (result_of("log", list(found)),)
    return Verdict(Validity.INVALID, results, Validity.VALID, expected, as_expected=False, reasons=reasons)


def outside_of_code(page: str) -> str:
    """What is left of a page once blocks and spans of code are taken out, as CommonMark finds them."""
    without_blocks = re.sub(r"^(`{3,})[a-z]+\n.*?\n\1$", "", page, flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"(?<!`)(`+)(?!`).+?(?<!`)\1(?!`)", "", without_blocks)


def test_it_says_what_where_why_and_how_to_see_it_again(red_run: Run) -> None:
    page = render_issue(FOLDER, red_run.verdict, red_run.identity)
    assert page.startswith("# `lost-write` in `smoke/partition` on Kafka `4.3.1`\n")
    for part in (
        "**INVALID (valid was expected)**",
        "| Kafka | `4.3.1` |",
        "| seed | `7` |",
        f"| image | `krucible/kafka:4.3.1 sha256:{'5c' * 32}` |",
        "| config | `broker.session.timeout.ms=3000` |",
        f"| folder | `{FOLDER}` |",
        "guarantee: a record acknowledged with acks=all survives as long as one in-sync replica does (",
        "No event of the history licenses the loss",
        "```sh\nkrucible run smoke/partition --kafka-version 4.3.1 --seed 7\n```",
        f"The smallest scenario that still shows it:\n\n```sh\nkrucible minimise {FOLDER}\n```",
        f"`krucible check {FOLDER}`",
    ):
        assert part in page


def circumstances_of(run: Run) -> Circumstances:
    return Circumstances(run.history, observe(run.history).faults)


@pytest.mark.parametrize("markup", list(Format))
def test_the_witness_has_the_faults_in_force_and_why_no_licence_applies(red_run: Run, markup: Format) -> None:
    circumstances = circumstances_of(red_run)
    page = render_issue(FOLDER, red_run.verdict, red_run.identity, markup, circumstances=circumstances)
    assert re.search(
        r"^Faults in force from \d+\.\d s to \d+\.\d s: f\d partition n1, from", page, re.MULTILINE
    )
    chronology = Chronology(red_run.history, observe(red_run.history).faults)
    for cause in illegal_causes(red_run.verdict, "log"):
        for line in chronology.around(cause, STEPS[0]):
            assert line.time or line.text in page
        assert [*circumstances.lines(cause)][1:]


def test_names_of_faults_stay_inside_of_code(red_run: Run) -> None:
    evil = FaultSeen(id="```\n# x", kind="\x1b[31m<b>", targets=("`" * 9,) * 90, invoked_ns=0)
    page = render_issue(
        FOLDER, red_run.verdict, None, circumstances=Circumstances(red_run.history, [evil] * 90)
    )
    assert "\x1b" not in page
    assert "<b>" not in outside_of_code(page)
    assert "\n# x" not in page
    lines = [line for line in page.splitlines() if line.startswith("Faults in force")]
    assert lines
    assert max(map(len, lines)) < 1_100


def test_each_cause_is_listed_once_unexpected_ones_first() -> None:
    many = [Anomaly("known", f"k{n}", "g", "s", subject=f"n{n}", time_ns=n) for n in range(15)]
    many += [
        Anomaly("more", "also", "g", "s", subject="n0"),
        Anomaly("known", "again", "g", "s", subject="n0"),
    ]
    news = Anomaly("news", "n", "g", "s", subject="n99")
    page = render_issue(FOLDER, of(*many, news, expected=("known", "more")), IDENTITY)
    headings = re.findall(r"^### \d+\. `(.*?)`", page, re.MULTILINE)
    first = "n0: 3 anomalies of 2 kinds (2 known, 1 more)"
    assert headings == ["n99: 1 news", first, *(f"n{n}: 1 known" for n in range(1, CAUSES_MAX - 1))]
    assert page.startswith("# `news` in ")
    assert "```text\nmore: also\n```" in page
    assert f"And {16 - CAUSES_MAX} more anomalies of {16 - CAUSES_MAX} more causes in `verdict.json`." in page


def test_a_seeded_bug_is_in_the_title_so_that_nobody_reports_it() -> None:
    identity = msgspec.structs.replace(IDENTITY, seeded_bug="min-isr-ignored")
    page = render_issue(FOLDER, of(Anomaly("lost-write", "x", "x", "x")), identity)
    title = "# `lost-write` in `smoke/partition` on Kafka `4.3.1` with the seeded bug `min-isr-ignored`\n"
    assert page.startswith(title)
    assert "| seeded bug | `min-isr-ignored, put into Kafka on purpose: not a defect of a release` |" in page
    assert "seeded bug" not in render_issue(FOLDER, of(Anomaly("lost-write", "x", "x", "x")), IDENTITY)


def test_a_cause_of_which_no_anomaly_is_listed_says_so() -> None:
    tally = AnomalyTally(id="lost-write", place="log-0/5", count=5, first_offset=551, last_offset=555)
    result = msgspec.structs.replace(
        result_of("log", [Anomaly("lost-write", "x", "x", "x", subject="log-0/1@3")]),
        counts={"lost-write": 6},
        tallies=(
            tally,
            AnomalyTally(id="lost-write", place="log-0/1", count=1, first_offset=3, last_offset=3),
        ),
    )
    page = render_issue(FOLDER, Verdict(Validity.INVALID, (result,)), IDENTITY)
    assert "`log-0/5, offsets 551–555: 5 lost-write`\n\nCounted, but not among the first of each kind" in page  # noqa: RUF001


def test_a_doubt_is_shown_with_what_was_missing() -> None:
    unmet = Assumption("fault-held", met=False, expected="at least 5000 ms", observed="1 ms")
    verdict = Verdict(Validity.UNKNOWN, (result_of("assumptions", [], assumptions=(unmet,)),))
    page = render_issue(FOLDER, verdict, None)
    assert page.startswith(f"# verdict unknown in `{FOLDER.name}`\n")
    assert "fault-held: expected at least 5000 ms; found 1 ms" in page
    assert "## Anomalies" not in page
    assert "minimise" not in page
    assert "minimise" not in render_issue(FOLDER, verdict, IDENTITY)


@pytest.mark.parametrize(
    "hostile", ["a\n```\n# b @all", "`a``b`", "<img src=x>|\x1b[31m", "```" * 9, "", "`"]
)
def test_values_are_text_and_stay_inside_of_code(hostile: str) -> None:
    anomaly = Anomaly(hostile, hostile, hostile, hostile, subject=hostile, explanation=(hostile,))
    identity = msgspec.structs.replace(IDENTITY, config={hostile: hostile}, scenario=hostile)
    plain = of(Anomaly("x", "x", "x", "x", subject="x", explanation=("x",)), reasons=("x",))
    page = render_issue(FOLDER, of(anomaly, reasons=(hostile,)), identity)
    expected = render_issue(FOLDER, plain, msgspec.structs.replace(IDENTITY, config={"x": "x"}, scenario="x"))
    assert "\x1b" not in page
    if hostile:
        assert re.sub(" +", " ", outside_of_code(page)) == re.sub(" +", " ", outside_of_code(expected))


@settings(max_examples=30)
@given(st.text(max_size=200), st.text(alphabet="`~|\\\n@#a ", max_size=50))
def test_no_text_gets_out_of_its_code(first: str, second: str) -> None:
    anomaly = Anomaly("x", second, first, second, explanation=(second, first))
    page = render_issue(FOLDER, of(anomaly, reasons=(second, first)), IDENTITY)
    assert outside_of_code(page) == outside_of_code(
        render_issue(FOLDER, of(Anomaly("x", "x", "x", "x")), IDENTITY)
    )


NAMES = ["x" * 5_000, "`" * 900, "|*{" * 90, "\U000e0001" * 400, "\U0001f600" * 120]


@pytest.mark.parametrize("markup", list(Format))
@pytest.mark.parametrize("name", NAMES, ids=["long", "ticks", "markup", "escapes", "pairs"])
def test_trackers_take_the_title_whatever_it_names(name: str, markup: Format) -> None:
    anomaly = Anomaly(name, "x", "x", "x")
    identity = msgspec.structs.replace(IDENTITY, scenario=name, kafka_version=name)
    for known in (identity, None):
        page = render_issue(Path("runs") / name.replace("/", ""), of(anomaly), known, markup)
        title = page.partition("\n")[0].partition(" ")[2]
        assert len(title.encode("utf-16-le")) // 2 <= 230
        assert " in " in title


def test_a_title_that_fits_is_whole() -> None:
    identity = msgspec.structs.replace(IDENTITY, scenario="s" * 150)
    page = render_issue(FOLDER, of(Anomaly("lost-write", "x", "x", "x")), identity)
    assert page.startswith(f"# `lost-write` in `{'s' * 150}` on Kafka `4.3.1`\n")


def test_it_goes_when_a_later_judgement_is_as_expected(tmp_path: Path, green_run: Run, red_run: Run) -> None:
    circumstances = circumstances_of(red_run)
    assert save_issue(tmp_path, red_run.verdict, red_run.identity, circumstances) == tmp_path / ISSUE_FILE
    assert "Faults in force" in (tmp_path / ISSUE_FILE).read_text()
    assert save_issue(tmp_path, green_run.verdict, green_run.identity) is None
    assert not (tmp_path / ISSUE_FILE).exists()


def without_blocks(page: str) -> str:
    """What is left of a page in JIRA's markup without its blocks."""
    return re.sub(r"^\{noformat\}\n.*?\n\{noformat\}$", "", page, flags=re.DOTALL | re.MULTILINE)


def test_jira_has_the_same_in_its_own_markup(red_run: Run) -> None:
    markdown = render_issue(FOLDER, red_run.verdict, red_run.identity)
    page = render_issue(FOLDER, red_run.verdict, red_run.identity, Format.JIRA)
    assert page.startswith("h1. {{lost-write}} in {{smoke/partition}} on Kafka {{4.3.1}}\n")
    for part in (
        "*INVALID (valid was expected)*",
        "||what||value||\n",
        "|Kafka|{{4.3.1}}|",
        "h2. Again\n\n{noformat}\nkrucible run smoke/partition",
        "guarantee: a record acknowledged with acks=all survives as long as one in-sync replica does (",
    ):
        assert part in page
    assert len(page.split("\n\n")) == len(markdown.split("\n\n"))
    assert page.count("{noformat}") == markdown.count("```")


HOSTILE = "}} {noformat} {code} [~admin] |x| !pic.png! *b* -s- _i_ \\ h1. &lt; <b>"


def test_nothing_that_a_run_reports_is_markup_of_jira() -> None:
    anomaly = Anomaly(HOSTILE, HOSTILE, HOSTILE, HOSTILE, subject=HOSTILE, explanation=(HOSTILE,))
    identity = msgspec.structs.replace(IDENTITY, scenario=HOSTILE, config={HOSTILE: HOSTILE})
    page = render_issue(Path(HOSTILE.replace("/", "")), of(anomaly), identity, Format.JIRA)
    assert page.count("{noformat}") % 2 == 0
    outside = without_blocks(page)
    assert "{noformat}" not in outside
    text = re.sub(r"\{\{.*?\}\}", "", outside)
    assert not re.search(r"[{}!~]|\[|\\|<b>|code|admin|pic", text), text
    spans = re.findall(r"\{\{(.*?)\}\}", outside)
    assert spans
    assert not any(re.search(r"[{}\[\]|!*_~<>\\]", span) for span in spans)
