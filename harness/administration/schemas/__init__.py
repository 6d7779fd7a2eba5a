"""Kafka's messages that kafka-python has no classes for (KIP-595, KIP-853), laid out by the JSON files here.

The files have the form of Kafka's own definitions; a record's field ``Version`` is named ``RecordVersion``,
because kafka-python's classes have a ``version`` of their own.
"""

from kafka.protocol.api_data import ApiData
from kafka.protocol.api_message import ApiMessage


class AddRaftVoterRequest(ApiMessage, load_json=__name__):  # type: ignore[call-arg, misc]  # published without types
    """Asks for a voter (key 80, 3.9 and newer): on listeners of brokers and controllers alike."""


class AddRaftVoterResponse(ApiMessage, load_json=__name__):  # type: ignore[call-arg, misc]  # published without types
    """The answer to it."""


class RemoveRaftVoterRequest(ApiMessage, load_json=__name__):  # type: ignore[call-arg, misc]  # published without types
    """Asks for one voter less (key 81, 3.9 and newer)."""


class RemoveRaftVoterResponse(ApiMessage, load_json=__name__):  # type: ignore[call-arg, misc]  # published without types
    """The answer to it."""


class KRaftVersionRecord(ApiData, load_json=__name__):  # type: ignore[call-arg, misc]  # published without types
    """Value of control record 5: the finalized ``kraft.version``."""


class VotersRecord(ApiData, load_json=__name__):  # type: ignore[call-arg, misc]  # published without types
    """Value of control record 6: the whole set of voters."""


class LeaderChangeMessage(ApiData, load_json=__name__):  # type: ignore[call-arg, misc]  # published without types
    """Value of control record 2: a leader's first record in its epoch."""
