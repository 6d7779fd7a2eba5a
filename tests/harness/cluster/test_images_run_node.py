"""The entry script formats a fresh disk once and becomes Java; a script stands in for `java`."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[3] / "compose" / "images" / "run-node"
FORMAT = "@/opt/krucible/storage.args kafka.tools.StorageTool format --ignore-formatted"


class Sandbox:
    """A node's files, and what `java` was called with."""

    def __init__(self, folder: Path) -> None:
        self.data = folder / "data"
        self.data.mkdir()
        self.properties = folder / "server.properties"
        self.properties.write_text(f"node.id=1\nlog.dirs={self.data}/a,{self.data}/b\n")
        self.calls_file = folder / "calls"
        java = folder / "java"
        java.write_text(
            f"""#!/bin/sh
echo "$@" >> {self.calls_file}
case "$*" in *StorageTool*)
    mkdir -p {self.data}/a {self.data}/b
    echo directory.id=drawn | tee {self.data}/a/meta.properties > {self.data}/b/meta.properties
esac
exit ${{JAVA_EXIT:-0}}
"""
        )
        java.chmod(0o755)

    def write(self, name: str, text: str) -> None:
        """Put a file beside server.properties."""
        (self.properties.parent / name).write_text(text)

    def run(self, **environment: str) -> "subprocess.CompletedProcess[str]":
        given = {
            "PATH": f"{self.properties.parent}:{os.environ['PATH']}",
            "KRUCIBLE_CLUSTER_ID": "id",
            "KRUCIBLE_PROPERTIES": str(self.properties),
        }
        return subprocess.run(
            ["/bin/sh", str(SCRIPT)], env=given | environment, capture_output=True, text=True, check=False
        )

    @property
    def calls(self) -> list[str]:
        return self.calls_file.read_text().splitlines() if self.calls_file.exists() else []


@pytest.fixture
def sandbox(tmp_path: Path) -> Sandbox:
    return Sandbox(tmp_path)


def test_a_fresh_disk_is_formatted_first(sandbox: Sandbox) -> None:
    sandbox.write("format-arguments", "--standalone --feature kraft.version=1\n")
    done = sandbox.run(KRUCIBLE_JVM_OPTS="-Xmx1g -Da=b")
    assert done.returncode == 0, done.stderr
    assert sandbox.calls == [
        f"{FORMAT} -t id -c {sandbox.properties} --standalone --feature kraft.version=1",
        f"@/opt/krucible/kafka.args -Xmx1g -Da=b kafka.Kafka {sandbox.properties}",
    ]


def test_a_node_is_formatted_while_one_of_its_directories_is_not(sandbox: Sandbox) -> None:
    for name in "ab":
        (sandbox.data / name).mkdir()
    (sandbox.data / "b" / "meta.properties").touch()
    sandbox.run()
    assert sandbox.calls[0].startswith(FORMAT)
    sandbox.calls_file.unlink()
    sandbox.run()
    assert sandbox.calls == [f"@/opt/krucible/kafka.args kafka.Kafka {sandbox.properties}"]


def test_arguments_are_read_anew_at_each_start(sandbox: Sandbox) -> None:
    sandbox.write("format-arguments", "--standalone")
    sandbox.run()
    shutil.rmtree(sandbox.data / "a")
    shutil.rmtree(sandbox.data / "b")
    sandbox.write("format-arguments", "--no-initial-controllers")
    sandbox.run()
    assert [call.split()[-1] for call in sandbox.calls if call.startswith(FORMAT)] == [
        "--standalone",
        "--no-initial-controllers",
    ]


def test_a_disk_that_is_formatted_here_gets_the_ids_that_are_asked_for(sandbox: Sandbox) -> None:
    sandbox.write("directory-ids", "first-_id\n")
    sandbox.run()
    ids = [(sandbox.data / name / "meta.properties").read_text().strip() for name in "ab"]
    assert ids == ["directory.id=first-_id", "directory.id=drawn"]
    sandbox.write("directory-ids", "other\n")
    sandbox.run()
    assert "directory.id=first-_id" in (sandbox.data / "a" / "meta.properties").read_text()


def test_where_formatting_fails_kafka_is_not_started(sandbox: Sandbox) -> None:
    assert sandbox.run(JAVA_EXIT="7").returncode == 7
    assert len(sandbox.calls) == 1


@pytest.mark.parametrize("name", ["KRUCIBLE_CLUSTER_ID", "KRUCIBLE_PROPERTIES"])
def test_a_missing_variable_is_named(sandbox: Sandbox, name: str) -> None:
    done = sandbox.run(**{name: ""})
    assert done.returncode != 0
    assert name in done.stderr
    assert sandbox.calls == []
