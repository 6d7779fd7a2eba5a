"""Kinds of misses, rates, and the pages of a sensitivity."""

from pathlib import Path

import msgspec
import pytest

from checkers.verdict.verdict import Anomaly, Validity, Verdict, result_of
from results.campaigns.summary import Outcome
from results.sensitivity import (
    Accepted,
    BugOutcome,
    BugReach,
    BugRun,
    ControlRun,
    LeftOut,
    MadeAgain,
    MeasuredBug,
    Sensitivity,
    TimedAnomaly,
    encode_sensitivity,
    ending_of,
    found_in,
    headline,
    java_text,
    render_comparison,
    render_comparison_page,
    render_markdown,
    render_page,
)
from results.sensitivity.model import best, first_rate_of, rate_of, rate_without_rerun
from results.sensitivity.sections import alarms_of, rate_text


@pytest.mark.parametrize(
    ("outcome", "reach", "ending"),
    [
        (Outcome.INVALID, BugReach.TRIGGERED, BugOutcome.SEEN),
        (Outcome.INVALID, BugReach.NEVER_TRIGGERED, BugOutcome.UNEXPLAINED),
        (Outcome.INVALID, BugReach.NEVER_REACHED, BugOutcome.UNEXPLAINED),
        (Outcome.INVALID, BugReach.NOT_INJECTED, BugOutcome.UNEXPLAINED),
        (Outcome.INVALID, None, BugOutcome.UNEXPLAINED),
        (Outcome.VALID, BugReach.TRIGGERED, BugOutcome.TRIGGERED),
        (Outcome.VALID, BugReach.NEVER_TRIGGERED, BugOutcome.NEVER_TRIGGERED),
        (Outcome.VALID, BugReach.NEVER_REACHED, BugOutcome.NEVER_REACHED),
        (Outcome.VALID, BugReach.NOT_INJECTED, BugOutcome.NOT_INJECTED),
        (Outcome.VALID, None, BugOutcome.UNKNOWN),
        (Outcome.UNKNOWN, BugReach.TRIGGERED, BugOutcome.UNKNOWN),
        (Outcome.UNKNOWN, None, BugOutcome.UNKNOWN),
        (Outcome.FAILED, BugReach.TRIGGERED, BugOutcome.FAILED),
        (Outcome.FAILED, None, BugOutcome.FAILED),
    ],
)
def test_a_miss_is_distinguished(outcome: Outcome, reach: BugReach | None, ending: BugOutcome) -> None:
    assert ending_of(outcome, reach) is ending


def test_of_several_runs_the_one_counts_in_which_a_bug_came_farthest() -> None:
    assert best([]) is BugOutcome.NOT_RUN
    assert best([BugOutcome.NOT_INJECTED, BugOutcome.TRIGGERED, BugOutcome.UNKNOWN]) is BugOutcome.TRIGGERED
    assert best([BugOutcome.TRIGGERED, BugOutcome.SEEN]) is BugOutcome.SEEN


def anomaly(id_: str, at_ns: int | None, *, illegal: bool = True) -> Anomaly:
    return Anomaly(id_, "s", "g", "s", illegal=illegal, time_ns=at_ns)


def test_anomalies_come_in_the_order_in_which_they_were_visible_each_once() -> None:
    log = result_of(
        "log",
        [
            *(anomaly("lost-write", at) for at in (9_900_000_000, 9_500_000_000)),
            anomaly("permitted", 1, illegal=False),
        ],
    )
    partitions = result_of("partitions", [anomaly("short-replica", 7_250_000_000), anomaly("timeless", None)])
    assert found_in(Verdict(Validity.INVALID, (log, partitions))) == (
        TimedAnomaly("short-replica", 7_250),
        TimedAnomaly("lost-write", 9_500),
        TimedAnomaly("timeless", None),
    )
    timeless = Verdict(Validity.INVALID, (result_of("log", [anomaly("timeless", None)]),))
    assert found_in(timeless) == (TimedAnomaly("timeless", None),)
    assert found_in(Verdict(Validity.VALID, (result_of("log", []),))) == ()


def trial(number: int = 1, ending: BugOutcome = BugOutcome.NOT_RUN, **more: object) -> BugRun:
    name = f"krucible run exploratory/chaos --seed {number}"
    made = {"number": number, "scenario": "exploratory/chaos", "mode": "combined", "command": name}
    return BugRun(**made, ending=ending, **more)  # type: ignore[arg-type]


def bug_of(
    name: str,
    area: str,
    *trials: BugRun,
    fitting: bool = True,
    anomalies: tuple[str, ...] = ("lost-write",),
) -> MeasuredBug:
    return MeasuredBug(name=name, area=area, anomalies=anomalies, fitting=fitting, trials=trials)


MISSED = trial(1, BugOutcome.TRIGGERED, reach=BugReach.TRIGGERED, folder="A", run_ms=60_000)
SEEN = trial(
    2,
    BugOutcome.SEEN,
    reach=BugReach.TRIGGERED,
    folder="B",
    found=(TimedAnomaly("lost-write", 21_400),),
    run_ms=61_000,
)
FOUND = bug_of("ack-early", "replication", MISSED, SEEN)


def test_seconds_are_those_until_the_anomaly_was_visible() -> None:
    assert (FOUND.ending, FOUND.runs, FOUND.spent_ms) == (BugOutcome.SEEN, 2, 81_400)
    late = trial(
        2, BugOutcome.SEEN, found=(TimedAnomaly("odd", 5), TimedAnomaly("lost-write", None)), run_ms=9_000
    )
    whole = bug_of("x", "replication", MISSED, late)
    assert (whole.spent_ms, whole.first) == (69_000, TimedAnomaly("lost-write", None))
    assert bug_of("x", "replication", MISSED).spent_ms == 60_000


def test_a_bug_is_seen_by_what_it_is_known_to_show() -> None:
    others = trial(1, BugOutcome.SEEN, found=(TimedAnomaly("node-died", 5),)).held_to(
        ("lost-write", "G1a"), Accepted()
    )
    assert others.ending is BugOutcome.OTHERWISE
    assert others.held_to(("node-died",), Accepted()).ending is BugOutcome.SEEN
    assert [one.held_to((), Accepted()) for one in (MISSED, trial(1))] == [MISSED, trial(1)]
    both = bug_of("x", "replication", others, SEEN)
    assert (both.ending, both.runs, both.first) == (BugOutcome.SEEN, 2, TimedAnomaly("lost-write", 21_400))
    assert bug_of("x", "replication", MISSED, others).ending is BugOutcome.OTHERWISE


def test_a_bug_is_seen_first_by_what_its_scenario_does_not_accept() -> None:
    found = (TimedAnomaly("start-back", 5), TimedAnomaly("lost-write", 21_400))
    run = trial(1, BugOutcome.SEEN, found=found, run_ms=60_000)
    names = ("start-back", "lost-write")
    held = run.held_to(names, Accepted(alone=("start-back",)))
    assert bug_of("x", "replication", held, anomalies=names).first == found[1]
    assert bug_of("x", "replication", held, anomalies=names).spent_ms == 21_400
    assert bug_of("x", "replication", run, anomalies=names).first == found[0]


@pytest.mark.parametrize(
    ("found", "ending"),
    [
        (("start-back",), BugOutcome.ACCEPTED),
        (("start-back", "lock-lost"), BugOutcome.ACCEPTED),
        (("lock-lost",), BugOutcome.SEEN),
        (("start-back", "lost-write"), BugOutcome.SEEN),
        (("start-back", "node-died"), BugOutcome.ACCEPTED),
        (("node-died",), BugOutcome.OTHERWISE),
    ],
)
def test_what_a_scenario_accepts_without_the_bug_does_not_show_it(
    found: tuple[str, ...], ending: BugOutcome
) -> None:
    accepted = Accepted(alone=("start-back",), following=("lock-lost",))
    run = trial(1, BugOutcome.SEEN, found=tuple(TimedAnomaly(name, 5) for name in found))
    held = run.held_to(("start-back", "lock-lost", "lost-write"), accepted)
    assert held.ending is ending
    assert held.held_to(("node-died", "start-back"), Accepted()).ending is (
        BugOutcome.OTHERWISE if found == ("lock-lost",) else BugOutcome.SEEN
    )


def test_a_rate_is_of_the_bugs_that_were_tried_and_those_with_runs_left_count_as_missed() -> None:
    waiting = bug_of("waiting", "storage", MISSED, trial(2))
    failed = bug_of("failed", "storage", trial(1, BugOutcome.FAILED))
    assert [bug.finished for bug in (FOUND, waiting, failed)] == [True, False, True]
    untried = bug_of("untried", "storage", trial(1), trial(2))
    rate = rate_of([FOUND, waiting, failed, untried])
    assert (rate.seen, rate.of) == (1, 3)
    assert rate_text(rate) == "1 of 3, 33 % (95 % interval 6-79 %)"
    assert rate_text(rate_of([untried])) == "none was completed"


def test_the_rate_of_first_runs_is_of_the_bugs_that_had_one() -> None:
    late, waiting = bug_of("late", "storage", trial(1), SEEN), bug_of("waiting", "storage", MISSED, trial(2))
    at_once = bug_of("at-once", "storage", trial(1, BugOutcome.SEEN, found=(TimedAnomaly("lost-write", 1),)))
    rate = first_rate_of([FOUND, late, waiting, at_once])
    assert (rate.seen, rate.of) == (1, 3)
    assert first_rate_of([]).of == 0


RED = "krucible run exploratory/txn --seed 5"
BEFORE = Sensitivity(
    version="4.3.1",
    preset="nightly",
    budget="2x120",
    seed=1,
    bugs=(
        FOUND,
        bug_of("disk-lies", "storage", trial(1, BugOutcome.FAILED, why="no engine"), trial(2), fitting=False),
        bug_of(
            "odd",
            "storage",
            trial(
                1,
                BugOutcome.UNEXPLAINED,
                reach=BugReach.NEVER_TRIGGERED,
                folder="C",
                found=(TimedAnomaly("G1a", 5),),
            ),
            trial(2, BugOutcome.UNKNOWN, folder="D", why="<b>a fault | was not proven"),
        ),
        bug_of(
            "surprise",
            "storage",
            trial(
                1,
                BugOutcome.OTHERWISE,
                folder="E",
                found=(TimedAnomaly("G2", 1_000), TimedAnomaly("G1a", 2_000)),
            ),
        ),
    ),
    controls=(
        ControlRun(
            scenario="exploratory/chaos", mode="combined", command="c1", outcome=Outcome.VALID, folder="F"
        ),
        ControlRun(
            scenario="exploratory/txn",
            mode="isolated",
            command=RED,
            outcome=Outcome.INVALID,
            anomalies=("G1a",),
            folder="G",
        ),
        ControlRun(
            scenario="exploratory/txn", mode="isolated", command="c3", outcome=Outcome.UNKNOWN, why="slow"
        ),
        ControlRun(scenario="exploratory/txn", mode="isolated", command="c4"),
    ),
    withheld=("old-one",),
    series="before gambits",
    commits=("0123456789ab",),
    left_out=(LeftOut("disk-lies", 2, control=True, why="the bug's file has changed since"),),
)
PAGE = Path(__file__).parent / "sensitivity.md"


def test_the_page_as_a_whole() -> None:
    assert render_markdown(BEFORE) == PAGE.read_text()


def test_the_page_names_bugs_whose_runs_this_host_can_not_make() -> None:
    lacking = msgspec.structs.replace(
        BEFORE, java_missing="java is not installed", needing_java=("one", "two")
    )
    page = render_markdown(lacking)
    assert (
        "because they need kafka-clients, which this host does not offer (java is not installed): one, two."
        in page
    )
    assert java_text(BEFORE) == ""


def test_the_line_says_rate_and_false_alarms() -> None:
    assert headline(BEFORE) == (
        "Seen: 1 of 4, 25 % (95 % interval 5-70 %); 1 false alarm in 2 decided control runs."
    )


def test_the_page_of_html_stands_alone_and_trusts_no_run() -> None:
    page = render_page(BEFORE)
    assert page.startswith("<!doctype html>")
    assert "&lt;b&gt;a fault | was not proven" in page
    assert "<b>" not in page
    assert "http://" not in page
    assert "https://" not in page
    assert "<code>ack-early</code>" in page
    assert "25 %" in page


def test_nothing_tried_is_no_rate() -> None:
    empty = Sensitivity(version="4.3.1", preset="nightly", budget="1x20", seed=1, bugs=(), controls=())
    assert headline(empty) == "Seen: none was completed; no control run was decided."
    assert "| all | 0 | 0 |  |  |  |\n" in render_markdown(empty)
    assert encode_sensitivity(empty).endswith(b"}\n")


EARLY = trial(1, BugOutcome.SEEN, found=(TimedAnomaly("lost-write", 9_400),), run_ms=60_000)
AFTER = Sensitivity(
    version="4.3.1",
    preset="nightly",
    budget="1x120",
    seed=1,
    bugs=(
        bug_of("ack-early", "replication", EARLY),
        bug_of("new-one", "elections", trial(1)),
    ),
    controls=(),
    series="with gambits",
    commits=("0123456789ab", "ba9876543210"),
)  # fmt: skip
COMPARED = Path(__file__).parent / "sensitivity-compared.md"


def test_measurements_side_by_side() -> None:
    assert render_comparison([BEFORE, AFTER]) == COMPARED.read_text()
    page = render_comparison_page([BEFORE, AFTER])
    assert "with gambits: 1 of its 2 bugs is in no measurement before; seen in the first run 1 of 1" in page
    assert "&lt;b&gt;a fault | was not proven" in page
    assert "<b>" not in page


ELSEWHERE = msgspec.structs.replace(trial(1, BugOutcome.TRIGGERED), scenario="exploratory/txn")
HELD_OUT = msgspec.structs.replace(
    AFTER,
    series="held out",
    bugs=(bug_of("another", "voters", ELSEWHERE),),
)


def test_a_measurement_of_other_bugs_is_not_compared_with_those_before() -> None:
    page = render_comparison([BEFORE, HELD_OUT])
    assert (
        "- held out: none of its 1 bug is in a measurement before; seen in the first run 0 of 1, 0 %" in page
    )
    assert "| held out | 4.3.1 | nightly | 1x120 | 1 | 1 of 1 | 1 | 1 |" in page
    assert "The measurements do not have the same bugs" in page
    assert "| replication | 0 of 1, 0 % (0-79 %) | 1 of 1, 100 % (21-100 %) |  |\n" in page
    assert "| voters |  |  | 0 of 1, 0 % (0-79 %) |\n" in page
    assert "| triggered and not seen | 0 | 1 |\n| harness failed | 1 | 0 |\n" in page
    assert "not run |" not in page.split("## Kinds of misses")[1].split("## ")[0]
    assert "| all bugs of the measurement | 4 | 1 |\n" in page
    assert "| voters | `another` | not tried | triggered and not seen, 1 run, 0 s |\n" in page
    assert "| replication | `ack-early` | seen by lost-write, 2 runs, 81 s | not tried |\n" in page


def test_controls_alone_have_no_column_among_the_bugs() -> None:
    bugs = (bug_of("unheard-of", "voters", trial(1)),)
    alone = msgspec.structs.replace(BEFORE, series="controls", bugs=bugs)
    assert len(BEFORE.controls) > 0
    page, before = render_comparison([BEFORE, alone]), render_comparison([BEFORE])
    assert "- controls: no run with a bug; 1 false alarm in 2 decided control runs.\n" in page
    assert "| controls | 4.3.1 | nightly | 2x120 | 1 | 0 of 1 | 0 | 0 |" in page
    assert "## Controls: controls\n" in page
    of_bugs = before[before.index("## Detection rate") : before.index("## To look at")]
    assert of_bugs in page
    assert "Detection rate" not in render_comparison([alone])


def test_a_control_that_shows_a_known_bug_of_kafka_is_no_false_alarm() -> None:
    (alarm,) = (one for one in BEFORE.controls if one.alarm)
    caused = msgspec.structs.replace(alarm, cause="docs/findings.md, a hole")
    rest = tuple(one for one in BEFORE.controls if one is not alarm)
    page = render_comparison([msgspec.structs.replace(BEFORE, controls=(*rest, caused))])
    assert "0 false alarms in 2 decided control runs, of which 1 found a bug of Kafka itself." in page
    assert f"| invalid, by a bug of Kafka | {', '.join(alarm.anomalies)}: docs/findings.md, a hole |" in page


def test_scenarios_are_sorted_by_the_measurement_with_most_runs_wherever_it_stands() -> None:
    for order in ([HELD_OUT, BEFORE], [BEFORE, HELD_OUT]):
        section = render_comparison(order).split("## Scenarios")[1].split("## ")[0]
        assert section.index("exploratory/chaos") < section.index("exploratory/txn")


def test_measurements_of_the_same_bugs_have_no_warning_and_no_news() -> None:
    page = render_comparison([BEFORE, msgspec.structs.replace(BEFORE, series="again")])
    assert "do not have the same bugs" not in page
    assert "in a measurement before" not in page
    assert "in no measurement before;" not in page
    assert "without runs" not in page


def test_bugs_whose_runs_were_made_again_are_also_counted_as_not_seen() -> None:
    again = (MadeAgain(bug="ack-early", why="the load <b>sends</b> more"), MadeAgain(bug="odd", why="x"))
    measurement = msgspec.structs.replace(BEFORE, rerun=again)
    fewer = rate_without_rerun(rate_of, measurement.bugs, again)
    assert (fewer.seen, fewer.of) == (0, 4)
    assert rate_without_rerun(rate_of, measurement.bugs, again[1:]) == rate_of(measurement.bugs)
    rate, cells = "0 of 4, 0 % (95 % interval 0-49 %)", "4 | 0 | 0 % | 0 % | 49 %"
    without_reruns = f"; without runs that were made again after a change for that bug: {rate}; 1 false"
    assert f"25 % (95 % interval 5-70 %){without_reruns}" in headline(measurement)
    assert f"| all, without runs made again | {cells} | {cells} |" in render_markdown(measurement)
    page = render_comparison([measurement, AFTER])
    assert f"within 2 runs 1 of 4, 25 % (95 % interval 5-70 %){without_reruns}" in page
    assert "| all, without runs made again | 0 of 4, 0 % (0-49 %) | 0 of 4, 0 % (0-49 %) |  |\n" in page
    assert "## Runs made again: before gambits\n" in page
    for html in (render_page(measurement), render_comparison_page([measurement, AFTER])):
        assert "the load &lt;b&gt;sends&lt;/b&gt; more" in html


def test_runs_that_were_judged_again_are_counted_apart_from_those_of_which_it_is_not_known() -> None:
    verdicts = (True, False, None)
    bugs = tuple(
        bug_of(f"b{number}", "storage", msgspec.structs.replace(MISSED, judged_again=again))
        for number, again in enumerate(verdicts)
    )
    controls = tuple(msgspec.structs.replace(BEFORE.controls[0], judged_again=again) for again in verdicts)
    failed = bug_of("failed", "storage", trial(1, BugOutcome.FAILED), trial(2))
    measurement = msgspec.structs.replace(AFTER, bugs=(*bugs, failed), controls=controls)
    assert "| 4 of 4 | 4 | 4 | 3 | 0 of 3 | 2, 2 not known | `0123456789ab" in render_comparison(
        [measurement]
    )
    whole = msgspec.structs.replace(measurement, bugs=bugs[:2], controls=controls[:2])
    assert "| 0 of 2 | 2 | `0123456789ab" in render_comparison([whole])


def test_no_measurement_is_shown_as_such() -> None:
    assert render_comparison([]).endswith("No measurement is kept yet.\n")
    assert "No measurement is kept yet." in render_comparison_page([])
    assert encode_sensitivity([]) == b"[]\n"


def test_what_a_scenario_allows_for_is_no_false_alarm() -> None:
    allowed = msgspec.structs.replace(BEFORE.controls[1], allowed=True)
    measurement = msgspec.structs.replace(BEFORE, controls=(BEFORE.controls[0], allowed))
    assert alarms_of(measurement) == (0, 2)
    assert "| invalid, as its scenario allows | G1a |" in render_markdown(measurement)
    perhaps = msgspec.structs.replace(allowed, outcome=Outcome.UNKNOWN, anomalies=(), why="perhaps permitted")
    measurement = msgspec.structs.replace(BEFORE, controls=(BEFORE.controls[0], perhaps))
    assert alarms_of(measurement) == (0, 2)
    assert "| unknown, as its scenario allows | perhaps permitted |" in render_markdown(measurement)
