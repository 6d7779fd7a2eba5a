"""Seeded bugs against Kafka's jars: Byteman parses every rule, finds its class and method, and checks types.

One JVM for a version; a version whose jars are not in krucible's cache is left out, but for the one that
every bug must fit.
"""

import subprocess
from pathlib import Path

import pytest

from harness.cluster.folders import cache_folder
from harness.cluster.images import maven
from harness.errors import KrucibleError
from harness.seeded_bugs.catalogue import BUGS_VERSION, seeded_bugs
from harness.seeded_bugs.script import script_of
from harness.seeded_bugs.seeding import byteman
from results.pipeline.spark.java import find_java

JAVA = find_java()
VERSIONS = sorted({version for bug in seeded_bugs().values() for version in bug.versions})
OTHERS = [version for version in VERSIONS if version != BUGS_VERSION]
NO_ERRORS = "TestScript: no errors"

pytestmark = [
    pytest.mark.skipif(bool(JAVA.problem), reason=f"{JAVA.problem}: {JAVA.got}"),
    pytest.mark.slow,  # a JVM for each version
]


def checked(scripts: list[str], version: str, folder: Path) -> str:
    """What Byteman's checker prints of scripts, by Kafka's jars."""
    try:
        agent, jars = byteman(print), maven.resolve(version, print)
    except KrucibleError as error:
        pytest.skip(f"the jars can't be had: {error}")
    files = [folder / f"{number}.btm" for number in range(len(scripts))]
    for file, script in zip(files, scripts, strict=True):
        file.write_text(script)
    done = subprocess.run(
        [JAVA.path, "-cp", f"{agent}:{jars}/*", "org.jboss.byteman.check.TestScript", *map(str, files)],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return done.stdout + done.stderr


def test_every_bug_fits_the_version_that_sensitivity_measures() -> None:
    assert [bug.name for bug in seeded_bugs().values() if BUGS_VERSION not in bug.versions] == []


@pytest.mark.parametrize("version", [BUGS_VERSION, *OTHERS])
def test_every_rule_fits_the_versions_that_its_bug_names(version: str, tmp_path: Path) -> None:
    if version != BUGS_VERSION and not (cache_folder() / "jars" / version).is_dir():
        pytest.skip(f"the jars of Kafka {version} are not here")
    scripts = [script_of(bug, version) for bug in seeded_bugs().values() if version in bug.versions]
    output = checked(scripts, version, tmp_path)
    assert NO_ERRORS in output, output
    assert output.count("Type checked rule") >= 2 * len(scripts)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("METHOD effectiveMinIsr", "METHOD effectiveMinimum"),
        ("CLASS kafka.cluster.Partition", "CLASS kafka.cluster.Share"),
        ("$this.partitionState()", "$this.stateOfPartition()"),
        ("AT EXIT", "AT EXITS"),
    ],
)
def test_a_rule_that_does_not_fit_is_found(old: str, new: str, tmp_path: Path) -> None:
    script = script_of(seeded_bugs()["min-isr-ignored"], BUGS_VERSION)
    assert old in script
    assert NO_ERRORS not in checked([script.replace(old, new)], BUGS_VERSION, tmp_path)
