"""Zombie leaders: who goes on answering as leader after its quorum has left it, and who only seems to.

The fetch timeout is 2 s and observers ask every 250 ms, so a leader is deserted after 3 s and stale answers
may span 4.75 s.
"""

import random
from collections.abc import Callable
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkers.history.operations import History
from checkers.kraft.quorum import check_quorum
from checkers.verdict.verdict import Validity

Story = Callable[..., History]

FILE = "0.1 c2 file 1 leader=c1\n"


def span(history: History) -> int:
    longest: int = check_quorum(history).figures["zombie_span_ms_max"]
    return longest


def zombies(history: History) -> int:
    return check_quorum(history).counts.get("zombie-leader", 0)


def answers(first: float, last: float, words: str, *, every: float = 0.25) -> str:
    """Claims in words, from first to last, seconds."""
    count = int((last - first) / every)
    return "".join(f"{first + i * every} {words}\n" for i in range(count)) + f"{last} {words}\n"


def test_a_leader_that_answers_after_a_later_one_was_seen(story: Story) -> None:
    result = check_quorum(story(FILE + "2 c2 leads 2\n" + answers(2.5, 8, "c1 leads 1")))
    assert result.validity is Validity.INVALID
    assert result.counts == {"zombie-leader": 1}
    (anomaly,) = result.anomalies
    assert anomaly.subject == "c1, epoch 1"
    assert len(anomaly.witness) == 3
    assert "c2 had shown 2 as leader of epoch 2" in anomaly.explanation[0]
    assert result.figures["zombie_span_ms_max"] == 5490


def test_a_later_leader_may_be_seen_in_a_file(story: Story) -> None:
    assert zombies(story("2 c3 file 2 leader=c2\n" + answers(2.5, 8, "c1 leads 1"))) == 1


def test_a_later_epoch_without_a_leader_proves_nothing(story: Story) -> None:
    assert zombies(story("2 c3 file 2 vote=c2\n" + answers(2.5, 8, "c1 leads 1"))) == 0


def test_a_later_leader_must_be_seen_before_the_question(story: Story) -> None:
    assert span(story("9 c2 leads 2\n" + answers(2.5, 8, "c1 leads 1"))) == 0
    assert span(story("2.6 c2 leads 2 asked=2\n2.7 c1 leads 1 asked=2.5\n8 c1 leads 1 asked=2.55")) == 0


def test_a_leader_whose_own_answers_show_that_nobody_fetches(story: Story) -> None:
    result = check_quorum(story(FILE + answers(1, 10, "c1 leads 1 c2=1 c3=1")))
    assert result.counts == {"zombie-leader": 1}
    (anomaly,) = result.anomalies
    assert len(anomaly.witness) == 2
    assert "no majority had fetched from it for" in anomaly.explanation[0]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        pytest.param("c1 leads 1 c2=1", 1, id="2 voters: both make a majority"),
        pytest.param("c1 leads 1 c2=1 c3=1", 1, id="3 voters, nobody fetches"),
        pytest.param("c1 leads 1 c2=9 c3=1", 0, id="3 voters, one fetches"),
        pytest.param("c1 leads 1 c2=9 c3=1 c4=1", 1, id="4 voters, one fetches"),
        pytest.param("c1 leads 1 c2=9 c3=9 c4=1", 0, id="4 voters, two fetch"),
        pytest.param("c1 leads 1 c2=9 c3=1 c4=1 c5=1", 1, id="5 voters, one fetches"),
        pytest.param("c1 leads 1 c2=9 c3=9 c4=1 c5=1", 0, id="5 voters, two fetch"),
        pytest.param("c1 leads 1 c2=? c3=1", 0, id="3 voters, one unknown"),
        pytest.param("c1 leads 1 c2=? c3=1 c4=1", 1, id="4 voters, one unknown"),
        pytest.param("c1 leads 1 c2=? c3=?", 0, id="3 voters, all unknown"),
        pytest.param("c1 leads 1 alone", 0, id="a single voter"),
        pytest.param("c1 leads 1 leaving alone", 0, id="no voters at all"),
        pytest.param("c1 leads 1 leaving c2=9 c3=1 c4=1", 1, id="leaving, so not counted itself"),
        pytest.param("c1 leads 1 leaving c2=9 c3=9 c4=1", 0, id="leaving, and two fetch"),
    ],
)
def test_majorities(story: Story, words: str, found: int) -> None:
    assert zombies(story(answers(4.5, 10, words))) == found


def test_a_single_voter_is_never_a_zombie(story: Story) -> None:
    assert zombies(story("2 c2 leads 2\n" + answers(2.5, 9, "c1 leads 1 alone"))) == 0


def test_desertion_is_counted_back_from_the_question(story: Story) -> None:
    late = "".join(f"{at} c1 leads 1 c2=1 c3=1 asked=3.9\n" for at in (4, 8, 12))
    assert span(story(late)) == 0


@pytest.mark.parametrize(
    ("fetched", "stale"), [pytest.param(1.0, False, id="3 s"), pytest.param(0.999, True, id="longer")]
)
def test_how_long_no_majority_must_have_fetched(story: Story, fetched: float, *, stale: bool) -> None:
    first = f"4.1 c1 leads 1 c2={fetched} c3=0.1 asked=4\n"
    assert (span(story(first + "5 c1 leads 1 c2=1 c3=1 asked=4.9")) > 0) is stale


@pytest.mark.parametrize(
    ("last", "found"), [pytest.param(9.25, 0, id="at the bound"), pytest.param(9.27, 1, id="past the bound")]
)
def test_the_bound(story: Story, last: float, found: int) -> None:
    assert zombies(story(f"2 c2 leads 2\n4.5 c1 leads 1\n{last} c1 leads 1")) == found


@pytest.mark.parametrize("kind", ["pause", "kill", "stop"])
def test_a_run_is_broken_while_the_node_was_silenced(story: Story, kind: str) -> None:
    stale = "2 c2 leads 2\n" + answers(2.5, 6, "c1 leads 1") + answers(10, 13, "c1 leads 1")
    assert zombies(story(stale)) == 1
    assert zombies(story(stale + f"6.5 f1 {kind} c1 ok\n9 f1 heal ok")) == 0
    assert zombies(story(stale + f"6.5 f1 {kind} c1 lost")) == 0
    assert zombies(story(stale + f"6.5 f1 {kind} c2 ok\n9 f1 heal ok")) == 1


def test_a_partition_breaks_no_run(story: Story) -> None:
    stale = "2 c2 leads 2\n" + answers(2.5, 8, "c1 leads 1")
    assert zombies(story(stale + "3 f1 partition c1 ok\n9 f1 heal ok")) == 1


def test_a_run_is_broken_by_an_answer_that_is_not_stale(story: Story) -> None:
    stale = (
        answers(4.5, 8, "c1 leads 1 c2=1 c3=1")
        + "8.1 c1 leads 1\n"
        + answers(11.2, 14, "c1 leads 1 c2=8 c3=8")
    )
    assert zombies(story(stale)) == 0
    assert span(story(stale)) == 3490


def test_runs_of_different_epochs_are_apart(story: Story) -> None:
    assert zombies(story("1 c3 leads 9\n" + answers(2, 5, "c1 leads 1") + answers(5.2, 9, "c1 leads 2"))) == 0


def test_a_stale_leader_is_not_counted_as_visible(story: Story) -> None:
    result = check_quorum(story("2 c2 leads 2\n" + answers(2.5, 6, "c1 leads 1")))
    assert result.figures["leaderless_ms_max"] == 4000


@pytest.mark.parametrize(
    ("before", "words", "found"),
    [
        pytest.param("", "c1 leads 1 leaving c2=9 c3=9 hw=20 +c1=20", 1, id="committed by the same answer"),
        pytest.param("", "c1 leads 1 leaving c2=9 c3=9 hw=19 +c1=20", 0, id="it may not be committed"),
        pytest.param("", "c1 leads 1 leaving c2=9 c3=9 hw=20", 0, id="nothing shows where its log ends"),
        pytest.param("", "c1 leads 1 leaving c2=9 c3=9 hw=20 +c1=-1", 0, id="the end is unknown"),
        pytest.param("", "c1 leads 1 c2=9 c3=9 hw=20 +c1=20", 0, id="it is a voter"),
        pytest.param("", "c1 leads 1 leaving alone hw=20 +c1=20", 0, id="no voters are reported"),
        pytest.param(
            "3 c1 leads 1 leaving c2=3 c3=3 hw=18 +c1=20\n",
            "c1 leads 1 leaving c2=9 c3=9 hw=20 +c1=25",
            1,
            id="committed later",
        ),
        pytest.param(
            "3 c1 leads 0 leaving c2=3 c3=3 hw=18 +c1=20\n",
            "c1 leads 1 leaving c2=9 c3=9 hw=20 +c1=25",
            0,
            id="the end of another epoch",
        ),
    ],
)
def test_a_leader_that_is_no_voter_by_its_own_answers(
    story: Story, before: str, words: str, found: int
) -> None:
    assert zombies(story(before + answers(4.5, 10, words))) == found


def test_what_is_reported_of_a_leader_that_is_no_voter(story: Story) -> None:
    words = "c1 leads 1 leaving c2=9 c3=9 hw=20 +c1=20"
    (anomaly,) = check_quorum(story(answers(4.5, 10, words))).anomalies
    assert "by its own answers it was no longer a voter" in anomaly.explanation[0]
    assert len(anomaly.witness) == 2


class Raft:
    """A quorum of three that keeps Raft's promises, with leaders that step down in time.

    Leaders change for no reason, by a cut (the old leader goes on answering until its step-down) or by a
    pause (it answers nothing meanwhile, and once more when it is thawed).
    """

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []

    def story(self, elections: int) -> str:
        leader, at = 1, 0.2
        for epoch in range(1, elections + 1):
            end = at + self.random.uniform(1, 4)
            self.reign(leader, epoch, at, end)
            at = getattr(self, self.random.choice(["hand_over", "cut", "pause"]))(leader, epoch, end)
            leader = self.random.choice([n for n in (1, 2, 3) if n != leader])
        self.reign(leader, elections + 1, at, at + 2)
        return "\n".join(self.lines)

    def reign(self, leader: int, epoch: int, start: float, end: float) -> None:
        for node in (1, 2, 3):
            when = start + self.random.uniform(0, 0.2)
            self.lines.append(f"{when:.3f} c{node} file {epoch} leader=c{leader} vote=c{leader} disk=d{node}")
        at = start + 0.2
        while at < end:
            self.claim(leader, epoch, at, fetched=at - 0.05)
            at += 0.25

    def claim(self, leader: int, epoch: int, at: float, fetched: float) -> None:
        others = " ".join(f"c{n}={fetched:.3f}" for n in (1, 2, 3) if n != leader)
        self.lines.append(f"{at:.3f} c{leader} leads {epoch} hw={10 * epoch + int(at)} {others}")

    def hand_over(self, _: int, __: int, end: float) -> float:
        return end + self.random.uniform(0, 1)

    def cut(self, leader: int, epoch: int, end: float) -> float:
        """The leader answers for up to 4.3 s after the cut; the others elect after 2 s or more."""
        at, down = end, end + self.random.uniform(2.9, 4.3)
        while at < down:
            self.claim(leader, epoch, at, fetched=end - 0.05)
            at += 0.25
        return end + self.random.uniform(2, 3)

    def pause(self, leader: int, epoch: int, end: float) -> float:
        number, thawed = len(self.lines), end + self.random.uniform(5, 9)
        self.lines += [f"{end:.3f} f{number} pause c{leader} ok", f"{thawed:.3f} f{number} heal ok"]
        self.claim(leader, epoch, thawed + self.random.uniform(0, 0.3), fetched=end)
        return end + self.random.uniform(2, 4)


@given(st.integers(0, 10_000), st.integers(1, 5))
def test_a_correct_quorum_is_always_quiet(story: Story, seed: int, elections: int) -> None:
    result = check_quorum(story(Raft(seed).story(elections)))
    assert result.counts == {}
    unmet = {assumption.name for assumption in result.assumptions if not assumption.met}
    assert unmet <= {"controllers-answered", "controllers-watched"}, "these stories tell of leaders alone"


@given(steps=st.lists(st.integers(50, 2000), min_size=3, max_size=40), deserted=st.booleans())
def test_claims_past_the_bound_are_always_found_and_no_others(
    story: Story, steps: list[int], *, deserted: bool
) -> None:
    """Steps are milliseconds between answers; each is asked for 10 ms before it is there."""
    times_ms = list(accumulate(steps, initial=10_000))
    words = "c1 leads 1 c2=1 c3=1" if deserted else "c1 leads 1"
    claims = "\n".join(f"{at / 1000} {words} asked={(at - 10) / 1000}" for at in times_ms)
    text = "" if deserted else "2 c2 leads 2\n"
    assert zombies(story(text + claims)) == (times_ms[-1] - 10 - times_ms[0] > 4750)
