"""Judges topics and configs: acknowledged changes are kept, and all brokers agree at the end.

Operations are *create-topic*, *delete-topic* and *list-topics* of docs/histories.md.  A name may be created
again after its deletion.  That is another topic, with another id (`topic_lives`).  A broker's list may be old
while faults last, because the broker applies the metadata log with a delay.  So missing and remaining topics
are judged only by the last list of each broker in the final phase.

1. No list, at any time, has a topic whose creation had not begun or had failed: ``phantom-topic``.
2.  If all creations of a name were acknowledged, the name has no other ids than theirs: ``changed-topic-id``.
   If one was not acknowledged, or was requested during a fault, a client or a broker may have sent it twice,
   and the topic may come back after its deletion, with another id.
3.  The last lists show what was acknowledged: ``lost-topic``, ``resurrected-topic``.
4. The last lists are the same: ``divergent-metadata``.
5.  A topic that is created again has a new id, and a broker that reported the new id does not report an older
   one afterwards (`identities`): ``reused-topic-id``, ``topic-created-twice``, ``returned-topic-id``.
6. Records that are fetched by a topic's id were appended to that topic (`records`): ``deleted-topic-read``.
7. A change of a config is not refused because of another config that Kafka removed (`blocked`):
   ``config-change-blocked``.
8.  The metadata log has every acknowledged change, not only of topics.  It had the change before the answer,
    and lists agree with the log (`kept_changes`).

If the disks of a majority of the voters were wiped, acknowledged changes may be lost (`wipes`).  Configs are
registers too, which `checkers.registers` judges.
"""

from checkers.evidence.faults import fault_windows
from checkers.history.operations import History
from checkers.history.setup import recorded_setup
from checkers.history.sources import unassigned_damage
from checkers.kraft.metadata.anomalies import ANOMALIES, NEEDS
from checkers.kraft.metadata.blocked import find_blocked
from checkers.kraft.metadata.findings import find_changed_ids, find_divergence, find_in_final, find_phantoms
from checkers.kraft.metadata.identities import find_identities
from checkers.kraft.metadata.kept_changes import judge_kept
from checkers.kraft.metadata.loading import Metadata, MetadataShapeError, metadata_of
from checkers.kraft.metadata.records import judge_fetched
from checkers.kraft.metadata.topic_lives import lives_of
from checkers.kraft.metadata.wipes import licensed
from checkers.verdict.entry import Entry
from checkers.verdict.verdict import Assumption, CheckerResult, result_of

__all__ = ["ENTRY", "check_metadata"]

CHECKER = "metadata"
"""Name of the checker, as in verdicts."""
WORKLOAD = "metadata"
CREATED_MIN = 10
DELETED_MIN = 5
"""The least number of acknowledged creations and deletions in a run with the metadata workload."""


def check_metadata(history: History) -> CheckerResult:
    """Judge topics that are created and deleted.

    The result is not exercised if there are no such topics and none were planned.

    Args:
        history: as `checkers.history.reading.read_history` returns it.

    Raises:
        msgspec.ValidationError: the set-up is not as docs/histories.md says.
    """
    windows = fault_windows(history)
    try:
        metadata = metadata_of(history.operations)
        anomalies = [
            *find_phantoms(metadata),
            *find_changed_ids(metadata, windows),
            *find_in_final(metadata, windows),
            *find_divergence(metadata),
            *find_identities(history, metadata),
            *find_blocked(history),
        ]
        fetched = judge_fetched(history, metadata)
    except MetadataShapeError as error:
        return result_of(CHECKER, [], unknown_because=str(error))
    kept = judge_kept(history, metadata)
    return result_of(
        CHECKER,
        [*licensed(anomalies, history), *fetched.anomalies, *kept.anomalies],
        assumptions=tuple(_assumptions(history, metadata)),
        figures=_figures(metadata) | fetched.figures | kept.figures,
        unknown_because="; ".join([*unassigned_damage(history), *([kept.doubt] if kept.doubt else [])])
        or None,
        exercised=bool(
            metadata.created
            or metadata.deleted
            or metadata.listings
            or kept.figures.get("acknowledgements_compared")
        ),
    )


def _assumptions(history: History, metadata: Metadata) -> list[Assumption]:
    """The assumptions about runs that create and delete topics; other runs need none."""
    setup = recorded_setup(history)
    if not metadata.created and setup.workload.kind != WORKLOAD:
        return []
    figures = _figures(metadata)
    created, deleted = figures["created_topics"], figures["deleted_topics"]
    listed = len(metadata.final_listings())
    brokers = max(1, sum("broker" in node.roles for node in setup.nodes))
    again = [
        Assumption(
            "topics-recreated",
            figures["recreated_topics"] > 0,
            "at least 1 topic created again under its old name, acknowledged",
            f"{figures['recreated_topics']} were",
        )
    ]
    return [
        *(again if setup.workload.recreated_share else []),
        Assumption(
            "topics-changed",
            created >= CREATED_MIN and deleted >= DELETED_MIN,
            f"at least {CREATED_MIN} topics created and {DELETED_MIN} deleted, acknowledged",
            f"{created} created and {deleted} deleted",
        ),
        Assumption(
            "topics-finally-listed",
            listed >= brokers,
            f"{brokers} brokers listed their topics in the phase final-read",
            f"{listed} did",
        ),
    ]


def _figures(metadata: Metadata) -> dict[str, int]:
    creations = [change for changes in metadata.created.values() for change in changes]
    deletions = [change for changes in metadata.deleted.values() for change in changes]
    again = (life for name in metadata.created for life in lives_of(metadata, name)[1:])
    return {
        "created_topics": sum(change.acknowledged for change in creations),
        "recreated_topics": sum(life.creation.acknowledged for life in again),
        "deleted_topics": sum(change.acknowledged for change in deletions),
        "indeterminate_changes": sum(
            not (change.acknowledged or change.failed) for change in [*creations, *deletions]
        ),
        "listings": len(metadata.listings),
    }


ENTRY = Entry(CHECKER, check_metadata, ANOMALIES, NEEDS)
