"""Requests without classes in kafka-python (KIP-631, KIP-853, KIP-1312), defined by the JSON files here.

The files have the format of Kafka's own definitions.
"""

from kafka.protocol.api_message import ApiMessage


class AddRaftVoterRequest(ApiMessage, load_json=__name__):  # type: ignore[call-arg, misc]  # published without types
    """Adds a voter (key 80, 3.9 and newer); listeners of brokers and of controllers accept it."""


class AddRaftVoterResponse(ApiMessage, load_json=__name__):  # type: ignore[call-arg, misc]  # published without types
    """The answer to it."""


class RemoveRaftVoterRequest(ApiMessage, load_json=__name__):  # type: ignore[call-arg, misc]  # published without types
    """Removes a voter (key 81, 3.9 and newer)."""


class RemoveRaftVoterResponse(ApiMessage, load_json=__name__):  # type: ignore[call-arg, misc]  # published without types
    """The answer to it."""


class BrokerHeartbeatRequest(ApiMessage, load_json=__name__):  # type: ignore[call-arg, misc]  # published without types
    """A broker's sign of life (key 63): on listeners of controllers alone."""


class BrokerHeartbeatResponse(ApiMessage, load_json=__name__):  # type: ignore[call-arg, misc]  # published without types
    """The answer to it."""


class UnregisterBrokerRequest(ApiMessage, load_json=__name__):  # type: ignore[call-arg, misc]  # published without types
    """Removes a broker's registration (key 64); listeners of brokers and of controllers accept it."""


class UnregisterBrokerResponse(ApiMessage, load_json=__name__):  # type: ignore[call-arg, misc]  # published without types
    """The answer to it."""


class UnregisterControllerRequest(ApiMessage, load_json=__name__):  # type: ignore[call-arg, misc]  # published without types
    """Removes a controller's registration (key 94, 4.4 and newer); both kinds of listeners accept it."""


class UnregisterControllerResponse(ApiMessage, load_json=__name__):  # type: ignore[call-arg, misc]  # published without types
    """The answer to it."""
