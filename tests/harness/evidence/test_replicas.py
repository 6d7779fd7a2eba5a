"""Evidence from disks, gathered into a history and judged: complete, kept where it matters, never a crash."""

import errno
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from checkers.evidence.leader_epochs import LEADER_EPOCHS
from checkers.evidence.replicas import batches_of
from checkers.history.operations import History
from checkers.history.reading import read_history
from checkers.history.replicas import ABORTED, FOLDERS, METADATA_LOG, REPLICA
from checkers.history.transaction_states import TRANSACTION_STATES
from checkers.logs.partitions.kept_commits import COMMITS_LEFT
from checkers.logs.replicas.judging import check_replicas
from checkers.verdict.verdict import Validity
from harness.evidence import replicas
from harness.evidence.disks import gather_disks
from harness.record.journal import Clock, Journals, Recorder
from harness.vocabulary import Node, Topology
from tests.harness.fakes.segments import Producer, batch, control_batch, marker, write_log

ALICE = Producer(9001, 0, 0)
LOG = (
    batch(0, [b"a", b"b"], leader_epoch=1, producer=ALICE, transactional=True)
    + marker(2, ALICE, commit=True, leader_epoch=1)
    + batch(3, leader_epoch=2)
)
LEADER = bytes.fromhex("0000 00000003 01 01 00")
TOPIC = bytes.fromhex("010200 06") + b"log-0" + bytes(17)
SNAPSHOT = control_batch(0, 4, bytes(3), leader_epoch=1)
METADATA = (
    control_batch(0, 2, LEADER, leader_epoch=1)
    + batch(1, [TOPIC], leader_epoch=1)
    + batch(2, [bytes.fromhex("01140000")], leader_epoch=1)
)


class FakeCluster:
    """Nodes whose disks are folders."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.nodes: tuple[Node, ...] = Topology().nodes()
        for node in self.nodes:
            (folder / "nodes" / node.name).mkdir(parents=True)
            log = write_log(self.disk(node) / "log-0-0", {0: LOG})
            (log / "leader-epoch-checkpoint").write_text("0\n2\n1 0\n2 3\n")
            write_log(self.disk(node) / "__cluster_metadata-0", {0: METADATA})

    def disk(self, node: Node) -> Path:
        return self.folder / "disks" / node.name

    def disks(self, node: Node) -> tuple[Path, ...]:
        return (self.disk(node), self.folder / "disks" / f"{node.name}-2")

    def segment(self, node: str, partition: str = "log-0-0") -> Path:
        return self.folder / "disks" / node / partition / f"{0:020}.log"


@pytest.fixture
def cluster(tmp_path: Path) -> FakeCluster:
    return FakeCluster(tmp_path)


def gathered(cluster: FakeCluster, settle_bound_s: float = 0.0) -> History:
    """The history of a run whose evidence was gathered from that cluster, and nothing else happened."""
    journals = Journals(cluster.folder, "run", Clock())
    runner = Recorder(journals.open("runner"), "runner")
    nodes = [{"name": node.name, "id": node.id} for node in cluster.nodes]
    topics = [{"name": "log-0", "partitions": 1}]
    evidence = ["replicas", "metadata-log"]
    setup: Any = {"nodes": nodes, "topics": topics, "evidence": evidence, "workload": {}}
    runner.observe("setup", None, setup)
    members = [[node.id, None, 2, -1, -1] for node in cluster.nodes]
    quorum: Any = {"began_ns": 0, "answer": "leader", "leader_id": 1, "leader_epoch": 1, "high_watermark": 2}
    quorum |= {"wall_ms": 0, "voters": members}
    runner.observe("observe", "quorum", quorum, node="n1")
    bound: Any = {"bound_ms": 1}
    with runner.operation("recover", "log-0", bound) as outcome:
        state = {"topic": "log-0", "partition": 0, "leader": 1, "isr": [1, 2, 3]}
        recovered: Any = {"partitions": [state]}
        outcome.ok(recovered)
    asked: Any = {"client": "c", "isolation": "read_uncommitted", "partition": 0}
    with runner.operation("final-read", "log-0", asked) as outcome:
        outcome.ok(asked | {"start": 0, "end": 4, "position": 4, "records": [[0, [0, 1, 3], [1, 2, 3]]]})
    gather_disks(cluster, [("log-0", 0)], journals, settle_bound_s)
    journals.close()
    return read_history(cluster.folder)


def values(history: History, key: str) -> dict[str, dict[str, Any]]:
    return {o.node or "": o.value for o in history.operations if o.f == "observe" and o.key == key}


def kept(cluster: FakeCluster) -> list[str]:
    return sorted(str(p.relative_to(cluster.folder)) for p in cluster.folder.glob("nodes/*/segments/*/*"))


def test_equal_replicas_are_recorded_in_full_and_valid(cluster: FakeCluster) -> None:
    history = gathered(cluster)

    result = check_replicas(history)
    assert result.validity is Validity.VALID, result
    assert result.figures["logs_read"] == 6
    assert result.figures["batches_compared"] == 6
    assert result.figures["metadata_batches_compared"] == 6
    assert result.figures["open_transactions"] == 0
    (first, *_) = batches_of(history).logs
    assert first["base_offset"].tolist() == [0, 2, 3]
    assert first["control"].tolist() == [-1, 1, -1]
    assert first["coordinator_epoch"].tolist() == [-1, 7, -1]
    assert kept(cluster) == []


def test_a_corrupted_segment_is_found_and_kept(cluster: FakeCluster) -> None:
    """The seeded bug: one bit of one record on one disk."""
    path = cluster.segment("n2")
    data = bytearray(path.read_bytes())
    data[70] ^= 1
    path.write_bytes(data)

    result = check_replicas(gathered(cluster))

    assert result.counts == {"corrupt-batch": 1}
    assert result.anomalies[0].subject == "log-0/0@0"
    assert kept(cluster) == [f"nodes/{name}/segments/log-0-0/{0:020}.log" for name in ("n1", "n2", "n3")]
    assert (cluster.folder / kept(cluster)[1]).read_bytes() == bytes(data)


def test_a_replica_that_lost_a_batch_is_found(cluster: FakeCluster) -> None:
    first = batch(0, [b"a", b"b"], leader_epoch=1, producer=ALICE, transactional=True)
    cluster.segment("n3").write_bytes(first + batch(3, leader_epoch=2))

    result = check_replicas(gathered(cluster))

    assert result.counts == {"offset-gap": 1, "replica-divergence": 1}
    assert {str(found.subject) for found in result.anomalies} == {"log-0/0@2", "log-0/0@3"}


def test_a_replica_cut_short_is_found(cluster: FakeCluster) -> None:
    cluster.segment("n3").write_bytes(LOG[:-10])

    result = check_replicas(gathered(cluster))

    assert result.counts == {"short-replica": 1}
    assert "cut" in result.anomalies[0].explanation[-1]
    assert result.figures["torn_tails"] == 1


def test_too_much_to_keep_is_not_kept(cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replicas, "KEPT_BYTES_MAX", len(LOG) + 10)
    cluster.segment("n3").write_bytes(LOG[:-10])

    gathered(cluster)

    assert kept(cluster) == [f"nodes/n1/segments/log-0-0/{0:020}.log"]


def test_a_log_that_can_not_be_read_makes_it_unknown(cluster: FakeCluster) -> None:
    path = cluster.segment("n2")
    path.unlink()
    path.mkdir()

    history = gathered(cluster)

    assert "IsADirectoryError" in values(history, REPLICA)["n2"]["error"]
    result = check_replicas(history)
    assert result.validity is Validity.UNKNOWN
    assert "log-0/0 on n2" in str(result.unknown_because)


def test_a_disk_that_is_gone_is_reported_and_a_replica_elsewhere_is_not(cluster: FakeCluster) -> None:
    moved, gone = (cluster.disk(node) for node in cluster.nodes[1:])
    (moved / "log-0-0").rename(moved / "log-0-0.c2d4aea94b30461eb58ccdf961d14048-delete")
    gone.rename(gone.with_name("elsewhere"))

    by_node = values(gathered(cluster), REPLICA)

    assert sorted(by_node) == ["n1", "n3"]
    assert "FileNotFoundError" in by_node["n3"]["error"]


def _die(monkeypatch: pytest.MonkeyPatch, dead: Path) -> None:
    """Everything that is asked of a folder fails, as on a disk that was not mounted again."""

    def failing(name: str) -> Callable[..., Any]:
        real = getattr(Path, name)

        def asked(path: Path, *args: Any, **how: Any) -> Any:
            if path.is_relative_to(dead):
                raise OSError(errno.EIO, os.strerror(errno.EIO), str(path))
            return real(path, *args, **how)

        return asked

    for name in ("stat", "iterdir", "open", "read_bytes", "read_text"):
        monkeypatch.setattr(Path, name, failing(name))


def test_a_disk_that_is_dead_is_reported_by_those_that_need_it_alone(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("__transaction_state-0", "__consumer_offsets-0"):
        for node in cluster.nodes[1:]:
            write_log(cluster.disk(node) / name, {0: b""})
    _die(monkeypatch, cluster.disk(cluster.nodes[1]))

    history = gathered(cluster)

    dead = "OSError: Input/output error"
    by_key = {key: values(history, key) for key in (REPLICA, METADATA_LOG, ABORTED, FOLDERS, COMMITS_LEFT)}
    assert [node for node, value in by_key[REPLICA].items() if value["error"] == dead] == ["n2"]
    assert [node for node, value in by_key[METADATA_LOG].items() if value["error"] == dead] == ["n2"]
    assert [node for node, value in by_key[ABORTED].items() if value["error"] == dead] == ["n2"]
    assert [node for node, value in by_key[COMMITS_LEFT].items() if value.get("error") == dead] == ["n2"]
    assert [node for node, value in by_key[FOLDERS].items() if node in value["unread"]] == ["n2"]
    assert list(values(history, TRANSACTION_STATES)) == ["n3"]
    assert sorted(values(history, LEADER_EPOCHS)) == ["n1", "n3"]
    result = check_replicas(history)
    assert result.validity is Validity.UNKNOWN
    assert "log-0/0 on n2" in str(result.unknown_because)


def test_a_dead_disk_does_not_hide_a_replica_on_another_one(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = cluster.disks(cluster.nodes[1])
    second.mkdir()
    (first / "log-0-0").rename(second / "log-0-0")
    _die(monkeypatch, first)
    assert values(gathered(cluster), REPLICA)["n2"]["error"] is None


def test_a_replica_in_another_log_directory_is_found(cluster: FakeCluster) -> None:
    first, second = cluster.disks(cluster.nodes[1])
    second.mkdir()
    (first / "log-0-0").rename(second / "log-0-0")
    assert values(gathered(cluster), REPLICA)["n2"]["error"] is None


def test_followers_are_given_time_to_have_all(cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster.segment("n2").write_bytes(LOG[:-10])
    clock = SimpleNamespace(monotonic=time.monotonic, sleep=lambda _: cluster.segment("n2").write_bytes(LOG))
    monkeypatch.setattr(replicas, "time", clock)

    assert check_replicas(gathered(cluster, settle_bound_s=60)).validity is Validity.VALID


def test_metadata_logs_are_decoded_and_kept(cluster: FakeCluster) -> None:
    snapshots = cluster.folder / "disks/n1/__cluster_metadata-0"
    for name in ("00000000000000000000-0000000000", "00000000000000000002-0000000001"):
        (snapshots / f"{name}.checkpoint").write_bytes(SNAPSHOT)

    by_node = values(gathered(cluster), METADATA_LOG)

    leader = {"version": 0, "leaderId": 3, "voters": [], "grantingVoters": []}
    records = [
        [0, 1, "LEADER_CHANGE", leader],
        [1, 1, "TOPIC_RECORD", {"name": "log-0", "topicId": "A" * 22}],
    ]
    assert [by_node[name]["records"] for name in ("n1", "n2", "n3")] == [records] * 3
    footer = [[0, 1, "SNAPSHOT_FOOTER", {"version": 0}]]
    assert by_node["n1"]["checkpoint"] == ["00000000000000000002-0000000001.checkpoint", footer]
    assert by_node["n2"]["checkpoint"] is None
    assert by_node["n2"]["count"] == 3
    assert (cluster.folder / "nodes/n2/metadata" / f"{0:020}.log").read_bytes() == METADATA
    printed = (cluster.folder / "nodes/n1/metadata-log.txt").read_text()
    assert f"LeaderChange: {json.dumps(leader, separators=(',', ':'))}\n" in printed
    assert "Snapshot end offset: 2, epoch: 1\n" in printed


@pytest.mark.parametrize("name", [f"{0:020}.log", "00000000000000000002-0000000001.checkpoint"])
def test_a_record_that_can_not_be_decoded_makes_it_unknown(cluster: FakeCluster, name: str) -> None:
    path = cluster.segment("n2", "__cluster_metadata-0").with_name(name)
    path.write_bytes((METADATA if path.suffix == ".log" else b"") + batch(3, [b"\x01\x02"], leader_epoch=1))

    history = gathered(cluster)

    by_node = values(history, METADATA_LOG)
    error = f"{name}: the record at offset 3: a metadata record that is cut short"
    assert (by_node["n2"]["decoder_error"], by_node["n2"]["records"]) == (error, [])
    assert by_node["n1"]["decoder_error"] is None
    result = check_replicas(history)
    assert result.validity is Validity.UNKNOWN
    assert "cut short" in str(result.unknown_because)


def test_a_metadata_log_that_can_not_be_read_makes_it_unknown(cluster: FakeCluster) -> None:
    path = cluster.segment("n2", "__cluster_metadata-0")
    path.unlink()
    path.mkdir()

    history = gathered(cluster)

    assert "IsADirectoryError" in values(history, METADATA_LOG)["n2"]["error"]
    assert "metadata log of n2" in str(check_replicas(history).unknown_because)


def test_a_metadata_log_that_is_replaced_all_the_time_makes_it_unknown(cluster: FakeCluster) -> None:
    path = cluster.segment("n2", "__cluster_metadata-0")
    path.unlink()
    path.symlink_to("gone")

    history = gathered(cluster)

    recorded = values(history, METADATA_LOG)["n2"]
    assert recorded["error"] == recorded["decoder_error"] == "FileNotFoundError: No such file or directory"
    assert "metadata log of n2" in str(check_replicas(history).unknown_because)


def test_without_any_metadata_log_nothing_is_decoded(cluster: FakeCluster) -> None:
    for node in cluster.nodes:
        cluster.segment(node.name, "__cluster_metadata-0").unlink()

    by_node = values(gathered(cluster), METADATA_LOG)

    assert {value["decoder_error"] for value in by_node.values()} == {"the node has no metadata log"}


def test_what_is_recorded_is_the_same_every_time(cluster: FakeCluster, tmp_path: Path) -> None:
    other = FakeCluster(tmp_path / "other")
    first, second = (
        [{**o.value, "began_ns": 0} for o in gathered(each).operations if o.process == "observer-replicas"]
        for each in (cluster, other)
    )
    assert msgspec.json.encode(first) == msgspec.json.encode(second)
