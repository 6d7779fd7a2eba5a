"""Voters of a real quorum (KIP-853): added, removed, refused for whatever reason can be provoked."""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any

import msgspec
import pytest

from checkers.history.operations import OperationType
from harness import cli
from harness.administration.control_records import NodeControlRecords, first_difference, read_metadata_log
from harness.administration.quorum_leader import describe_quorum, find_leader
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
from tests.harness.waiting import wait_until

from .conftest import StartCluster

pytestmark = pytest.mark.cluster
BOUND_MS = 30_000
OK, FAIL, INFO = OperationType.OK, OperationType.FAIL, OperationType.INFO
STRANGER = "pl2yURLxReyXmuf8pnFOsg"
REFUSED_PORT = 1
FETCH_TIMEOUT_MS = 4_000
"""Twice Kafka's default, so that what the leader does at its timeout and what it does when it resigns are far
enough from each other for a slow machine."""
TIMES_OUT_MS = 2_000
RESIGNS_MS = FETCH_TIMEOUT_MS * 3 // 2


class Quorum:
    """A cluster's quorum, asked straight at its controllers."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.controllers = {node.id: node for node in cluster.nodes if node.is_controller}
        self.broker = next(iter(cluster.observe_listeners.values()))
        self.cluster_id = cluster.description.layout.cluster_id

    def view(self) -> QuorumView:
        """The leader's view of the quorum."""
        found = find_leader(list(self.cluster.controller_listeners.values()), BOUND_MS)
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

    def until(self, condition: Callable[[QuorumView], bool]) -> QuorumView:
        """The first view that fits."""

        def fitting() -> QuorumView | None:
            view = self.view()
            return view if condition(view) else None

        return wait_until(fitting)

    def carry_out(self, ask: Callable[[], VoterAnswer]) -> None:
        """Have a change made; what a leader refuses at once for the moment is asked for again."""

        def done() -> bool:
            answer = ask()
            straight = msgspec.structs.replace(answer, forwarded=False)
            assert answer.code in {0, 6, 7}, answer
            assert outcome_of(straight) is not INFO, answer
            return answer.code == 0

        wait_until(done)

    def have(self, *voters: int) -> QuorumView:
        """These voters and no others, and all is well with them."""
        for each in sorted(set(voters) - set(ids(self.view()))):
            self.until(_ready(each))
            self.carry_out(partial(self.add, each))
        for each in sorted(set(ids(self.view())) - set(voters)):
            self.carry_out(partial(self.remove, each))
        return self.until(lambda view: ids(view) == sorted(voters) and _well(view))

    def log(self, node: Node) -> NodeControlRecords:
        return read_metadata_log(self.cluster.disk(node) / "__cluster_metadata-0")

    def logs(self) -> dict[str, NodeControlRecords]:
        return {node.name: self.log(node) for node in self.cluster.nodes}

    @contextmanager
    def paused(self, *ids: int) -> Iterator[None]:
        """All at once, as far as the engine goes."""
        containers = [self.cluster.containers[self.controllers[each].name] for each in ids]
        with ThreadPoolExecutor() as pool:
            list(pool.map(lambda container: container.pause(), containers))
        try:
            yield
        finally:
            for container in containers:
                container.unpause()


@pytest.fixture(scope="module")
def quorum(launch: StartCluster) -> Quorum:
    """Three voters, a controller that only observes, and a broker."""
    config = {"controller.quorum.fetch.timeout.ms": str(FETCH_TIMEOUT_MS)}
    topology = Topology(mode=Mode.ISOLATED, controllers=4, brokers=1, initial_voters=3, config=config)
    return Quorum(launch(topology))


def _ready(node_id: int) -> Callable[[QuorumView], bool]:
    """Whether a node is an observer that could be a voter, as far as its leader knows."""
    return lambda view: any(
        each.id == node_id and each.last_caught_up_ago_ms is not None for each in view.observers
    )


def _well(view: QuorumView) -> bool:
    """Whether something is committed in this epoch and all voters go on fetching."""
    ages = [voter.last_fetch_ago_ms for voter in view.voters if voter.id != view.leader_id]
    return view.high_watermark is not None and all(age is not None and age <= 1_000 for age in ages)


def sets_of_voters(log: NodeControlRecords) -> list[list[dict[str, Any]]]:
    contents = [record.content for record in log.records if record.kind == "KRAFT_VOTERS"]
    return [content["voters"] for content in contents if content]


def ids(view: QuorumView) -> list[int]:
    return sorted(voter.id for voter in view.voters)


def test_what_is_refused_at_once(quorum: Quorum) -> None:
    view = quorum.until(lambda view: _well(view) and any(each.could_vote for each in view.observers))
    follower = next(each for each in view.voters if each.id != view.leader_id)
    own, new, old, place = quorum.cluster_id, quorum.key(104), quorum.key(follower.id), quorum.place(104)

    def codes(key: VoterKey, cluster_id: str = own, to: tuple[str, int] | None = None) -> tuple[int, int]:
        added = add_voter(to or quorum.leader, cluster_id, key, [place], BOUND_MS)
        removed = remove_voter(to or quorum.leader, cluster_id, key, BOUND_MS)
        assert {outcome_of(added), outcome_of(removed)} == {FAIL}, (added, removed)
        return added.code, removed.code

    assert codes(new, to=quorum.address(follower.id)) == (6, 6)
    assert codes(new, cluster_id="x" * 22) == (104, 104)
    assert codes(VoterKey(104, "A" * 22)) == (42, 42)
    assert codes(VoterKey(old.id, STRANGER)) == (126, 127)
    no_listener = add_voter(quorum.leader, own, new, [("OTHER", *place[1:])], BOUND_MS)
    assert (no_listener.code, outcome_of(no_listener)) == (42, FAIL)
    unreachable = add_voter(quorum.leader, own, new, [(*place[:2], REFUSED_PORT)], BOUND_MS)
    assert (unreachable.code, outcome_of(unreachable)) == (7, FAIL), unreachable
    assert "API_VERSIONS" in (unreachable.message or "")
    assert ids(quorum.view()) == [101, 102, 103]


def test_a_directory_that_nobody_fetches_with_is_reported_as_lagging(quorum: Quorum) -> None:
    """Until the leader has tried the endpoint again after the refusal before, it is not ready to receive."""

    def lags() -> bool:
        key, place = VoterKey(104, STRANGER), quorum.place(104)
        answer = add_voter(quorum.leader, quorum.cluster_id, key, [place], BOUND_MS)
        assert (answer.code, outcome_of(answer)) == (7, FAIL), answer
        return "lagging behind" in (answer.message or "")

    wait_until(lags)


def test_an_endpoint_that_is_wrong_is_fixed_by_the_voter(quorum: Quorum) -> None:
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
    quorum.carry_out(lambda: quorum.remove(104))


def test_voters_come_and_go_by_broker_and_by_controller(quorum: Quorum) -> None:
    quorum.until(_ready(104))
    quorum.carry_out(lambda: quorum.add(104, to=quorum.broker))
    before = quorum.until(_well)
    assert ids(before) == [101, 102, 103, 104]

    leader = before.leader_id
    follower = next(each.id for each in before.voters if each.id != leader)
    quorum.carry_out(lambda: quorum.remove(follower, to=quorum.broker))
    quorum.carry_out(lambda: quorum.remove(leader))
    after = quorum.until(lambda view: view.leader_id != leader and _well(view))
    assert follower not in ids(after)
    assert leader not in ids(after)

    other = next(each.id for each in after.voters if each.id != after.leader_id)
    quorum.carry_out(lambda: quorum.remove(other))
    last = quorum.remove(after.leader_id)
    assert (last.code, outcome_of(last)) == (127, FAIL)

    assert ids(quorum.have(101, 102, 103, 104)) == [101, 102, 103, 104]


def test_the_command_line_does_it_too(quorum: Quorum, capsys: pytest.CaptureFixture[str]) -> None:
    view = quorum.have(101, 102, 103, 104)
    where = ["--cluster", str(quorum.cluster.folder)]
    one = ["--id", str(next(each.id for each in view.voters if each.id != view.leader_id))]

    assert cli.invoke(["quorum", "remove-voter", *one, *where]) == 0
    quorum.until(_ready(int(one[1])))
    wait_until(lambda: cli.invoke(["quorum", "add-voter", *one, *where]) == 0)
    assert cli.invoke(["quorum", "add-voter", *one, *where]) == 1
    assert cli.invoke(["quorum", "describe", *where]) == 0
    assert "could be voters  none" in capsys.readouterr().out
    # What a node is writing at this moment can't be read to its end.
    wait_until(lambda: cli.invoke(["quorum", "records", str(quorum.cluster.folder)]) == 0)
    assert "5 nodes agree" in capsys.readouterr().out


def test_a_real_timeout_leaves_it_open_and_one_change_waits_for_the_other(quorum: Quorum) -> None:
    view = quorum.have(101, 102, 103, 104)
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
    # The leader has not resigned yet: that comes 4 s after the timeout.
    assert (late.code, outcome_of(late)) == (7, FAIL), late
    assert "to commit the latest" in (late.message or "")


def test_a_leader_that_resigns_leaves_it_open(quorum: Quorum) -> None:
    """Of three voters: of four, the leader of a removal may find that what fetched before is enough now."""

    def answer_of_resigning_leader() -> VoterAnswer | None:
        """The answer of a leader that led when it was asked, and resigns before the timeout."""
        view = quorum.have(101, 102, 103)
        leader = quorum.address(view.leader_id)
        followers = [each.id for each in view.voters if each.id != view.leader_id]
        with quorum.paused(*followers):
            wait_until(lambda: _silence_ms(leader) > RESIGNS_MS - TIMES_OUT_MS)
            answer = quorum.remove(followers[0], to=leader)
        return None if outcome_of(answer) is FAIL else answer

    answer = wait_until(answer_of_resigning_leader)
    assert (answer.code, outcome_of(answer)) == (6, INFO), answer
    quorum.have(101, 102, 103)


def _silence_ms(leader: tuple[str, int]) -> int:
    """For how long no follower has fetched, by the leader's clock; once it has resigned, longer than that."""
    answer = describe_quorum(leader, BOUND_MS)
    if answer.error:
        return RESIGNS_MS
    ages = [voter.last_fetch_ago_ms or 0 for voter in view_of(answer, {}, 0).voters]
    return min(sorted(ages)[1:])


def test_all_nodes_hold_the_same_control_records(quorum: Quorum) -> None:
    view = quorum.until(_well)
    high_watermark = view.high_watermark or 0

    def whole() -> dict[str, NodeControlRecords] | None:
        """All logs, unless a node lags, or is writing at this moment.

        A node that has nothing of the leader's epoch may still have a tail of the one before.
        """
        found = quorum.logs()
        caught_up = all(log.end >= high_watermark for log in found.values())
        heard = len({log.epochs[-1][0] for log in found.values() if log.epochs}) == 1
        sound = not any(log.damage for log in found.values())
        return found if caught_up and heard and sound else None

    found = wait_until(whole)
    assert first_difference(found) is None
    for log in found.values():
        assert log.error is None
        assert sorted(voter["id"] for voter in sets_of_voters(log)[-1]) == ids(view)
