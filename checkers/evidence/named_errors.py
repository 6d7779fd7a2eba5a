"""Names of Kafka's errors in the error texts of the client libraries.

librdkafka and kafka-clients report an error's name before a colon (``OUT_OF_ORDER_SEQUENCE_NUMBER: …``),
kafka-python its number in brackets (``[Error 45]``).  Text in parentheses is krucible's comment or a detail.
The errors of several records are joined by semicolons.
"""

import re
from collections.abc import Iterable

OUT_OF_ORDER, OLD_EPOCH, TXN_STATE, PRODUCER_ID_MAPPING, UNKNOWN_PRODUCER, FENCED = 45, 47, 48, 49, 59, 90
KAFKA_CLIENTS = frozenset({"kafka-clients", "kafka-clients-other"})
"""Kafka's own client in Java: of the run's version, and of another one."""
KAFKA_PYTHON = "kafka-python"
LIBRDKAFKA = "confluent-kafka"
FENCING = frozenset((FENCED, OLD_EPOCH))
"""Errors of a producer whose epoch is not the newest."""
FORGETTING = frozenset((TXN_STATE, PRODUCER_ID_MAPPING))
"""Errors of a transaction or a producer that a coordinator does not know."""
FIRST_PROTOCOL = 1
"""Version of a client's transactions without a new epoch for each (KIP-890)."""
SCRIPT = "raw"
"""The client of scripts, which send requests that no library would send."""
_NAMES = {
    "OUT_OF_ORDER_SEQUENCE_NUMBER": OUT_OF_ORDER,
    "INVALID_PRODUCER_EPOCH": OLD_EPOCH,
    "INVALID_TXN_STATE": TXN_STATE,
    "INVALID_PRODUCER_ID_MAPPING": PRODUCER_ID_MAPPING,
    "UNKNOWN_PRODUCER_ID": UNKNOWN_PRODUCER,
    "PRODUCER_FENCED": FENCED,
    "_FENCED": FENCED,
}
_NAMED = re.compile(r"\[Error (?P<number>\d{1,5})\]|\b(?P<name>_?[A-Z]{2}[A-Z_]+)\b")
_ASIDE = re.compile(r"\([^()]*\)")
_CONSEQUENCE = re.compile(r"^(?:abort: )?_(?:FATAL|STATE|PURGE_QUEUE|PURGE_INFLIGHT)\b")
"""Errors that librdkafka returns for all other records after a producer's fatal error."""
_NEUTRAL = "its commit was never asked for"


def codes_in(text: str) -> frozenset[int]:
    """Kafka's codes of the errors that a text names, limited to the errors above."""
    found = (
        int(each["number"]) if each["number"] else _NAMES.get(each["name"]) for each in _NAMED.finditer(text)
    )
    return frozenset(code for code in found if code is not None and code in _NAMES.values())


def nothing_but(text: str, wanted: Iterable[int]) -> bool:
    """Whether a text reports only these errors and their consequences."""
    parts = [part.strip() for part in _ASIDE.sub("", text).split(";")]
    codes = frozenset(wanted)
    return all(
        part == _NEUTRAL or _CONSEQUENCE.match(part) is not None or bool(codes_in(part) & codes)
        for part in parts
    )
