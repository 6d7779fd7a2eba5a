"""Elections on a real cluster: every error code that one can be made to answer, and what was elected."""

import json
from collections.abc import Callable, Iterator

import pytest
from kafka.protocol.admin import CreateAclsRequest, CreateAclsResponse
from kafka.protocol.admin.topics import ElectLeadersRequest, ElectLeadersResponse

from checkers.history.observed import PartitionAnswer
from harness.administration import elections
from harness.administration.elections import elect_leaders
from harness.cli import invoke
from harness.cluster.cluster import Cluster
from harness.kafka.endpoint import Endpoint
from harness.kafka.topics import NewTopic, create_topic, delete_topic
from harness.kafka.wire import Connection, WireError, answers
from harness.run.readiness import await_ready
from harness.vocabulary import Topology
from harness.vocabulary.administration import ElectionType
from tests.harness.waiting import wait_until

from .conftest import StartCluster

pytestmark = pytest.mark.cluster
PREFERRED, UNCLEAN = ElectionType.PREFERRED, ElectionType.UNCLEAN
TOPICS = {
    "everywhere": ((1, 2, 3), (2, 3, 1), (3, 1, 2)),
    "pair": ((3, 1),),
    "alone": ((3,),),
}
BOUND_S = 120.0
CLUSTER, LITERAL, DENY, ALLOW, ALL_OPERATIONS, ALTER = 4, 3, 2, 3, 2, 7


def until(condition: Callable[[], bool], what: str) -> None:
    """Wait until something is so; a node that does not answer is asked again."""

    def answered() -> bool:
        try:
            return condition()
        except WireError:
            return False

    try:
        wait_until(answered, BOUND_S)
    except AssertionError as error:
        raise AssertionError(what) from error


class Electorate:
    """The shared cluster with topics of its own; node n2 is the one that is always up, and asked."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.address = cluster.observe_listeners["n2"]

    def election_code(self, election: ElectionType, topic: str, partition: int = 0) -> int:
        """The code of one partition's election, where the request as a whole was taken."""
        answer = elect_leaders(self.address, election, [(topic, partition)], 20_000)
        (result,) = answer.results
        assert (answer.code, result.topic, result.partition) == (0, topic, partition)
        return result.code

    def of_all(self) -> dict[tuple[str, int], int]:
        """The codes of a preferred election of all partitions."""
        answer = elect_leaders(self.address, PREFERRED, None, 20_000)
        assert answer.code == 0
        return {(result.topic, result.partition): result.code for result in answer.results}

    def sees(self, topic: str, partition: int = 0) -> PartitionAnswer:
        endpoint = Endpoint(*self.address)
        try:
            return endpoint.cluster([topic]).topics[topic].partitions[partition]
        finally:
            endpoint.close()

    def until_seen(self, topic: str, partition: int, wanted: Callable[[PartitionAnswer], bool]) -> None:
        """Wait until a partition looks as wanted."""
        until(lambda: wanted(self.sees(topic, partition)), f"{topic}-{partition}")

    def until_nobody_leads(self) -> None:
        """Wait until the node that is up is no active controller, should it have been."""
        endpoint = Endpoint(*self.cluster.controller_listeners["n2"])
        try:
            until(lambda: endpoint.quorum().error != 0, "n2 leads")
        finally:
            endpoint.close()

    def codes_of_controllers(self, timeout_ms: int) -> list[int]:
        """What the controllers say of the request when they are asked without a broker between."""
        listeners = self.cluster.controller_listeners.values()
        answered = (elect_leaders(address, PREFERRED, [("alone", 0)], timeout_ms) for address in listeners)
        return sorted(answer.code for answer in answered)


@pytest.fixture
def electorate(three_nodes: Cluster) -> Iterator[Electorate]:
    for name, assignments in TOPICS.items():
        brokers = list(three_nodes.observe_listeners.values())
        create_topic(brokers, NewTopic(name, assignments=assignments, config={"min.insync.replicas": "1"}))
    yield Electorate(three_nodes)
    for node in three_nodes.containers.values():
        if not node.state()["Running"]:
            node.start()
    await_ready(three_nodes)
    for name in TOPICS:
        delete_topic(three_nodes.observe_listeners["n2"], name)


def test_every_code_that_can_be_reached_is(
    electorate: Electorate, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster, nodes = electorate.cluster, electorate.cluster.containers

    # While all is well nothing needs an election, and an unclean one does not replace a leader that lives.
    assert electorate.election_code(PREFERRED, "everywhere") == 84
    assert electorate.election_code(UNCLEAN, "everywhere") == 84
    assert electorate.election_code(PREFERRED, "nowhere") == 3
    assert electorate.election_code(UNCLEAN, "everywhere", 99) == 3
    assert electorate.of_all() == {}
    assert of_unknown_type(electorate.address) == (42, 42)
    assert electorate.codes_of_controllers(20_000) == [0, 41, 41]
    with monkeypatch.context() as patience:
        patience.setattr(elections, "ANSWER_SLACK_S", 30.0)
        assert electorate.codes_of_controllers(0) == [7, 7, 7]
        assert elect_leaders(electorate.address, PREFERRED, [("alone", 0)], 0).code == 7

    # The preferred replica is down.
    nodes["n1"].stop(30)
    electorate.until_seen("everywhere", 0, lambda seen: seen.leader == 2)
    electorate.until_seen("pair", 0, lambda seen: seen.isr == (3,))
    assert electorate.election_code(PREFERRED, "everywhere") == 80
    assert electorate.of_all() == {("everywhere", 0): 80}

    # Two of three are down: no controller, so no answer, once the last one has found that it leads nobody.
    nodes["n3"].kill()
    electorate.until_nobody_leads()
    with pytest.raises(WireError, match="timed out"):
        elect_leaders(electorate.address, UNCLEAN, [("pair", 0)], 500)

    # The one that was not in sync is back, the one that was is not.
    nodes["n1"].start()
    electorate.until_seen("pair", 0, lambda seen: seen.leader == -1)
    electorate.until_seen("everywhere", 2, lambda seen: set(seen.isr) == {1, 2})
    assert electorate.election_code(UNCLEAN, "alone") == 83
    assert electorate.election_code(PREFERRED, "pair") == 80
    assert electorate.election_code(UNCLEAN, "pair") == 0
    electorate.until_seen("pair", 0, lambda seen: (seen.leader, seen.isr) == (1, (1,)))
    assert electorate.election_code(UNCLEAN, "pair") == 84

    # All are back: the preferred ones lead again, by hand.
    nodes["n3"].start()
    electorate.until_seen("everywhere", 2, lambda seen: set(seen.isr) == {1, 2, 3} and seen.leader != 3)
    wait_until(lambda: answers(*cluster.controller_listeners["n3"], 5.0))
    words = ["elect", "--type", "preferred", "--topic", "everywhere", "--partition", "2", "--json"]
    assert invoke([*words, "--cluster", str(cluster.folder)]) == 0
    assert json.loads(capsys.readouterr().out)["tally"]["elected"] == 1
    electorate.until_seen("everywhere", 2, lambda seen: seen.leader == 3)


def test_who_may_not_alter_the_cluster_is_refused(
    launch: StartCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    config = {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "allow.everyone.if.no.acl.found": "true",
    }
    cluster = launch(Topology(controllers=1, brokers=1, config=config))
    (address,) = cluster.observe_listeners.values()
    # The first keeps the node itself going once there are rules, the second stands above it.
    for rule in ((ALLOW, ALL_OPERATIONS), (DENY, ALTER)):
        assert rule_added(address, *rule) == 0

    # The authorizer learns of rules a moment after they are committed.
    until(lambda: elect_leaders(address, PREFERRED, None, 20_000).code == 31, "the rule holds")
    words = ["elect", "--type", "preferred", "--topic", "nowhere", "--partition", "0"]
    assert invoke([*words, "--bootstrap-server", cluster.bootstrap[0]]) == 1
    assert "the request was refused: CLUSTER_AUTHORIZATION_FAILED (31)" in capsys.readouterr().out


def rule_added(address: tuple[str, int], permission: int, operation: int) -> int:
    """The code of a new rule for everybody about the cluster (KIP-140)."""
    rule = CreateAclsRequest.AclCreation(
        resource_type=CLUSTER,
        resource_name="kafka-cluster",
        resource_pattern_type=LITERAL,
        principal="User:*",
        host="*",
        operation=operation,
        permission_type=permission,
    )
    with Connection(*address, 30.0) as connection:
        answer = connection.ask(CreateAclsRequest(creations=[rule]), CreateAclsResponse)
    code: int = answer.results[0].error_code
    return code


def of_unknown_type(address: tuple[str, int]) -> tuple[int, int]:
    """The codes of the request and its partition where the type is none of KIP-460's."""
    one = ElectLeadersRequest.TopicPartitions(topic="everywhere", partitions=[0])
    request = ElectLeadersRequest(election_type=5, topic_partitions=[one], timeout_ms=5000)
    with Connection(*address, 30.0) as connection:
        answer = connection.ask(request, ElectLeadersResponse)
    return answer.error_code, answer.replica_election_results[0].partition_result[0].error_code
