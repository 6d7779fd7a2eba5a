"""A Kafka tool's container: what it is given, and that it can be found by the run's labels."""

from types import SimpleNamespace
from typing import Any, cast

import pytest
from docker import DockerClient

from harness.cluster.containers import FOLDER_LABEL, KEPT_LABEL, OWNER_LABEL, PART_LABEL, RUN_LABEL
from harness.cluster.tools import FILES_AT, run_tool
from harness.errors import EngineError

LABELS = {RUN_LABEL: "r1", OWNER_LABEL: "7", FOLDER_LABEL: "/a", KEPT_LABEL: "false"}


class Engine:
    """An engine that has these containers and remembers what it ran."""

    def __init__(self, *found: SimpleNamespace) -> None:
        self.found = list(found)
        self.filters: dict[str, Any] = {}
        self.ran: dict[str, Any] = {}
        self.containers = SimpleNamespace(list=self._list, run=self._run)
        self.client = cast("DockerClient", self)

    def _list(self, *, filters: dict[str, Any], **_: object) -> list[SimpleNamespace]:
        self.filters = filters
        return self.found

    def _run(self, image: str, command: list[str], **options: Any) -> bytes:
        self.ran = {"image": image, "command": command, **options}
        return b"what it said \xff"


def test_it_has_the_nodes_image_and_user_and_the_runs_labels(tmp_path: Any) -> None:
    config = {"Image": "krucible/kafka:x", "User": "1000:1000"}
    node = SimpleNamespace(attrs={"Config": config}, labels=LABELS | {PART_LABEL: "kafka"})
    engine = Engine(node)

    said = run_tool(engine.client, "r1", tmp_path, ["kafka.tools.X", "--files", "a"])

    assert said == "what it said \ufffd"
    assert engine.filters == {"label": [f"{RUN_LABEL}=r1", f"{PART_LABEL}=kafka"]}
    assert engine.ran["command"] == [
        "@/opt/krucible/kafka.args", "-Xmx128m", "kafka.tools.X", "--files", "a",
    ]  # fmt: skip
    assert (engine.ran["image"], engine.ran["user"]) == ("krucible/kafka:x", "1000:1000")
    assert engine.ran["labels"] == LABELS
    assert engine.ran["volumes"] == {str(tmp_path): {"bind": FILES_AT, "mode": "ro"}}
    assert engine.ran["network_mode"] == "none"
    assert engine.ran["cpu_shares"] > 1024, "more than a node of the next cluster, which may be starting"
    assert engine.ran["remove"] is True


def test_without_a_node_there_is_no_image_to_run(tmp_path: Any) -> None:
    with pytest.raises(EngineError, match="no node"):
        run_tool(Engine().client, "r1", tmp_path, ["kafka.tools.X"])
