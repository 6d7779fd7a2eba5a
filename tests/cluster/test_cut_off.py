"""Admin operations cut off in the middle on a real cluster: recorded as unknown, and resolved by evidence.

Three ways to be cut off: who asks is killed when its request has left; the controller is killed before it has
answered; the broker that was asked is cut off from the controller.
"""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from checkers.administration.elections import check_elections
from checkers.administration.reassignments import check_reassignments
from checkers.history.faults import ResolvedBy
from checkers.history.observed import PartitionAnswer
from checkers.history.operations import OperationType
from checkers.history.reading import read_history
from checkers.kraft.quorum import check_quorum
from harness.administration.reassignments import alter_reassignments
from harness.administration.request_file import RequestFile, place_of
from harness.administration.requests import find
from harness.cluster.cluster import Cluster
from harness.evidence.metadata_logs import gather_metadata_logs
from harness.faults.activate import activate
from harness.faults.targets import Resolved
from harness.kafka.endpoint import Endpoint
from harness.kafka.snapshot import ClusterSnapshot
from harness.kafka.topics import NewTopic, create_topic, delete_topic
from harness.kafka.wire import WireError
from harness.nemesis.operator import Operator
from harness.record.journal import Clock, Journals, Recorder
from harness.run.healing import bench_of
from harness.run.readiness import await_ready
from harness.vocabulary import Partition, Pattern
from harness.vocabulary.administration import (
    AddPartitions,
    AddVoter,
    AlterTopic,
    Concrete,
    Reassign,
    controller,
)
from harness.vocabulary.version import DEFAULT_VERSION
from tests.cluster.test_reassignments import configs
from tests.harness.waiting import wait_until

pytestmark = pytest.mark.cluster
NAME = "cut-off"
RUN = "cut-off"
TIMEOUT_MS = 4_000
ATTEMPTS, LOST_AFTER_S = 3, 20.0
CONFIG, VALUE = "retention.ms", "987654321"

PRINTING = """
import sys
from harness.kafka.wire import Connection

exchange, receive = Connection._exchange, Connection._receive

def exchanging(self, request, *rest):
    self.asks = request.name
    return exchange(self, request, *rest)

def receiving(self, size):
    print(self.asks, flush=True)
    return receive(self, size)

Connection._exchange, Connection._receive = exchanging, receiving
"""
"""Prints the name of every request that has left, before its answer is waited for."""

COMMAND = """
from harness.cli import invoke
invoke(sys.argv[1:])
"""

OPERATOR = """
from pathlib import Path
from harness.cluster.cluster import find_cluster
from harness.cluster.engine import connect
from harness.record.journal import Clock, Journals, Recorder
from harness.nemesis.operator import Operator
from harness.kafka.snapshot import ClusterSnapshot
from harness.vocabulary.administration import ElectionType, ElectLeaders

folder, histories, run, began_ns, topic, name, *down = sys.argv[1:]
cluster = find_cluster(connect(), Path(folder))
journal = Journals(Path(histories), run, Clock(int(began_ns))).open(name)
snapshot = ClusterSnapshot(cluster.nodes, down=frozenset(down))
operator = Operator(cluster, Recorder(journal, name), lambda: snapshot)
operator.perform(ElectLeaders(ElectionType.PREFERRED, ((topic, 1),)), 8_000)
"""


def killed_after_request(script: str, request: str, *words: object) -> None:
    """Run a script in a process that is killed when a request has left and nothing has been answered."""
    child = subprocess.Popen(
        [sys.executable, "-c", PRINTING + script, *map(str, words)], stdout=subprocess.PIPE, text=True
    )
    with child:
        assert child.stdout is not None
        for line in child.stdout:
            if line.strip() == request:
                child.kill()
    assert child.returncode == -signal.SIGKILL


class Ground:
    """The shared cluster, a topic on it, and a history of its own."""

    def __init__(self, cluster: Cluster, folder: Path) -> None:
        self.cluster = cluster
        self.folder = folder
        self.clock = Clock()
        self.journals = Journals(folder, RUN, self.clock)
        self._operators = 0

    def active(self) -> str:
        """The controller that leads the quorum."""

        def leader() -> str:
            for name, address in self.cluster.controller_listeners.items():
                with closing(Endpoint(*address, timeout_s=2.0)) as endpoint:
                    try:
                        if endpoint.quorum().error == 0:
                            return name
                    except WireError:
                        continue
            return ""

        return wait_until(leader)

    @contextmanager
    def frozen(self, *names: str) -> Iterator[None]:
        """Nodes answer nothing meanwhile."""
        for name in names:
            self.cluster.containers[name].pause()
        try:
            yield
        finally:
            for name in names:
                self.cluster.containers[name].unpause()

    def perform(self, operation: Concrete, asked: str) -> OperationType:
        """Ask one broker as an operator of a run."""
        self._operators += 1
        name = f"admin-{self._operators}"
        others = frozenset(node.name for node in self.cluster.nodes) - {asked}
        snapshot = ClusterSnapshot(self.cluster.nodes, down=others)
        recorder = Recorder(self.journals.open(name), name)
        return Operator(self.cluster, recorder, lambda: snapshot).perform(operation, TIMEOUT_MS).outcome

    def has_invoked(self, f: str) -> bool:
        """Whether an invocation is in a journal."""
        return any(f'"f":"{f}"' in path.read_text() for path in self.folder.glob("history-*.jsonl"))

    def partition(self, number: int) -> PartitionAnswer:
        """As the first broker sees it."""
        with closing(Endpoint(*self.cluster.observe_listeners["n1"], timeout_s=30.0)) as endpoint:
            return endpoint.cluster([NAME]).topics[NAME].partitions[number]

    def progress(self) -> dict[str, Any]:
        """What `krucible reassign` prints of its newest request's one partition."""
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "harness.cli",
                "reassign",
                "progress",
                "--json",
                "--cluster",
                str(self.cluster.folder),
            ],
            stdout=subprocess.PIPE,
            check=True,
        )
        (status,) = json.loads(done.stdout)["partitions"]
        return dict(status)

    def gather(self) -> None:
        """The set-up, and every node's metadata log, into the history."""
        recorder = Recorder(self.journals.open("evidence"), "observer-evidence")
        nodes = [
            {"name": node.name, "id": node.id, "roles": ["broker", "controller"]}
            for node in self.cluster.nodes
        ]
        bounds = ("acked_before", "acked_after", "invoked_during", "fault_held_ms", "recovery_ms")
        setup: Any = {
            "controller_fetch_timeout_ms": 2000,
            "observe_interval_ms": 250,
            "kafka_version": DEFAULT_VERSION,
        }
        setup |= {"nodes": nodes, "features": {"kraft.version": 1}, "assumptions": dict.fromkeys(bounds, 0)}
        recorder.observe("setup", value=setup)
        disks = {node.name: self.cluster.disk(node) for node in self.cluster.nodes}
        for name in disks:
            (self.folder / "nodes" / name).mkdir(parents=True)
        gather_metadata_logs(recorder, disks, self.folder / "nodes")
        self.journals.close()


@pytest.fixture
def ground(three_nodes: Cluster, tmp_path: Path) -> Iterator[Ground]:
    made = Ground(three_nodes, tmp_path)
    brokers = list(three_nodes.observe_listeners.values())
    wanted = NewTopic(NAME, assignments=((1, 2), (1, 2), (1, 2)), config={"min.insync.replicas": "1"})
    create_topic(brokers, wanted)
    # Partition 1 is led by 1, and 2 would be preferred.
    alter_reassignments(brokers[0], [(NAME, 1, (2, 1))], 30_000)
    wait_until(lambda: made.partition(1).replicas == (2, 1))
    yield made
    for node in three_nodes.containers.values():
        node.unpause()
        if not node.state()["Running"]:
            node.start()
    await_ready(three_nodes)
    delete_topic(brokers[0], NAME)


def test_what_was_cut_off_is_unknown_until_the_evidence_shows_it(ground: Ground, tmp_path: Path) -> None:
    kill_command_after_request(ground, tmp_path)
    elections_asked_for = kill_operator_after_election_request(ground, tmp_path)
    the_controller_is_killed(ground)
    the_network_is_cut(ground)

    ground.gather()
    history = read_history(tmp_path)
    kinds = ("elect-leaders", "alter-reassignments", "alter-topic", "add-voter", "create-partitions")
    ends = {o.f: o.type for o in history.operations if o.f in kinds}
    assert ends == dict.fromkeys(kinds, OperationType.INFO) | {"elect-leaders": OperationType.INVOKE}
    elections, moves = check_elections(history).figures, check_reassignments(history).figures
    assert elections["requests_resolved"] == {"happened": elections_asked_for}
    assert elections["configs_resolved"] == {"happened": 1}
    assert moves["of_unknown_outcome_resolved"] == {"happened": 1}
    assert check_quorum(history).figures["voter_changes_resolved"] == {"not": 1}


def kill_command_after_request(ground: Ground, folder: Path) -> None:
    """The command, with its request in the frozen controller's hands."""
    cluster, active = ground.cluster, ground.active()
    plan = {"version": 1, "partitions": [{"topic": NAME, "partition": 0, "replicas": [2, 3]}]}
    (folder / "plan.json").write_text(json.dumps(plan))
    with ground.frozen(active):
        words = ("reassign", "execute", "--file", folder / "plan.json", "--cluster", cluster.folder)
        killed_after_request(COMMAND, "AlterPartitionReassignmentsRequest", *words)
    (kept,) = find(RequestFile(place_of(cluster.folder, "")).read(), None).partitions
    assert kept.is_uncertain

    await_ready(cluster)
    wait_until(lambda: ground.progress()["state"] == "complete")
    assert set(ground.partition(0).replicas) == {2, 3}


def kill_operator_after_election_request(ground: Ground, folder: Path) -> int:
    """An operator of a run, likewise; until an election was held, and how often that took.

    A request may be lost for good: one that a controller takes up when it has been deposed and does not know
    it yet fails, and nobody is left who would send it again.
    """
    cluster = ground.cluster
    for attempt in range(1, ATTEMPTS + 1):
        active = ground.active()
        asked = (cluster.folder, folder, RUN, ground.clock.began_ns, NAME, f"admin-killed-{attempt}", active)
        with ground.frozen(active):
            killed_after_request(OPERATOR, "ElectLeadersRequest", *asked)
        await_ready(cluster)
        try:
            wait_until(lambda: ground.partition(1).leader == 2, LOST_AFTER_S)
        except AssertionError:
            continue
        return attempt
    pytest.fail(f"none of {ATTEMPTS} requests was taken up")


def the_controller_is_killed(ground: Ground) -> None:
    """It is when it has the request; another one is frozen, so that nobody else can take that up at once."""
    cluster, active = ground.cluster, ground.active()
    asked, other = (node.name for node in cluster.nodes if node.name != active)
    with ground.frozen(active, other), ThreadPoolExecutor(1) as pool:
        outcome = pool.submit(ground.perform, Reassign(((NAME, 2, (1, 3)),)), asked)
        wait_until(lambda: ground.has_invoked("alter-reassignments"))
        cluster.containers[active].kill()
        assert outcome.result() is OperationType.INFO
    cluster.containers[active].start()
    await_ready(cluster)
    wait_until(lambda: ground.partition(2).replicas == (1, 3))


def the_network_is_cut(ground: Ground) -> None:
    """Between the broker that is asked and all the others."""
    cluster, active = ground.cluster, ground.active()
    asked = next(node for node in cluster.nodes if node.name != active)
    cut = activate(
        Partition(Pattern.ISOLATE_ONE), "t-cut-off", Resolved(asked, ResolvedBy.ROLE), bench_of(cluster)
    )
    cut.inject()
    try:
        assert cut.took_effect()
        assert ground.perform(AddPartitions(4, NAME), asked.name) is OperationType.INFO
        assert ground.perform(AddVoter(controller(1)), asked.name) is OperationType.INFO
        assert ground.perform(AlterTopic(NAME, CONFIG, VALUE), asked.name) is OperationType.INFO
    finally:
        cut.heal()
    assert cut.healed()
    await_ready(cluster)
    address = cluster.observe_listeners["n1"]
    wait_until(lambda: configs(address, 2, NAME, (CONFIG,)) == {CONFIG: VALUE})
