"""Requests that kafka-python has no classes for (KIP-631, KIP-853), laid out by the JSON files here.

The files have the form of Kafka's own definitions.
"""

from kafka.protocol.api_message import ApiMessage


class AddRaftVoterRequest(ApiMessage, load_json=__name__):  # type: ignore[call-arg, misc]  # published without types
    """Asks for a voter (key 80, 3.9 and newer): on listeners of brokers and controllers alike."""


class AddRaftVoterResponse(ApiMessage, load_json=__name__):  # type: ignore[call-arg, misc]  # published without types
    """The answer to it."""


class RemoveRaftVoterRequest(ApiMessage, load_json=__name__):  # type: ignore[call-arg, misc]  # published without types
    """Asks for one voter less (key 81, 3.9 and newer)."""


class RemoveRaftVoterResponse(ApiMessage, load_json=__name__):  # type: ignore[call-arg, misc]  # published without types
    """The answer to it."""


class BrokerHeartbeatRequest(ApiMessage, load_json=__name__):  # type: ignore[call-arg, misc]  # published without types
    """A broker's sign of life (key 63): on listeners of controllers alone."""


class BrokerHeartbeatResponse(ApiMessage, load_json=__name__):  # type: ignore[call-arg, misc]  # published without types
    """The answer to it."""
