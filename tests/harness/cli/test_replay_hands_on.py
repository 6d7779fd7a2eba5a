"""What is printed of a cluster that is up, and what is left for starting it by hand."""

from pathlib import Path

import msgspec
import pytest

from harness.cli.clusters import hands_on
from harness.cluster.cluster import Description, describe, make_mount_points
from harness.cluster.rendering import new_layout
from harness.errors import KrucibleError
from harness.vocabulary import Mode, Topology

ISOLATED = Topology(mode=Mode.ISOLATED, log_dirs=2)


def described(folder: Path, version: str) -> Path:
    layout = new_layout("0a1b2c3d", "10.213.9.0/24", ISOLATED)
    record = msgspec.json.encode(Description("0a1b2c3d", version, ISOLATED, layout))
    (folder / "cluster.json").write_bytes(record)
    return folder


@pytest.fixture(autouse=True)
def _compose(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hands_on, "compose_binary", lambda: ("docker-compose",))


@pytest.mark.parametrize(
    ("version", "tool"),
    [("3.6.2", "kafka.admin.TopicCommand"), ("3.7.0", "org.apache.kafka.tools.TopicCommand")],
)
def test_commands_are_whole_and_go_to_a_broker(tmp_path: Path, version: str, tool: str) -> None:
    text = hands_on.hands_on(described(tmp_path, version))
    commands = dict(line.strip().split(maxsplit=1) for line in text.splitlines() if "from here" not in line)
    servers = "10.213.9.14:9092,10.213.9.15:9092,10.213.9.16:9092"
    assert commands["bootstrap"] == servers
    assert commands["enter"] == "docker exec -it krucible-0a1b2c3d-b1 bash"
    assert commands["topics"] == (
        f"docker exec krucible-0a1b2c3d-b1 java @/opt/krucible/tools.args {tool}"
        f" --bootstrap-server {servers} --describe | grep Topic:"
    )
    assert commands["quorum"] == f"krucible quorum describe --bootstrap-server {servers}"
    assert f"docker-compose -p krucible-0a1b2c3d -f {tmp_path}/compose.yaml up -d" in text
    assert text.endswith("krucible cluster down 0a1b2c3d")


def test_a_folder_without_a_cluster_is_reported(tmp_path: Path) -> None:
    with pytest.raises(KrucibleError, match="describes no cluster"):
        hands_on.hands_on(tmp_path)


def test_what_the_compose_file_mounts_is_there_and_empty(tmp_path: Path) -> None:
    make_mount_points(tmp_path, describe(described(tmp_path, "4.3.1")).topology)
    names = {path.name for path in (tmp_path / "disks").iterdir()}
    assert names == {f"{node.name}{suffix}" for node in ISOLATED.nodes() for suffix in ("", "-2")}
    make_mount_points(tmp_path, ISOLATED)
