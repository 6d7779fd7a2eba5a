"""Opens group members of every kind; the only module that imports all implementations."""

from collections.abc import Callable

from harness.clients.group import GroupMember, MemberOptions
from harness.clients.group_confluent import ConfluentMember
from harness.clients.group_kafka_python import KafkaPythonMember
from harness.clients.group_modern import ModernMember
from harness.clients.interface import ClientKind, NotOfferedError

Join = Callable[[ClientKind, MemberOptions], GroupMember]
"""Makes members, as `join_group` does."""


def join_group(kind: ClientKind, options: MemberOptions) -> GroupMember:
    """A member of a group.

    Raises:
        ClientFailedError: it could not be made; nothing was read.
    """
    match kind:
        case ClientKind.KAFKA_PYTHON:
            return KafkaPythonMember(options)
        case ClientKind.CONFLUENT:
            return ModernMember(options) if options.modern else ConfluentMember(options)
        case ClientKind.JAVA:
            raise NotOfferedError(kind)
