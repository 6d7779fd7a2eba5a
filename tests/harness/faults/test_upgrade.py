"""Upgrades: the node's image is replaced while it is down, and its log proves the version that runs."""

from typing import Any, cast

import pytest

from checkers.history.faults import ResolvedBy
from harness.cluster.containers import NodeContainers
from harness.faults import process, upgrade
from harness.faults.activate import activate
from harness.faults.contract import ActiveFault, Bench, NotConfirmedError
from harness.faults.targets import Resolved
from harness.record.ledger import Undo
from harness.vocabulary import Topology, Upgrade

IMAGES = {"3.9.0": "kafka:3.9.0", "4.3.1": "kafka:4.3.1"}


class Node:
    """A node whose image can be replaced; it logs the version of the image that it was started from."""

    def __init__(self) -> None:
        self.running, self.image, self.log = True, IMAGES["3.9.0"], b""
        self.log_format = "Kafka version: {} (org.apache.kafka.common.utils.AppInfoParser)"
        self.done: list[str] = []

    def stop(self, timeout_s: int) -> None:
        assert timeout_s == process.STOP_BOUND_S
        self.done.append("stop")
        self.running = False

    def replace(self, image: str) -> None:
        assert not self.running
        self.done.append("replace")
        self.image = image

    def start(self) -> None:
        self.running = True
        self.done.append("start")
        self.log = self.log_format.format(self.image.partition(":")[2]).encode()

    def state(self) -> dict[str, Any]:
        return {"Running": self.running, "ExitCode": 143}

    def logs_of_version(self) -> bytes:
        return self.log


@pytest.fixture
def node(monkeypatch: pytest.MonkeyPatch) -> Node:
    made = Node()
    monkeypatch.setattr(process, "answers", lambda *_, **__: made.running)
    monkeypatch.setattr(upgrade, "PROBE_BOUND_S", 0.0)
    return made


def fault(node: Node, spec: Upgrade) -> ActiveFault:
    (first, *_) = Topology().nodes()
    containers = {"n1": cast("NodeContainers", node)}
    bench = Bench((first,), containers, {"n1": "10.0.0.1"}, {}, images=IMAGES, version="4.3.1")
    return activate(spec, "f1", Resolved(first, ResolvedBy.NAME), bench)


def test_a_node_comes_back_with_the_runs_version(node: Node) -> None:
    active = fault(node, Upgrade())
    active.inject()
    expected = {"exit_code": 143, "hard": False, "version": "4.3.1", "image": "kafka:4.3.1"}
    assert active.took_effect() == expected
    active.heal()
    healed = active.healed()
    assert (healed["answers"], healed["version"]) == (True, "4.3.1")
    assert node.done == ["stop", "replace", "start"]


def test_a_downgrade_names_its_version(node: Node) -> None:
    active = fault(node, Upgrade(version="3.9.0"))
    active.inject()
    assert active.took_effect()["version"] == "3.9.0"
    active.heal()
    assert active.healed()["version"] == "3.9.0"


def test_an_image_that_was_not_replaced_is_no_upgrade(node: Node) -> None:
    active = fault(node, Upgrade())
    active.inject()
    node.image = "kafka:3.9.0"
    with pytest.raises(NotConfirmedError, match=r"n1 has the image kafka:3\.9\.0"):
        active.took_effect()


@pytest.mark.parametrize(
    ("log_format", "message"),
    [
        ("Kafka version: 3.9.0 (AppInfoParser)", "n1 logged version 3.9.0, not 4.3.1"),
        ("Kafka version: unknown (AppInfoParser)", "n1 logged version None, not 4.3.1"),
        ("", "n1 logged version None, not 4.3.1"),
    ],
)
def test_a_node_that_does_not_log_the_version_is_not_believed(
    node: Node, log_format: str, message: str
) -> None:
    node.log_format = log_format
    active = fault(node, Upgrade())
    active.inject()
    active.heal()
    with pytest.raises(NotConfirmedError, match=message):
        active.healed()


def test_without_a_majority_the_image_alone_shows_the_version(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "answers", lambda *_, **__: False)
    monkeypatch.setattr(process, "PROBE_BOUND_S", 0.0)
    node.log_format = ""
    active = fault(node, Upgrade())
    active.inject()
    active.heal()
    healed = active.healed()
    assert (healed["answers"], healed["version"]) == (False, None)


def test_a_candidate_logs_its_version_without_the_suffix(node: Node) -> None:
    (first, *_) = Topology().nodes()
    images, containers = {"4.4.0-rc1": "kafka:4.4.0"}, {"n1": cast("NodeContainers", node)}
    bench = Bench((first,), containers, {"n1": "10.0.0.1"}, {}, images=images, version="4.4.0-rc1")
    active = activate(Upgrade(), "f1", Resolved(first, ResolvedBy.NAME), bench)
    active.inject()
    active.heal()
    assert active.healed()["version"] == "4.4.0"


def test_it_is_a_stop_that_a_start_undoes_and_that_chance_does_not_draw(node: Node) -> None:
    spec = Upgrade()
    assert (spec.takes_process, spec.exits_cleanly, spec.wipes, spec.drawn) == (True, True, False, False)
    assert fault(node, spec).undo == (Undo(action="start", node="n1"),)
