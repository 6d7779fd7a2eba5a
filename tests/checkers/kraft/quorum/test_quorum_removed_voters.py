"""Voters that were removed: they neither lead nor vote in later epochs, and a leader among them resigns."""

from collections.abc import Callable
from typing import Any

import pytest

from checkers.history.operations import History
from checkers.kraft.quorum import check_quorum

Story = Callable[..., History]

DYNAMIC: dict[str, Any] = {"features": {"kraft.version": 1}}
AUTO_JOIN = {"config": {"controller.quorum.auto.join.enable": "true"}}

REMOVED = """
1 c1 leads 1 disk=d1 c2/d2=1 c3/d3=1
2 remove 3/d3 ok 3
3.5 c1 leads 1 disk=d1 c2/d2=3.5
"""
KNOWS = "4 c1 leads 1 disk=d1 c2/d2=4 hw=20 +c3/d3=20\n"
LOG = "30 c1 metadata 1:1/d1,2/d2,3/d3 1:1/d1,2/d2\n"


def acts(history: History) -> int:
    return check_quorum(history).counts.get("removed-voter-acts", 0)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param("", 0, id="gone"),
        pytest.param("10 c3 file 2 leader=c3", 1, id="leads a later epoch"),
        pytest.param("10 c3 leads 2 leaving c1/d1=10 c2/d2=10", 1, id="answers as leader"),
        pytest.param("10 c2 file 2 leader=c3", 1, id="a node has it as leader"),
        pytest.param("10 c3 file 1 leader=c3", 0, id="in the epoch of its removal"),
        pytest.param("10 c2 file 2 leader=c2", 0, id="another leads"),
        pytest.param("5 add 3/d3 ok 6\n10 c3 file 2 leader=c3", 0, id="added again"),
        pytest.param("5 add 3/d9 info 6\n10 c3 file 2 leader=c3", 0, id="perhaps added again, on a new disk"),
        pytest.param("5 add 3/d3 fail 6\n10 c3 file 2 leader=c3", 1, id="not added again"),
        pytest.param("20 add 3/d3 ok 21\n10 c3 file 2 leader=c3", 1, id="added again later"),
        pytest.param("0.5 add 3/d3 info 0.6\n10 c3 file 2 leader=c3", 0, id="an earlier request is open"),
        pytest.param("0.5 add 3/d3 ok 0.6\n10 c3 file 2 leader=c3", 1, id="added before"),
        pytest.param("10 c3 file 2 leader=c3\n11 c3 file 3 leader=c3", 1, id="reported once"),
    ],
)
def test_leading_after_the_removal(story: Story, text: str, found: int) -> None:
    assert acts(story(REMOVED + LOG + text, setup=DYNAMIC)) == found


def test_a_removal_that_was_not_acknowledged_forbids_nothing(story: Story) -> None:
    text = REMOVED.replace("remove 3/d3 ok", "remove 3/d3 info") + "10 c3 file 2 leader=c3"
    assert acts(story(text, setup=DYNAMIC)) == 0


def test_a_node_that_joins_by_itself_may_lead_again(story: Story) -> None:
    text = REMOVED + LOG + "10 c3 file 2 leader=c3"
    assert acts(story(text, setup=DYNAMIC | AUTO_JOIN)) == 0


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param("6 c2 file 5\n10 c3 file 5 leader=c3", 0, id="an epoch seen soon after the removal"),
        pytest.param("6 c2 file 5\n10 c3 file 6 leader=c3", 1, id="a later one"),
        pytest.param("9 c2 file 5\n10 c3 file 5 leader=c3", 1, id="seen later"),
    ],
)
def test_without_the_log_the_epoch_is_that_which_nodes_had_seen(story: Story, text: str, found: int) -> None:
    assert acts(story(REMOVED + text, setup=DYNAMIC)) == found


def test_the_log_has_the_epoch(story: Story) -> None:
    text = REMOVED + "6 c2 file 5\n10 c3 file 5 leader=c3\n"
    assert acts(story(text + LOG, setup=DYNAMIC)) == 1
    assert acts(story(text + "30 c1 metadata 1:1/d1,2/d2,3/d3 5:1/d1,2/d2\n", setup=DYNAMIC)) == 0
    assert acts(story(text + "30 c1 metadata 1:1/d1,2/d2,3/d9 1:1/d1,2/d2\n", setup=DYNAMIC)) == 0


@pytest.mark.parametrize(
    ("knows", "text", "found"),
    [
        pytest.param(KNOWS, "10 c3 file 2 vote=c2 disk=d3", 1, id="votes"),
        pytest.param(KNOWS, "10 c3 file 2 vote=c3 disk=d3", 1, id="for itself"),
        pytest.param(KNOWS, "10 c3 file 2 disk=d3", 0, id="follows"),
        pytest.param(KNOWS, "10 c3 file 1 vote=c2 disk=d3", 0, id="had voted before"),
        pytest.param(KNOWS, "10 c3 file 2 vote=c2 disk=d9", 0, id="on another disk"),
        pytest.param(KNOWS, "10 c2 file 2 vote=c2 disk=d2", 0, id="another node"),
        pytest.param(KNOWS, "5 add 3/d3 ok 6\n10 c3 file 2 vote=c2 disk=d3", 0, id="added again"),
        pytest.param("", "10 c3 file 2 vote=c2 disk=d3", 0, id="it may not know"),
        pytest.param(KNOWS.replace("=20", "=19", 2).replace("hw=19", "hw=20"), "", 0, id="it lags"),
        pytest.param(
            KNOWS.replace("hw=20", "hw=-1"), "10 c3 file 2 vote=c2 disk=d3", 0, id="nothing is known"
        ),
        pytest.param(
            KNOWS.replace("c3=20", "c3=19").replace("c3/d3=20", "c3/d3=19"),
            "10 c3 file 2 vote=c2 disk=d3",
            0,
            id="it lacks the end",
        ),
        pytest.param(
            KNOWS.replace("+c3", "c3/d3=4 +c3"), "10 c3 file 2 vote=c2 disk=d3", 0, id="that leader has it"
        ),
        pytest.param(
            KNOWS.replace("leads 1", "leads 0"),
            "10 c3 file 2 vote=c2 disk=d3",
            0,
            id="an older leader answers",
        ),
        pytest.param(
            KNOWS.replace("4 c1", "2.5 c1"), "10 c3 file 2 vote=c2 disk=d3", 0, id="reported before"
        ),
        pytest.param(
            KNOWS.replace("c3/d3", "c3/d9"), "10 c3 file 2 vote=c2 disk=d3", 0, id="of another disk"
        ),
    ],
)
def test_voting_after_the_removal(story: Story, knows: str, text: str, found: int) -> None:
    assert acts(story(REMOVED + LOG + knows + text, setup=DYNAMIC)) == found


def test_the_witness_of_a_vote(story: Story) -> None:
    (anomaly,) = check_quorum(
        story(REMOVED + KNOWS + "10 c3 file 2 vote=c2 disk=d3\n" + LOG, setup=DYNAMIC)
    ).anomalies
    assert anomaly.subject == "voter 3"
    assert anomaly.witness == (2, 3, 5, 6)
    assert len(anomaly.explanation) == 3


LEAVES = "1 c1 leads 1 disk=d1 c2/d2=1 c3/d3=1\n2 remove 1/d1 ok 3\n"


def leaving(first: float, last: float) -> str:
    """The removed leader answers all the time, and the others fetch from it."""
    times = [first + 0.25 * i for i in range(int((last - first) / 0.25) + 1)]
    return "".join(f"{at} c1 leads 1 leaving c2/d2={at} c3/d3={at}\n" for at in times)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param(leaving(3.5, 7), 0, id="resigns in time"),
        pytest.param(leaving(3.5, 9), 1, id="does not"),
        pytest.param(leaving(3.5, 9).replace("c3/d3", "c2/d2"), 1, id="one voter is left"),
        pytest.param("3.2 add 1/d1 ok 3.4\n" + leaving(3.5, 9), 0, id="added again"),
    ],
)
def test_a_leader_that_was_removed_resigns(story: Story, text: str, found: int) -> None:
    result = check_quorum(story(LEAVES + text, setup=DYNAMIC))
    assert result.counts.get("zombie-leader", 0) == found
    for anomaly in result.anomalies:
        if anomaly.id == "zombie-leader":
            assert anomaly.witness[:2] == (2, 3)
            assert "its removal had been acknowledged at 3.000 s" in anomaly.explanation[0]
