"""What a request for unclean elections that nobody answered may have brought about, and what not."""

import pytest

from checkers.administration.elections import check_elections
from checkers.columns.tables import PartitionName
from checkers.licences import licences_of
from checkers.licences.facts import Facts
from checkers.licences.permission import UNCLEAN_CONFIG
from checkers.licences.requested_elections import by_request
from tests.checkers.admin_histories import TOPIC, AdminStory

HERE = PartitionName(TOPIC, 0)
MINUTE_MS = 60_000


def begun(**setup: object) -> AdminStory:
    """Broker 1 alone is in sync, and a request at 50 ms has no answer."""
    story = AdminStory(**setup)
    story.created()
    story.changed(30, isr=[1])
    story.elect(50, 52, how="info")
    return story


def unclean(story: AdminStory, at_ms: float, broker: int, *, epoch: int = 1) -> None:
    """The leader is gone, and another broker is elected uncleanly by the quorum's leader of an epoch."""
    story.changed(at_ms - 5, leader=-1)
    story.changed(at_ms, isr=[broker], leader=broker, leaderRecoveryState=1)
    story.changed(at_ms + 3, leaderRecoveryState=0)
    for record in story.records[-3:]:
        record[1] = epoch


def unlicensed(story: AdminStory) -> list[str]:
    history = story.history()
    found = [str(a.summary).split(" was")[0] for a in check_elections(history).anomalies]
    licensed = {permit.event.text.split("; ")[1] for permit in licences_of(history).of(HERE)}
    elections = [state for state in Facts(history).changes.states[HERE] if state.unclean]
    assert len(licensed) + len(found) == len(elections)
    return found


def test_it_may_have_brought_about_the_first_one_alone() -> None:
    story = begun()
    unclean(story, 70, 2)
    assert unlicensed(story) == []
    unclean(story, 90, 3)
    unclean(story, 110, 1)
    assert unlicensed(story) == ["Broker 3", "Broker 1"]


def test_two_of_them_may_have_brought_about_two() -> None:
    story = begun()
    story.elect(55, None, how="info")
    unclean(story, 70, 2)
    unclean(story, 90, 3)
    unclean(story, 110, 1)
    assert unlicensed(story) == ["Broker 1"]


def test_one_that_came_later_did_not_bring_about_what_was_before() -> None:
    story = begun()
    unclean(story, 70, 2)
    unclean(story, 90, 3)
    story.elect(100, 102, how="info")
    assert unlicensed(story) == ["Broker 3"]


def test_one_that_was_answered_does_not_use_it_up() -> None:
    story = begun()
    story.elect(69, 72)
    unclean(story, 70, 2)
    unclean(story, 90, 3)
    history = story.history()
    assert [len(each) for each in by_request(Facts(history), HERE).values()] == [2, 1]
    assert check_elections(history).counts == {}


def test_nor_does_one_that_configs_allowed() -> None:
    story = begun()
    for at_ms, value in ((60, "true"), (75, "false")):
        asked = {"config": UNCLEAN_CONFIG, "value": value}
        story.both(at_ms, at_ms + 1, "alter-topic", asked, key=TOPIC)
    unclean(story, 70, 2)
    unclean(story, 90, 3)
    unclean(story, 110, 1)
    assert [a.summary.split(" was")[0] for a in check_elections(story.history()).anomalies] == ["Broker 1"]


def test_nor_does_that_of_a_last_known_leader() -> None:
    story = begun()
    story.changed(60, isr=[], leader=-1, lastKnownElr=[2])
    unclean(story, 70, 2)
    story.changed(80, lastKnownElr=[])
    unclean(story, 90, 3)
    assert check_elections(story.history()).counts == {}


def test_a_broker_that_hears_of_another_controller_forwards_it_again() -> None:
    story = begun()
    unclean(story, 70, 2)
    unclean(story, 90, 3, epoch=2)
    assert unlicensed(story) == []


@pytest.mark.parametrize(
    ("kind", "at_ms", "heal_ms", "found"),
    [
        ("partition", 60, 80, []),
        ("pause", 75, 85, []),
        ("kill", 92, 99, ["Broker 3"]),
    ],
)
def test_so_does_one_that_a_fault_cuts_off(kind: str, at_ms: float, heal_ms: float, found: list[str]) -> None:
    story = begun()
    unclean(story, 70, 2)
    unclean(story, 90, 3)
    story.fault(at_ms, heal_ms, kind, "n1")
    assert unlicensed(story) == found


@pytest.mark.parametrize(("after_ms", "found"), [(179_000, []), (181_000, ["Broker 2"])])
def test_it_may_act_late_and_not_for_ever(after_ms: float, found: list[str]) -> None:
    story = begun()
    unclean(story, 50 + after_ms, 2)
    assert unlicensed(story) == found


@pytest.mark.parametrize(
    ("faults", "found"),
    [
        ([(1, 2)], []),
        ([(1, 2), (1.5, 1.6)], []),
        ([(1, 1.5)], ["Broker 2"]),
        ([(1, None)], []),
        ([(5, 6)], ["Broker 2"]),
    ],
)
def test_while_faults_are_in_force_nobody_can_say(
    faults: list[tuple[float, float | None]], found: list[str]
) -> None:
    story = begun()
    unclean(story, 3.8 * MINUTE_MS, 2)
    for at, healed in faults:
        story.fault(at * MINUTE_MS, None if healed is None else healed * MINUTE_MS, "pause", "n3")
    assert unlicensed(story) == found
