"""Which events of a history permit the loss of an acknowledged record, and what else they permit.

The rules are one table, `RULES`.  A rule says under which configuration it applies to a topic, which events
of the history it needs, and whether it covers records that a consumer had already received.  An event that is
not in the table permits nothing.  For acks=all, the following permit nothing: killing, stopping, pausing or
cutting off nodes, preferred elections, reassignments, changes of voters, and ``min.insync.replicas=1`` (a
killed process keeps its disk).

The last row permits nothing either: it explains a loss by a known gap of Kafka.  Compaction depends on single
records and is judged with them (`checkers.logs.log.licensing`).
"""

from checkers.history.operations import History, once
from checkers.history.setup import Topic
from checkers.licences.decisions import decisions_of
from checkers.licences.destroyed import last_wiped, unsynced, wiped
from checkers.licences.disturbances import always
from checkers.licences.facts import Facts
from checkers.licences.later_leaders import later_leaders
from checkers.licences.missed_markers import missed_markers
from checkers.licences.permission import permitted
from checkers.licences.permits import LicenceEvent, LicenceRule, Licences, Permit, first_permit
from checkers.licences.removals import deletions, log_starts
from checkers.licences.unclean import configured, last_known, requested

__all__ = [
    "RULES",
    "LicenceEvent",
    "Licences",
    "Permit",
    "first_permit",
    "licences_of",
]


@once
def licences_of(history: History) -> Licences:
    """Find everything in a history that permits a loss, or explains it.

    Raises:
        msgspec.ValidationError: an operation is not as docs/histories.md says.
    """
    facts = Facts(history)
    topics = facts.setup.topics
    permits: dict[str, list[Permit]] = {topic.name: [] for topic in topics}
    for rule in RULES:
        ruled = {topic.name for topic in topics if rule.applies(facts, topic)}
        for event in rule.events(facts) if ruled else ():
            permit = Permit(event, rule.covers_returned, _text(rule, event), rule.gap)
            for name in ruled if event.where is None else ruled & {event.where.topic}:
                permits[name].append(permit)
    missed = {name: each.leaders for name, each in missed_markers(history).items()}
    return Licences(permits, decisions_of(history) if topics else None, missed)


def _text(rule: LicenceRule, event: LicenceEvent) -> str:
    return f"{rule.name}: {event.text}; {rule.reason}"


def _waits_for_none(facts: Facts, _: Topic) -> bool:
    return str(facts.setup.workload.acks) == "0"


def _waits_for_one(facts: Facts, _: Topic) -> bool:
    return facts.leader_acknowledges_alone


def _permits_unclean(facts: Facts, topic: Topic) -> bool:
    return bool(permitted(facts, topic))


def _always(_: Facts, __: Topic) -> bool:
    return True


def _keeps_eligible(facts: Facts, _: Topic) -> bool:
    return facts.eligible_replicas


def _keeps_none_eligible(facts: Facts, _: Topic) -> bool:
    return facts.no_eligible_replicas


def _retains(_: Facts, topic: Topic) -> bool:
    """Whether a topic's own config limits how long, or how much, the topic keeps."""
    limits = (topic.config.get(name) for name in ("retention.ms", "retention.bytes"))
    return "delete" in topic.cleanup and any(str(limit) not in {"None", "-1"} for limit in limits)


RULES = (
    LicenceRule(
        name="acks=0",
        applies=_waits_for_none,
        events=always,
        covers_returned=False,
        reason="the producer did not wait for an acknowledgement",
    ),
    LicenceRule(
        name="acks=1",
        applies=_waits_for_one,
        events=later_leaders,
        covers_returned=False,
        reason="only the leader had to have the record, so a later leader may lack it",
    ),
    LicenceRule(
        name="ElectLeaders UNCLEAN",
        applies=_always,
        events=requested,
        covers_returned=True,
        reason="on request a replica that was not in sync may lead, and the records that it lacks "
        "are truncated",
    ),
    LicenceRule(
        name="unclean.leader.election.enable=true",
        applies=_permits_unclean,
        events=configured,
        covers_returned=True,
        reason="a replica that was not in sync may lead, and the records that it lacks are truncated",
    ),
    LicenceRule(
        name="last known leader",
        applies=_keeps_eligible,
        events=last_known,
        covers_returned=True,
        reason="no replica was in the ISR or ELR, so the last known leader was elected, and the "
        "records that it had lost are truncated (KIP-966)",
    ),
    LicenceRule(
        name="wiped disks",
        applies=_always,
        events=wiped,
        covers_returned=True,
        reason="no other copy had to have the record",
    ),
    LicenceRule(
        name="power loss",
        applies=_always,
        events=unsynced,
        covers_returned=True,
        reason="an acknowledgement does not wait until records are flushed to disk",
    ),
    LicenceRule(
        name="DeleteRecords",
        applies=_always,
        events=deletions,
        covers_returned=True,
        reason="records below that offset are deleted on request (KIP-107)",
    ),
    LicenceRule(
        name="retention",
        applies=_retains,
        events=log_starts,
        covers_returned=True,
        reason="segments beyond the topic's retention time or size are deleted",
    ),
    LicenceRule(
        name="last replica standing",
        applies=_keeps_none_eligible,
        events=last_wiped,
        covers_returned=True,
        reason="without eligible leader replicas only it may lead, with the records that it still "
        "has (KIP-966)",
        gap=True,
    ),
)
"""The configurations and events that permit a loss.  The first row that covers a loss is its licence."""
