"""Exceptions to the rules on replicas: power loss, retention, deletion, compaction, expiration."""

from collections.abc import Iterator
from typing import NamedTuple

from checkers.evidence.administration import alterations_of, requests_of
from checkers.evidence.faults import fault_windows
from checkers.history.operations import FAIL, History
from checkers.history.requested import TopicAltered
from checkers.history.setup import COMPACT, Setup

_POLICY = "cleanup.policy"
_RETENTION = frozenset({"retention.ms", "retention.bytes"})
_UNLIMITED = "-1"
_NODE_POLICY = "log.cleanup.policy"
_NODE_RETENTION = frozenset({f"log.retention.{unit}" for unit in ("ms", "minutes", "hours", "bytes")})
_EXPIRATION = frozenset({"producer.id.expiration.ms", "transactional.id.expiration.ms"})
_DAY_MS = 24 * 60 * 60 * 1_000
"""No run takes as long."""


class Limits(NamedTuple):
    """Nodes and topics for which Kafka guarantees less, so that some rules on replicas do not apply.

    Attributes:
        unsynced: names of nodes that may have lost data that they had not synced.
        retained: topics whose old segments may be deleted at any time.
        deleted: topics of which the deletion of records was requested.
        compacted: topics whose batches may be rewritten.
        forgetting: whether brokers are configured to forget producers earlier than after a day.
    """

    unsynced: frozenset[str]
    retained: frozenset[str]
    deleted: frozenset[str]
    compacted: frozenset[str]
    forgetting: bool


def limits_of(history: History, meant: Setup) -> Limits:
    """The limits from the faults and configs of a history; an altered config counts for the whole run.

    A retention of brokers counts for all topics, and their policy for topics without their own.  An unlimited
    retention, and an expiration after a day or more, are no limits.

    Raises:
        msgspec.ValidationError: an operation is not as docs/histories.md says.
    """
    altered = [(o.key, asked) for o, asked in alterations_of(history) if o.type is not FAIL]
    anybody = tuple(meant.names.values())
    hit_nodes = (window.targets or anybody for window in fault_windows(history) if window.loses_unsynced)
    of_topics = {
        topic.name for topic in meant.topics if any(_removes(*each) for each in topic.config.items())
    }
    rewritten = {topic.name for topic in meant.topics if meant.is_compacted(topic.name)}
    deletions = (request for request in requests_of(history, "delete-records") if not request.failed)
    of_nodes = list(_of_nodes(history, meant))
    unset = {topic.name for topic in meant.topics if not topic.config.get(_POLICY)}
    everything = frozenset(topic.name for topic in meant.topics)
    compacting = any(name == _NODE_POLICY and COMPACT in str(value) for name, value in of_nodes)
    return Limits(
        unsynced=frozenset(node for targets in hit_nodes for node in targets),
        retained=(everything if any(_removes(*each) for each in of_nodes) else frozenset())
        | frozenset(of_topics | {key for key, asked in altered if _removes(asked.config, asked.value)}),
        deleted=frozenset(request.began.key for request in deletions),
        compacted=(frozenset(unset) if compacting else frozenset())
        | frozenset(rewritten | {key for key, asked in altered if _compacts(asked)}),
        forgetting=any(_forgets(*each) for each in of_nodes),
    )


def _of_nodes(history: History, meant: Setup) -> Iterator[tuple[str, object]]:
    """Configs of brokers: names and values from the setup, later properties, and defaults for all brokers."""
    for config in (meant.config, *meant.node_config.values()):
        yield from config.items()
    for operation in history.of("configure"):
        yield from (operation.value or {}).get("properties", {}).items()
    for request in requests_of(history, "alter-brokers"):
        if not request.failed:
            yield request.began.key, request.began.value["value"]


def _removes(name: str, value: object) -> bool:
    """Whether a config limits how long, or how much, a topic keeps."""
    return name in _RETENTION | _NODE_RETENTION and value is not None and str(value) != _UNLIMITED


def _forgets(name: str, value: object) -> bool:
    """Whether a config lets brokers forget producers earlier than after a day."""
    long = value is None or (str(value).isdecimal() and int(str(value)) >= _DAY_MS)
    return name in _EXPIRATION and not long


def _compacts(asked: TopicAltered) -> bool:
    return asked.config == _POLICY and COMPACT in str(asked.value)
