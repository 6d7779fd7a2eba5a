"""The four forms of a qualification: they agree, they fit, and nothing from a run gets out of its place."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import pytest

from checkers.verdict.verdict import Anomaly
from results.campaigns.summary import Outcome
from results.qualification import (
    Qualification,
    QualificationRole,
    encode_qualification,
    render_markdown,
    render_page,
    render_text,
)
from results.qualification.listed import RUNS_MAX
from results.sections.section import ROWS_MAX
from tests.results.qualified import CONTROLS, LOST, QUESTION, both, qualification_of, run

EXAMPLE = Path(__file__).parent.parent.parent.parent / "docs/examples/4.4.0-against-4.3.1-smoke"
HOSTILE = "<script>alert(1)</script> | `x` [a](http://b) \x1b[31m\u202e**z**\n# h"
EVIL = Anomaly(HOSTILE, HOSTILE, HOSTILE, HOSTILE, explanation=(HOSTILE,) * 3)


def good() -> Qualification:
    return qualification_of(both(1, 2, 3, 4, 5, 6, 7))


def bad() -> Qualification:
    red = run(seed=8, outcome=Outcome.INVALID, found=[LOST], as_expected=False, reasons=("log: 1 lost",))
    return qualification_of((*both(1, 2), red, run(QualificationRole.BASELINE, 8)))


def evil() -> Qualification:
    reasons = (HOSTILE,)
    red = run(outcome=Outcome.INVALID, found=[EVIL], as_expected=False, scenario=HOSTILE, mode=HOSTILE)
    unsure = run(seed=2, outcome=Outcome.UNKNOWN, reasons=reasons, gaps={HOSTILE: 3}, scenario=HOSTILE)
    question = msgspec.structs.replace(QUESTION, candidate=HOSTILE, preset=HOSTILE, withheld=reasons)
    return qualification_of(
        (red, unsure, run(QualificationRole.BASELINE, 2, gaps={HOSTILE: 5}, scenario=HOSTILE)), (), question
    )


def empty() -> Qualification:
    return qualification_of((), (), msgspec.structs.replace(QUESTION, baseline=None))


EVERY = pytest.mark.parametrize("made", [good, bad, evil, empty], ids=lambda made: made.__name__)


class Structure(HTMLParser):
    """Tags in their order, and all text."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []
        self.ids: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value or "" for name, value in attrs if name in {"href", "src"}]
        self.ids += [value or "" for name, value in attrs if name == "id"]

    def handle_data(self, data: str) -> None:
        self.text += data


def structure(page: str) -> Structure:
    parsed = Structure()
    parsed.feed(page)
    return parsed


@EVERY
def test_the_text_is_six_lines_of_a_hundred_columns(made: object) -> None:
    text = render_text(made())  # type: ignore[operator]
    assert text.endswith("\n")
    lines = text.splitlines()
    assert len(lines) == 6
    assert max(map(len, lines)) <= 100
    assert text.isprintable() or text.replace("\n", "").isprintable()


@EVERY
def test_the_same_records_make_the_same_reports(made: object) -> None:
    for form in (render_text, render_markdown, render_page, encode_qualification):
        assert form(made()) == form(made())  # type: ignore[operator]


def test_the_order_of_records_does_not_matter() -> None:
    runs = [*both(1, 2, 3), run(seed=9, outcome=None)]
    assert render_page(qualification_of(runs)) == render_page(qualification_of(runs[::-1]))
    assert encode_qualification(qualification_of(runs)) == encode_qualification(qualification_of(runs[::-1]))


@EVERY
def test_all_forms_say_the_same_decision_claim_and_gaps(made: object) -> None:
    report: Qualification = made()  # type: ignore[operator]
    data = json.loads(encode_qualification(report))
    page, markdown = structure(render_page(report)), render_markdown(report)
    assert data["decision"] == report.decision
    assert f"**{report.decision}**" in markdown
    assert render_text(report).startswith(f"{report.decision}: ")
    assert f"{report.decision}: " in page.text.split("What this can't say")[0]
    assert render_text(report) in page.text
    assert f"\n{render_text(report)}" in markdown
    assert report.claim in page.text
    assert report.claim in markdown
    shown = page.text.split("What this can't say")[1].split("Tested versions")[0]
    assert len([line for line in shown.splitlines() if line.strip()]) == max(1, len(report.gaps))
    gaps = markdown.split("## What this can't say\n\n")[1].split("\n\n## ")[0]
    assert gaps.count("\n- ") + 1 == max(1, len(report.gaps))


def test_gaps_come_before_what_was_found_and_how() -> None:
    for text in (render_markdown(bad()), structure(render_page(bad())).text):
        places = [text.index(t) for t in ("say", "What was found", "Matrix", "Positive controls", "The rule")]
        assert places == sorted(places)


def test_an_anomaly_is_shown_with_its_proof_and_its_command() -> None:
    for text in (render_markdown(bad()), structure(render_page(bad())).text):
        for part in (
            "lost-write",
            "17 of log-0/1@4 is gone",
            "unexplained: neither on the baseline nor on record",
            "1 of 3 runs",
            "0 of 3 runs",
            "4.3.1, of 4.1.1, 4.3.1 in this store",
            "Nobody has it at the end.",
            "krucible run exploratory/chaos --seed 8 --mode combined --kafka-version 4.3.1",
        ):
            assert part in text


def test_the_text_of_a_good_candidate() -> None:
    assert render_text(good()) == (
        "QUALIFIED: Kafka 4.3.1 against 4.1.1, preset smoke, 2026-11-22\n"
        "Why: nothing found is unexplained, no comparison says worse (1 of 4 could), "
        "2 controls as expected.\n"
        "3 gaps, first: never reached by the candidate: sets of voters\n"
        "No illegal anomaly was found in 7,000 operations under 14 faults.\n"
        "Against 4.1.1: saw no difference; could detect shares ≥ 88 %; in 3 of 4 nothing.\n"
        "Controls 2 of 2 as expected; no verdict in 0 of 14 runs; krucible 6129fa2, sha256:aaaaaaaaaaaa\n"
    )


def test_a_line_that_is_too_long_ends_with_a_whole_word() -> None:
    report = msgspec.structs.replace(good(), gaps=("seven " * 40,))
    line = render_text(report).splitlines()[2]
    assert 90 < len(line) <= 100
    assert line.endswith(" seven …")


def line_of(report: Qualification) -> str:
    """What the mail says of the baseline."""
    return next(line for line in render_text(report).splitlines() if line.startswith("Against"))


def test_nothing_worse_is_only_stated_where_worse_would_have_been_seen() -> None:
    assert line_of(qualification_of(both(*range(200)))) == (
        "Against 4.1.1: nothing worse (4 tests; could detect ≥ 1.0 s to 1.2 s, shares ≥ 7 %)."
    )


def test_where_only_a_large_difference_would_have_been_seen_the_mail_says_how_large() -> None:
    eight = both(*range(8), gaps={"kill": 5_000, "stop": 3_000})
    assert line_of(qualification_of((*eight, *both(9)))) == (
        "Against 4.1.1: saw no difference; could detect ≥ 1.0 s to 1.2 s, shares ≥ 73 %; in 1 of 5 nothing."
    )
    weak = qualification_of(both(*range(30)))
    assert "shares ≥" in line_of(weak)
    assert "saw no difference" in line_of(weak)
    weakness = "no difference was shown, and only a large one would have been: no recovery in time (≥ "
    assert any(gap.startswith(weakness) for gap in weak.gaps)


def test_tests_that_could_not_speak_say_so() -> None:
    assert line_of(qualification_of(both(1, 2))).endswith(
        "too few runs to show any difference (4 comparisons)."
    )
    assert any("for 4 tests: unavailability under kill, " in gap for gap in good().gaps)


def test_the_time_that_was_spent_is_stated_in_every_form() -> None:
    report = good()
    spent_text = (
        "14 of 16 runs took 14.0 min by their own clocks, from 2026-11-22T01:00:01Z to 2026-11-22T01:01:07Z, "
        "1.1 min of wall-clock time. Load, including faults and recovery, took 9.3 min of that; 33 % was "
        "outside of load."
    )
    assert spent_text in render_markdown(report)
    assert spent_text in structure(render_page(report)).text
    spent = json.loads(encode_qualification(report))["spent"]
    assert spent == {
        "runs": 14,
        "of": 16,
        "began_at": "2026-11-22T01:00:01Z",
        "ended_at": "2026-11-22T01:01:07Z",
        "wall_ms": 66_000,
        "runs_ms": 14 * 60_000,
        "load_ms": 14 * 40_000,
        "outside": 0.3333,
    }
    assert "## Time" not in render_markdown(empty())


def test_nobody_is_called_correct() -> None:
    for made in (good, bad, evil):
        for form in (render_text, render_markdown, render_page):
            assert not re.search(r"\bcorrect\b", form(made()))


def test_hostile_texts_stay_text() -> None:
    page = render_page(evil())
    parsed = structure(page)
    assert "script" not in parsed.tags
    assert all(re.fullmatch(r"data:,|#[a-z]+-\d+", link) for link in parsed.links)
    assert "<script>alert(1)</script>" in parsed.text
    for text in (page, render_markdown(evil()), render_text(evil())):
        assert not re.search("[\x1b\u202e]", text)
    markdown = render_markdown(evil())
    assert "\n# h" not in markdown
    whole_blocks = re.sub(r"(?ms)^(`{3,}).*?^\1$", "", markdown)
    bare = re.sub(r"`[^`\n]*`", "", re.sub(r"\\.", "", whole_blocks))
    assert not re.search(r"\]\(|<script|\*\*z", bare)
    tables = [line for line in markdown.splitlines() if line.startswith("| ")]
    assert {re.sub(r"\\\|", "", line).count("|") for line in tables if "script" in line} <= {
        line.count("|") for line in tables if "---" in line
    }


def test_the_page_asks_nothing_of_any_network() -> None:
    page = render_page(bad())
    assert "default-src 'none'" in page
    assert not re.search(r"(src|href)=\"(?!data:|#)", page)
    assert "url(http" not in page


def test_tables_are_bounded_and_say_what_they_leave_out() -> None:
    runs = [run(seed=n, outcome=Outcome.UNKNOWN) for n in range(ROWS_MAX + 5)]
    markdown = render_markdown(qualification_of(runs, CONTROLS))
    assert "5 more are in the JSON." in markdown
    assert markdown.count("| candidate | unknown |") == ROWS_MAX


def test_the_guide_says_of_the_example_what_its_json_says() -> None:
    spent = json.loads((EXAMPLE / "qualification.json").read_text())["spent"]
    guide = " ".join((EXAMPLE.parent.parent / "qualification.md").read_text().split())
    wall, own = (round(spent[name] / 60_000) for name in ("wall_ms", "runs_ms"))
    assert f"Its {spent['runs']} runs took {wall} minutes of wall-clock time" in guide
    outside = round(100 * spent["outside"])
    assert f"own durations is {own} minutes, and {outside} % of it was outside load" in guide


def test_tools_of_another_version_are_part_of_what_an_image_is_called() -> None:
    ran = run()
    assert ran.outcome is not None
    assert ran.identity is not None
    assert ran.identity.image is not None
    image = msgspec.structs.replace(ran.identity.image, tools="4.1.1")
    identity = msgspec.structs.replace(ran.identity, image=image)
    outcome = msgspec.structs.replace(ran.outcome, identity=identity)
    borrowed = qualification_of((msgspec.structs.replace(ran, outcome=outcome),))
    assert ", from maven, with the tools of 4.1.1, jars " in borrowed.candidate.images[0]
    assert "with the tools" not in qualification_of((ran,)).candidate.images[0]


def test_the_json_holds_every_run() -> None:
    data = json.loads(encode_qualification(bad()))
    assert len(data["runs"]) == 6
    assert data["generated_at"] == "2026-11-22T01:01:08Z"
    assert data["candidate"]["images"] == [
        f"krucible/kafka:4.3.1, sha256:{'a' * 64}, from maven, jars {'4.3.1' * 8}"
    ]


@EVERY
def test_every_link_of_a_page_leads_somewhere_and_no_id_is_there_twice(made: object) -> None:
    parsed = structure(render_page(made()))  # type: ignore[operator]
    assert len(set(parsed.ids)) == len(parsed.ids)
    assert {link[1:] for link in parsed.links if link.startswith("#")} <= set(parsed.ids)


def test_figures_lead_to_their_runs() -> None:
    places = {"20261122T010008Z-8": "../a%20b/report.html"}
    parsed = structure(render_page(bad(), places))
    # The runs, the pair, the runs to look at, the reached state, the anomaly, the share of runs with it.
    assert parsed.links.count("../a%20b/report.html") >= 6
    assert {"#measure-1", "#pair-1", "#run-1"} <= set(parsed.links)
    for section in ("## Pairs of runs", "## Runs\n"):
        assert "`20261122T010008Z-8`" in render_markdown(bad()).split(section)[1].split("\n## ")[0]


def test_the_decision_has_a_reason_in_a_sentence() -> None:
    why = (
        "Why: lost-write in exploratory/chaos (combined), 1 of 3 runs: neither on the baseline nor on record."
    )
    assert why in render_text(bad()).replace("…", "") or render_text(bad()).splitlines()[1][:-1] in why
    assert bad().why == why.removeprefix("Why: ")
    for text in (render_markdown(bad()), structure(render_page(bad())).text):
        assert why in text.replace("\\", "")
    two = msgspec.structs.replace(QUESTION, required=("elections", "voter_sets"))
    assert qualification_of(both(1), (), two).why == "no positive control was run (1 more reason)."


def test_longer_lists_of_runs_end_and_say_so() -> None:
    runs = [run(seed=n) for n in range(RUNS_MAX + 6)]
    markdown = render_markdown(qualification_of(runs)).split("## Runs\n")[1]
    assert "6 more are in the JSON." in markdown
