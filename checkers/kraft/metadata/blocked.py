"""Changes of a topic's config that were refused because of another config, one that Kafka has removed.

A topic keeps the configs that were set while Kafka knew them.  After an upgrade to a version without them, a
broker may ignore them, but a request that changes something else does not depend on them.  Only names that
Kafka removed are judged: a downgrade may leave configs that the older version does not know yet.
"""

import re
from collections.abc import Iterator

from checkers.evidence.administration import AdminOperation, requests_of
from checkers.evidence.kafka_versions import kafka_versions
from checkers.history.error_codes import ErrorCode
from checkers.history.observed import began_ns
from checkers.history.operations import History, Operation
from checkers.kraft.metadata.anomalies import CONFIG_CHANGE_BLOCKED
from checkers.verdict.verdict import Anomaly

_REMOVED = frozenset({"message.format.version", "message.timestamp.difference.max.ms"})
"""Topic configs that 4.0.0 no longer has (KIP-724, KIP-937)."""
_REMOVED_IN = (4, 0, 0)
_UNKNOWN_NAME = re.compile(r"Unknown topic config name: ([\w.]+)")
"""How Kafka's LogConfig.validateNames names the config that it does not know."""


def may_not_know(history: History, observed: Operation, config: str) -> bool:
    """Whether the broker that reported a topic's configs may not know one of them, although it was set."""
    times_ns = began_ns(observed), observed.time_ns
    newest = kafka_versions(history).newest(*times_ns, [observed.node or ""])
    return config in _REMOVED and newest >= _REMOVED_IN


def find_blocked(history: History) -> Iterator[Anomaly]:
    """The first refused change of each topic, with the config because of which it was refused.

    Raises:
        msgspec.ValidationError: the set-up is not as docs/histories.md says.
    """
    requests, reported = requests_of(history, "alter-topic"), set[str]()
    for request in requests:
        blocking, topic = _blocking(request), str(request.began.key)
        if blocking in _REMOVED - {request.began.value["config"]} and topic not in reported:
            reported.add(topic)
            yield _blocked(request, blocking, _last_set(requests, request, blocking))


def _blocking(request: AdminOperation) -> str:
    """The config that an answer reports as unknown; empty if it reports none."""
    answer = None if request.ended is None else request.ended.value
    if not isinstance(answer, dict) or answer.get("code") != ErrorCode.INVALID_CONFIG:
        return ""
    named = _UNKNOWN_NAME.search(answer.get("message") or "")
    return named[1] if named else ""


def _last_set(requests: list[AdminOperation], before: AdminOperation, name: str) -> AdminOperation | None:
    """The last acknowledged request, before another request, that set this config of the same topic."""
    earlier = requests[: requests.index(before)]
    alike = (each for each in reversed(earlier) if each.began.key == before.began.key)
    return next((each for each in alike if each.began.value["config"] == name and _done(each)), None)


def _done(request: AdminOperation) -> bool:
    answer = None if request.ended is None else request.ended.value
    return isinstance(answer, dict) and answer.get("code") == ErrorCode.NONE


def _blocked(request: AdminOperation, blocking: str, set_by: AdminOperation | None) -> Anomaly:
    asked, topic = request.began.value, str(request.began.key)
    earlier = set_by.operations if set_by else ()
    since = [f"{blocking} was set at {set_by.to_ns / 1e9:.1f} s; Kafka accepted it."] if set_by else []
    return CONFIG_CHANGE_BLOCKED.found(
        f"{asked['config']} of {topic} could not be changed: Kafka refused the request because of "
        f"{blocking}, which is not in the request.",
        subject=topic,
        time_ns=request.to_ns,
        witness=(*earlier, *request.operations),
        explanation=(
            *since,
            f"Only {asked['config']}={asked['value']} was requested, at {request.from_ns / 1e9:.1f} s.",
            f"Kafka answered INVALID_CONFIG: Unknown topic config name: {blocking}.",
            "As long as the topic has that config, no config of the topic can be changed.",
        ),
    )
