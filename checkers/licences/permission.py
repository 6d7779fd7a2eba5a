"""When configs may have permitted unclean elections, and whether they permitted them all the time.

A topic's own unclean.leader.election.enable comes first.  If the topic has none, the value of the active
controller's node applies, so one controller among several is enough (KAFKA-12670, from 3.9.0 on).  Values
change:

- A topic's value changes by *alter-topic*, not before the request.  Once it is acknowledged, the former value
  no longer applies.  Without an answer, the metadata log shows whether, and when, the value changed.
- A node's value changes by *configure*, at the node's next start.  Once a fault has ended its process after
  that, the former value no longer applies.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec

from checkers.columns.tables import NEVER
from checkers.evidence.administration import AdminOperation, requests_of
from checkers.evidence.fates import Fate
from checkers.evidence.metadata_log import TimeBounds
from checkers.history.requested import NodeConfigured, TopicAltered
from checkers.history.setup import Topic
from checkers.licences.facts import Facts

UNCLEAN_CONFIG = "unclean.leader.election.enable"
HONOURED_SINCE = (3, 9)
"""First version whose KRaft controllers obey unclean.leader.election.enable (KAFKA-12670).

It is enough that one controller has this version at that time, because it may be the active one.
"""


def topic_named(facts: Facts, name: str) -> Topic:
    """A topic of the run, or an internal topic of Kafka with the config that the metadata log shows.

    Kafka creates `__transaction_state` with unclean elections forbidden.  A config that was recorded as true
    at any time counts as true.
    """
    for topic in facts.setup.topics:
        if topic.name == name:
            return topic
    values = [
        change.value
        for change in facts.configs.changes
        if (change.topic, change.config) == (name, UNCLEAN_CONFIG) and change.value is not None
    ]
    config = {UNCLEAN_CONFIG: any(map(_meaning, values))} if values else {}
    return Topic(name=name, partitions=1, config=config)


class _Setting(NamedTuple):
    """A value that was set; times in nanoseconds.

    Attributes:
        enabled: whether unclean elections are allowed; None: not set here.
        from_ns: the earliest time at which it came into force.
        set_ns: the latest time at which it was set; `NEVER` if unknown.
        alone_ns: time from which earlier values certainly are no longer in force.
    """

    enabled: bool | None
    from_ns: int = 0
    set_ns: int = 0
    alone_ns: int = 0


def permitted(facts: Facts, topic: Topic) -> tuple[TimeBounds, ...]:
    """Times at which configs that controllers obey may have allowed unclean elections of a topic.

    Returns:
        Spans that do not overlap, in order of time.

    Raises:
        msgspec.ValidationError: an operation is not as docs/histories.md says.
    """
    obeyed = [TimeBounds(*times) for times in facts.versions.times_of(HONOURED_SINCE, _controllers(facts))]
    if not obeyed:
        return ()
    own = list(_of_topic(facts, topic))
    beneath = _merged(span for settings in _of_nodes(facts) for span in _in_force(settings, enabled=True))
    both = (_overlap(unset, span) for unset in _in_force(own, enabled=None) for span in beneath)
    allowed = _merged([*_in_force(own, enabled=True), *both])
    return _merged(_overlap(span, times) for span in allowed for times in _merged(obeyed))


def enabled_always(facts: Facts, topic: Topic) -> bool:
    """Whether configs always allowed unclean elections of a topic, even if controllers ignored the config."""
    first, *later = _of_topic(facts, topic)
    if not all(setting.enabled for setting in later):
        return False
    if first.enabled is not None:
        return first.enabled
    return all(setting.enabled for settings in _of_nodes(facts) for setting in settings)


def _of_topic(facts: Facts, topic: Topic) -> Iterator[_Setting]:
    yield _Setting(_meaning(topic.config.get(UNCLEAN_CONFIG)))
    for value, span in alterations(facts, topic, UNCLEAN_CONFIG):
        yield _Setting(_meaning(value), span.from_ns, span.to_ns, span.to_ns)


def alterations(facts: Facts, topic: Topic, config: str) -> Iterator[tuple[str | None, TimeBounds]]:
    """Values that a topic's config was set to (None: removed), and when they may have been in force.

    Raises:
        msgspec.ValidationError: a request is not as docs/histories.md says.
    """
    for request in requests_of(facts.history, "alter-topic"):
        asked = msgspec.convert(request.began.value, TopicAltered)
        meant = request.began.key == topic.name and asked.config == config
        span = _altered(facts, request) if meant else None
        if span is not None:
            yield asked.value, span


def _altered(facts: Facts, request: AdminOperation) -> TimeBounds | None:
    """When a request that alters a topic's config took effect; None if it certainly never did."""
    if request.failed or (request.unknown and facts.configs.fate(request) is Fate.NOT):
        return None
    if not request.unknown:
        return TimeBounds(request.from_ns, request.to_ns)
    records = facts.configs.of(request)
    if len(records) != 1:  # of several it is unknown which was its own
        return TimeBounds(request.from_ns, NEVER)
    return TimeBounds(max(request.from_ns, records[0].span.from_ns), records[0].span.to_ns)


def _of_nodes(facts: Facts) -> list[list[_Setting]]:
    """The values that were set on each node that may be the active controller; the default is false."""
    setup = facts.setup
    configured = requests_of(facts.history, "configure")
    settings: list[list[_Setting]] = []
    for name in _controllers(facts) or [""]:
        config = setup.config | setup.node_config.get(name, {})
        first = _Setting(_meaning(config.get(UNCLEAN_CONFIG, False)))
        changes = (each for each in configured if each.began.key == name)
        settings.append([first, *(found for each in changes for found in _configured(facts, name, each))])
    return settings


def _controllers(facts: Facts) -> list[str]:
    """Nodes that may be the active controller."""
    return [node.name for node in facts.setup.nodes if not node.roles or "controller" in node.roles]


def _configured(facts: Facts, node: str, request: AdminOperation) -> Iterator[_Setting]:
    properties = msgspec.convert(request.began.value, NodeConfigured).properties
    if UNCLEAN_CONFIG in properties and not request.failed:
        ended = (
            window.effective_ns
            for window in facts.windows
            if window.down and node in window.targets and window.invoked_ns >= request.to_ns
        )
        alone_ns = min((at_ns for at_ns in ended if at_ns is not None), default=NEVER)
        yield _Setting(
            bool(_meaning(properties[UNCLEAN_CONFIG])), request.from_ns, request.to_ns, int(alone_ns)
        )


def _meaning(value: object) -> bool | None:
    return None if value is None else str(value).lower() == "true"


def _in_force(settings: Iterable[_Setting], *, enabled: bool | None) -> list[TimeBounds]:
    """Times at which a setting with a given value may have been in force."""
    all_settings = list(settings)
    return [
        TimeBounds(
            each.from_ns,
            min((o.alone_ns for o in all_settings[i + 1 :] if o.from_ns >= each.set_ns), default=NEVER),
        )
        for i, each in enumerate(all_settings)
        if each.enabled is enabled
    ]


def _overlap(one: TimeBounds, other: TimeBounds) -> TimeBounds:
    return TimeBounds(max(one.from_ns, other.from_ns), min(one.to_ns, other.to_ns))


def _merged(spans: Iterable[TimeBounds]) -> tuple[TimeBounds, ...]:
    found: list[TimeBounds] = []
    for span in sorted(each for each in spans if each.from_ns <= each.to_ns):
        if found and span.from_ns <= found[-1].to_ns:
            found[-1] = TimeBounds(found[-1].from_ns, max(found[-1].to_ns, span.to_ns))
        else:
            found.append(span)
    return tuple(found)
