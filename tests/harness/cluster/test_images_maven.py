"""Jars from Maven: what is asked for, what is kept, what is reported when it fails."""

import hashlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from harness.cluster.images import maven
from harness.cluster.images.model import silent
from harness.errors import KrucibleError, UsageError

NOT_FOUND = (
    "\x1b[0m[ERROR] Failed to execute goal: Could not find artifact org.apache.kafka:kafka_2.13:jar:9.9.9\n"
    "[ERROR] \n"
)


WITHOUT_TOOLS = """
echo "$@" >> "$0.calls"
version=$(sed -n 's|.*<artifactId>kafka-tools</artifactId><version>\\([^<]*\\)</version>.*|\\1|p' pom.xml)
echo "$version" >> "$0.tools"
if [ "$version" = 5.1.0 ]; then
    mkdir libs; touch libs/half-done.jar
    echo "[ERROR] Could not find artifact org.apache.kafka:kafka-tools:jar:5.1.0 in central"
    exit 1
fi
mkdir libs
case $version in
"") touch libs/kafka_2.13-5.1.0.jar ;;
"[4.0.0,5.1.0)") grep -q '<artifactId>\\*</artifactId>' pom.xml && touch libs/kafka-tools-5.0.2.jar ;;
*) touch "libs/kafka_2.13-$version.jar" "libs/kafka-tools-$version.jar" ;;
esac
"""
"""A Maven for which Kafka 5.1.0 has no tools, and 5.0.2 is the newest version before it that has some."""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "krucible"


@pytest.fixture
def install_mvn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on PATH, alone with the few programs a script needs; tests put `mvn` there."""
    programs = tmp_path / "bin"
    programs.mkdir()
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    return programs


def script(path: Path, body: str) -> None:
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)


def test_a_pom_asks_for_the_broker_first_and_for_one_logging_backend() -> None:
    for version, backend in (("3.9.0", "reload4j"), ("4.3.1", "log4j-core")):
        root = ET.fromstring(maven.pom(maven.coordinates(version)))  # noqa: S314 - our own text
        names = [element.text for element in root.iter() if element.tag == "artifactId"][1:]
        assert names[:2] == ["kafka_2.13", "kafka-tools"]
        assert backend in names
        assert ("reload4j" in names) != ("log4j-core" in names)


def test_jars_are_resolved_once_with_strict_checksums(cache: Path, install_mvn: Path) -> None:
    script(install_mvn / "mvn", 'echo "$@" >> "$0.calls"; mkdir libs; echo jar > libs/kafka_2.13-4.3.1.jar')
    lines: list[str] = []
    folder = maven.resolve("4.3.1", lines.append)
    assert folder == maven.resolve("4.3.1", lines.append) == cache / "jars" / "4.3.1"
    assert [jar.name for jar in folder.iterdir()] == ["kafka_2.13-4.3.1.jar"]
    calls = (install_mvn / "mvn.calls").read_text().splitlines()
    assert len(calls) == 1
    assert "--strict-checksums" in calls[0]
    assert "-DincludeScope=runtime" in calls[0]
    assert lines == ["resolving Kafka 4.3.1 with Maven"]
    assert [each.name for each in folder.parent.iterdir()] == ["4.3.1"], "the work folder is still there"


def test_one_jar_of_a_version_is_resolved_once_without_what_it_needs(cache: Path, install_mvn: Path) -> None:
    body = """
echo "$@" >> "$0.calls"; cp pom.xml "$0.pom"
mkdir libs; echo jar > libs/kafka-streams-4.4.0.jar
"""
    script(install_mvn / "mvn", body)
    wanted = maven.Coordinate("org.apache.kafka", "kafka-streams", "4.4.0", alone=True)
    jar = maven.resolve_of_version(wanted, silent)
    assert jar == maven.resolve_of_version(wanted, silent)
    assert jar == cache / "jars" / "kafka-streams-4.4.0" / "kafka-streams-4.4.0.jar"
    assert jar.read_text() == "jar\n"
    (call,) = (install_mvn / "mvn.calls").read_text().splitlines()
    assert "--strict-checksums" in call
    assert "<exclusion>" in (install_mvn / "mvn.pom").read_text()


def test_one_process_resolves_what_two_want(cache: Path, install_mvn: Path) -> None:
    waits = install_mvn / "waits"
    script(
        install_mvn / "mvn",
        f'echo "$@" >> "$0.calls"; until [ -e {waits} ]; do sleep 0.01; done; mkdir libs; touch libs/a.jar',
    )
    lines: list[str] = []

    def report(what: str) -> None:
        lines.append(what)
        if what.startswith("waiting"):
            waits.touch()

    with ThreadPoolExecutor() as pool:
        folders = list(pool.map(lambda version: maven.resolve(version, report), ["4.3.1"] * 2))
    assert folders == [cache / "jars" / "4.3.1"] * 2
    assert len((install_mvn / "mvn.calls").read_text().splitlines()) == 1
    # Each speaks from its own thread: who has the lock may be overtaken before it does.
    assert set(lines) == {"resolving Kafka 4.3.1 with Maven", "waiting for another process that builds jars"}
    assert len(lines) == len(set(lines))


def test_an_unknown_version_is_a_usage_error(cache: Path, install_mvn: Path) -> None:
    script(install_mvn / "mvn", f"printf '%s' '{NOT_FOUND}'; exit 1")
    with pytest.raises(UsageError, match=r"there is no Kafka 9\.9\.9") as caught:
        maven.resolve("9.9.9", silent)
    assert caught.value.got.startswith("Failed to execute goal")
    assert list((cache / "jars").iterdir()) == []


def test_without_tools_of_its_own_a_version_is_resolved_and_the_newest_earlier_ones_are_named(
    cache: Path, install_mvn: Path
) -> None:
    script(install_mvn / "mvn", WITHOUT_TOOLS)
    lines: list[str] = []
    folder = maven.resolve("5.1.0", lines.append)
    assert folder == cache / "jars" / "5.1.0"
    assert [jar.name for jar in folder.glob("*.jar")] == ["kafka_2.13-5.1.0.jar"], "tools are mixed in"
    assert maven.tools_version(folder) == "5.0.2"
    assert (install_mvn / "mvn.tools").read_text().splitlines() == ["5.1.0", "[4.0.0,5.1.0)", ""]
    assert lines[1] == "Kafka 5.1.0 has no kafka-tools; looking for the newest earlier one"
    assert [each.name for each in folder.parent.iterdir()] == ["5.1.0"], "the work folder is still there"

    tools = maven.resolve(maven.tools_version(folder), silent)
    assert {jar.name for jar in tools.iterdir()} == {"kafka_2.13-5.0.2.jar", "kafka-tools-5.0.2.jar"}
    assert maven.tools_version(tools) == ""


def test_where_no_earlier_version_has_tools_either_nothing_is_kept(cache: Path, install_mvn: Path) -> None:
    refuses = (
        "if grep -q '\\[4.0.0,' pom.xml; then echo '[ERROR] No versions available'; exit 1; fi\n"
        "echo '[ERROR] Could not find artifact org.apache.kafka:kafka-tools:jar:5.1.0'; exit 1"
    )
    script(install_mvn / "mvn", refuses)
    with pytest.raises(KrucibleError, match=r"could not resolve kafka-tools before 5\.1\.0") as caught:
        maven.resolve("5.1.0", silent)
    assert caught.value.got == "No versions available"
    assert list((cache / "jars").iterdir()) == []


def test_a_version_that_lacks_broker_and_tools_does_not_exist(cache: Path, install_mvn: Path) -> None:
    message = "kafka_2.13:jar:9.9.9, kafka-tools:jar:9.9.9: Could not find artifact kafka_2.13:jar:9.9.9"
    script(install_mvn / "mvn", f"echo '[ERROR] {message}'; exit 1")
    with pytest.raises(UsageError, match=r"there is no Kafka 9\.9\.9"):
        maven.resolve("9.9.9", silent)
    assert list((cache / "jars").iterdir()) == []


def test_tools_that_failed_to_arrive_are_not_taken_for_missing(cache: Path, install_mvn: Path) -> None:
    message = (
        "kafka-tools:jar:5.1.0, x:jar:1: Could not transfer artifact kafka-tools:jar:5.1.0, timeout; "
        "Could not find artifact x:jar:1"
    )
    script(install_mvn / "mvn", f"echo '[ERROR] {message}'; exit 1")
    with pytest.raises(KrucibleError, match=r"could not resolve") as caught:
        maven.resolve("5.1.0", silent)
    assert "Could not transfer" in str(caught.value.got)
    assert list((cache / "jars").iterdir()) == []


@pytest.mark.usefixtures("cache")
def test_another_failure_of_mavens_is_passed_on(install_mvn: Path) -> None:
    script(install_mvn / "mvn", "echo 'no route to host'; exit 1")
    with pytest.raises(KrucibleError, match="could not resolve") as caught:
        maven.resolve("4.3.1", silent)
    assert caught.value.got == "no route to host"


@pytest.mark.usefixtures("cache")
def test_a_maven_that_hangs_is_ended(monkeypatch: pytest.MonkeyPatch, install_mvn: Path) -> None:
    script(install_mvn / "mvn", "exec sleep 300")
    monkeypatch.setattr(maven, "RESOLVE_LIMIT_S", 0.1)
    with pytest.raises(KrucibleError, match="within"):
        maven.resolve("4.3.1", silent)


@pytest.mark.usefixtures("cache")
def test_without_maven_the_error_names_the_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert maven.maven_missing() == "mvn is not installed"
    with pytest.raises(KrucibleError) as caught:
        maven.resolve("4.3.1", silent)
    assert "maven" in caught.value.next_step


def test_the_checksum_of_a_set_of_jars_does_not_depend_on_their_order(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.jar").write_text(name)
    sums = maven.jar_sums(tmp_path)
    each = sorted(hashlib.sha512(name.encode()).hexdigest() for name in ("a", "b"))
    expected = hashlib.sha256("".join(f"{line}\n" for line in each).encode()).hexdigest()
    assert maven.checksums(sums) == maven.checksums(reversed(sums)) == expected
