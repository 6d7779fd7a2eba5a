"""``krucible quorum``: what is printed, which node is asked for what, and the exit code."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from checkers.history.quorum import ReplicaState
from harness import cli
from harness.administration import addressing, quorum_leader
from harness.administration.addressing import Reach
from harness.cli.clusters import quorum_nodes
from harness.kafka.answers import kafka_uuid
from tests.harness.fakes.control_records import ONE, TWO, change, kraft_version, voters
from tests.harness.fakes.quorum_node import FIRST, NOW_MS, SECOND, THIRD, FakeQuorumNode
from tests.harness.fakes.segments import batch, control_batch, write_log
from tests.harness.waiting import BOUND_S

CHANGE, VERSION, VOTERS = 2, 5, 6
CAUGHT_UP = "a controller that has caught up"


@pytest.fixture
def node() -> Iterator[FakeQuorumNode]:
    with FakeQuorumNode() as made:
        yield made


def quorum(node: FakeQuorumNode, *words: str) -> int:
    host, port = node.address
    return cli.invoke(["quorum", *words, "--bootstrap-server", f"{host}:{port}"])


def test_status_and_replication_are_all_that_a_change_needs(
    node: FakeQuorumNode, capsys: pytest.CaptureFixture[str]
) -> None:
    assert quorum(node, "describe") == 0
    lines = capsys.readouterr().out.splitlines()

    assert lines[:8] == [
        "cluster id       the-cluster",
        "kraft.version    1",
        "leader           101 in epoch 7",
        "high watermark   38",
        "voters           101, 102 (majority 2)",
        "observers        103",
        "could be voters  103",
        "greatest lag     2 records",
    ]
    assert [" ".join(line.split()) for line in lines[9:]] == [
        "NODE STATUS DIRECTORY ID LOG END LAG LAST FETCH CAUGHT UP ENDPOINT",
        f"101 leader {FIRST} 40 0 ? 0 ms CONTROLLER://10.0.0.1:9093",
        f"102 follower {SECOND} 38 2 20 ms 30 ms CONTROLLER://10.0.0.2:9093",
        f"103 observer {THIRD} 40 0 5 ms 6 ms CONTROLLER://10.0.0.3:9093 could be a voter: {CAUGHT_UP}",
    ]


def test_one_part_alone(node: FakeQuorumNode, capsys: pytest.CaptureFixture[str]) -> None:
    node.high_watermark, node.observers, node.voters = -1, [], [ReplicaState(101, None, -1, -1, -1)]

    assert quorum(node, "describe", "--status") == 0
    out = capsys.readouterr().out
    assert "none in this epoch yet" in out
    assert "observers        none" in out
    assert "greatest lag     0 records" in out
    assert "NODE" not in out
    assert quorum(node, "describe", "--replication") == 0
    out = capsys.readouterr().out
    assert out.startswith("NODE")
    assert out.splitlines()[1].split()[:6] == ["101", "leader", "?", "?", "?", "?"]


def test_unknown_lags_are_shown_as_unknown(node: FakeQuorumNode, capsys: pytest.CaptureFixture[str]) -> None:
    node.voters = [ReplicaState(101, FIRST, 40, -1, NOW_MS), ReplicaState(102, SECOND, -1, -1, -1)]
    node.features = {}

    assert quorum(node, "describe", "--status") == 0
    out = capsys.readouterr().out
    assert "greatest lag     ?" in out
    assert "kraft.version    ?" in out


def test_json_has_it_all(node: FakeQuorumNode, capsys: pytest.CaptureFixture[str]) -> None:
    assert quorum(node, "describe", "--json") == 0
    report = json.loads(capsys.readouterr().out)

    assert report["asked"] == f"127.0.0.1:{node.address[1]}"
    assert report["quorum"]["leader_epoch"] == 7
    assert [each["could_vote"] for each in report["quorum"]["replicas"]] == [None, None, True]


def test_a_quorum_without_a_leader_is_reported_within_the_bound(
    node: FakeQuorumNode, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    node.error, node.controllers = 6, {}
    monkeypatch.setattr(quorum_leader, "_ROUND_MIN_S", BOUND_S)
    monkeypatch.setattr(quorum_leader, "_ROUND_S", BOUND_S)

    assert quorum(node, "describe", "--timeout-ms", "20") == 3
    err = capsys.readouterr().err
    assert "no node reported the quorum" in err
    assert "it is not the leader" in err


def test_one_controller_alone_is_asked_if_it_is_named(
    node: FakeQuorumNode, capsys: pytest.CaptureFixture[str]
) -> None:
    assert quorum(node, "describe", "--controller", "101") == 0
    node.error = 6
    assert quorum(node, "describe", "--controller", "101") == 3
    assert "NOT_LEADER_OR_FOLLOWER" in capsys.readouterr().err
    assert quorum(node, "describe", "--controller", "109") == 64
    assert "101, 103" in capsys.readouterr().err


def test_a_named_controller_that_is_silent(node: FakeQuorumNode, capsys: pytest.CaptureFixture[str]) -> None:
    node.error = None

    assert quorum(node, "describe", "--controller", "101", "--timeout-ms", "200") == 64
    assert "no controllers are known" in capsys.readouterr().err


def test_a_controller_of_ours_that_falls_silent(
    node: FakeQuorumNode, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    node.error = None
    reach = Reach((), (node.address,), None, {node.address: "c1"}, {node.address: 101})
    monkeypatch.setattr(addressing, "find_reach", lambda *_given: reach)

    assert cli.invoke(["quorum", "describe", "--controller", "101", "--timeout-ms", "2000"]) == 3
    assert "c1: DescribeQuorumRequest: timed out" in capsys.readouterr().err


def test_an_observer_is_added_by_what_the_leader_knows_of_it(
    node: FakeQuorumNode, capsys: pytest.CaptureFixture[str]
) -> None:
    assert quorum(node, "add-voter", "--id", "103") == 0
    (request,) = node.changes
    (listener,) = request.listeners

    assert (request.cluster_id, request.voter_id) == ("the-cluster", 103)
    assert kafka_uuid(request.voter_directory_id) == THIRD
    assert (listener.name, listener.host, listener.port) == ("CONTROLLER", "10.0.0.3", 9093)
    assert f"node 103 with directory {THIRD} is a voter now" in capsys.readouterr().out


def test_what_is_named_is_what_is_asked_for(node: FakeQuorumNode) -> None:
    words = ["--directory-id", FIRST, "--endpoint", "far:77", "--id", "105"]
    assert quorum(node, "add-voter", *words) == 0
    (request,) = node.changes
    (listener,) = request.listeners

    assert (request.voter_id, kafka_uuid(request.voter_directory_id)) == (105, FIRST)
    assert (listener.name, listener.host, listener.port) == ("CONTROLLER", "far", 77)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["add-voter", "--id", "105"], "directory id unknown, endpoint unknown"),
        (["add-voter", "--id", "103", "--endpoint", "a:1,b:2"], "a voter has one endpoint"),
        (["add-voter", "--id", "103", "--directory-id", "short"], "22 characters"),
        (["remove-voter", "--id", "105"], f"101 with {FIRST}, 102 with {SECOND}"),
    ],
)
def test_what_can_not_be_asked_for(
    node: FakeQuorumNode, capsys: pytest.CaptureFixture[str], words: list[str], expected: str
) -> None:
    assert quorum(node, *words) == 64
    assert expected in capsys.readouterr().err
    assert node.changes == []


def test_a_voter_is_removed_by_the_directory_that_the_leader_has(
    node: FakeQuorumNode, capsys: pytest.CaptureFixture[str]
) -> None:
    assert quorum(node, "remove-voter", "--id", "102") == 0
    assert quorum(node, "remove-voter", "--id", "102", "--directory-id", THIRD) == 0

    assert [kafka_uuid(request.voter_directory_id) for request in node.changes] == [SECOND, THIRD]
    assert "is a voter no longer" in capsys.readouterr().out


def test_a_voter_of_a_static_quorum_has_no_directory(
    node: FakeQuorumNode, capsys: pytest.CaptureFixture[str]
) -> None:
    node.voters, node.features = [ReplicaState(101, None, 40, -1, NOW_MS)], {}

    assert quorum(node, "remove-voter", "--id", "101") == 64
    assert "now it is 0, voters are configured" in capsys.readouterr().err
    assert quorum(node, "describe") == 0
    assert "kraft.version    0" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("answer", "code", "expected"),
    [
        ((126, "it \x1bis"), 1, ["DUPLICATE_VOTER (126)", "it \\x1bis", "not done: a voter has this id"]),
        ((7, "The request timed out."), 2, ["REQUEST_TIMED_OUT (7)", "it may still become one"]),
        ((999, None), 2, ["error 999 (999)", "so unknown"]),
    ],
)  # fmt: skip
def test_what_was_refused_and_what_may_still_happen(
    node: FakeQuorumNode,
    capsys: pytest.CaptureFixture[str],
    answer: tuple[int, str | None],
    code: int,
    expected: list[str],
) -> None:
    node.answer = answer

    assert quorum(node, "add-voter", "--id", "103") == code
    out = capsys.readouterr().out
    assert [words for words in expected if words not in out] == []


def test_a_change_as_json(node: FakeQuorumNode, capsys: pytest.CaptureFixture[str]) -> None:
    node.answer = (127, "who?")

    assert quorum(node, "remove-voter", "--id", "102", "--json") == 1
    report = json.loads(capsys.readouterr().out)
    assert report["voter"] == {"id": 102, "directory_id": SECOND}
    assert (report["answer"]["code"], report["answer"]["message"]) == (127, "who?")
    assert (report["meaning"]["name"], report["meaning"]["outcome"]) == ("VOTER_NOT_FOUND", "fail")


def test_no_answer_leaves_it_open(node: FakeQuorumNode, capsys: pytest.CaptureFixture[str]) -> None:
    node.answer = None

    assert quorum(node, "remove-voter", "--id", "102", "--timeout-ms", "2000") == 3
    assert "may have been made" in capsys.readouterr().err


def test_a_broker_is_asked_where_controllers_are_unknown(capsys: pytest.CaptureFixture[str]) -> None:
    with FakeQuorumNode(is_broker=True) as broker:
        broker.answer = (126, None)

        assert quorum(broker, "describe") == 0
        assert "it is unknown whether it is a controller" in capsys.readouterr().out
        assert quorum(broker, "remove-voter", "--id", "102") == 2
        assert "a broker that loses its connection sends the request again" in capsys.readouterr().out


class OwnNode:
    def __init__(self, name: str, number: int) -> None:
        self.name, self.id = name, number


class OwnHome:
    def __init__(self, directory_id: str | None) -> None:
        self._directory_id = directory_id

    def directory_id(self) -> str | None:
        return self._directory_id


class OwnCluster:
    """A cluster of ours: two controllers and a broker."""

    def __init__(self) -> None:
        self.controller_listeners = {"c3": ("10.0.0.3", 9093), "c4": ("10.0.0.4", 9093)}
        self.nodes = (OwnNode("c3", 103), OwnNode("c4", 104), OwnNode("b1", 1))

    def home(self, node: OwnNode) -> OwnHome:
        return OwnHome(FIRST if node.name == "c4" else None)


@pytest.mark.parametrize(("number", "directory_id"), [(104, FIRST), (103, THIRD), (1, None), (9, None)])
def test_of_a_cluster_of_ours_disks_and_layout_are_read(
    node: FakeQuorumNode, monkeypatch: pytest.MonkeyPatch, number: int, directory_id: str | None
) -> None:
    reach = Reach((), (node.address,), Path("/run"), {node.address: "c1"}, {node.address: 101})
    monkeypatch.setattr(addressing, "find_reach", lambda *_given: reach)
    monkeypatch.setattr(quorum_nodes, "connect", FakeEngine)
    monkeypatch.setattr(quorum_nodes, "find_cluster", lambda _client, _folder: OwnCluster())

    assert cli.invoke(["quorum", "add-voter", "--id", str(number)]) == (0 if directory_id else 64)
    asked = [(each.voter_id, kafka_uuid(each.voter_directory_id)) for each in node.changes]
    assert asked == ([(number, directory_id)] if directory_id else [])


class FakeEngine:
    def close(self) -> None:
        """Do nothing, because nothing is open."""


def folder_of(tmp_path: Path, where: str, **logs: bytes) -> Path:
    for name, data in logs.items():
        place = tmp_path / (
            f"disks/{name}/__cluster_metadata-0" if where == "disks" else f"nodes/{name}/metadata"
        )
        write_log(place, {0: data})
        snapshot = control_batch(0, VERSION, kraft_version(1))
        (place / "00000000000000000000-0000000000.checkpoint").write_bytes(snapshot)
    return tmp_path


@pytest.mark.parametrize("where", ["disks", "nodes"])
def test_records_that_agree(tmp_path: Path, capsys: pytest.CaptureFixture[str], where: str) -> None:
    data = control_batch(0, CHANGE, change(1, 1, 2, version=1)) + control_batch(1, VOTERS, voters(1, 2))
    data += control_batch(2, 9, b"")
    folder = folder_of(tmp_path, where, c1=data, c2=data)

    assert cli.invoke(["quorum", "records", str(folder)]) == 0
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert lines == [
        "c1: offsets 0 to 3, 1 snapshot",
        "c2: offsets 0 to 3, 1 snapshot",
        "",
        "OFFSET EPOCH RECORD HELD BY CONTENT",
        f"0 0 LEADER_CHANGE all leader 1, voters 1 {ONE} 2 {ONE}, granted by 1 {ONE}",
        f"1 0 KRAFT_VOTERS all 1 {TWO} at CONTROLLER://h1:9093, 2 {TWO} at CONTROLLER://h2:9093",
        "2 0 CONTROL_9 all",
        "",
        "snapshot 00000000000000000000-0000000000.checkpoint",
        "0 0 KRAFT_VERSION all 1",
        "",
        "2 nodes agree wherever two of them have the same offset",
    ]


def test_records_that_differ(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = control_batch(0, VERSION, kraft_version(1), leader_epoch=1)
    folder = folder_of(tmp_path, "disks", c1=one, c2=batch(0, leader_epoch=2))

    assert cli.invoke(["quorum", "records", str(folder)]) == 1
    out = capsys.readouterr().out
    assert "the nodes differ at offset 0 of the log:" in out
    assert "c1: epoch 1, KRAFT_VERSION 1" in out
    assert "c2: epoch 2, no control record" in out
    assert "the older record is uncommitted" in out

    again = folder_of(tmp_path, "disks", c2=batch(0, leader_epoch=1))
    assert cli.invoke(["quorum", "records", str(again), "--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert report["difference"]["epochs"] == {"c1": 1, "c2": 1}
    assert cli.invoke(["quorum", "records", str(again)]) == 1
    assert "which must never happen" in capsys.readouterr().out


def test_snapshots_that_differ(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = folder_of(tmp_path, "disks", c1=b"", c2=b"")
    (folder / "disks/c2/__cluster_metadata-0/00000000000000000000-0000000000.checkpoint").write_bytes(b"")

    assert cli.invoke(["quorum", "records", str(folder)]) == 1
    assert "offset 0 of snapshot 0000" in capsys.readouterr().out


def test_records_that_can_not_be_read_leave_it_unknown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = control_batch(0, VERSION, kraft_version(1))[:-1] + b"\x07"
    folder = folder_of(tmp_path, "disks", c1=broken, c2=control_batch(1, VOTERS, b"\0\x05"))
    (tmp_path / "disks/c3/__cluster_metadata-0").mkdir(parents=True)

    assert cli.invoke(["quorum", "records", str(folder)]) == 2
    out = capsys.readouterr().out
    assert "damage in 00000000000000000000.log at 0: the CRC" in out
    assert "c3: can't be read: no segment" in out


def test_records_of_the_only_cluster_that_is_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    reach = Reach((), (("h", 1),), folder_of(tmp_path, "disks", c1=b""), {}, {})
    monkeypatch.setattr("harness.cli.clusters.quorum.find_reach", lambda *_given: reach)
    assert cli.invoke(["quorum", "records"]) == 0
    assert "no two nodes to compare" in capsys.readouterr().out
    assert cli.invoke(["quorum", "records", str(tmp_path / "disks")]) == 64
    assert "no metadata logs here" in capsys.readouterr().err
