"""Epochs that are used again because voters forgot with their disks what they had promised."""

import random
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkers.history.operations import History
from checkers.kraft.quorum import check_quorum
from checkers.verdict.verdict import Anomaly

Story = Callable[..., History]

NODES = [{"name": f"c{i}", "id": i, "roles": ["controller"]} for i in (1, 2, 3, 4)]
THREE = {"nodes": NODES[:3], "features": {"kraft.version": 0}}
DYNAMIC = {"nodes": NODES[:3], "features": {"kraft.version": 1}}
FOUR = {"nodes": NODES, "features": {"kraft.version": 0}}
OF_FOUR = "c2=9 c3=9 c4=9"


def wiped(node: str, at: float, back: float, *, was: str = "d1", now: str = "d9") -> str:
    """A disk that is emptied, and started again."""
    fault = f"f{node}{at}"
    return f"{at} {fault} wipe-disk {node} was={was} now={now} ok\n{back} {fault} heal ok\n"


def leaders(history: History) -> list[Anomaly]:
    return [anomaly for anomaly in check_quorum(history).anomalies if anomaly.id == "two-leaders"]


TWICE = "1 c1 leads 4\n20 c2 leads 4\n"


@pytest.mark.parametrize(
    ("setup", "text", "licensed"),
    [
        pytest.param(THREE, "", False, id="no disk was wiped"),
        pytest.param(THREE, wiped("c3", 5, 8), True, id="one of three may be all that two majorities share"),
        pytest.param(THREE, wiped("c3", 5, 8) + wiped("c2", 5, 8), True, id="the majority of three"),
        pytest.param(DYNAMIC, wiped("c3", 5, 8), False, id="another identity has no vote"),
        pytest.param(DYNAMIC, wiped("c3", 5, 8, now="d1"), True, id="the old identity has"),
        pytest.param(THREE, "5 f1 kill c3 ok\n8 f1 heal ok\n", False, id="killed: the disk stays"),
        pytest.param(THREE, "5 f1 power-loss c3 ok\n8 f1 heal ok\n", False, id="votes are synced"),
        pytest.param(THREE, wiped("c3", 21, 23), False, id="wiped after both were seen"),
        pytest.param(THREE, wiped("c3", 5, 21), False, id="back after both were seen"),
        pytest.param(THREE, "5 f1 wipe-disk c3 ok\n", False, id="never back"),
        pytest.param(THREE, "5 f1 wipe-disk c3 lost\n8 f1 heal ok\n", True, id="perhaps wiped, whosever"),
        pytest.param(THREE, wiped("c9", 5, 8), False, id="no controller's disk"),
        pytest.param(
            THREE,
            wiped("c3", 0.2, 0.4) + "0.5 c1 file 3\n19 c2 file 3\n",
            False,
            id="wiped before either was elected",
        ),
        pytest.param(
            THREE, wiped("c3", 0.2, 0.4) + "0.5 c1 file 3\n", True, id="the other one perhaps elected before"
        ),
        pytest.param(
            THREE,
            wiped("c3", 0.2, 0.4) + "0.5 c1 file 4\n19 c2 file 3\n",
            True,
            id="in that epoch it may have led before",
        ),
        pytest.param(
            THREE,
            wiped("c2", 0.2, 0.4) + "0.5 c1 file 3\n",
            False,
            id="its own answer as leader, on its new disk, is of an election by then",
        ),
    ],
)
def test_two_leaders_of_one_epoch(
    story: Story, setup: dict[str, object], text: str, *, licensed: bool
) -> None:
    (anomaly,) = leaders(story(TWICE + text, setup=setup))
    assert anomaly.illegal is not licensed
    assert (anomaly.licence is not None) is licensed


def test_what_others_tell_of_a_wiped_leader_may_be_of_its_earlier_disk(story: Story) -> None:
    text = "1 c1 leads 4\n20 c3 file 4 leader=c2\n" + wiped("c2", 0.2, 0.4) + "0.5 c1 file 3\n19 c2 file 3\n"
    assert not leaders(story(text, setup=THREE))[0].illegal


@pytest.mark.parametrize(
    ("text", "licensed"),
    [
        pytest.param(wiped("c3", 5, 8), False, id="majorities of four share two"),
        pytest.param(wiped("c3", 5, 8) + wiped("c3", 10, 12), False, id="one of them twice"),
        pytest.param(wiped("c3", 5, 8) + wiped("c4", 10, 12), True, id="two of four"),
    ],
)
def test_even_numbers_of_voters_share_two(story: Story, text: str, *, licensed: bool) -> None:
    twice = f"1 c1 leads 4 {OF_FOUR}\n20 c2 leads 4 c1=9 c3=9 c4=9\n"
    assert leaders(story(twice + text, setup=FOUR))[0].illegal is not licensed


def test_a_set_of_voters_that_changes_shares_one_at_least(story: Story) -> None:
    twice = f"1 c1 leads 4 {OF_FOUR}\n20 c2 leads 4\n" + wiped("c3", 5, 8, now="d1")
    assert not leaders(story(twice, setup=FOUR | DYNAMIC | {"nodes": NODES}))[0].illegal


def test_of_three_leaders_each_two_need_a_licence(story: Story) -> None:
    thrice = TWICE + "30 c3 leads 4\n" + wiped("c3", 5, 8)
    assert not leaders(story(thrice, setup=THREE))[0].illegal, "c3 forgot between the first and the others"
    late = thrice + "7.5 c2 file 3\n9 c2 file 3\n9 c3 file 3\n"
    assert leaders(story(late, setup=THREE))[0].illegal, "c2 and c3 were both elected after it had forgotten"


AGAIN = "".join(f"{10 + i * 0.25} c2 leads 2\n" for i in range(40))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param("", 1, id="nobody forgot: c1 leads a later epoch"),
        pytest.param(wiped("c3", 5, 8), 0, id="elected by one that forgot"),
        pytest.param(wiped("c3", 5, 8) + "8.5 c3 file 2 vote=c2\n", 0, id="which is in that epoch"),
        pytest.param(wiped("c3", 5, 8) + "8.5 c3 file 5 leader=c1\n", 1, id="which had learnt of the later"),
        pytest.param(wiped("c3", 5, 8) + "4 c3 file 5 leader=c1\n", 0, id="which it knew before"),
        pytest.param(wiped("c3", 25, 28), 1, id="forgotten later"),
    ],
)
def test_a_leader_of_an_earlier_epoch_is_no_zombie_where_the_later_one_was_forgotten(
    story: Story, text: str, found: int
) -> None:
    counts = check_quorum(story("1 c1 leads 5\n" + AGAIN + text, setup=THREE)).counts
    assert counts.get("zombie-leader", 0) == found


def test_what_was_committed_in_an_epoch_that_was_used_again_is_no_loss_of_the_earlier(story: Story) -> None:
    """Epoch 5 is older here than epoch 3, so it need not have what is committed in that."""
    text = "1 c1 leads 5 hw=10 end=10\n30 c2 leads 3 hw=90 end=90\n"
    assert check_quorum(story(text, setup=THREE)).counts["metadata-committed-lost"] == 1
    all_three = wiped("c1", 5, 8) + wiped("c2", 5, 8) + wiped("c3", 5, 8)
    (lost,) = check_quorum(story(text + all_three, setup=THREE)).anomalies
    assert lost.id == "metadata-committed-lost"
    assert not lost.illegal


@pytest.mark.parametrize(
    ("reading", "found"),
    [
        pytest.param("6.5 c1 file 4 vote=c2 asked=4.5", {}, id="perhaps of the old disk, perhaps of the new"),
        pytest.param("4.5 c1 file 3 vote=c2", {"epoch-regression": 1}, id="of the old one"),
        pytest.param("6.5 c1 file 3 vote=c2 asked=5.5", {}, id="of the new one"),
    ],
)
def test_a_reading_that_lasts_over_a_wipe_is_of_no_disk(
    story: Story, reading: str, found: dict[str, int]
) -> None:
    """Epoch 4 had been read of the old disk, with another vote, and 2 is read of the new one."""
    text = f"1 c1 file 4 vote=c1\n{reading}\n9 c1 file 4 vote=c3\n2 c1 leads 4\n"
    assert check_quorum(story(text + wiped("c1", 5, 6))).counts == found


class Static:
    """A static quorum that keeps Raft's promises, as far as its disks let it.

    Elections are held among whoever can be reached; a voter votes once an epoch as far as it remembers.
    Every leader reports itself, and every new vote is read from its file.
    """

    def __init__(self, seed: int, voters: int) -> None:
        self.random = random.Random(seed)
        self.voters = range(1, voters + 1)
        self.epochs = dict.fromkeys(self.voters, 0)
        self.votes: dict[int, int] = {}
        self.at = 1.0
        self.lines: list[str] = []
        self.elected: list[tuple[int, int]] = []
        self.highest = 1

    def play(self, steps: int) -> str:
        for _ in range(steps):
            self.at += 10
            (self.wipe if self.random.random() < 0.4 else self.elect)()
        return "\n".join(self.lines)

    def elect(self) -> None:
        """Somebody stands, in the epoch after the last that it knows, before those whom it reaches."""
        candidate = self.random.choice(self.voters)
        epoch = self.epochs[candidate] + 1
        self.highest = max(self.highest, epoch)
        reached = [v for v in self.voters if v == candidate or self.random.random() < 0.7]
        granting = [v for v in reached if self.grants(v, candidate, epoch)]
        if 2 * len(granting) > len(self.voters):
            others = " ".join(f"c{v}={self.at}" for v in self.voters if v != candidate)
            self.lines.append(f"{self.at} c{candidate} leads {epoch} {others}")
            self.elected.append((epoch, candidate))

    def grants(self, voter: int, candidate: int, epoch: int) -> bool:
        if epoch > self.epochs[voter]:
            self.epochs[voter], self.votes[voter] = epoch, candidate
            self.lines.append(f"{self.at + 1} c{voter} file {epoch} vote=c{candidate}")
        return self.epochs[voter] == epoch and self.votes.get(voter) == candidate

    def wipe(self) -> None:
        voter = self.random.choice(self.voters)
        self.epochs[voter] = 0
        self.votes.pop(voter, None)
        self.lines += wiped(f"c{voter}", self.at, self.at + 3).splitlines()

    @property
    def used_twice(self) -> bool:
        """Whether an epoch had two leaders."""
        return any(
            epoch == other and leader != another
            for epoch, leader in self.elected
            for other, another in self.elected
        )


@settings(deadline=None)
@given(st.integers(0, 100_000), st.integers(2, 12), st.sampled_from([3, 4]))
def test_what_correct_voters_without_memory_do_is_never_illegal(
    story: Story, seed: int, steps: int, voters: int
) -> None:
    quorum = Static(seed, voters)
    text = quorum.play(steps)
    result = check_quorum(story(text, setup=THREE if voters == 3 else FOUR))
    assert [anomaly.id for anomaly in result.anomalies if anomaly.illegal] == []
    assert bool(result.counts.get("two-leaders")) is quorum.used_twice


def test_such_voters_do_use_epochs_again() -> None:
    """Else the test above would say nothing."""
    played = [Static(seed, 3) for seed in range(40)]
    for quorum in played:
        quorum.play(12)
    assert sum(quorum.used_twice for quorum in played) > 5


@settings(deadline=None)
@given(st.integers(0, 100_000), st.integers(1, 6))
def test_a_second_leader_after_everybody_had_remembered_again_is_illegal(
    story: Story, seed: int, steps: int
) -> None:
    """Whatever was wiped before: both were seen without that epoch since."""
    quorum = Static(seed, 3)
    text = quorum.play(steps)
    epoch, at = quorum.highest + 1, quorum.at + 10
    both = f"{at} c1 file {epoch - 1}\n{at} c2 file {epoch - 1}\n"
    both += f"{at + 1} c1 leads {epoch}\n{at + 2} c2 leads {epoch}\n"
    found = leaders(story(f"{text}\n{both}", setup=THREE))
    assert f"epoch {epoch}" in {anomaly.subject for anomaly in found if anomaly.illegal}
