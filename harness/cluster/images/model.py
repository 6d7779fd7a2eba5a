"""The type of an image of Kafka, from any source."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

Progress = Callable[[str], None]
"""Receives a line about the current step of a long piece of work."""


def silent(_line: str) -> None:
    """Ignore all progress messages."""


class JarSource(StrEnum):
    """Where Kafka's jars come from."""

    AUTO = "auto"
    ARTIFACTS = "artifacts"
    REGISTRY = "registry"
    TARBALL = "tarball"


class Label(StrEnum):
    """Labels on our images."""

    VERSION = "krucible.kafka.version"
    SOURCE = "krucible.image.source"
    CHECKSUMS = "krucible.image.checksums"
    RECIPE = "krucible.image.recipe"
    UPSTREAM = "krucible.image.upstream"
    JAVA = "krucible.image.java"
    TOOLS = "krucible.image.tools"


@dataclass(frozen=True, slots=True)
class KafkaImage:
    """An image on this host that runs one version of Kafka.

    Every image holds ``/opt/krucible``: `RUN_NODE` as entry point, the class-data-sharing archives
    ``kafka.jsa`` and ``storage.jsa``, Java's argument files ``kafka.args``, ``storage.args`` and
    ``tools.args`` (run a tool of Kafka's with ``java @/opt/krucible/tools.args CLASS …``), and
    ``jars.sha512``, a line for each of Kafka's jars.

    Attributes:
        reference: name and tag, e.g. ``krucible/kafka:4.3.1-0f2a77c1b9d0``.
        version: the version of Kafka.
        source: artifacts, registry or tarball.
        digest: id of the image on this host, ``sha256:…``.
        upstream: repository digest of the official image it is made from, or the tarball's SHA-256; empty for
            artifacts.
        java: version of the JVM, e.g. ``17.0.21``.
        checksums: SHA-256 over the sorted SHA-512 sums of the jars, hexadecimal.
        tools: version of the command-line tools if it is an earlier one than Kafka's; otherwise empty.
    """

    reference: str
    version: str
    source: JarSource
    digest: str
    upstream: str
    java: str
    checksums: str
    tools: str = ""

    @property
    def tools_note(self) -> str:
        """Text to append to a line about the image: empty if the tools have Kafka's own version."""
        return f", with the tools of {self.tools}" if self.tools else ""
