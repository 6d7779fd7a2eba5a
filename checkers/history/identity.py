"""A run's identity: everything that distinguishes one run from another, as kept in its ``run.json``."""

import msgspec

IDENTITY_FILE = "run.json"
"""Name of the file in a run's folder."""

IDENTITY_VERSION = 1
"""Version of the file's format; unknown fields are ignored, and other versions are refused."""


class ImageIdentity(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The build of Kafka that ran.

    Attributes:
        reference: the engine's name of the image.
        source: the source of the build: ``registry``, ``maven``, ``tarball``.
        digest: the engine's digest of it, e.g. ``sha256:…``.
        checksums: file name to checksum of the files from which it was built.
        tools: version of Kafka's command-line tools in the image, if it differs; otherwise empty.
    """

    reference: str
    source: str = ""
    digest: str = ""
    checksums: dict[str, str] = {}
    tools: str = ""


class HostIdentity(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The host of the run.

    Attributes:
        kernel: release of the host's kernel.
        cpus: number of CPUs that the harness could use.
        memory_mib: memory of the host, MiB.
        engine: container engine with its version.
    """

    kernel: str = ""
    cpus: int = 0
    memory_mib: int = 0
    engine: str = ""


class KrucibleIdentity(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The version of krucible; unknown fields are empty.

    Attributes:
        version: version of the package.
        commit: its commit, with ``-dirty`` if the tree had changes.
    """

    version: str = ""
    commit: str = ""


class NodeFileIdentity(msgspec.Struct, frozen=True, kw_only=True):
    """A file of the host that every node received: its path on the host, and on the nodes."""

    source: str
    destination: str


class RunIdentity(msgspec.Struct, frozen=True, kw_only=True):
    """What ran and on which host, and how to run it again.

    Attributes:
        run: the run's id, carried in every record that it wrote.
        scenario: the scenario's name, e.g. ``smoke/partition``.
        argv: the command as it was entered.
        seed: fixes the schedule, not the interleaving.
        reproduce: one shell line with every option that is not a default.
        krucible_commit: commit of krucible, with ``-dirty`` if the tree had changes; empty if unknown.
        kafka_version: version of the image.
        image: the build of Kafka that ran.
        other_images: the builds of Kafka of nodes that had another version at any time, and of clients that
            have another version, by that version.
        clients: versions of the client libraries that the load and the final read use, by name.
        features: finalized feature levels that were requested.
        host: the host of the run.
        config: Kafka's properties as overridden, for every node.
        jvm_options: extra options of every node's JVM.
        node_files: files of the host that every node received.
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
    options: dict[str, object] = {}
    replay_of: str = ""
    seeded_bug: str = ""
    krucible_run: int = IDENTITY_VERSION


def encode_identity(identity: RunIdentity) -> bytes:
    """The bytes of ``run.json``: one field a line, a newline at the end."""
    return msgspec.json.format(msgspec.json.encode(identity), indent=2) + b"\n"


def decode_identity(data: bytes) -> RunIdentity:
    """The inverse of `encode_identity`.

    Raises:
        ValueError: if the bytes are not an identity, or have another format version.
    """
    identity = msgspec.json.decode(data, type=RunIdentity)
    if identity.krucible_run != IDENTITY_VERSION:
        raise ValueError(f"format version {identity.krucible_run}, expected {IDENTITY_VERSION}")
    return identity
