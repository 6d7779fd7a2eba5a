"""The values of topic configs over time, from the metadata log."""

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from checkers.columns.tables import NEVER
from checkers.evidence.administration import AdminOperation
from checkers.evidence.fates import Fate, fate
from checkers.evidence.metadata_log import TimeBounds, append_times, farthest
from checkers.history.operations import History, once
from checkers.history.requested import TopicAltered

_TOPIC = 2
"""Kafka's number for configs of topics."""


class ConfigChange(NamedTuple):
    """A record that set a topic's config, or removed it (value None), and the record's time."""

    topic: str
    config: str
    value: str | None
    span: TimeBounds


class ConfigChanges(NamedTuple):
    """Changes of configs in the metadata log.

    Attributes:
        changes: in the order of the log.
        complete: whether these are all changes, from the start of the cluster to the end of the run.
    """

    changes: tuple[ConfigChange, ...]
    complete: bool

    def of(self, request: AdminOperation) -> list[ConfigChange]:
        """The changes that a request may have caused.

        Raises:
            msgspec.ValidationError: the request is not as docs/histories.md says.
        """
        asked = msgspec.convert(request.began.value, TopicAltered)
        wanted = (request.began.key, asked.config, asked.value)
        return [each for each in self.changes if each[:3] == wanted and each.span.to_ns >= request.from_ns]

    def fate(self, request: AdminOperation) -> Fate:
        """Return the outcome of an unanswered request."""
        return fate(found=bool(self.of(request)), complete=self.complete)


class _ConfigRecord(msgspec.Struct, frozen=True, rename="camel"):
    resource_type: int
    resource_name: str
    name: str
    value: str | None = None


@once
def config_changes(history: History) -> ConfigChanges:
    """Find the records of configs in the metadata log that reaches farthest.

    If that log begins later than the cluster, or a leader's log was longer, the missing part is unknown.

    Raises:
        msgspec.ValidationError: an observation, or a record of the log, is not as docs/histories.md says.
    """
    log = farthest(history)
    if log is None:
        return ConfigChanges((), complete=False)
    times = append_times(history)
    is_complete = not log.seen.log_start and times.complete_until_ns(log) == NEVER

    def changes() -> Iterator[ConfigChange]:
        for offset, epoch, kind, data in log.seen.records:
            if kind == "CONFIG_RECORD":
                one = msgspec.convert(data, _ConfigRecord)
                if one.resource_type == _TOPIC:
                    yield ConfigChange(one.resource_name, one.name, one.value, times.span(offset, epoch))

    return ConfigChanges(tuple(changes()), is_complete)
