"""The steps of the tickets for Kafka's JIRA, run as they stand, show what the tickets say.

The steps run in one container of Kafka's image, as on a host of their own.  The image has Kafka's classes,
but not the scripts of its tarball, so scripts with the same names are made.  Steps that need a disk of their
own, or a compiler, are not among them.
"""

import re
import shlex
from pathlib import Path

import docker
import pytest

from harness.cli.findings.findings import PAGE
from harness.cluster.images import ensure_image
from harness.vocabulary.version import DEFAULT_VERSION
from results.findings.page import Finding, read_findings
from tests.steps import CLASSES, shell_of

pytestmark = [pytest.mark.cluster, pytest.mark.long]
LABELS = {"krucible.test": "steps"}
KAFKA = "/opt/kafka"
"""Where the image has the folder ``libs`` of a tarball."""
STEPS_LIMIT_S = 600
PROCESSORS = 2
TOOL = f"@/opt/krucible/tools.args -Dlog4j2.configurationFile={KAFKA}/bin/tools-log4j2.properties"
"""Arguments of Java for tools; like in the tarball, they log only warnings, to standard error."""
ARGUMENTS = {"server-start": "@/opt/krucible/kafka.args", "storage": "@/opt/krucible/storage.args"}
"""Arguments of Java where they differ."""
LOGGING = """\
appender.stderr.type=Console
appender.stderr.name=stderr
appender.stderr.target=SYSTEM_ERR
rootLogger.level=WARN
rootLogger.appenderRef.stderr.ref=stderr
"""
SHOWN = {
    "a-config-that-outlives-its-topic": r"^  retention\.ms=1000 .*^t:0:100$",
    "a-former-leader-does-not-find-new-voters": r"^NodeId(?:(?!^101\b).)*^\d{2,}$",
    "a-lost-disk-and-its-own-leadership": r"which is inconsistent with current leader",
    "a-marker-that-is-skipped": r"can be skipped.*^ABORTED$.*^committed$",
    "a-new-disk-and-a-leader-that-steps-down": r"Unknown leader endpoints",
    "a-reassignment-without-end": r"adding: 4\. removing: 4\.",
    "a-removed-voter-answers-late": r"Unexpected acknowledgement from non-voter 103",
    "a-replica-that-is-kept-is-removed": r"ReplicationFactor: 2\b.*Replicas: 3,1\b",
    "a-search-by-time": r"^t:0:0$.*low_watermark: 5$\n(?:t:0:)?\n?^t:0:5$",
    "an-uncommitted-listing": r"removing: 2\..*removing: 3\.",
    "min.insync.replicas-altered-without-a-leader": (
        r"^\s*Topic: t\s+Partition: 0\s+Leader: none.*^\s*Topic: unaltered\s+Partition: 0\s+Leader: \d"
    ),
    "requests-to-a-former-leader": r"VoterNotFound.*NotLeaderOrFollower.*VoterNotFound.*VoterNotFound",
    "vote-requests-without-a-pause": r"^\d{4,}$",
    "voters-after-a-truncation": r"LeaderId:\s+101$.*LeaderId:\s+101$.*LeaderId:\s+10[2-5]$",
}
"""A pattern in the output of the steps, by the finding's name; only then they have shown the defect."""
FINDINGS = {each.name: each for each in read_findings(PAGE.read_text())}


def write_scripts(folder: Path) -> None:
    """Write the scripts of a tarball's folder ``bin`` that the steps use."""
    (folder / "tools-log4j2.properties").write_text(LOGGING)
    for name, java_class in CLASSES.items():
        script = folder / f"kafka-{name}.sh"
        script.write_text(f'#!/bin/bash\nexec java {ARGUMENTS.get(name, TOOL)} -Xmx256m {java_class} "$@"\n')
        script.chmod(0o755)


def output_of(engine: docker.DockerClient, version: str, finding: Finding, folder: Path) -> str:
    """What the steps print, with the errors; they are ended after `STEPS_LIMIT_S`."""
    write_scripts(folder)
    container = engine.containers.run(
        ensure_image(version, client=engine).reference,
        ["-c", f"timeout {STEPS_LIMIT_S} bash -c {shlex.quote(shell_of(finding))} 2>&1"],
        detach=True,
        entrypoint="bash",
        working_dir=KAFKA,
        network_mode="none",
        hostname="localhost",
        nano_cpus=PROCESSORS * 10**9,
        volumes={str(folder): {"bind": f"{KAFKA}/bin", "mode": "ro"}},
        labels=LABELS,
    )
    try:
        container.wait(timeout=2 * STEPS_LIMIT_S)
        return bytes(container.logs()).decode()
    finally:
        container.remove(force=True)


@pytest.mark.parametrize("name", SHOWN)
def test_the_steps_show_the_defect(engine: docker.DockerClient, name: str, tmp_path: Path) -> None:
    output = output_of(engine, DEFAULT_VERSION, FINDINGS[name], tmp_path)
    assert re.search(SHOWN[name], output, re.DOTALL | re.MULTILINE), output[-5_000:]
