"""Kinds of misses, rates, and the pages of a sensitivity."""

from pathlib import Path

import pytest

from checkers.verdict import Anomaly, Validity, Verdict, result_of
from results.sensitivity import (
    Control,
    Ending,
    First,
    Reach,
    Sensitivity,
    Sought,
    Trial,
    encode_sensitivity,
    ending_of,
    first_of,
    headline,
    render_markdown,
    render_page,
)
from results.sensitivity.model import best, rate_of
from results.sensitivity.sections import told_rate
from results.summary import Outcome


@pytest.mark.parametrize(
    ("outcome", "reach", "ending"),
    [
        (Outcome.INVALID, Reach.TRIGGERED, Ending.SEEN),
        (Outcome.INVALID, Reach.NEVER_TRIGGERED, Ending.UNEXPLAINED),
        (Outcome.INVALID, Reach.NEVER_REACHED, Ending.UNEXPLAINED),
        (Outcome.INVALID, Reach.NOT_INJECTED, Ending.UNEXPLAINED),
        (Outcome.INVALID, None, Ending.UNEXPLAINED),
        (Outcome.VALID, Reach.TRIGGERED, Ending.TRIGGERED),
        (Outcome.VALID, Reach.NEVER_TRIGGERED, Ending.NEVER_TRIGGERED),
        (Outcome.VALID, Reach.NEVER_REACHED, Ending.NEVER_REACHED),
        (Outcome.VALID, Reach.NOT_INJECTED, Ending.NOT_INJECTED),
        (Outcome.VALID, None, Ending.UNKNOWN),
        (Outcome.UNKNOWN, Reach.TRIGGERED, Ending.UNKNOWN),
        (Outcome.UNKNOWN, None, Ending.UNKNOWN),
        (Outcome.FAILED, Reach.TRIGGERED, Ending.FAILED),
        (Outcome.FAILED, None, Ending.FAILED),
    ],
)
def test_a_miss_is_told_apart(outcome: Outcome, reach: Reach | None, ending: Ending) -> None:
    assert ending_of(outcome, reach) is ending


def test_of_several_runs_the_one_counts_in_which_a_bug_came_farthest() -> None:
    assert best([]) is Ending.NOT_RUN
    assert best([Ending.NOT_INJECTED, Ending.TRIGGERED, Ending.UNKNOWN]) is Ending.TRIGGERED
    assert best([Ending.TRIGGERED, Ending.SEEN]) is Ending.SEEN


def anomaly(id_: str, at_ns: int | None, *, illegal: bool = True) -> Anomaly:
    return Anomaly(id_, "s", "g", "s", illegal=illegal, time_ns=at_ns)


def test_the_first_anomaly_is_the_earliest_illegal_one_of_all_checkers() -> None:
    log = result_of("log", [anomaly("lost-write", 9_500_000_000), anomaly("permitted", 1, illegal=False)])
    partitions = result_of("partitions", [anomaly("short-replica", 7_250_000_000), anomaly("timeless", None)])
    assert first_of(Verdict(Validity.INVALID, (log, partitions))) == First("short-replica", 7_250)
    timeless = Verdict(Validity.INVALID, (result_of("log", [anomaly("timeless", None)]),))
    assert first_of(timeless) == First("timeless", None)
    assert first_of(Verdict(Validity.VALID, (result_of("log", []),))) is None


def trial(number: int = 1, ending: Ending = Ending.NOT_RUN, **more: object) -> Trial:
    name = f"krucible run exploratory/chaos --seed {number}"
    made = {"number": number, "scenario": "exploratory/chaos", "mode": "combined", "command": name}
    return Trial(**made, ending=ending, **more)  # type: ignore[arg-type]


def sought(name: str, area: str, *trials: Trial, fitting: bool = True) -> Sought:
    return Sought(name=name, area=area, anomalies=("lost-write",), fitting=fitting, trials=trials)


MISSED = trial(1, Ending.TRIGGERED, reach=Reach.TRIGGERED, folder="A", run_ms=60_000)
SEEN = trial(
    2, Ending.SEEN, reach=Reach.TRIGGERED, folder="B", first=First("lost-write", 21_400), run_ms=61_000
)
FOUND = sought("ack-early", "replication", MISSED, SEEN)


def test_seconds_are_those_until_the_anomaly_was_visible() -> None:
    assert (FOUND.ending, FOUND.runs, FOUND.spent_ms, FOUND.foreseen) == (Ending.SEEN, 2, 81_400, True)
    whole = sought("x", "replication", MISSED, trial(2, Ending.SEEN, first=First("odd", None), run_ms=9_000))
    assert (whole.spent_ms, whole.foreseen) == (69_000, False)
    assert sought("x", "replication", MISSED).spent_ms == 60_000


def test_a_rate_is_of_the_bugs_whose_budget_is_spent() -> None:
    waiting = sought("waiting", "storage", MISSED, trial(2))
    failed = sought("failed", "storage", trial(1, Ending.FAILED))
    assert [bug.finished for bug in (FOUND, waiting, failed)] == [True, False, True]
    rate = rate_of([FOUND, waiting, failed])
    assert (rate.seen, rate.of) == (1, 2)
    assert told_rate(rate) == "1 of 2, 50 % (95 % interval 9-91 %)"
    assert told_rate(rate_of([waiting])) == "none was tried to the end"


RED = "krucible run exploratory/txn --seed 5"
SAID = Sensitivity(
    version="4.3.1",
    preset="nightly",
    budget="2x120",
    seed=1,
    bugs=(
        FOUND,
        sought("disk-lies", "storage", trial(1, Ending.FAILED, why="no engine"), trial(2), fitting=False),
        sought(
            "odd",
            "storage",
            trial(1, Ending.UNEXPLAINED, reach=Reach.NEVER_TRIGGERED, folder="C", first=First("G1a", 5)),
            trial(2, Ending.UNKNOWN, folder="D", why="<b>a fault | was not proven"),
        ),
        sought("surprise", "storage", trial(1, Ending.SEEN, folder="E", first=First("G2", 1_000))),
    ),
    controls=(
        Control(
            scenario="exploratory/chaos", mode="combined", command="c1", outcome=Outcome.VALID, folder="F"
        ),
        Control(
            scenario="exploratory/txn",
            mode="isolated",
            command=RED,
            outcome=Outcome.INVALID,
            anomalies=("G1a",),
            folder="G",
        ),
        Control(
            scenario="exploratory/txn", mode="isolated", command="c3", outcome=Outcome.UNKNOWN, why="slow"
        ),
        Control(scenario="exploratory/txn", mode="isolated", command="c4"),
    ),
    withheld=("old-one",),
)
PAGE = Path(__file__).parent / "sensitivity.md"


def test_the_page_as_a_whole() -> None:
    assert render_markdown(SAID) == PAGE.read_text()


def test_the_line_says_rate_and_false_alarms() -> None:
    assert headline(SAID) == (
        "Seen: 2 of 3, 67 % (95 % interval 21-94 %); 1 false alarm in 2 decided control runs."
    )


def test_the_page_of_html_stands_alone_and_trusts_no_run() -> None:
    page = render_page(SAID)
    assert page.startswith("<!doctype html>")
    assert "&lt;b&gt;a fault | was not proven" in page
    assert "<b>" not in page
    assert "http://" not in page
    assert "https://" not in page
    assert "<code>ack-early</code>" in page
    assert "67 %" in page


def test_nothing_tried_is_no_rate() -> None:
    empty = Sensitivity(version="4.3.1", preset="nightly", budget="1x20", seed=1, bugs=(), controls=())
    assert headline(empty) == "Seen: none was tried to the end; 0 false alarms in 0 decided control runs."
    assert "| all | 0 | 0 |  |  |  |  |" in render_markdown(empty)
    assert encode_sensitivity(empty).endswith(b"}\n")
