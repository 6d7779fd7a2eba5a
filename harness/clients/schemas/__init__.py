"""Requests of clients without classes in kafka-python (KIP-848, KIP-932), defined by the JSON files here.

The files have the format of Kafka's own definitions.
"""

from kafka.protocol.api_message import ApiMessage


class ConsumerGroupHeartbeatRequest(ApiMessage, load_json=__name__):  # type: ignore[call-arg, misc]  # published without types
    """A member's sign of life, with which it also joins and leaves (key 68, 4.0 and newer)."""


class ConsumerGroupHeartbeatResponse(ApiMessage, load_json=__name__):  # type: ignore[call-arg, misc]  # published without types
    """The answer to it."""


class AlterShareGroupOffsetsRequest(ApiMessage, load_json=__name__):  # type: ignore[call-arg, misc]  # published without types
    """A request to set start offsets of a share group without members (key 91, KIP-932)."""


class AlterShareGroupOffsetsResponse(ApiMessage, load_json=__name__):  # type: ignore[call-arg, misc]  # published without types
    """The answer to it."""


class DeleteShareGroupOffsetsRequest(ApiMessage, load_json=__name__):  # type: ignore[call-arg, misc]  # published without types
    """A request to delete the start offsets of a share group without members (key 92, KIP-932)."""


class DeleteShareGroupOffsetsResponse(ApiMessage, load_json=__name__):  # type: ignore[call-arg, misc]  # published without types
    """The answer to it."""
