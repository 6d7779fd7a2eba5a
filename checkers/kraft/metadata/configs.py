"""Compares the topic configs that brokers describe at the end with the metadata log.

A broker applies committed records to its config cache in order, so it reports the value of the last one.  It
may lag: a value is accepted if it held `SETTLED_NS` before the report, or later.  A name is judged only if
the log, or its snapshot, has every change of it.  Only a topic's own values are judged, not defaults. Configs
that a version of this history has removed are left out, because its brokers need not report them.
"""

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from checkers.history.observed import TopicConfigsSeen, began_ns
from checkers.history.operations import History, Operation
from checkers.kraft.metadata.anomalies import CONFIG_AGAINST_LOG
from checkers.kraft.metadata.blocked import may_not_know
from checkers.kraft.metadata.findings import found_by
from checkers.kraft.metadata.listed_topics import SETTLED_NS
from checkers.kraft.metadata.logged import LoggedMetadata
from checkers.verdict.verdict import Anomaly

TOPIC_CONFIGS = "topic-configs"
"""The key of the configs that a broker reported."""


class ComparedConfigs(NamedTuple):
    """The result of the comparison: values that contradict the log, and the number of compared values."""

    anomalies: list[Anomaly]
    figures: dict[str, int]


def judge_configs(history: History, log: LoggedMetadata) -> ComparedConfigs:
    """Compare the configs that brokers reported with the metadata log.

    Raises:
        msgspec.ValidationError: an observation is not as docs/histories.md says.
    """
    found: list[Anomaly] = []
    compared = 0
    for operation in history.observed(TOPIC_CONFIGS):
        if not log.covered or operation.time_ns > log.until_ns:
            continue
        for reported in _values(msgspec.convert(operation.value, TopicConfigsSeen), log):
            if may_not_know(history, operation, reported.name):
                continue
            compared += 1
            anomaly = _against(operation, log, reported)
            if anomaly is not None:
                found.append(anomaly)
    return ComparedConfigs(found, {"configs_finally_compared": compared})


class _TopicConfig(NamedTuple):
    topic: str
    name: str
    value: str | None


def _values(seen: TopicConfigsSeen, log: LoggedMetadata) -> Iterator[_TopicConfig]:
    """Every config in an answer, and those that the log has for a topic in the answer."""
    for topic, configs in seen.topics.items():
        logged = {name for known, name in log.configs if known == topic}
        yield from (_TopicConfig(topic, name, configs.get(name)) for name in sorted(logged | configs.keys()))


def _against(operation: Operation, log: LoggedMetadata, reported: _TopicConfig) -> Anomaly | None:
    """A value that nothing in the log explains; None if the log explains it."""
    topic, name, value = reported
    states = log.config(topic, name)
    if states.of(value, began_ns(operation) - SETTLED_NS):
        return None
    last = states.records[-1]
    wanted = next(each for each, places in states.places.items() if len(states.records) - 1 in places)
    summary = (
        f"{operation.node} reports {name}={value} for {topic}, but the metadata log has "
        f"{name}={wanted} since offset {last.offset}."
    )
    return found_by(CONFIG_AGAINST_LOG, f"{topic} {name}", summary, [operation, log.log.operation])
