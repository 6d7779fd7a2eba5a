"""Controllers that ask for votes with a disk that nobody added to the voters."""

from collections.abc import Callable
from typing import Any

import pytest

from checkers.history.operations import History
from checkers.kraft.quorum import check_quorum
from checkers.verdict.verdict import Anomaly
from tests.checkers.kraft.quorum.test_quorum_votes import Entry, vote, with_log_entries

Story = Callable[..., History]
DYNAMIC = {"quorum": "dynamic", "features": {"kraft.version": 1}}
LED = "1 c1 leads 1 disk=d1 c2/d2=1 c3/d3=1\n"
WIPED = "5 f1 wipe-disk c3 was=d3 now=d9 ok\n6 f1 heal ok\n"


def asks(disk: str | None = "d9", node: str = "c1", candidate: int = 3, **fields: Any) -> Entry:
    """A node logs that a candidate with a disk asked for its vote."""
    return vote(node, 2, candidate, **({"candidate_directory_id": disk, "granted": False, "at": 9} | fields))


def anomalies(history: History) -> list[Anomaly]:
    return [each for each in check_quorum(history).anomalies if each.id == "candidate-not-voter"]


def found(story: Story, text: str, *entries: Entry, **setup: Any) -> list[str]:
    history = with_log_entries(story(text, setup=DYNAMIC | setup), *entries)
    return [each.subject or "" for each in anomalies(history)]


def test_a_new_disk_asks_for_votes(story: Story) -> None:
    entries = [asks(line=4, at=9.5), asks(node="c2", line=8, pre_vote=True)]
    (anomaly,) = anomalies(with_log_entries(story(LED + WIPED, setup=DYNAMIC), *entries))
    assert anomaly.summary == "c3 asked for votes in epoch 2 with the disk d9, which nobody had added."
    assert anomaly.explanation == (
        "The fault at 5.000 s emptied the disk; its new id is d9.",
        "Line 8 of c2's log, at 2023-11-14T22:13:29.000Z: c3 asks for a pre-vote.",
        "No request before that asked to add a voter with this disk.",
    )
    assert anomaly.illegal
    assert anomaly.witness == (2, 3, 4, 5, 7)


@pytest.mark.parametrize(
    "fields",
    [{}, {"granted": True}, {"pre_vote": True}, {"node": "c3", "directory_id": "d9", "granted": True}],
)
def test_by_any_line_about_a_vote(story: Story, fields: dict[str, Any]) -> None:
    assert found(story, LED + WIPED, asks(**fields)) == ["c3, disk d9"]


def test_each_disk_is_reported_once(story: Story) -> None:
    again = "11 f2 wipe-disk c3 was=d9 now=d8 ok\n12 f2 heal ok\n"
    entries = [asks(), asks(at=9.1), asks("d8", at=14)]
    assert found(story, LED + WIPED + again, *entries) == ["c3, disk d9", "c3, disk d8"]


@pytest.mark.parametrize("entry", [asks("d3"), asks("d1", candidate=1), asks(None)])
def test_a_disk_of_a_voter_asks(story: Story, entry: Entry) -> None:
    assert found(story, LED + WIPED, entry) == []


def test_a_controller_that_the_set_up_lacks_has_its_number(story: Story) -> None:
    assert found(story, LED + WIPED, asks(candidate=7)) == ["7, disk d9"]


@pytest.mark.parametrize(
    "request_", ["7 add 3/d9 ok 8", "7 add 3/d9 fail 8", "7 add 3/d9 lost", "10.9 add 3 info 13"]
)
def test_whoever_was_to_be_added_may_have_been(story: Story, request_: str) -> None:
    assert found(story, f"{LED}{WIPED}{request_}\n", asks()) == []


@pytest.mark.parametrize(
    "request_", ["7 add 3/d8 ok 8", "11.1 add 3/d9 ok 12", "7 remove 3/d9 ok 8", "7 add 2 ok 8"]
)
def test_other_requests_do_not_explain_it(story: Story, request_: str) -> None:
    assert found(story, f"{LED}{WIPED}{request_}\n", asks()) == ["c3, disk d9"]


@pytest.mark.parametrize(
    "seen", ["8 c1 leads 1 disk=d1 c2/d2=8 c3/d9=8", "30 c1 metadata 1:1/d1,2/d2,3/d3 1:3/d9"]
)
def test_a_disk_that_is_in_a_set_is_a_matter_of_other_rules(story: Story, seen: str) -> None:
    assert found(story, f"{LED}{WIPED}{seen}\n", asks()) == []


def test_an_old_disk_that_comes_back_is_not_new(story: Story) -> None:
    back = "11 f2 wipe-disk c3 was=d9 now=d3 ok\n12 f2 heal ok\n"
    assert found(story, "1 c1 leads 1\n" + WIPED + back, asks("d3", at=14)) == []


@pytest.mark.parametrize(("at", "new"), [(4, False), (7, True)])
def test_a_disk_that_was_read_before_is_not_new(story: Story, at: int, *, new: bool) -> None:
    text = f"{LED}{WIPED}{at} c3 file 1 disk=d9\n4.5 c3 file 1\n"
    assert bool(found(story, text, asks())) is new


@pytest.mark.parametrize("fault", ["wipe-disk c3 was=d3 now=d3 ok", "wipe-disk c3 ok", "kill c3 ok"])
def test_a_disk_that_kept_its_id_or_has_none(story: Story, fault: str) -> None:
    assert found(story, f"{LED}5 f1 {fault}\n6 f1 heal ok\n", asks("d3")) == []


@pytest.mark.parametrize(
    "setup",
    [
        {"features": {"kraft.version": 0}},
        {"features": {}},
        {"quorum": "static"},
        {"config": {"controller.quorum.auto.join.enable": "true"}},
    ],
)
def test_clusters_in_which_a_new_disk_may_vote(story: Story, setup: dict[str, Any]) -> None:
    assert found(story, LED + WIPED, asks(), **setup) == []
