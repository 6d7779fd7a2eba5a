"""Reassignments on a real cluster, from the command line: throttled, cancelled midway, overridden, done."""

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from kafka.protocol.admin import DescribeConfigsRequest, DescribeConfigsResponse

from harness import cli
from harness.administration.reassignments import alter_reassignments, log_sizes
from harness.administration.throttles import FOLLOWERS, LEADERS, RATES
from harness.cluster.cluster import Cluster
from harness.kafka.answers import TopicAnswer
from harness.kafka.endpoint import Endpoint
from harness.kafka.topics import NewTopic, acknowledges_write, create_topic, delete_topic
from harness.kafka.wire import Connection
from tests.harness.waiting import wait_until

pytestmark = pytest.mark.cluster
NAME = "moved"
RECORD = bytes(900_000)
RECORDS = 6
THROTTLE = "20000"
"""Bytes a second: all the records take more than four minutes, of which none is waited for."""


class Shell:
    """Types commands for the cluster and looks at it by itself."""

    def __init__(self, cluster: Cluster, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.cluster = cluster
        self.folder = folder
        self.brokers = {node.id: cluster.observe_listeners[node.name] for node in cluster.nodes}
        self._capsys = capsys

    def __call__(self, *words: str) -> tuple[int, str]:
        """Exit code, and what was printed."""
        self._capsys.readouterr()
        code = cli.invoke(["reassign", *words, "--cluster", str(self.cluster.folder)])
        output = self._capsys.readouterr()
        return code, output.out + output.err

    def execute(self, partition: int, replicas: list[int], *words: str) -> tuple[int, str]:
        plan = {"version": 1, "partitions": [{"topic": NAME, "partition": partition, "replicas": replicas}]}
        (self.folder / "plan.json").write_text(json.dumps(plan))
        return self("execute", "--file", str(self.folder / "plan.json"), *words)

    def status(self, *words: str) -> dict[str, Any]:
        """Of the request's one partition."""
        code, output = self("progress", "--json", *words)
        assert code == 0
        (status,) = json.loads(output)["partitions"]
        return dict(status)

    def await_status(self, enough: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        def fitting() -> dict[str, Any] | None:
            status = self.status()
            return status if enough(status) else None

        return wait_until(fitting)

    def topic(self) -> TopicAnswer:
        with closing(Endpoint(*self.brokers[1], timeout_s=30.0)) as endpoint:
            return endpoint.cluster([NAME]).topics[NAME]

    def await_replicas(self, *wanted: int) -> None:
        """The broker that is asked learns of them a moment after the controller answered."""
        wait_until(lambda: self.topic().partitions[0].replicas == wanted)

    def await_throttles(self, wanted: dict[str, str]) -> None:
        """Every broker learns of its own and of the topic's a moment after the controller."""
        wait_until(lambda: self.throttles() == wanted)

    def throttles(self) -> dict[str, str]:
        """What limits there are, of brokers and of the topic, by resource and config."""
        found: dict[str, str] = {}
        for broker, address in self.brokers.items():
            found |= {f"{broker} {k}": v for k, v in configs(address, 4, str(broker), RATES).items()}
        return found | configs(self.brokers[1], 2, NAME, (LEADERS, FOLLOWERS))


def configs(address: tuple[str, int], kind: int, name: str, keys: tuple[str, ...]) -> dict[str, str]:
    """Those of some configs that have a value of their own (sources 1, of a topic, and 2, of a broker)."""
    one = DescribeConfigsRequest.DescribeConfigsResource
    resource = one(resource_type=kind, resource_name=name, configuration_keys=list(keys))
    with Connection(*address, 30.0) as connection:
        answer = connection.ask(DescribeConfigsRequest(resources=[resource]), DescribeConfigsResponse)
    (result,) = answer.results
    assert result.error_code == 0, result.error_message
    return {config.name: config.value for config in result.configs if config.config_source in (1, 2)}


@pytest.fixture
def shell(three_nodes: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Shell]:
    made = Shell(three_nodes, tmp_path, capsys)
    wanted = NewTopic(NAME, assignments=((1, 2), (1, 2)), config={"min.insync.replicas": "1"})
    create_topic(list(made.brokers.values()), wanted)
    wait_until(lambda: not made.topic().error)  # it is another broker, perhaps, that reported it
    yield made
    delete_topic(made.brokers[1], NAME)


def is_midway(status: dict[str, Any]) -> bool:
    (received,) = status["receiving"]
    return bool(received["percentage"] and 0 < received["percentage"] < 100)


def test_reassignments_begin_override_are_cancelled_and_end(shell: Shell) -> None:
    for _ in range(RECORDS):
        wait_until(lambda: acknowledges_write(shell.brokers[1], shell.topic(), 0, RECORD))

    # Refused: a broker and a partition that nobody knows, and an end of what never began.
    code, output = shell.execute(0, [1, 9])
    assert (code, "INVALID_REPLICA_ASSIGNMENT (39)" in output) == (1, True)
    code, output = shell.execute(7, [1, 2])
    assert (code, "UNKNOWN_TOPIC_OR_PARTITION (3)" in output) == (1, True)
    answer = alter_reassignments(shell.brokers[2], [(NAME, 0, None)], 30_000)
    assert [one.code for one in answer.results] == [85]

    # Expand under a throttle, see it midway, and that it goes on.
    code, output = shell.execute(0, [1, 2, 3], "--throttle", THROTTLE)
    number = output.split()[1]
    assert (code, output) == (0, f"request {number}\n  {NAME}/0  accepted\n")
    midway = shell.await_status(is_midway)
    assert (midway["state"], midway["receiving"][0]["broker"]) == ("ongoing", 3)
    assert midway["receiving"][0]["denominator"] > RECORDS * len(RECORD)
    assert shell("verify")[0] == 2
    assert "adding 3  removing none" in shell("list")[1]
    rates = {f"{broker} {rate}": THROTTLE for broker in (1, 2, 3) for rate in RATES}
    shell.await_throttles({**rates, LEADERS: "0:1,0:2", FOLLOWERS: "0:3"})

    # Another request overrides it; cancelled midway, it gives back the replicas from before both.
    assert shell.execute(0, [1, 3], "--throttle", THROTTLE)[0] == 0
    assert (shell.status()["state"], shell.status("--request", number)["state"]) == ("ongoing", "overridden")
    code, output = shell("cancel")
    assert (code, "accepted" in output, "throttles removed" in output) == (0, True, True)
    assert shell.status()["state"] == "cancelled"
    shell.await_replicas(1, 2)
    assert shell.throttles()["3 " + RATES[0]] == THROTTLE
    assert shell("verify", "--request", number)[0] == 1
    shell.await_throttles({})

    # Move, expand and shrink; everything arrives.
    for wanted in ([3, 2], [3, 2, 1], [1]):
        assert shell.execute(0, wanted, "--throttle", "100000000")[0] == 0
        status = shell.await_status(lambda status: status["state"] != "ongoing")
        assert status["state"] == "complete"
        assert shell("verify")[0] == 0
        shell.await_replicas(*wanted)
    (log,) = log_sizes(shell.brokers[1], 1, [(NAME, 0)])
    assert log.size_bytes > RECORDS * len(RECORD)
    assert shell("cancel")[0] == 1
    shell.await_throttles({})
