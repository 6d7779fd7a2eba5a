"""A campaign's page: what needs attention first, and rows that lead to the reports of their runs."""

import re
from pathlib import Path

import msgspec

from checkers.verdict.verdict import Anomaly, Validity
from results.campaigns.page import render_campaign_page
from results.campaigns.summary import Outcome, RunOutcome, summarise
from results.store.addresses import reports_from
from results.store.runs import REPORT_FILE
from tests.results.campaigns.test_summary import identity, run

LOST = Anomaly("lost-write", "lost", "g", "s", subject="log-0/3@220")


def texts_of(page: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page.partition("</style>")[2]))


def test_what_needs_attention_comes_first_and_leads_to_its_report() -> None:
    red = run(2, Validity.INVALID, LOST)
    reports = {red.folder: "../../20261120T220002Z-2/report.html"}
    page = render_campaign_page(summarise([run(1), red]), reports)
    text = texts_of(page)
    assert text.index("To look at") < text.index("Anomalies") < text.index("Causes") < text.index("Runs")
    assert "Invalid 2 runs, of which 1 invalid, 1 valid." in text
    assert "log-0/3, offset 220: 1 lost-write" in text
    assert "krucible run exploratory/chaos --seed 2" in text
    # Once where it needs attention, once in the table of runs.
    assert page.count('<a href="../../20261120T220002Z-2/report.html">') == 2
    assert "20261120T220001Z-1" in text


def test_without_troubles_nothing_is_to_be_looked_at() -> None:
    text = texts_of(render_campaign_page(summarise([run(1)]), {}))
    assert "To look at" not in text
    assert "None was found in 24,000 acknowledged records under 2 faults." in text
    assert "80.0 s" in text


def test_a_run_that_failed_says_why_and_many_are_cut_short() -> None:
    failed = [
        RunOutcome(folder=f"seed {seed}", outcome=Outcome.FAILED, reasons=("no engine",))
        for seed in range(120)
    ]
    text = texts_of(render_campaign_page(summarise(failed), {}))
    assert "Failed 120 runs, of which 120 failed." in text
    assert text.count("no engine") == 100
    assert "20 more are in the table of runs." in text


def test_of_too_many_runs_the_newest_are_shown_and_the_others_counted() -> None:
    def many(count: int) -> str:
        runs = [
            msgspec.structs.replace(
                run(seed),
                folder=f"run-{seed}",
                identity=msgspec.structs.replace(identity(seed), began_at=f"2026-11-20T{seed:06}"),
            )
            for seed in range(count)
        ]
        return texts_of(render_campaign_page(summarise(runs), {}))

    whole = many(1_000)
    assert "left out" not in whole
    assert whole.index("run-0 ") < whole.index("run-999 "), "by seed"
    cut = many(1_203)
    assert "The newest 1,000 of 1,203 runs, the newest first; 203 older ones are left out." in cut
    assert "or what krucible summary prints without and with --json." in cut
    assert cut.index("run-1202 ") < cut.index("run-203 ")
    assert "run-202 " not in cut


def test_what_failed_is_not_claimed_to_be_in_a_table_that_is_cut() -> None:
    failed = [RunOutcome(folder=f"seed {seed}", outcome=Outcome.FAILED) for seed in range(1_001)]
    text = texts_of(render_campaign_page(summarise(failed), {}))
    assert "901 more are among all runs. All runs are in the Markdown page and the JSON" in text


def test_nothing_that_a_run_reports_is_markup() -> None:
    hostile = msgspec.structs.replace(
        run(1, Validity.INVALID, Anomaly("<script>a", "<b>", "g", "s", subject="<i>x")),
        folder="<u>f",
        identity=msgspec.structs.replace(identity(1), scenario="<s>", reproduce="krucible <run>"),
    )
    page = render_campaign_page(summarise([hostile]), {"<u>f": 'a" onclick="x'})
    assert not re.search(r"<(script|b|i|u|s|run)>", page.partition("</head>")[2])
    assert 'onclick="x' not in page
    assert "default-src 'none'" in page


def test_addresses_are_of_reports_that_are_there_once(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("a/one", "a/two words", "a/three", "b/three")]
    for folder in folders[1:]:
        folder.mkdir(parents=True)
        (folder / REPORT_FILE).touch()
    page = tmp_path / "a/campaigns/x"
    assert reports_from(page, folders) == {"two words": "../../two%20words/report.html"}
