"""The quorum checker, rule by rule; zombie leaders have a file of their own."""

import random
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkers.history.operations import History
from checkers.kraft.quorum import check_quorum
from checkers.verdict.verdict import Validity

Story = Callable[..., History]

WIPED = "4 f1 wipe-disk c1 ok\n6 f1 heal ok\n"
QUIET = "1 c1 leads 1 hw=5\n1.1 c2 file 1 leader=c1\n"


def counts(history: History) -> dict[str, int]:
    return dict(check_quorum(history).counts)


def test_a_quiet_quorum_is_valid(story: Story) -> None:
    result = check_quorum(story(QUIET + "1.2 c2 refuses\n1.2 c3 refuses"))
    assert result.validity is Validity.VALID
    assert result.counts == {}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1 c1 refuses",
        "1 c2 file 1 leader=c1  # nobody answered as leader",
        "1 c1 leads 1           # no file was read",
        "1 c1 leads 1\n2 c1 file -  # the file had no epoch",
    ],
)
def test_without_views_it_is_unknown(story: Story, text: str) -> None:
    result = check_quorum(story(text))
    assert result.validity is Validity.UNKNOWN
    assert not all(assumption.met for assumption in result.assumptions)


def test_without_a_setup_it_is_unknown(story: Story) -> None:
    result = check_quorum(story(QUIET, without_setup=True))
    assert result.validity is Validity.UNKNOWN
    assert "no setup" in (result.unknown_because or "")


def test_two_leaders_are_found_even_without_a_setup(story: Story) -> None:
    result = check_quorum(story("1 c1 leads 4\n2 c2 leads 4", without_setup=True))
    assert result.validity is Validity.INVALID


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("1 c1 leads 4\n2 c2 leads 4", id="two answers"),
        pytest.param("1 c1 leads 4\n2 c3 file 4 leader=c2", id="answer and file"),
        pytest.param("1 c1 file 4 leader=c1\n2 c3 file 4 leader=c2", id="two files"),
        pytest.param("1 c1 file 4 leader=c1\n2 c1 file 4 leader=c2", id="one file"),
        pytest.param("1 c2 leads 4\n1 c1 leads 4", id="at the same time"),
    ],
)
def test_two_leaders_in_an_epoch(story: Story, text: str) -> None:
    result = check_quorum(story(text))
    assert result.counts["two-leaders"] == 1
    (anomaly,) = (a for a in result.anomalies if a.id == "two-leaders")
    assert anomaly.witness == (1, 2) or set(anomaly.witness) == {1, 2}
    assert len(anomaly.explanation) == 2


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("1 c1 leads 4\n2 c2 leads 5", id="different epochs"),
        pytest.param("1 c2 file 4 vote=c1\n2 c2 file 4 leader=c1\n3 c1 leads 4", id="no leader is no leader"),
        pytest.param("1 c2 file 4 leader=c3 vote=c1\n2 c3 leads 4", id="voted for somebody else"),
    ],
)
def test_one_leader_an_epoch(story: Story, text: str) -> None:
    assert "two-leaders" not in counts(story(text))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param("1 c1 file 4 vote=c1\n2 c1 file 4 vote=c2", 1, id="two votes"),
        pytest.param("1 c1 file 4 vote=c1\n2 c1 file 4 vote=c2\n3 c1 file 4 vote=c3", 1, id="reported once"),
        pytest.param("1 c1 file 4 vote=c1\n2 c1 file 5 vote=c2", 0, id="another epoch"),
        pytest.param("1 c1 file 4 vote=c1\n2 c1 file 4 leader=c2", 0, id="the vote is forgotten"),
        pytest.param("1 c1 file 4 vote=c1\n2 c2 file 4 vote=c2", 0, id="another node"),
        pytest.param("1 c1 file 4 vote=c1 disk=d1\n2 c1 file 4 vote=c2 disk=d2", 0, id="another disk"),
        pytest.param("1 c1 file 4 vote=c1\n9 c1 file 4 vote=c2\n" + WIPED, 0, id="forgotten with its disk"),
        pytest.param("1 c1 file 4 vote=c1\n3 c1 file 4 vote=c2\n" + WIPED, 1, id="before the disk was wiped"),
        pytest.param("7 c1 file 4 vote=c1\n9 c1 file 4 vote=c2\n" + WIPED, 1, id="after the disk was wiped"),
        pytest.param("1 c2 file 4 vote=c1\n9 c2 file 4 vote=c2\n" + WIPED, 1, id="another's disk was wiped"),
    ],
)
def test_double_vote(story: Story, text: str, found: int) -> None:
    assert counts(story(text)).get("double-vote", 0) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param("1 c1 file 5\n2 c1 file 4", 1, id="went back"),
        pytest.param("1 c1 file 5\n2 c1 file 4\n3 c1 file 3", 1, id="reported once"),
        pytest.param("1 c1 file 4\n2 c1 file 4\n3 c1 file 5", 0, id="went forward"),
        pytest.param("1 c1 file 5\n2 c2 file 4", 0, id="another node"),
        pytest.param("1 c1 file 5 disk=d1\n2 c1 file 4 disk=d2", 0, id="another disk"),
        pytest.param("1 c1 file 5\n9 c1 file 4\n" + WIPED, 0, id="the disk was wiped"),
        pytest.param("1 c1 file 5\n9 c1 file 4\n4 f1 wipe-disk c1 ok", 1, id="not healed yet"),
        pytest.param("1 c1 file 5\n9 c1 file 4\n" + WIPED.replace("wipe-disk", "kill"), 1, id="killed"),
        pytest.param("1 c1 file 5\n2 c1 file -\n3 c1 file 5", 0, id="no file for a while"),
        pytest.param("1 c1 file 5 asked=0.9\n1 c1 file 4 asked=0.9", 0, id="at the same time"),
        pytest.param("1 c1 file 5 asked=0.8\n1.1 c1 file 4 asked=0.9", 0, id="overlapping"),
    ],
)
def test_epoch_regression(story: Story, text: str, found: int) -> None:
    assert counts(story(text)).get("epoch-regression", 0) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param("1 c1 leads 4 hw=9\n2 c1 leads 4 hw=8", 1, id="went back"),
        pytest.param("1 c1 leads 4 hw=9\n2 c1 leads 4 hw=9\n3 c1 leads 4 hw=10", 0, id="went forward"),
        pytest.param("1 c1 leads 4 hw=9\n2 c1 leads 4 hw=-1", 0, id="none is no mark"),
        pytest.param("1 c1 leads 4 hw=9\n2 c1 leads 5 hw=8", 0, id="another epoch"),
        pytest.param("1 c1 leads 4 hw=9\n2 c1 leads 4 hw=8 asked=0.9", 0, id="overlapping"),
        pytest.param("1 c1 leads 4 hw=9\n2 f1 kill c1 ok\n3 f1 heal ok\n4 c1 leads 4 hw=8", 0, id="killed"),
        pytest.param(
            "1 c1 leads 4 hw=9\n2 f1 kill c1 ok\n3 f1 heal ok\n2.5 c1 leads 4 hw=8", 0, id="while down"
        ),
        pytest.param(
            "1 c1 leads 4 hw=9\n2 f1 kill c2 ok\n3 f1 heal ok\n4 c1 leads 4 hw=8", 1, id="another killed"
        ),
        pytest.param(
            "1 c1 leads 4 hw=9\n2 f1 pause c1 ok\n3 f1 heal ok\n4 c1 leads 4 hw=8", 1, id="only paused"
        ),
    ],
)
def test_hw_regression(story: Story, text: str, found: int) -> None:
    assert counts(story(text)).get("hw-regression", 0) == found


def test_figures(story: Story) -> None:
    result = check_quorum(
        story(
            """
            1.0 c1 file 1 leader=c1
            1.5 c1 leads 1 asked=1.4
            2.0 c1 leads 1 asked=1.9
            4.5 c2 file 3 vote=c2
            5.0 c2 leads 4 asked=4.9
            5.5 c3 file 4 leader=c2
            """
        )
    )
    assert result.figures == {
        "views": 6,
        "epochs_seen": 3,
        "epoch_max": 4,
        "leader_changes": 1,
        "leaderless_ms_max": 2900,
        "zombie_span_ms_max": 0,
        "zombie_span_bound_ms": 4750,
        "answers_judged": 3,
        "marks_judged": 3,
        "voter_ends_judged": 9,
        "votes_judged": 0,
        "votes_with_known_bounds": 0,
        "elections_judged": 0,
        "vote_lines_left_out": 0,
        "voter_sets": 1,
        "voters_min": 3,
        "voters_max": 3,
        "voter_adds": {},
        "voter_removes": {},
        "voter_changes_resolved": {},
        "voter_logs_judged": 0,
        "cuts_judged": 0,
        "epoch_rise_max": 0,
        "voter_states_judged": 0,
    }


def test_time_without_a_leader_reaches_to_the_first_and_last_view(story: Story) -> None:
    early = story("0.5 c2 file 1 asked=0.4\n3 c1 leads 1 asked=2.9")
    late = story("0.5 c1 leads 1\n3 c2 file 1")
    none = story("0.5 c2 file 1 asked=0.4\n3 c2 file 1")
    assert check_quorum(early).figures["leaderless_ms_max"] == 2500
    assert check_quorum(late).figures["leaderless_ms_max"] == 2500
    assert check_quorum(none).figures["leaderless_ms_max"] == 2600
    assert check_quorum(story("")).figures["leaderless_ms_max"] == 0


def test_a_malformed_view_is_refused(story: Story) -> None:
    history = story("1 c1 leads 1")
    bad = msgspec.structs.replace(history.operations[1], value={"answer": "leader", "began_ns": 1})
    with pytest.raises(msgspec.ValidationError):
        check_quorum(msgspec.structs.replace(history, operations=(bad,)))


VIEW = st.sampled_from(
    [
        "c1 leads 4 hw=9",
        "c1 leads 5 hw=8",
        "c2 leads 5 hw=9",
        "c1 file 4 leader=c1",
        "c1 file 5 leader=c2 vote=c2",
        "c2 file 4 vote=c3",
        "c2 file 4 vote=c1",
        "c3 file 3 leader=c3",
    ]
)


@given(st.lists(st.tuples(st.integers(1, 4), VIEW), max_size=10), st.randoms(use_true_random=False))
def test_the_order_of_events_at_one_time_does_not_matter(
    story: Story, events: list[tuple[int, str]], shuffle: random.Random
) -> None:
    def verdict() -> tuple[Validity, dict[str, int], dict[str, Any]]:
        result = check_quorum(story("\n".join(f"{at} {view} asked={at - 0.5}" for at, view in events)))
        return result.validity, result.counts, result.figures

    before = verdict()
    shuffle.shuffle(events)
    assert verdict() == before


WATCHED = "".join(
    f"{at} c1 leads 1\n{at} c2 refuses\n{at} c3 refuses\n{at} c2 file 1\n" for at in range(1, 9)
)


@pytest.mark.parametrize(
    ("text", "without", "unmet"),
    [
        pytest.param("", [], {}, id="all answer all the time"),
        pytest.param(
            "2 f1 kill c3 ok\n7 f1 heal ok", [3, 4, 5, 6, 7], {}, id="killed, and back after the heal"
        ),
        pytest.param(
            "2 f1 kill c3 ok\n7 f1 heal ok",
            [3, 4, 5, 6, 7, 8],
            {"controllers-answered": "without an answer: c3"},
            id="killed and never back",
        ),
        pytest.param(
            "2 f1 dead-disk c3 ok\n7 f1 heal ok", [3, 4, 5, 6, 7], {}, id="without a disk, and back"
        ),
        pytest.param(
            "2 f1 partition c3 ok\n7 f1 heal ok",
            [3, 4, 5, 6, 7],
            {"controllers-watched": "6000 ms of c3"},
            id="a cut is no reason not to answer the observer",
        ),
        pytest.param(
            "",
            list(range(1, 9)),
            {"controllers-answered": "without an answer: c3", "controllers-watched": "7000 ms of c3"},
            id="never answered",
        ),
        pytest.param("", [5, 6, 7, 8], {}, id="a silence too short for a zombie"),
        pytest.param(
            "2 f1 kill c1 ok\n2.5 c3 exited 1\n7 f1 heal ok", [3, 4, 5, 6, 7, 8], {}, id="dead by itself"
        ),
        pytest.param(
            "2 f1 kill c1 ok\n2.5 c3 exited 1\n5 c3 running\n7 f1 heal ok",
            [3, 4, 5, 6, 7, 8],
            {"controllers-answered": "without an answer: c3"},
            id="dead by itself, started again, and never back",
        ),
    ],
)
def test_a_quorum_must_be_watched(story: Story, text: str, without: list[int], unmet: dict[str, str]) -> None:
    watched = WATCHED
    for at in without:
        watched = watched.replace(f"{at} c3 refuses", f"{at} c3 hangs")
    result = check_quorum(story(watched + text))
    assert {one.name: one.observed for one in result.assumptions if not one.met} == unmet
    assert result.validity is (Validity.UNKNOWN if unmet else Validity.VALID)


def test_without_controllers_there_is_no_silence(story: Story) -> None:
    result = check_quorum(story("1 c1 file 1", setup={"nodes": []}))
    observed = {one.name: one.observed for one in result.assumptions}
    assert (observed["controllers-watched"], observed["controllers-answered"]) == (
        "no silence",
        "all answered",
    )
