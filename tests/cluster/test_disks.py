"""Disks go, and what must come back does: wiped, without power, dead; on one cluster, one after the other."""

import subprocess
from collections.abc import Callable, Iterator
from functools import partial

import pytest

from checkers.history.faults import ResolvedBy
from harness.cluster.cluster import Cluster
from harness.cluster.homes import disk_with
from harness.cluster.loop_disks import lacking
from harness.faults.activate import activate
from harness.faults.targets import Resolved
from harness.kafka.endpoint import Endpoint
from harness.kafka.topics import NewTopic, acknowledges_write, create_topic
from harness.kafka.wire import WireError
from harness.run.healing import bench_of
from harness.vocabulary.faults import DeadDisk, Fault, PowerLoss, Scope, WipeDisk
from harness.vocabulary.topology import DiskKind, Mode, Topology
from tests.harness.waiting import wait_until

from .conftest import StartCluster

pytestmark = pytest.mark.cluster
BOUND_S = 120.0
COPIED = NewTopic("copied", assignments=((1, 2), (2, 1)))
SYNCED = NewTopic("synced", assignments=((2,),), config={"flush.messages": "1"})
VALUES = [f"value-{number}".encode() for number in range(20)]
LACK = lacking(DiskKind.LOOP_EXT4)
ON_LOOP = pytest.mark.skipif(LACK is not None, reason=f"no disks on loop devices: {LACK}")


@pytest.fixture(scope="module")
def cluster(launch: StartCluster) -> Iterator[Cluster]:
    """Two brokers that hold records, each in two log directories, on file systems where the host has such."""
    disk = DiskKind.FOLDER if LACK else DiskKind.LOOP_EXT4
    cluster = launch(Topology(mode=Mode.ISOLATED, controllers=1, brokers=2, disk=disk, log_dirs=2))
    listeners = list(cluster.observe_listeners.values())
    copied, synced = (create_topic(listeners, topic) for topic in (COPIED, SYNCED))
    if not LACK:
        # A broker does not start again without what it had of the metadata log: docs/disks.md.
        for number in ("", "-2"):
            subprocess.run(["sync", "-f", cluster.folder / "disks" / f"b2{number}"], check=True)
    for value in VALUES:
        wait_until(partial(acknowledges_write, listeners[0], copied, 0, value))
        wait_until(partial(acknowledges_write, listeners[1], synced, 0, value))
    yield cluster
    cluster.remove()
    assert not (cluster.folder / "disks").exists()


def hits(
    cluster: Cluster, name: str, spec: Fault, look: Callable[[], object] = lambda: None
) -> dict[str, object]:
    """A fault of a node's disk from inject to heal, proven; what its probes saw."""
    node = next(node for node in cluster.nodes if node.name == name)
    fault = activate(spec, "f1", Resolved(node, ResolvedBy.NAME), bench_of(cluster))
    fault.inject()
    seen = fault.took_effect()
    look()
    fault.heal()
    return seen | fault.healed()


def await_in_sync(cluster: Cluster) -> None:
    """Both replicas of both partitions in sync, as the first broker reports."""
    wait_until(lambda: in_sync(cluster) == [{1, 2}, {1, 2}], BOUND_S)


def in_sync(cluster: Cluster) -> list[set[int]]:
    endpoint = Endpoint(*cluster.observe_listeners["b1"])
    try:
        topic = endpoint.cluster([COPIED.name]).topics.get(COPIED.name)
    except WireError:
        return []
    finally:
        endpoint.close()
    return [set(state.isr) for state in topic.partitions] if topic else []


def held(cluster: Cluster, folder: str) -> list[bytes]:
    """Which of the values a replica on the second broker's disks holds."""
    node = next(node for node in cluster.nodes if node.name == "b2")
    log = (disk_with(cluster.disks(node), folder) / folder).glob("*.log")
    written = b"".join(path.read_bytes() for path in log)
    return [value for value in VALUES if value in written]


@ON_LOOP
def test_what_was_synced_outlives_the_loss_of_power(cluster: Cluster) -> None:
    assert hits(cluster, "b2", PowerLoss())["unsynced_lost"] is True
    assert held(cluster, "synced-0") == VALUES
    # Not the only voter: brokers that know more of the metadata than it has left would end.
    await_in_sync(cluster)


@ON_LOOP
def test_a_dead_disk_fails_its_broker_and_comes_back(cluster: Cluster) -> None:
    seen = hits(cluster, "b2", DeadDisk(log_dir=2))
    assert "Input/output error" in str(seen["error"])
    await_in_sync(cluster)


@pytest.mark.parametrize(
    ("spec", "replaced"),
    [
        (WipeDisk(), True),
        (WipeDisk(new_directory_id=False), False),
        (WipeDisk(log_dir=2), True),
        (WipeDisk(scope=Scope.KEEP_META), False),
        (WipeDisk(scope=Scope.TOPIC, topic=COPIED.name, by="stop"), False),
    ],
    ids=("all", "all-same-id", "one-of-two", "keep-meta", "topic"),
)
def test_a_follower_whose_disk_was_wiped_has_all_again(
    cluster: Cluster, spec: WipeDisk, *, replaced: bool
) -> None:
    left: list[list[bytes]] = []
    seen = hits(cluster, "b2", spec, lambda: left.append(held(cluster, "copied-0")))
    before, after = seen["directory_id_before"], seen["directory_id_after"]
    assert None not in (before, after)
    assert (before != after) is replaced
    assert left == [[]] or spec.log_dir == 2  # where the other directory may have had it
    await_in_sync(cluster)
    assert held(cluster, "copied-0") == VALUES
