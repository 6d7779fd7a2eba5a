"""What valid rests on: how much the checkers looked at, over several runs."""

from checkers.verdict.verdict import Validity, Verdict, result_of
from results.campaigns.extent import looked_at, totals
from results.campaigns.markdown import render_campaign
from results.campaigns.summary import judged, summarise

FIGURES = {
    "acknowledged_records": 7,
    "rate_per_s": 3,
    "epoch_max": 9,
    "strict": True,
    "answers_by_code": {"0": 2, "84": 1},
    "group-0": {"commits_ok": 4, "lag_ms": 8, "name": "x"},
}


def test_counts_are_kept_and_what_can_t_be_summed_is_not() -> None:
    looked = looked_at([result_of("log", [], figures=FIGURES)])
    assert looked == {"log": {"acknowledged_records": 7, "answers_by_code": 3, "group-0": 4}}


def test_a_checker_that_was_not_exercised_looked_at_nothing() -> None:
    assert looked_at([result_of("groups", [], exercised=False)]) == {}


def test_runs_are_summed_up_by_checker() -> None:
    first, second = {"log": {"records": 3, "reads": 0}, "groups": {}}, {"log": {"records": 4, "polls": 9}}
    log, groups = totals([first, second])
    assert (log.checker, log.runs, log.of, log.figures) == ("log", 2, 2, {"polls": 9, "records": 7})
    assert (groups.checker, groups.runs, groups.of, groups.figures) == ("groups", 1, 2, {})


def test_the_page_shows_it() -> None:
    results = (
        result_of("log", [], figures={"acknowledged_records": 12_345, "polled|records": 2}),
        result_of("groups", [], exercised=False),
    )
    page = render_campaign(summarise([judged("a", Verdict(Validity.VALID, results))] * 2))
    assert "## What the checkers judged" in page
    assert "| log | 2 of 2 | 24,690 acknowledged records, 4 polled\\|records |" in page
    assert "groups" not in page
