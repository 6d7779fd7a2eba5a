"""Operators ask once, record what was asked and answered, and leave no throttle behind."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from checkers.history.observed import PartitionAnswer
from checkers.history.operations import Operation, OperationType
from checkers.history.quorum import ReplicaState
from harness.administration.elections import ElectionAnswer, ElectionResult
from harness.administration.features import FeatureUpdate
from harness.administration.heartbeats import Heartbeat, HeartbeatAnswer
from harness.administration.reassignments import ReassignmentAnswer, ReassignmentResult
from harness.administration.registrations import UnregistrationAnswer
from harness.administration.settings import SettingAnswer
from harness.administration.voters import VoterAnswer
from harness.cluster.homes import NodeHome
from harness.kafka.answers import Ongoing, QuorumAnswer
from harness.kafka.sizes import TopicSize, TopicSizes
from harness.kafka.snapshot import ClusterSnapshot
from harness.kafka.wire import WireError
from harness.nemesis import admin_requests, node_requests
from harness.nemesis import operator as module
from harness.nemesis.operator import Operator
from harness.nemesis.timed_operations import TimedOperations
from harness.record.journal import Clock, Journals, Recorder
from harness.vocabulary import (
    AddPartitions,
    AddVoter,
    AdminOperation,
    AlterBroker,
    AlterBrokers,
    AlterGroup,
    AlterTopic,
    ElectionType,
    ElectLeaders,
    LateHeartbeat,
    Node,
    Reassign,
    ReassignSome,
    RemoveVoter,
    TimedOperation,
    Topology,
    UnregisterBroker,
    UnregisterController,
    UpdateFeature,
    UpgradeType,
    broker,
    controller,
)
from tests.harness.fakes.node import FakeNode
from tests.harness.fakes.segments import batch, registration
from tests.harness.recorded import recorded
from tests.harness.snapshots import grown
from tests.harness.waiting import BOUND_S, wait_until

OK, FAIL, INFO = OperationType.OK, OperationType.FAIL, OperationType.INFO
STATE = PartitionAnswer(0, 1, 4, (1, 2), (1, 2), None)
DIRECTORY = "792eyRB-iWnN5hXolHjMEQ"


class Bench:
    """A cluster of three nodes, one of which answers, and what was asked of it."""

    def __init__(self, folder: Path, node: FakeNode, monkeypatch: pytest.MonkeyPatch) -> None:
        self.nodes = Topology().nodes()
        self.cluster_id = "cluster"
        self.observe_listeners = {"n1": ("127.0.0.1", 9), "n2": node.address, "n3": node.address}
        self.controller_listeners = {"n1": ("n1", 9093), "n2": ("n2", 9093), "n3": ("n3", 9093)}
        self.folder = folder
        self.answers: dict[str, Any] = {}
        self.asked: list[tuple[Any, ...]] = []
        self.snapshot = ClusterSnapshot(
            nodes=self.nodes,
            down=frozenset({"n3"}),
            reported={("t", 0): (STATE,)},
            quorum=QuorumAnswer(0, 1, 3, 7, (ReplicaState(2, "two", 8, 0, 0),), ()),
        )
        self.answers["list_reassignments"] = ()
        asked = ("elect_leaders", "alter_reassignments", "list_reassignments", "add_voter", "remove_voter")
        for name in (*asked, "update_feature", "newest_level", "add_partitions"):
            monkeypatch.setattr(admin_requests, name, self._answering(name))
        for name in ("alter_topic", "alter_brokers", "alter_group"):
            monkeypatch.setattr(admin_requests, name, self._answering(name))
        for name in ("send_heartbeat", "alter_broker", "unregister_broker", "unregister_controller"):
            monkeypatch.setattr(node_requests, name, self._answering(name))
        monkeypatch.setattr(module, "alter_broker", self._answering("alter_broker"))
        monkeypatch.setattr(admin_requests, "set_throttle", self._answering("set_throttle"))
        monkeypatch.setattr(module, "remove_throttle", self._answering("remove_throttle"))
        self.journals = Journals(folder, "run", Clock())
        self.sizes = TopicSizes()
        recorder = Recorder(self.journals.open("admin"), "admin")
        self.operator = Operator(self, recorder, lambda: self.snapshot, self.sizes)

    def home(self, node: Node) -> NodeHome:
        return NodeHome(self.folder / node.name, self.folder / node.name)

    def operations(self) -> list[Operation]:
        return recorded(self.folder, "admin")

    def _answering(self, name: str) -> Any:
        def answer(*asked: Any) -> Any:
            self.asked.append((name, *asked[1:]))
            answered = self.answers.get(name)
            if isinstance(answered, Exception):
                raise answered
            return answered

        return answer


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    node = FakeNode()
    made = Bench(tmp_path, node, monkeypatch)
    yield made
    made.journals.close()
    node.close()


def completion(bench: Bench) -> tuple[OperationType, str, Any, Mapping[str, Any]]:
    begun, ended = bench.operations()
    assert (begun.process, begun.type, begun.node) == ("admin", OperationType.INVOKE, "n2")
    assert begun.value.items() <= ended.value.items()
    return ended.type, ended.f, ended.key, ended.value


def test_an_election(bench: Bench) -> None:
    bench.answers["elect_leaders"] = ElectionAnswer(0, (ElectionResult("t", 0, 84, "not needed"),))
    performed = bench.operator.perform(ElectLeaders(ElectionType.UNCLEAN, (("t", 0),)), 500)
    assert (performed.outcome, performed.codes, performed.error) == (OK, (84,), None)
    kind, f, key, value = completion(bench)
    assert (kind, f, key) == (OK, "elect-leaders", "unclean")
    assert (value["code"], value["results"], value["to"]) == (0, [["t", 0, 84, "not needed"]], "n2")
    assert value["took_ms"] >= 0
    assert bench.asked == [("elect_leaders", ElectionType.UNCLEAN, (("t", 0),), 500)]


def test_an_election_that_is_refused_as_a_whole(bench: Bench) -> None:
    bench.answers["elect_leaders"] = ElectionAnswer(31, ())
    performed = bench.operator.perform(ElectLeaders(ElectionType.PREFERRED), 500)
    assert (performed.outcome, performed.codes, performed.error) == (FAIL, (31,), "Kafka answered 31")


def test_what_a_former_controller_says_is_open(bench: Bench) -> None:
    bench.answers["elect_leaders"] = ElectionAnswer(41, ())
    performed = bench.operator.perform(ElectLeaders(ElectionType.PREFERRED), 500)
    assert (performed.outcome, performed.codes) == (INFO, (41,))


def test_silence_is_open(bench: Bench) -> None:
    bench.answers["elect_leaders"] = WireError("timed out")
    performed = bench.operator.perform(ElectLeaders(ElectionType.PREFERRED), 500)
    assert (performed.outcome, performed.codes, performed.error) == (INFO, (), "timed out")
    assert completion(bench)[0] is INFO


def test_a_voter_to_add_is_known_by_its_disk(bench: Bench) -> None:
    home = bench.home(bench.nodes[2])
    home.disk.mkdir()
    (home.disk / "meta.properties").write_text(f"version=1\ndirectory.id={DIRECTORY}\n")
    bench.answers["add_voter"] = VoterAnswer(126, "duplicate", 3)
    assert bench.operator.perform(AddVoter(controller(3)), 500).outcome is FAIL
    _, f, key, value = completion(bench)
    assert (f, key, value["directory_id"]) == ("add-voter", 3, DIRECTORY)
    assert value["endpoints"] == [["CONTROLLER", "n3", 9093]]
    assert (value["code"], value["message"]) == (126, "duplicate")


def test_a_voter_to_remove_is_known_by_the_leader(bench: Bench) -> None:
    bench.answers["remove_voter"] = VoterAnswer(0, None, 3)
    assert bench.operator.perform(RemoveVoter(controller(2)), 500).outcome is OK
    _, f, key, value = completion(bench)
    assert (f, key, value["directory_id"]) == ("remove-voter", 2, "two")
    assert "endpoints" not in value


def test_a_voter_whose_disk_is_gone_is_known_by_what_leaders_reported_before(bench: Bench) -> None:
    bench.answers["remove_voter"] = VoterAnswer(7, None, 3)
    bench.operator.perform(RemoveVoter(controller(2)), 500)
    home = bench.home(bench.nodes[1])
    home.disk.mkdir()
    (home.disk / "meta.properties").write_text(f"directory.id={DIRECTORY}\n")
    bench.snapshot = msgspec.structs.replace(bench.snapshot, quorum=QuorumAnswer(0, 1, 4, 7, (), ()))
    bench.answers["remove_voter"] = VoterAnswer(127, None, 3)
    performed = bench.operator.perform(RemoveVoter(controller(2)), 500)
    assert (performed.outcome, performed.codes) == (FAIL, (127,))
    assert bench.operations()[-1].value["directory_id"] == "two"


def test_every_second_request_for_a_voter_goes_to_the_leader_itself(bench: Bench) -> None:
    voters = (ReplicaState(1, "one", 8, 0, 0), ReplicaState(2, "two", 8, 0, 0))
    bench.snapshot = msgspec.structs.replace(bench.snapshot, quorum=QuorumAnswer(0, 1, 3, 7, voters, ()))
    bench.answers["remove_voter"] = VoterAnswer(7, None, 3)
    for _ in range(3):
        bench.operator.perform(RemoveVoter(controller(2)), 500)
    assert [o.node for o in bench.operations()[::2]] == ["n2", "n1", "n2"]


def test_a_voter_of_whom_nothing_is_known_is_not_asked_for(bench: Bench) -> None:
    performed = bench.operator.perform(RemoveVoter(controller(1)), 500)
    assert (performed.outcome, performed.error) == (FAIL, "the directory id of n1 is not known")
    assert bench.operations() == []


def test_the_leader_and_the_first_outsider_are_meant_by_their_roles(bench: Bench) -> None:
    voters = (ReplicaState(1, "one", 8, 0, 0), ReplicaState(2, "two", 8, 0, 0))
    bench.snapshot = msgspec.structs.replace(bench.snapshot, quorum=QuorumAnswer(0, 2, 3, 7, voters, ()))
    bench.answers["remove_voter"] = VoterAnswer(0, None, 3)
    bench.operator.perform(RemoveVoter(), 500)
    assert completion(bench)[2] == 2
    performed = bench.operator.perform(AddVoter(), 500)
    assert performed.error == "the directory id of n3 is not known"


@pytest.mark.parametrize(
    ("quorum", "why"),
    [
        (None, "no leader of the quorum is seen"),
        (
            QuorumAnswer(0, 1, 3, 7, tuple(ReplicaState(i, "x", 8, 0, 0) for i in (1, 2, 3)), ()),
            "no node fits",
        ),
    ],
)
def test_roles_that_nobody_has(bench: Bench, quorum: QuorumAnswer | None, why: str) -> None:
    bench.snapshot = msgspec.structs.replace(bench.snapshot, quorum=quorum)
    assert bench.operator.perform(AddVoter(), 500).error == why


def test_a_broker_is_offered_as_a_voter_by_its_own_listener(bench: Bench) -> None:
    del bench.controller_listeners["n2"]
    home = bench.home(bench.nodes[1])
    home.disk.mkdir()
    (home.disk / "meta.properties").write_text(f"directory.id={DIRECTORY}\n")
    bench.answers["add_voter"] = VoterAnswer(0, None, 3)
    bench.operator.perform(AddVoter(broker(2)), 500)
    assert completion(bench)[3]["endpoints"] == [["CONTROLLER", *bench.observe_listeners["n2"]]]


def test_a_reassignment_and_its_throttle(bench: Bench) -> None:
    answer = ReassignmentAnswer(0, None, (ReassignmentResult("t", 0, 0, None),))
    bench.answers["alter_reassignments"] = answer
    moving = Reassign((("t", 0, (2, 3)), ("u", 0, (2, 3))), throttle_bytes_per_s=1000)
    assert bench.operator.perform(moving, 500).codes == (0,)
    _, f, key, value = completion(bench)
    assert (f, key, value["throttle_bytes_per_s"]) == ("alter-reassignments", None, 1000)
    (limited, _) = bench.asked
    assert limited[0] == "set_throttle"
    assert (limited[1].bytes_per_s, limited[1].brokers) == (1000, (1, 2, 3))

    bench.operator.remove_throttles()
    bench.operator.remove_throttles()
    assert [asked[0] for asked in bench.asked].count("remove_throttle") == 1


def test_a_broker_whose_throttle_is_still_set_is_reported(bench: Bench) -> None:
    moving = Reassign((("t", 0, (2, 3)),), throttle_bytes_per_s=1000)
    bench.answers["alter_reassignments"] = ReassignmentAnswer(0, None, ())
    bench.operator.perform(moving, 500)
    bench.answers["remove_throttle"] = (3,)
    with pytest.raises(WireError, match="brokers 3 did not answer, so their throttles are still set"):
        bench.operator.remove_throttles()


def test_a_throttle_is_known_until_it_is_removed(bench: Bench) -> None:
    bench.answers["set_throttle"] = WireError("timed out")
    bench.answers["remove_throttle"] = WireError("timed out too")
    moving = Reassign((("t", 0, (2, 3)),), throttle_bytes_per_s=1000)
    performed = bench.operator.perform(moving, 500)  # and nobody was asked to move anything
    assert (performed.outcome, performed.error) == (FAIL, "the limits could not be set: timed out")
    for _ in range(2):
        with pytest.raises(WireError, match="too"):
            bench.operator.remove_throttles()


@pytest.mark.parametrize(
    ("operation", "name", "f", "key"),
    [
        (UpdateFeature("kraft.version", 1), "update_feature", "update-feature", "kraft.version"),
        (AlterTopic("t", "retention.ms", "5"), "alter_topic", "alter-topic", "t"),
        (AlterBrokers("message.max.bytes", "5"), "alter_brokers", "alter-brokers", "message.max.bytes"),
        (AlterGroup("g", "share.auto.offset.reset", "latest"), "alter_group", "alter-group", "g"),
        (AddPartitions(8, "t"), "add_partitions", "create-partitions", "t"),
    ],
)
def test_settings(bench: Bench, operation: AdminOperation, name: str, f: str, key: str) -> None:
    bench.answers[name] = SettingAnswer(42, None)
    assert bench.operator.perform(operation, 500).outcome is FAIL
    assert completion(bench)[1:3] == (f, key)
    bench.answers[name] = SettingAnswer(0, None)
    assert bench.operator.perform(operation, 500).outcome is OK


def test_a_feature_is_raised_to_the_newest_level_that_the_asked_broker_supports(bench: Bench) -> None:
    bench.answers |= {"newest_level": 29, "update_feature": SettingAnswer(0, None)}
    assert bench.operator.perform(UpdateFeature("metadata.version"), 500).outcome is OK
    assert bench.asked[-2:] == [
        ("newest_level", "metadata.version"),
        ("update_feature", FeatureUpdate("metadata.version", 29), 500),
    ]
    begun, _ = bench.operations()
    assert (begun.key, begun.value) == ("metadata.version", {"to": "n2", "level": 29})


def test_a_feature_is_lowered_by_the_requested_type_or_only_checked(bench: Bench) -> None:
    bench.answers |= {"update_feature": SettingAnswer(95, "no")}
    lowered = UpdateFeature("transaction.version", 1, UpgradeType.SAFE_DOWNGRADE, validate_only=True)
    assert bench.operator.perform(lowered, 500).outcome is FAIL
    update = FeatureUpdate("transaction.version", 1, UpgradeType.SAFE_DOWNGRADE, validate_only=True)
    assert bench.asked[-1] == ("update_feature", update, 500)
    begun, ended = bench.operations()
    asked = {"to": "n2", "level": 1, "upgrade_type": "safe-downgrade", "validate_only": True}
    assert begun.value == asked
    assert ended.value.items() >= (asked | {"code": 95, "message": "no"}).items()


def test_a_feature_of_unknown_levels_is_not_raised(bench: Bench) -> None:
    bench.answers["newest_level"] = WireError("timed out")
    performed = bench.operator.perform(UpdateFeature("metadata.version"), 500)
    error = "n2 reports no level of metadata.version: timed out"
    assert (performed.outcome, performed.error) == (FAIL, error)
    assert bench.operations() == []


def with_registration(bench: Bench, node: Node, broker_id: int, epoch: int) -> None:
    log = bench.home(node).disk / "__cluster_metadata-0"
    log.mkdir(parents=True)
    (log / f"{0:020}.log").write_bytes(batch(epoch, [registration(broker_id, epoch)]))


def test_a_late_heartbeat_has_the_epoch_in_the_log_of_the_active_controller(bench: Bench) -> None:
    with_registration(bench, bench.nodes[0], 3, 5)
    with_registration(bench, bench.nodes[1], 3, 6)
    answer = HeartbeatAnswer(0, is_caught_up=True, is_fenced=False, should_shut_down=False)
    bench.answers["send_heartbeat"] = answer
    performed = bench.operator.perform(LateHeartbeat(broker(3)), 500)
    assert (performed.outcome, performed.codes, performed.error) == (OK, (0,), None)
    begun, ended = bench.operations()
    assert (begun.f, begun.key, begun.node) == ("late-heartbeat", 3, "n1")
    assert begun.value == {"to": "n1", "epoch": 5, "metadata_offset": 7}
    expected = {"code": 0, "is_caught_up": True, "is_fenced": False, "should_shut_down": False}
    assert ended.value == begun.value | expected | {"took_ms": ended.value["took_ms"]}
    assert bench.asked == [("send_heartbeat", Heartbeat(3, 5, 7), 500)]


def test_a_late_heartbeat_may_be_refused(bench: Bench) -> None:
    with_registration(bench, bench.nodes[0], 3, 5)
    answer = HeartbeatAnswer(77, is_caught_up=False, is_fenced=True, should_shut_down=False)
    bench.answers["send_heartbeat"] = answer
    performed = bench.operator.perform(LateHeartbeat(broker(3)), 500)
    assert (performed.outcome, performed.codes, performed.error) == (FAIL, (77,), "Kafka answered 77")


def test_a_heartbeat_of_a_broker_that_is_not_known_well_enough_is_not_sent(bench: Bench) -> None:
    assert "the metadata log of n1 can't be read" in (
        bench.operator.perform(LateHeartbeat(broker(3)), 500).error or ""
    )
    with_registration(bench, bench.nodes[0], 2, 5)
    performed = bench.operator.perform(LateHeartbeat(broker(3)), 500)
    assert (performed.outcome, performed.error) == (FAIL, "no registration of n3 is in the log of n1")
    bench.snapshot = msgspec.structs.replace(bench.snapshot, quorum=None)
    assert bench.operator.perform(LateHeartbeat(broker(3)), 500).error == "no leader of the quorum is seen"
    with pytest.raises(LookupError, match="there is no broker 9"):
        bench.operator.perform(LateHeartbeat(broker(9)), 500)
    assert bench.operations() == []


def test_partitions_are_known_once_their_addition_is_acknowledged(bench: Bench) -> None:
    bench.snapshot = grown(bench.snapshot, TopicSize("log-0", 6, 6))
    for code, outcome, known in ((37, INFO, 0), (7, INFO, 0), (40, FAIL, 0), (0, OK, 8)):
        bench.answers["add_partitions"] = SettingAnswer(code, None)
        assert bench.operator.perform(AddPartitions(8), 500).outcome is outcome
        assert bench.sizes.of("log-0") == known
    bench.answers["add_partitions"] = WireError("timed out")
    assert bench.operator.perform(AddPartitions(9), 500).outcome is INFO
    assert bench.sizes.of("log-0") == 8
    assert bench.asked[-1] == ("add_partitions", "log-0", 9, 500)
    assert {(o.f, o.key) for o in bench.operations()} == {("create-partitions", "log-0")}


def test_of_no_topic_nothing_is_asked(bench: Bench) -> None:
    performed = bench.operator.perform(AddPartitions(8), 500)
    assert (performed.outcome, performed.error) == (FAIL, "the workload's topics are not known")


def test_nobody_answers(bench: Bench) -> None:
    bench.snapshot = msgspec.structs.replace(bench.snapshot, down=frozenset({"n2", "n3"}))
    performed = bench.operator.perform(ElectLeaders(ElectionType.PREFERRED), 500)
    assert (performed.outcome, performed.error) == (FAIL, "no broker answers")


def test_nothing_fits(bench: Bench) -> None:
    bench.snapshot = msgspec.structs.replace(bench.snapshot, reported={})
    assert bench.operator.perform(ReassignSome(), 500).error == "there is nothing to request"


def test_what_moves_is_asked_before_a_move_is_drawn(bench: Bench) -> None:
    bench.snapshot = msgspec.structs.replace(bench.snapshot, ongoing=())
    bench.answers["list_reassignments"] = (Ongoing("t", 0, (1, 2, 3), (3,), (1, 2)),)
    for draw in range(20):  # whatever is drawn would take the removal of 1 and 2 back, or leave one copy
        assert bench.operator.perform(ReassignSome(draw), 500).error == "there is nothing to request"
    assert bench.asked == [("list_reassignments", 500)] * 20


def test_no_move_is_drawn_where_nobody_reports_what_moves(bench: Bench) -> None:
    bench.snapshot = msgspec.structs.replace(bench.snapshot, ongoing=())
    bench.answers["list_reassignments"] = WireError("timed out")
    assert bench.operator.perform(ReassignSome(), 500).error == "there is nothing to request"


def test_acts_are_performed_at_their_times(bench: Bench) -> None:
    bench.answers["alter_topic"] = SettingAnswer(0, None)
    acts = tuple(TimedOperation(at, AlterTopic("t", "c", str(at))) for at in (40, 0, 3_600_000))
    acting = TimedOperations(bench.operator, acts, Clock())
    acting.start()
    wait_until(lambda: len(bench.operations()) >= 4)
    acting.stopping.set()
    acting.join(BOUND_S)
    assert not acting.is_alive()
    assert acting.performed == [OK, OK]
    assert [o.value["value"] for o in bench.operations() if o.type is OK] == ["0", "40"]


def test_a_registration_is_removed_by_a_broker_or_by_the_leader(bench: Bench) -> None:
    bench.answers["unregister_broker"] = UnregistrationAnswer(0, None, forwarded=True)
    assert bench.operator.perform(UnregisterBroker(broker(3)), 500).outcome is OK
    bench.answers["unregister_controller"] = UnregistrationAnswer(136, "no", forwarded=False)
    performed = bench.operator.perform(UnregisterController(controller(2)), 500)
    assert (performed.outcome, performed.codes) == (FAIL, (136,))
    assert bench.asked == [("unregister_broker", 3, 500), ("unregister_controller", 2, 500)]
    first, _, second, ended = bench.operations()
    assert (first.f, first.key, first.value) == ("unregister-broker", 3, {"to": "n2"})
    assert (second.f, second.key, second.value) == ("unregister-controller", 2, {"to": "n1"})
    assert ended.value.items() >= {"to": "n1", "code": 136, "message": "no"}.items()


def test_a_config_of_one_broker_is_removed_at_the_end(bench: Bench) -> None:
    bench.answers["alter_broker"] = SettingAnswer(0, None)
    cordon = AlterBroker(broker(3), "cordoned.log.dirs", "*")
    assert bench.operator.perform(cordon, 500).outcome is OK
    begun, ended = bench.operations()
    asked = {"to": "n3", "config": "cordoned.log.dirs", "value": "*"}
    assert (begun.f, begun.key, begun.value) == ("alter-broker", 3, asked)
    assert ended.value.items() >= (asked | {"code": 0}).items()
    bench.answers["alter_broker"] = SettingAnswer(41, None)
    with pytest.raises(WireError, match=r"cordoned\.log\.dirs of broker 3 is still set: Kafka answered 41"):
        bench.operator.remove_broker_configs()
    bench.answers["alter_broker"] = SettingAnswer(0, None)
    bench.operator.remove_broker_configs()
    bench.operator.remove_broker_configs()
    removal = ("alter_broker", 3, "cordoned.log.dirs", None)
    assert bench.asked == [("alter_broker", 3, "cordoned.log.dirs", "*"), removal, removal]


def test_a_broker_that_is_gone_does_not_keep_the_config_of_another_one(bench: Bench) -> None:
    bench.answers["alter_broker"] = SettingAnswer(0, None)
    living = bench.observe_listeners["n2"]
    bench.observe_listeners["n1"] = living
    for number in (1, 3):
        assert (
            bench.operator.perform(AlterBroker(broker(number), "cordoned.log.dirs", "*"), 500).outcome is OK
        )
    bench.observe_listeners["n1"] = ("127.0.0.1", 9)
    bench.asked.clear()
    with pytest.raises(WireError, match="n1 does not answer"):
        bench.operator.remove_broker_configs()
    assert bench.asked == [("alter_broker", 3, "cordoned.log.dirs", None)]
    bench.observe_listeners["n1"] = living
    bench.operator.remove_broker_configs()
    assert bench.asked[1:] == [("alter_broker", 1, "cordoned.log.dirs", None)]


def test_a_config_that_was_refused_is_not_removed(bench: Bench) -> None:
    bench.answers["alter_broker"] = SettingAnswer(40, "no")
    assert bench.operator.perform(AlterBroker(broker(3), "cordoned.log.dirs", "x"), 500).outcome is FAIL
    bench.operator.remove_broker_configs()
    assert len(bench.asked) == 1
