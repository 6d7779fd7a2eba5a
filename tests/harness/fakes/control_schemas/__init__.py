"""Control records (KIP-595, KIP-853) as kafka-python encodes them, by the JSON files here.

They test our own decoder, which shares nothing with them.

A record's field ``Version`` is named ``RecordVersion``, because kafka-python's classes have a ``version`` of
their own.
"""

from kafka.protocol.api_data import ApiData


class KRaftVersionRecord(ApiData, load_json=__name__):  # type: ignore[call-arg, misc]  # published without types
    """Value of control record 5: the finalized ``kraft.version``."""


class VotersRecord(ApiData, load_json=__name__):  # type: ignore[call-arg, misc]  # published without types
    """Value of control record 6: the whole set of voters."""


class LeaderChangeMessage(ApiData, load_json=__name__):  # type: ignore[call-arg, misc]  # published without types
    """Value of control record 2: a leader's first record in its epoch."""
