"""A run's identity: everything that distinguishes one run from another, as kept in its ``run.json``."""

from typing import Any

import msgspec

IDENTITY_FILE = "run.json"
"""Name of the file in a run's folder."""

IDENTITY_VERSION = 1
"""Version of the file's format; unknown fields are ignored, another version is refused."""


class ImageIdentity(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Which bytes of Kafka ran.

    Attributes:
        reference: what the engine calls the image.
        source: where it came from: ``registry``, ``maven``, ``tarball``.
        digest: the engine's digest of it, e.g. ``sha256:…``.
        checksums: file name to checksum of what it was built from.
        tools: version of Kafka's command-line tools in it, if that is another one; otherwise empty.
    """

    reference: str
    source: str = ""
    digest: str = ""
    checksums: dict[str, str] = {}
    tools: str = ""


class HostIdentity(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """On what it ran.

    Attributes:
        kernel: release of the host's kernel.
        cpus: how many the harness could use.
        memory_mib: memory of the host, MiB.
        engine: container engine with its version.
    """

    kernel: str = ""
    cpus: int = 0
    memory_mib: int = 0
    engine: str = ""


class KrucibleIdentity(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Which krucible did something; unknown fields are empty.

    Attributes:
        version: version of the package.
        commit: its commit, with ``-dirty`` where the tree had changes.
    """

    version: str = ""
    commit: str = ""


class NodeFileIdentity(msgspec.Struct, frozen=True, kw_only=True):
    """A file of the host that every node got: from where, to where."""

    source: str
    destination: str


class RunIdentity(msgspec.Struct, frozen=True, kw_only=True):
    """What ran, from what, where and how, and how to run it again.

    Attributes:
        run: the run's id, carried in every record that it wrote.
        scenario: the scenario's name, e.g. ``smoke/partition``.
        argv: the command as it was typed.
        seed: fixes the schedule, not the interleaving.
        reproduce: one shell line with every option that is not a default.
        krucible_commit: our commit, with ``-dirty`` where the tree had changes; empty if unknown.
        kafka_version: version of the image.
        image: which bytes of Kafka ran.
        other_images: which bytes of Kafka ran besides, on nodes that had another version at any time, by that
            version.
        clients: versions of the client libraries that the load and the final read use, by name.
        features: finalized feature levels that were requested.
        host: on what it ran.
        config: Kafka's properties as overridden, for every node.
        jvm_options: extra options of every node's JVM.
        node_files: files of the host that every node got.
        began_at: wall-clock time of the run's beginning, ISO 8601 in UTC.
        options: options of the command that are not defaults, by name.
        replay_of: id of the run that this one replays, runs again or makes smaller; empty if there is none.
        seeded_bug: name of the bug that was put into Kafka; empty if it ran as it was released.
        krucible_run: version of this format.
    """

    run: str
    scenario: str
    seed: int
    kafka_version: str
    began_at: str
    reproduce: str
    argv: tuple[str, ...] = ()
    krucible_commit: str = ""
    image: ImageIdentity | None = None
    other_images: dict[str, ImageIdentity] = {}
    clients: dict[str, str] = {}
    features: dict[str, int] = {}
    host: HostIdentity = HostIdentity()
    config: dict[str, str] = {}
    jvm_options: tuple[str, ...] = ()
    node_files: tuple[NodeFileIdentity, ...] = ()
    options: dict[str, Any] = {}
    replay_of: str = ""
    seeded_bug: str = ""
    krucible_run: int = IDENTITY_VERSION


def encode_identity(identity: RunIdentity) -> bytes:
    """The bytes of ``run.json``: one field a line, a newline at the end."""
    return msgspec.json.format(msgspec.json.encode(identity), indent=2) + b"\n"


def decode_identity(data: bytes) -> RunIdentity:
    """The inverse of `encode_identity`.

    Raises:
        ValueError: if the bytes are no identity, or one of another format version.
    """
    identity = msgspec.json.decode(data, type=RunIdentity)
    if identity.krucible_run != IDENTITY_VERSION:
        raise ValueError(f"format version {identity.krucible_run}, expected {IDENTITY_VERSION}")
    return identity
