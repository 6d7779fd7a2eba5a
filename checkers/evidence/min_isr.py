"""The ``min.insync.replicas`` of a topic, from the metadata log and the properties of nodes.

Kafka uses the first value that is set, in this order: the topic's own, the node's dynamic one, the cluster's
dynamic one, the one in the node's properties, and 1 (KIP-226).  Nodes may differ, so several values may be in
force at once.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from checkers.evidence.metadata_log import append_times, farthest
from checkers.history.operations import History, once
from checkers.history.setup import setup_of

CONFIG = "min.insync.replicas"
CONFIG_RECORD = "CONFIG_RECORD"
_TOPIC, _BROKER = 2, 4
"""Kafka's numbers for the configs of topics and of brokers."""
_CLUSTER = ""
"""The broker name under which Kafka stores the dynamic configs of all brokers."""
_DEFAULT = "1"


class MinIsrBounds(NamedTuple):
    """The lowest and the highest value that may be in force."""

    low: int
    high: int


class _ConfigRecord(msgspec.Struct, frozen=True, rename="camel"):
    resource_type: int
    resource_name: str
    name: str
    value: str | None = None


class MinIsr:
    """The values after the records that were applied.

    Args:
        static: values in the properties of nodes, `None` for nodes without one.
    """

    def __init__(self, static: set[str]) -> None:
        self._static = static
        self._values: dict[tuple[int, str], str] = {}

    def take(self, data: Mapping[str, object]) -> str | None:
        """Apply a config record.

        Returns:
            The topic whose value changed; an empty string for all topics; None if no value changed.

        Raises:
            msgspec.ValidationError: the record is not as docs/histories.md says.
        """
        if data.get("name") != CONFIG:
            return None
        record = msgspec.convert(data, _ConfigRecord)
        place = (record.resource_type, record.resource_name)
        if record.value is None:
            self._values.pop(place, None)
        else:
            self._values[place] = record.value
        return record.resource_name if record.resource_type == _TOPIC else ""

    def forget(self, topic: str) -> None:
        """Remove a topic's configs: a new topic with the same name has none of them.

        Source: Kafka's ReplicationControlManager, replay of a RemoveTopicRecord.
        """
        self._values.pop((_TOPIC, topic), None)

    def of(self, topic: str) -> MinIsrBounds:
        """The bounds of the value in force for a topic."""
        own = self._values.get((_TOPIC, topic))
        values = sorted(map(int, [own] if own is not None else self._of_nodes()))
        return MinIsrBounds(values[0], values[-1])

    def _of_nodes(self) -> set[str]:
        """Values that may be in force on some node for a topic without its own value."""
        dynamic = {v for (kind, name), v in self._values.items() if kind == _BROKER and name != _CLUSTER}
        cluster = self._values.get((_BROKER, _CLUSTER))
        return dynamic | (self._static if cluster is None else {cluster})


def min_isr_of(history: History) -> MinIsr:
    """The values before the first record of the metadata log, which are those in the nodes' properties.

    Raises:
        msgspec.ValidationError: the setup is not as docs/histories.md says.
    """
    return MinIsr(_static(history))


def _static(history: History) -> set[str]:
    setup = setup_of(history)
    if setup is None:
        return {_DEFAULT}
    everywhere = setup.config.get(CONFIG, _DEFAULT)
    static = {str(setup.node_config.get(node.name, {}).get(CONFIG, everywhere)) for node in setup.nodes}
    configured = (o.value["properties"] for o in history.of("configure") if o.value)
    static |= {str(each[CONFIG] or _DEFAULT) for each in configured if CONFIG in each}
    return static or {str(everywhere)}


class MinIsrPeriod(NamedTuple):
    """A value that is in force from one record of the metadata log on.

    Attributes:
        offset: the record's offset.
        low: the lowest value that may be in force.
        to_ns: the time until which certainly no record had changed the value, nanoseconds.
    """

    offset: int
    low: int
    to_ns: int


class _Record(NamedTuple):
    offset: int
    from_ns: int
    data: Mapping[str, object]


class LoggedMinIsr:
    """The values that were in force, according to the metadata log.

    Args:
        static: values in the properties of nodes.
        records: the records that changed a value, in the order of the log.
    """

    def __init__(self, static: set[str], records: Sequence[_Record]) -> None:
        self._static = static
        self._records = records

    def pieces(self, topic: str, offset: int, to_ns: int) -> Iterator[MinIsrPeriod]:
        """The values in force for a topic from a record until a time, one period after the other."""
        values = MinIsr(self._static)
        for record in self._records:
            low, begins = values.of(topic).low, record.offset > offset
            concerns = values.take(record.data) in {topic, ""}
            if begins and concerns:
                yield MinIsrPeriod(offset, low, min(to_ns, record.from_ns))
                offset = record.offset
        yield MinIsrPeriod(offset, values.of(topic).low, to_ns)


@once
def logged_min_isr(history: History) -> LoggedMinIsr:
    """The values that were in force, according to the metadata log that reaches farthest.

    Raises:
        msgspec.ValidationError: an observation, or a record of the log, is not as docs/histories.md says.
    """
    log, times = farthest(history), append_times(history)
    records = [
        _Record(offset, times.span(offset, epoch).from_ns, data)
        for offset, epoch, kind, data in (() if log is None else log.seen.records)
        if kind == CONFIG_RECORD and data.get("name") == CONFIG
    ]
    return LoggedMinIsr(_static(history), records)
