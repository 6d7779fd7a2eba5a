"""The last lines of a run."""

from pathlib import Path

import msgspec

from checkers.verdict.verdict import Anomaly, OpenAnomaly, Validity, Verdict, result_of
from results.run.measures import Measures, measure
from results.run.observation import observe
from results.run.text import closing_lines, closing_text, expectation, figures, headline, seconds
from tests.results.story import Run

FOLDER = Path("runs/smoke/partition/20261120T215657Z-7")


def text_of(run: Run) -> str:
    return closing_text(FOLDER, run.verdict, run.identity, measure(observe(run.history), run.verdict))


def test_a_red_run_says_what_why_how_much_where_and_what_next(red_run: Run) -> None:
    lines = text_of(red_run).splitlines()
    assert lines[0] == "verdict    INVALID (valid was expected)"
    assert lines[1] == "why        3 acknowledged records are missing."
    assert lines[2] == "           A controller went on leading."
    assert [line for line in lines if "lost-write" in line or "zombie" in line] == [
        "anomalies  log-0/4, offset 1742: 1 lost-write",
        "           log-0/5, offset 891: 1 lost-write",
        "           log-0/3, offset 1829: 1 lost-write",
        "           quorum, epoch 1: 1 zombie-leader",
    ]
    assert (
        "             n1 still answered as leader of epoch 1 at 12.0 s, 4.2 s after n2 led epoch 2" in lines
    )
    assert "3 faults, 3 proven; longest unavailability 2.3 s" in text_of(red_run)
    assert lines[-5:] == [
        "run        smoke/partition · Kafka 4.3.1 · seed 7",
        f"folder     {FOLDER}",
        f"report     {FOLDER}/report.html   (open it in a browser)",
        "reproduce  krucible run smoke/partition --kafka-version 4.3.1 --seed 7",
        f"minimise   krucible minimise {FOLDER}",
    ]


def test_a_green_run_is_short(green_run: Run) -> None:
    lines = [(line.label, line.text) for line in closing_lines(FOLDER, green_run.verdict)]
    assert lines == [
        ("verdict", "VALID (as expected: valid)"),
        ("anomalies", "none found"),
        ("checkers", "5 valid"),
        ("folder", str(FOLDER)),
        ("report", f"{FOLDER}/report.html   (open it in a browser)"),
        (
            "reproduce",
            "not known: run.json is missing or damaged, and it alone has the command of the run",
        ),
    ]


def test_a_killed_run_says_what_it_did_not_come_to(killed_run: Run) -> None:
    text = text_of(killed_run)
    assert text.startswith("verdict    UNKNOWN (nothing was expected)\nwhy        the history is damaged\n")
    assert "anomalies  none found" in text
    assert "1 fault, 0 proven; longest unavailability not known" in text
    assert "the run ended before the recovery" in text
    assert "(open it in a browser; docs/assumptions.md says what to do about each reason)" in text


def test_an_illegal_example_stands_before_a_legal_one_of_the_same_name() -> None:
    legal = Anomaly("duplicate", "a legal one", "g", "s", illegal=False)
    broken = Anomaly("duplicate", "a broken promise", "g", "s")
    verdict = Verdict(Validity.INVALID, (result_of("log", [legal, broken]),))
    text = closing_text(FOLDER, verdict)
    assert "anomalies  log: 1 duplicate\n             a broken promise\n" in text
    assert "           1 duplicate (legal): a legal one\n" in text


def test_a_count_without_an_example_is_still_shown() -> None:
    verdict = Verdict(Validity.INVALID, (result_of("log", [], counts={"duplicate": 1_234}),))
    assert "anomalies  log, places not recorded: 1,234 duplicate\n" in closing_text(FOLDER, verdict)


def test_terminal_escapes_do_not_get_through() -> None:
    hostile = Anomaly("lost-write", "\x1b]0;owned\x07\x1b[2J value\n\nverdict    VALID", "g", "s")
    verdict = Verdict(Validity.INVALID, (result_of("log", [hostile]),), reasons=("\x1b[31m",))
    text = closing_text(FOLDER, verdict)
    assert "\x1b" not in text
    assert len(text.splitlines()) == 8


def test_checkers_that_had_nothing_to_judge_are_named() -> None:
    results = (
        result_of("log", []),
        *(result_of(name, [], exercised=False) for name in ("groups", "copying")),
    )
    text = closing_text(FOLDER, Verdict(Validity.VALID, results))
    assert "\ncheckers   1 valid; not exercised: groups, copying\n" in text


def test_many_reasons_are_cut_short() -> None:
    verdict = Verdict(Validity.UNKNOWN, (), reasons=tuple(f"reason {i}" for i in range(50)))
    text = closing_text(FOLDER, verdict)
    assert "reason 5\n" in text
    assert "and 44 more reasons in verdict.json" in text


def test_expectations_are_written_in_words() -> None:
    red = Verdict(
        Validity.VALID, (), expected=Validity.INVALID, expected_anomalies=("a", "b"), as_expected=False
    )
    assert expectation(red) == "invalid with a or b was expected"
    assert expectation(msgspec.structs.replace(red, as_expected=True)) == "as expected: invalid with a or b"
    allowed = msgspec.structs.replace(red, expected=Validity.VALID, as_expected=True)
    assert expectation(allowed) == "as expected: valid or invalid with nothing but a or b"
    found = result_of("log", [Anomaly("b", "it is", "g", "s")], unknown_because="no final read")
    in_part = msgspec.structs.replace(allowed, validity=Validity.INVALID, results=(found,), as_expected=False)
    assert headline(in_part) == (
        "INVALID (valid or invalid with nothing but a or b was expected, and not all could be decided)"
    )
    legal = Anomaly("b", "perhaps", "g", "s", illegal=False)
    unsure = result_of("log", [legal], open_anomalies=[OpenAnomaly("b", "a disk was lost")])
    left_open = msgspec.structs.replace(allowed, validity=Validity.UNKNOWN, results=(unsure,))
    assert headline(left_open) == (
        "UNKNOWN (as expected: valid or invalid with nothing but a or b; it is unknown only whether b is "
        "permitted)"
    )
    wanted = msgspec.structs.replace(left_open, results=(), expected=Validity.UNKNOWN, expected_anomalies=())
    assert expectation(wanted) == "as expected: unknown"


def test_figures_say_when_there_was_no_fault_and_no_recovery_in_time() -> None:
    quiet = Measures(duration_ms=1, operations=1, recovered=False, recovery_ms=60_000)
    assert figures(quiet)[1:] == ("no fault was recorded", "not recovered within 60.0 s")


def test_durations_are_written_in_their_size() -> None:
    assert [seconds(ms) for ms in (None, 0, 999, 1_000, 61_250)] == [
        "not known",
        "0 ms",
        "999 ms",
        "1.0 s",
        "61.2 s",
    ]
