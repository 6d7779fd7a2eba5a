"""Voters of a real quorum (KIP-853): added, removed, refused for whatever reason can be provoked."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from checkers.history import OperationType
from harness import cli
from harness.administration.control_records import MetadataLog, first_difference, read_metadata_log
from harness.administration.quorum_leader import find_leader
from harness.administration.quorum_view import QuorumView, view_of
from harness.administration.voters import (
    VoterAnswer,
    VoterEndpoint,
    VoterKey,
    add_voter,
    outcome_of,
    remove_voter,
)
from harness.cluster.cluster import Cluster
from harness.vocabulary import Mode, Node, Topology

from .conftest import StartCluster

pytestmark = pytest.mark.cluster
BOUND_MS = 30_000
OK, FAIL, INFO = OperationType.OK, OperationType.FAIL, OperationType.INFO
STRANGER = "pl2yURLxReyXmuf8pnFOsg"
REFUSED_PORT = 1


class Quorum:
    """A cluster's quorum, asked straight at its controllers."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.controllers = {node.id: node for node in cluster.nodes if node.is_controller}
        self.broker = next(iter(cluster.observe_listeners.values()))
        self.cluster_id = cluster.description.layout.cluster_id

    def view(self, only: tuple[str, int] | None = None) -> QuorumView:
        """The leader's; of all that are asked, those that are paused take their time."""
        places = [only] if only else list(self.cluster.controller_listeners.values())
        found = find_leader(places, BOUND_MS)
        assert not isinstance(found, dict), found
        return view_of(found[1], {}, time.time_ns() // 1_000_000)

    def address(self, node_id: int) -> tuple[str, int]:
        return self.cluster.controller_listeners[self.controllers[node_id].name]

    @property
    def leader(self) -> tuple[str, int]:
        return self.address(self.view().leader_id)

    def key(self, node_id: int) -> VoterKey:
        directory_id = self.cluster.home(self.controllers[node_id]).directory_id()
        assert directory_id is not None
        return VoterKey(node_id, directory_id)

    def place(self, node_id: int) -> VoterEndpoint:
        return ("CONTROLLER", *self.address(node_id))

    def add(self, node_id: int, to: tuple[str, int] | None = None) -> VoterAnswer:
        to = to or self.leader
        return add_voter(to, self.cluster_id, self.key(node_id), [self.place(node_id)], BOUND_MS)

    def remove(self, node_id: int, to: tuple[str, int] | None = None) -> VoterAnswer:
        return remove_voter(to or self.leader, self.cluster_id, self.key(node_id), BOUND_MS)

    def until(
        self, condition: Callable[[QuorumView], bool], only: tuple[str, int] | None = None
    ) -> QuorumView:
        """The first view that fits."""
        deadline = time.monotonic() + BOUND_MS / 1000
        while not condition(view := self.view(only)):
            assert time.monotonic() < deadline, view
        return view

    def log(self, node: Node) -> MetadataLog:
        return read_metadata_log(self.cluster.disk(node) / "__cluster_metadata-0")

    def logs(self) -> dict[str, MetadataLog]:
        return {node.name: self.log(node) for node in self.cluster.nodes}

    @contextmanager
    def paused(self, *ids: int) -> Iterator[None]:
        containers = [self.cluster.containers[self.controllers[each].name] for each in ids]
        for container in containers:
            container.pause()
        try:
            yield
        finally:
            for container in containers:
                container.unpause()


@pytest.fixture(scope="module")
def quorum(launch: StartCluster) -> Quorum:
    """Three voters, a controller that only observes, and a broker."""
    return Quorum(launch(Topology(mode=Mode.ISOLATED, controllers=4, brokers=1, initial_voters=3)))


def _ready(node_id: int) -> Callable[[QuorumView], bool]:
    """Whether a node is an observer that could be a voter, as far as its leader knows."""
    return lambda view: any(
        each.id == node_id and each.last_caught_up_ago_ms is not None for each in view.observers
    )


def sets_of_voters(log: MetadataLog) -> list[list[dict[str, Any]]]:
    contents = [record.content for record in log.records if record.kind == "KRAFT_VOTERS"]
    return [content["voters"] for content in contents if content]


def ids(view: QuorumView) -> list[int]:
    return sorted(voter.id for voter in view.voters)


def test_what_is_refused_at_once(quorum: Quorum) -> None:
    leader, own = quorum.leader, quorum.cluster_id
    view = quorum.until(lambda view: any(each.could_vote for each in view.observers))
    follower = next(each for each in view.voters if each.id != view.leader_id)
    new, old, place = quorum.key(104), quorum.key(follower.id), quorum.place(104)

    def codes(key: VoterKey, cluster_id: str = own, to: tuple[str, int] = leader) -> tuple[int, int]:
        added = add_voter(to, cluster_id, key, [place], BOUND_MS)
        removed = remove_voter(to, cluster_id, key, BOUND_MS)
        assert {outcome_of(added), outcome_of(removed)} == {FAIL}, (added, removed)
        return added.code, removed.code

    assert codes(new, cluster_id="x" * 22) == (104, 104)
    assert codes(new, to=quorum.address(follower.id)) == (6, 6)
    assert codes(VoterKey(104, "A" * 22)) == (42, 42)
    assert codes(VoterKey(old.id, STRANGER)) == (126, 127)
    no_listener = add_voter(leader, own, new, [("OTHER", *place[1:])], BOUND_MS)
    assert (no_listener.code, outcome_of(no_listener)) == (42, FAIL)
    unreachable = add_voter(leader, own, new, [(*place[:2], REFUSED_PORT)], BOUND_MS)
    assert (unreachable.code, outcome_of(unreachable)) == (7, FAIL), unreachable
    assert "API_VERSIONS" in (unreachable.message or "")
    assert ids(quorum.view()) == [101, 102, 103]


def test_a_directory_that_nobody_fetches_with_is_said_to_lag(quorum: Quorum) -> None:
    """Until the leader has tried the endpoint again after the refusal before, it is not ready to receive."""
    deadline = time.monotonic() + BOUND_MS / 1000
    said = ""
    while "lagging behind" not in said:
        assert time.monotonic() < deadline, said
        key, place = VoterKey(104, STRANGER), quorum.place(104)
        answer = add_voter(quorum.leader, quorum.cluster_id, key, [place], BOUND_MS)
        assert (answer.code, outcome_of(answer)) == (7, FAIL), answer
        said = answer.message or ""


def test_an_endpoint_that_is_wrong_is_mended_by_the_voter(quorum: Quorum) -> None:
    """The leader has a connection to that id by now and looks no further; the voter sends UpdateRaftVoter."""
    wrong = (*quorum.place(104)[:2], REFUSED_PORT)
    answer = add_voter(quorum.leader, quorum.cluster_id, quorum.key(104), [wrong], BOUND_MS)
    assert answer.code == 0, answer

    def place(view: QuorumView) -> tuple[VoterEndpoint, ...]:
        voter = view.voter(104)
        return voter.endpoints if voter else ()

    view = quorum.until(lambda view: place(view) == (quorum.place(104),))
    sets = sets_of_voters(quorum.log(quorum.controllers[view.leader_id]))
    ports = [voter["endpoints"][0][2] for voters in sets for voter in voters if voter["id"] == 104]
    assert ports == [REFUSED_PORT, quorum.place(104)[2]]
    assert quorum.remove(104).code == 0


def test_voters_come_and_go_by_broker_and_by_controller(quorum: Quorum) -> None:
    assert quorum.add(104, to=quorum.broker).code == 0
    assert ids(quorum.view()) == [101, 102, 103, 104]

    before = quorum.view()
    leader = before.leader_id
    follower = next(each.id for each in before.voters if each.id != leader)
    assert quorum.remove(follower, to=quorum.broker).code == 0
    assert quorum.remove(leader).code == 0
    after = quorum.until(lambda view: view.leader_id != leader)
    assert follower not in ids(after)
    assert leader not in ids(after)

    other = next(each.id for each in after.voters if each.id != after.leader_id)
    assert quorum.remove(other).code == 0
    last = quorum.remove(after.leader_id)
    assert (last.code, outcome_of(last)) == (127, FAIL)

    for each in (follower, leader, other):
        quorum.until(_ready(each))
        assert quorum.add(each).code == 0
    assert ids(quorum.view()) == [101, 102, 103, 104]


def test_the_command_line_does_it_too(quorum: Quorum, capsys: pytest.CaptureFixture[str]) -> None:
    view = quorum.view()
    where = ["--cluster", str(quorum.cluster.folder)]
    one = ["--id", str(next(each.id for each in view.voters if each.id != view.leader_id))]

    assert cli.invoke(["quorum", "remove-voter", *one, *where]) == 0
    quorum.until(_ready(int(one[1])))
    assert cli.invoke(["quorum", "add-voter", *one, *where]) == 0
    assert cli.invoke(["quorum", "add-voter", *one, *where]) == 1
    assert cli.invoke(["quorum", "describe", *where]) == 0
    assert "could be voters  none" in capsys.readouterr().out
    assert cli.invoke(["quorum", "records", str(quorum.cluster.folder)]) == 0
    assert "5 nodes agree" in capsys.readouterr().out


def test_a_real_timeout_leaves_it_open_and_one_change_waits_for_the_other(quorum: Quorum) -> None:
    view = quorum.view()
    leader = quorum.address(view.leader_id)
    followers = [each.id for each in view.voters if each.id != view.leader_id]
    answers: list[VoterAnswer] = []
    with quorum.paused(*followers):
        asking = threading.Thread(target=lambda: answers.append(quorum.remove(followers[0], to=leader)))
        asking.start()
        meanwhile = quorum.remove(followers[1], to=leader)
        asking.join(BOUND_MS / 1000)
        late = quorum.remove(followers[1], to=leader)

    at_once, timed_out = sorted([*answers, meanwhile], key=lambda answer: answer.took_ms)
    assert (at_once.code, outcome_of(at_once)) == (7, FAIL), at_once
    assert "previous" in (at_once.message or "")
    assert (timed_out.code, outcome_of(timed_out)) == (7, INFO), timed_out
    # The leader resigns 3 s after the last fetch of a majority, so one second after the timeout.
    assert (late.code, outcome_of(late)) == (7, FAIL), late
    assert "to commit the latest" in (late.message or "")


def test_a_leader_that_resigns_leaves_it_open(quorum: Quorum) -> None:
    view = quorum.until(lambda view: view.high_watermark is not None and _fetched(view, at_most_ms=1_000))
    leader = quorum.address(view.leader_id)
    followers = [each.id for each in view.voters if each.id != view.leader_id]
    with quorum.paused(*followers):
        quorum.until(lambda view: _silent(view, at_least_ms=1_500), only=leader)
        answer = quorum.remove(followers[0], to=leader)

    assert (answer.code, outcome_of(answer)) == (6, INFO), answer
    quorum.until(lambda view: view.high_watermark is not None)


def _fetched(view: QuorumView, at_most_ms: int) -> bool:
    ages = [voter.last_fetch_ago_ms for voter in view.voters if voter.id != view.leader_id]
    return all(age is not None and age <= at_most_ms for age in ages)


def _silent(view: QuorumView, at_least_ms: int) -> bool:
    ages = [voter.last_fetch_ago_ms for voter in view.voters if voter.id != view.leader_id]
    return all(age is not None and age >= at_least_ms for age in ages)


def test_all_nodes_hold_the_same_control_records(quorum: Quorum) -> None:
    view = quorum.until(lambda view: view.high_watermark is not None)
    assert view.high_watermark is not None
    deadline = time.monotonic() + BOUND_MS / 1000
    found = quorum.logs()
    while min(log.end for log in found.values()) < view.high_watermark:
        assert time.monotonic() < deadline, found
        found = quorum.logs()

    assert first_difference(found) is None
    for log in found.values():
        assert (log.error, log.damage) == (None, ())
        assert sorted(voter["id"] for voter in sets_of_voters(log)[-1]) == ids(view)
