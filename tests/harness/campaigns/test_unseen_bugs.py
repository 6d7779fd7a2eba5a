"""The page of bugs that stay unseen names those, and no others, that the newest runs with them missed."""

import re
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

import pytest

from harness.campaigns.sensitivity.kept import read_all
from harness.campaigns.sensitivity.pages import measurements_in
from harness.seeded_bugs.catalogue import seeded_bugs
from results.sensitivity import BugOutcome, BugRun, MeasuredBug, Sensitivity

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs/unseen-bugs.md"
OUTCOMES = ROOT / "docs/sensitivity"
NEWEST, OTHER = "## Unseen in the newest runs", "## Unseen in other runs"
AGAIN = "## Runs that were made again"
COLUMNS = 5
KINDS = {"reach", "trace", "judgement"}
UNTRIED = (BugOutcome.NOT_RUN, BugOutcome.FAILED)


def missed_in(measurements: Iterable[Sensitivity]) -> set[str]:
    """Bugs that the last measurement that tried them did not see."""
    newest = {bug.name: bug.ending for one in measurements for bug in one.bugs if bug.ending not in UNTRIED}
    return {name for name, ending in newest.items() if ending is not BugOutcome.SEEN}


def rows_under(page: str, heading: str) -> list[list[str]]:
    """The cells of the rows of the table that follows a heading."""
    section = page.split(f"\n{heading}\n")[1].split("\n## ", maxsplit=1)[0]
    lines = [line for line in section.splitlines() if line.startswith("|")][2:]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


def faults_of(page: str, missed: Collection[str]) -> list[str]:
    """What is wrong with the page, in sentences."""
    newest, other = (rows_under(page, heading) for heading in (NEWEST, OTHER))
    named = [_name(row) for row in newest]
    others = [_name(row) for row in other]
    return [
        *(f"{name} was missed and has no row" for name in sorted(set(missed) - set(named))),
        *(f"{name} was not missed and has a row" for name in sorted(set(named) - set(missed))),
        *(f"{name} was missed and stands among the others" for name in sorted(set(missed) & set(others))),
        *(f"{name} has two rows" for name in sorted(set(named + others)) if (named + others).count(name) > 1),
        *(
            f"the rows of {heading} are not sorted"
            for heading, names in ((NEWEST, named), (OTHER, others))
            if names != sorted(names)
        ),
    ]


def made_again_in(page: str) -> set[str]:
    """The bugs that the list of runs that were made again names."""
    section = page.split(f"\n{AGAIN}\n")[1].split("\n## ", maxsplit=1)[0]
    items = re.findall(r"^- .*(?:\n  .*)*", section, re.MULTILINE)
    return {name for item in items for name in re.findall(r"`([^`]+)`", item)} & set(seeded_bugs())


def marking_files_in(page: str) -> set[str]:
    """The files of outcomes that the page says to mark runs that were made again."""
    section = page.split(f"\n{AGAIN}\n")[1].split("\n## ", maxsplit=1)[0]
    (paragraph,) = (text for text in section.split("\n\n") if "(`rerun`)" in text)
    return set(re.findall(r"`([^`/]+\.json)`", paragraph))


def _name(row: Sequence[str]) -> str:
    return row[0].strip("`")


def measurement(**endings: BugOutcome) -> Sensitivity:
    """A measurement with one run of each bug."""
    bugs = tuple(
        MeasuredBug(
            name=name,
            area="kraft",
            anomalies=("lost-write",),
            fitting=True,
            trials=(BugRun(number=1, scenario="s", mode="combined", command="c", ending=ending),),
        )
        for name, ending in endings.items()
    )
    return Sensitivity(version="4.3.1", preset="nightly", budget="1x120", seed=1, bugs=bugs, controls=())


def page_of(newest: Iterable[str], other: Iterable[str] = ()) -> str:
    """A page with rows of some bugs."""
    head = "| bug | kind | what | why | basis |\n| --- | --- | --- | --- | --- |\n"
    tables = ("".join(f"| `{name}` | reach | a | b | c |\n" for name in names) for names in (newest, other))
    return "".join(
        f"\n{heading}\n\n{head}{rows}" for heading, rows in zip((NEWEST, OTHER), tables, strict=True)
    )


def test_the_page_names_what_was_missed() -> None:
    assert faults_of(PAGE.read_text(), missed_in(measurements_in([OUTCOMES]))) == []


def test_the_page_and_the_outcomes_mark_the_same_runs_as_made_again() -> None:
    measurements = measurements_in([OUTCOMES])
    assert made_again_in(PAGE.read_text()) == {one.bug for measured in measurements for one in measured.rerun}
    for measured in measurements:
        tried = {bug.name for bug in measured.bugs if bug.runs}
        assert {one.bug for one in measured.rerun} <= tried, measured.series


def test_the_page_names_every_file_that_marks_runs_as_made_again() -> None:
    marking = {path.name for path, kept in read_all([OUTCOMES]).items() if kept.rerun}
    assert marking_files_in(PAGE.read_text()) == marking


def test_the_page_shows_which_controls_were_judged_again() -> None:
    lines = [line for kept in read_all([OUTCOMES]).values() for line in kept.runs]
    words = [line.command.split() for line in lines if line.origin.judged_again]
    section = PAGE.read_text().split(f"\n{AGAIN}\n")[1].split("\n## ", maxsplit=1)[0]
    controls = {f"`{one[2]}` with seed {one[one.index('--seed') + 1]}" for one in words}
    assert {text for text in controls if text in section} == controls


def test_only_bugs_in_the_list_are_made_again() -> None:
    page = (
        f"\n{AGAIN}\n\nWords, `min-isr-ignored`:\n\n"
        "- `any-replica-leads` after `x`, and\n  `retries-appended`;\n"
        "- `no-such-bug`.\n\n`read-skips-one` was not.\n\n## Other\n\n- `old-epoch-taken`\n"
    )
    assert made_again_in(page) == {"any-replica-leads", "retries-appended"}


def test_every_row_is_of_a_bug_and_has_a_reason() -> None:
    page = PAGE.read_text()
    for row in rows_under(page, NEWEST) + rows_under(page, OTHER):
        assert _name(row) in seeded_bugs(), row
        assert len(row) == COLUMNS
        assert all(row)
        assert row[1] in KINDS


@pytest.mark.parametrize(
    ("newest", "other", "expected"),
    [
        (["a", "b"], [], []),
        (["a", "b"], ["c"], []),
        (["a"], [], ["b was missed and has no row"]),
        (["a", "b", "c"], [], ["c was not missed and has a row"]),
        (["a"], ["b"], ["b was missed and has no row", "b was missed and stands among the others"]),
        (["a", "b", "b"], [], ["b has two rows"]),
        (["b", "a"], [], [f"the rows of {NEWEST} are not sorted"]),
    ],
)
def test_a_page_that_does_not_fit_is_refused(
    newest: list[str], other: list[str], expected: list[str]
) -> None:
    assert faults_of(page_of(newest, other), {"a", "b"}) == expected


def test_the_last_measurement_that_tried_a_bug_counts() -> None:
    first = measurement(a=BugOutcome.SEEN, b=BugOutcome.TRIGGERED, c=BugOutcome.UNKNOWN, d=BugOutcome.NOT_RUN)
    second = measurement(
        a=BugOutcome.TRIGGERED, b=BugOutcome.SEEN, c=BugOutcome.NOT_RUN, d=BugOutcome.NEVER_REACHED
    )
    assert missed_in([first, second]) == {"a", "c", "d"}


def test_a_measurement_of_other_bugs_leaves_what_is_known_of_the_rest() -> None:
    first = measurement(a=BugOutcome.SEEN, b=BugOutcome.TRIGGERED, c=BugOutcome.TRIGGERED)
    held_out = measurement(d=BugOutcome.NEVER_REACHED, e=BugOutcome.SEEN, c=BugOutcome.SEEN)
    assert missed_in([first, held_out]) == {"b", "d"}
