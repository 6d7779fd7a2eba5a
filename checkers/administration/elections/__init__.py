"""The election checker: every leader was allowed to lead, and answers were correct (KIP-460).

Evidence is the metadata log.  It shows every unclean election (``leaderRecoveryState``, KIP-704), which must
have been allowed by unclean.leader.election.enable (from 3.9 on), by a request for an unclean election at
that time, or, with eligible leader replicas, by the replica being the last known leader:
``unclean-election-unlicensed``.  This applies to Kafka's internal topics too.  Answers to requests must agree
with some state that may have been current: ``election-contradicts-state``.  A partition that permits unclean
elections must not stay without a leader: ``election-withheld``.  The log checker judges losses by unclean
elections, see `checkers.licences`.
"""

from collections import Counter
from itertools import pairwise

from checkers.administration.elections.anomalies import ANOMALIES, NEEDS, UNLICENSED
from checkers.administration.elections.answers import find_contradictions
from checkers.administration.elections.withheld import find_withheld
from checkers.columns.tables import PartitionName
from checkers.evidence.administration import AdminOperation, requests_of
from checkers.evidence.fates import counted, fate_of_election
from checkers.evidence.partition_changes import PartitionState
from checkers.history.observed import began_ns
from checkers.history.operations import History
from checkers.history.setup import setup_of
from checkers.history.units import NS_PER_MS
from checkers.licences.facts import Facts
from checkers.licences.permission import enabled_always
from checkers.licences.requested_elections import allowed
from checkers.verdict.entry import Entry
from checkers.verdict.verdict import Anomaly, CheckerResult, result_of

__all__ = ["ENTRY", "check_elections"]

CHECKER = "elections"
"""Name of the checker, as in verdicts."""
_RESIGNS_SINCE = (3, 7)
"""First version in which a quorum leader resigns when it loses its majority (KAFKA-15489)."""
_BEHIND = 2
"""Number of fetch timeouts after which it has resigned: 1.5, and a margin."""
_SLACK_NS = 1_000_000_000


def check_elections(history: History) -> CheckerResult:
    """Judge elections.

    The result is unknown if elections were requested and the metadata log does not have the states.

    Raises:
        msgspec.ValidationError: an operation is not as docs/histories.md says.
    """
    facts = Facts(history)
    changes = facts.changes
    wiped = any(window.wipes for window in facts.windows)
    contradictions = find_contradictions(
        facts.elections, changes, lambda asked: _behind_ns(facts, asked), wiped=wiped
    )
    anomalies = [*_unlicensed(facts), *contradictions]
    if not any(hit.wipes or hit.fails_disk for hit in facts.windows):
        # otherwise a broker may be up while the directory of its replica is missing (KIP-858)
        anomalies += find_withheld(changes, _permitting(facts), _complete_ns(facts))
    return result_of(
        CHECKER,
        anomalies,
        figures=_figures(facts),
        unknown_because=_doubt(facts),
        exercised=bool(facts.elections) or changes.op is not None,
    )


def _doubt(facts: Facts) -> str | None:
    """Why answers can't be judged; None if they can."""
    if facts.elections and facts.changes.op is None:
        return "elections were requested, and no metadata log has the partitions' states"
    if any(each.codes and each.request.to_ns > facts.changes.complete_until_ns for each in facts.elections):
        return "elections were answered after the end of all metadata logs that could be read"
    return None


def _permitting(facts: Facts) -> list[PartitionName]:
    """Partitions whose configs always allowed unclean elections, in any version."""
    topics = {topic.name for topic in facts.setup.topics if enabled_always(facts, topic)}
    return [partition for partition in facts.partitions if partition.topic in topics]


def _complete_ns(facts: Facts) -> int:
    """The time until which the metadata log is complete: it was read then, or leaders had more."""
    op = facts.changes.op
    read_ns = 0 if op is None else began_ns(facts.history.operations[op])
    return min(read_ns, facts.changes.complete_until_ns)


def _behind_ns(facts: Facts, asked: AdminOperation) -> int:
    """How far the state of a controller that refuses an election may lag behind."""
    setup = setup_of(facts.history)
    controllers = [node.name for node in facts.setup.nodes if not node.roles or "controller" in node.roles]
    oldest = facts.versions.oldest(asked.from_ns, asked.to_ns, controllers)
    if setup is None or oldest < _RESIGNS_SINCE:
        return facts.history.operations[-1].time_ns if facts.history.operations else 0
    return setup.controller_fetch_timeout_ms * NS_PER_MS * _BEHIND + _SLACK_NS


def _unlicensed(facts: Facts) -> list[Anomaly]:
    """Unclean elections that were not permitted, in topics of the run and Kafka's internal topics."""
    return [
        _found(facts, partition, before, state)
        for partition, states in facts.changes.states.items()
        for before, state in pairwise(states)
        if state.unclean and not allowed(facts, partition, state)
    ]


def _found(facts: Facts, partition: PartitionName, before: PartitionState, state: PartitionState) -> Anomaly:
    op = facts.changes.op
    return UNLICENSED.found(
        f"Broker {state.leader} was elected leader of {partition} in leader epoch {state.leader_epoch}, and "
        f"was neither in the ISR {list(before.isr)} nor in the ELR {list(before.elr)}.",
        subject=str(partition),
        witness=() if op is None else (op,),
        explanation=(
            f"Offset {state.offset} of the metadata log records the election.",
            (
                "When that record was appended, no config allowed unclean elections, and no request "
                "asked for one."
            ),
        ),
    )


def _figures(facts: Facts) -> dict[str, object]:
    answers: Counter[str] = Counter()
    for election in facts.elections:
        answers.update(f"{election.type} {code}" for code in election.codes.values())
    steps = [step for states in facts.changes.states.values() for step in pairwise(states)]
    states = [after for _, after in steps]
    own = (states for name, states in facts.changes.states.items() if name.topic.startswith("__"))
    internal = [after for states in own for _, after in pairwise(states)]
    return {
        "requests": len(facts.elections),
        "requests_of_unknown_outcome": sum(election.request.unknown for election in facts.elections),
        "requests_resolved": counted(
            fate_of_election(each, facts.changes) for each in facts.elections if each.request.unknown
        ),
        "configs_resolved": counted(
            facts.configs.fate(each) for each in requests_of(facts.history, "alter-topic") if each.unknown
        ),
        "answers_by_type_and_code": dict(sorted(answers.items())),
        "isr_shrinks": sum(not {*before.isr} <= {*after.isr} for before, after in steps),
        "elections": sum(state.elected for state in states),
        "unclean_elections": sum(state.unclean for state in states),
        "elections_of_internal_topics": sum(state.elected for state in internal),
        "elections_from_elr": sum(state.was_eligible for state in states),
        "elections_of_last_known_leader": sum(state.unclean and state.last_leader for state in states),
    }


ENTRY = Entry(CHECKER, check_elections, ANOMALIES, NEEDS)
