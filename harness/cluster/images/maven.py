"""Downloads Kafka's jars from Maven Central and verifies their checksums.

A version may lack the artifact of its command-line tools.  Then its jars are resolved without it, and a file
next to them names the newest earlier version that has one.
"""

import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import escape

from harness.cluster.folders import cache_folder
from harness.cluster.images.locks import build_lock
from harness.cluster.images.model import Progress
from harness.errors import KrucibleError, UsageError
from harness.vocabulary.version import FIRST_LOG4J2, parse_version

RESOLVE_LIMIT_S = 900
DEPENDENCY_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:2.8"

_TOOLS = "kafka-tools"
_TOOLS_FILE = "tools-version"
_NOTHING_ELSE = (
    "<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>"
)
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class Coordinate(NamedTuple):
    """A Maven artifact.

    Attributes:
        group: its group id.
        artifact: its name.
        version: a version, or a range such as ``[4.0.0,4.4.0)``, of which Maven takes the newest one.
        alone: whether its dependencies are left out.
    """

    group: str
    artifact: str
    version: str
    alone: bool = False


def coordinates(version: str) -> tuple[Coordinate, ...]:
    """The artifacts from which an image of Kafka is resolved.

    Kafka's artifacts include no logging backend.  The order matters: Maven takes the version nearest to the
    root, and then the first one.  So the broker comes first and determines the jars that it shares with the
    tools.
    """
    kafka = (
        Coordinate("org.apache.kafka", "kafka_2.13", version),
        Coordinate("org.apache.kafka", _TOOLS, version),
    )
    if parse_version(version) >= FIRST_LOG4J2:
        names = ("log4j-slf4j-impl", "log4j-1.2-api", "log4j-api", "log4j-core")
        return kafka + tuple(Coordinate("org.apache.logging.log4j", name, "2.24.3") for name in names)
    return (
        *kafka,
        Coordinate("org.slf4j", "slf4j-reload4j", "1.7.36"),
        Coordinate("ch.qos.reload4j", "reload4j", "1.2.25"),
    )


def pom(wanted: Iterable[Coordinate]) -> str:
    """A project that only has the given dependencies."""
    dependencies = "".join(
        f"    <dependency><groupId>{escape(group)}</groupId><artifactId>{escape(artifact)}</artifactId>"
        f"<version>{escape(version)}</version>{_NOTHING_ELSE if alone else ''}</dependency>\n"
        for group, artifact, version, alone in wanted
    )
    return (
        "<project>\n"
        "  <modelVersion>4.0.0</modelVersion>\n"
        "  <groupId>krucible</groupId><artifactId>kafka-image</artifactId><version>1</version>\n"
        "  <packaging>pom</packaging>\n"
        f"  <dependencies>\n{dependencies}  </dependencies>\n"
        "</project>\n"
    )


def maven_missing() -> str | None:
    """The reason why Maven can't be used here, or None."""
    return None if shutil.which("mvn") else "mvn is not installed"


def resolve(version: str, progress: Progress) -> Path:
    """The folder with all jars of a version, which is resolved once and cached.

    If the version has no tools, `tools_version` gives the version whose tools are used.

    Raises:
        UsageError: if there is no such version.
        KrucibleError: if Maven is missing or fails.
    """
    folder = cache_folder() / "jars" / version
    if folder.is_dir():
        return folder
    if reason := maven_missing():
        raise KrucibleError(
            "Kafka's jars can't be resolved",
            got=reason,
            expected="Maven 3 and Java 17",
            next_step="apt-get install maven openjdk-17-jre-headless",
        )
    with build_lock("jars", progress):
        if not folder.is_dir():
            _resolve_version(version, folder, progress)
    return folder


def _resolve_version(version: str, folder: Path, progress: Progress) -> None:
    progress(f"resolving Kafka {version} with Maven")
    work = folder.with_name(f"{version}.{os.getpid()}")
    try:
        _resolve_into(work, version, progress).rename(folder)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _resolve_into(work: Path, version: str, progress: Progress) -> Path:
    """The folder of jars in the work folder; without tools, but with a note, if the version has no tools."""
    what, wanted = f"Kafka {version}", coordinates(version)
    refusal = _copy_dependencies(what, wanted, work / "whole")
    if not refusal:
        return work / "whole" / "libs"
    if not _lacks_tools(version, refusal):
        raise _refused(version, refusal)
    other = _newest_tools_before(version, work / "earlier", progress)
    if refusal := _copy_dependencies(what, [o for o in wanted if o.artifact != _TOOLS], work / "broker"):
        raise _refused(version, refusal)
    libs = work / "broker" / "libs"
    (libs / _TOOLS_FILE).write_text(other)
    return libs


def tools_version(folder: Path) -> str:
    """The earlier version whose tools are used for resolved jars; empty if these include tools."""
    note = folder / _TOOLS_FILE
    return note.read_text() if note.exists() else ""


def _lacks_tools(version: str, refusal: str) -> bool:
    """Whether Maven has this version of Kafka, and only its tools are missing; not if a transfer failed."""
    lacks = _is_missing(_TOOLS, version, refusal) and not _is_missing("kafka_2.13", version, refusal)
    return lacks and "Could not transfer artifact" not in refusal


def _is_missing(artifact: str, version: str, refusal: str) -> bool:
    return f"{artifact}:jar:{version}" in _COLOUR.sub("", refusal) and "Could not find artifact" in refusal


def _newest_tools_before(version: str, work: Path, progress: Progress) -> str:
    """The newest version before this one that has tools; versions before the previous major are not tried.

    Raises:
        KrucibleError: if there is none.
    """
    progress(f"Kafka {version} has no {_TOOLS}; looking for the newest earlier one")
    first = f"{max(parse_version(version)[0] - 1, 0)}.0.0"
    earlier = Coordinate("org.apache.kafka", _TOOLS, f"[{first},{version})", alone=True)
    if refusal := _copy_dependencies(f"{_TOOLS} before {version}", [earlier], work):
        raise _unresolved(f"{_TOOLS} before {version}", refusal)
    jar = next((work / "libs").glob(f"{_TOOLS}-*.jar"))
    return jar.stem.removeprefix(f"{_TOOLS}-")


def resolve_jar(wanted: Coordinate, sha512: str, progress: Progress) -> Path:
    """One jar with the expected checksum, which is resolved once and cached.

    Args:
        wanted: the artifact.
        sha512: checksum of its bytes, hexadecimal; checked each time.
        progress: receives a message when the jar is being resolved.

    Raises:
        KrucibleError: if Maven is missing or fails, or the checksum differs.
    """
    jar = resolve_of_version(wanted, progress)
    found = hashlib.sha512(jar.read_bytes()).hexdigest()
    if found != sha512:
        raise KrucibleError(
            f"{jar.stem} does not have the expected checksum",
            got=f"SHA-512 {found}",
            expected=sha512,
            where=str(jar),
            next_step=f"remove {jar}, find out from where Maven downloaded it, then try again",
        )
    return jar


def resolve_of_version(wanted: Coordinate, progress: Progress) -> Path:
    """One jar of a released version, which is resolved once and cached; Maven verifies its checksum.

    Raises:
        KrucibleError: if Maven is missing or fails.
    """
    name = f"{wanted.artifact}-{wanted.version}"
    jar = cache_folder() / "jars" / name / f"{name}.jar"
    if not jar.is_file():
        with build_lock("jars", progress):
            if not jar.is_file():
                _resolve_one(wanted, jar, progress)
    return jar


def _resolve_one(wanted: Coordinate, jar: Path, progress: Progress) -> None:
    if reason := maven_missing():
        raise KrucibleError(
            f"{wanted.artifact} can't be resolved",
            got=reason,
            expected="Maven 3 and Java 17",
            next_step="apt-get install maven openjdk-17-jre-headless",
        )
    progress(f"resolving {wanted.artifact} {wanted.version} with Maven")
    work = jar.parent.with_name(f"{jar.parent.name}.{os.getpid()}")
    try:
        if refusal := _copy_dependencies(wanted.artifact, [wanted], work):
            raise _unresolved(f"{wanted.artifact} {wanted.version}", refusal)
        jar.parent.mkdir(parents=True, exist_ok=True)
        (work / "libs" / jar.name).replace(jar)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _copy_dependencies(what: str, wanted: Iterable[Coordinate], work: Path) -> str:
    """Let Maven put jars into ``libs``; returns its output if it failed."""
    work.mkdir(parents=True)
    (work / "pom.xml").write_text(pom(wanted))
    command = [
        *(
            "mvn",
            "--batch-mode",
            "--quiet",
            "--strict-checksums",
            "--update-snapshots",
            f"{DEPENDENCY_PLUGIN}:copy-dependencies",
        ),
        *("-DincludeScope=runtime", "-DoutputDirectory=libs"),
    ]
    try:
        done = subprocess.run(
            command, cwd=work, capture_output=True, text=True, timeout=RESOLVE_LIMIT_S, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise KrucibleError(
            f"Maven did not resolve {what} within {RESOLVE_LIMIT_S} s",
            next_step="check the network and ~/.m2/settings.xml, then try again",
        ) from error
    return "" if done.returncode == 0 else done.stdout + done.stderr or "nothing"


def _refused(version: str, output: str) -> KrucibleError:
    if _is_missing("kafka_2.13", version, output):
        return UsageError(
            f"there is no Kafka {version}",
            got=_reason_in(output),
            expected="a version that Apache Kafka has released, e.g. 4.3.1",
        )
    return _unresolved(f"Kafka {version}", output)


def _unresolved(what: str, output: str) -> KrucibleError:
    return KrucibleError(
        f"Maven could not resolve {what}",
        got=_reason_in(output),
        next_step="check the network and ~/.m2/settings.xml, then try again",
    )


def _reason_in(output: str) -> str:
    """The first error in Maven's output, without colours."""
    plain = _COLOUR.sub("", output)
    errors = (
        line.removeprefix("[ERROR]").strip() for line in plain.splitlines() if line.startswith("[ERROR]")
    )
    return next(filter(None, errors), plain.strip()[-500:])


def jar_sums(folder: Path) -> list[str]:
    """SHA-512 sums of a folder's jars, sorted, hexadecimal."""
    return sorted(hashlib.sha512(jar.read_bytes()).hexdigest() for jar in folder.glob("*.jar"))


def checksums(sums: Iterable[str]) -> str:
    """One SHA-256 for a set of jars, from their SHA-512 sums, hexadecimal."""
    return hashlib.sha256("".join(f"{entry}\n" for entry in sorted(sums)).encode()).hexdigest()
