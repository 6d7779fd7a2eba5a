"""Opens group members of every kind; the only module that imports all implementations."""

from collections.abc import Callable

from harness.clients.group import GroupMember, MemberOptions
from harness.clients.group_confluent import ConfluentMember
from harness.clients.group_kafka_python import KafkaPythonMember
from harness.clients.group_modern import ModernMember
from harness.clients.interface import ClientKind
from harness.clients.java.process import JavaProcess, needed
from harness.clients.java.remote import RemoteMember

Join = Callable[[ClientKind, MemberOptions], GroupMember]
"""Makes members, as `harness.workloads.context.Clients.member` does."""


def join_group(kind: ClientKind, options: MemberOptions, java: JavaProcess | None = None) -> GroupMember:
    """A member of a group; arguments as those of `harness.clients.opening.open_producer`.

    Raises:
        ClientFailedError: it could not be made; nothing was read.
        NotOfferedError: kafka-clients without a process.
    """
    match kind:
        case ClientKind.KAFKA_PYTHON:
            return KafkaPythonMember(options)
        case ClientKind.CONFLUENT:
            return ModernMember(options) if options.modern else ConfluentMember(options)
        case ClientKind.JAVA | ClientKind.OTHER_JAVA:
            return RemoteMember(needed(java), options)
