"""Ends of replicas' logs, which brokers log when they start and when they shrink an ISR.

A record that was acknowledged with acks=all is in the log of every member of the ISR.  If a broker's process
ends, the kernel keeps the data, and the broker finds it again.  A leader's high watermark is not above the
fetched offset of any member of the ISR.  The leader logs both when it removes a member, while neither can
change. Records that were acknowledged before in that leadership are below that high watermark, as long as the
leader's process goes on: a broker that restarts continues to lead in the same epoch if no controller fenced
it in time, and begins with the high watermark of its checkpoint.
"""

from collections.abc import Iterator, Mapping

import numpy as np

from checkers.columns.tables import Columns, Integers, PartitionName
from checkers.evidence.log_ends import SLACK_NS, Placed, loaded_logs, shrunk_isrs
from checkers.history.logged import IsrShrunk, LogCut, LogLoaded
from checkers.licences.disks import hits
from checkers.licences.facts import Facts
from checkers.logs.partitions.acknowledged import acknowledged
from checkers.logs.partitions.anomalies import ACKED_BEYOND_MARK, MARK_BEYOND_MEMBER, REPLICA_END_REGRESSION
from checkers.logs.partitions.broker_lives import same_process
from checkers.verdict.verdict import Anomaly

ROWS_MAX = 20
"""Number of records above the end of a log that are checked.

A record that the log had is among the first of them.
"""
UNDER_LOCK_SINCE = (3, 9)
"""Since this version, a lock protects followers' fetched offsets while the leader logs them."""


Rows = Mapping[PartitionName, Integers]
"""Rows of sends that all in-sync replicas acknowledged, by partition."""


def acknowledged_rows(columns: Columns) -> Rows:
    """The rows of all acknowledged sends by partition."""
    rows = np.flatnonzero(acknowledged(columns))
    return {
        partition: rows[columns.sends.partition[rows] == code]
        for code, partition in enumerate(columns.partitions)
    }


def find_ends(facts: Facts, columns: Columns, rows: Rows) -> Iterator[Anomaly]:
    """The findings of all three rules."""
    yield from _lost_at_start(facts, columns, rows)
    yield from _acked_beyond(facts, columns, rows)
    yield from _beyond_members(facts)


def figures(facts: Facts) -> dict[str, int]:
    """Numbers of the logged ends that were judged."""
    return {
        "logs_loaded": len(loaded_logs(facts.history)),
        "isrs_shrunk": len(shrunk_isrs(facts.history)),
    }


def _lost_at_start(facts: Facts, columns: Columns, rows: Rows) -> Iterator[Anomaly]:
    """Logs that lacked, when they were loaded, a record that was acknowledged while they were in sync."""
    for load in loaded_logs(facts.history):
        if load.name in rows and facts.changes.is_complete(load.name, load.time_ns + SLACK_NS):
            row = first_had(facts, columns, load, rows[load.name])
            if row is not None:
                yield _gone(columns, load, row)


def first_had(
    facts: Facts, columns: Columns, line: Placed[LogLoaded] | Placed[LogCut], rows: Integers
) -> int | None:
    """The first record above the end of a log that the replica certainly had, and that no fault removed.

    Args:
        facts: the history.
        columns: its columns.
        line: when a node loaded or truncated its log, and where the log ended then.
        rows: rows of the sends to the partition that all in-sync replicas acknowledged.

    Returns:
        The row of the send; None if there is no such record.
    """
    sends, replica = columns.sends, facts.ids.get(line.node)
    behind = (sends.offset[rows] >= line.logged.end) & (sends.completed_ns[rows] <= line.time_ns - SLACK_NS)
    later = rows[behind]
    for row in later[np.argsort(sends.offset[later], kind="stable")][:ROWS_MAX].tolist():
        sent_ns, acked_ns = int(sends.invoked_ns[row]), int(sends.completed_ns[row])
        then = facts.changes.possible(line.name, sent_ns, acked_ns)
        since = facts.changes.possible(line.name, sent_ns, line.time_ns + SLACK_NS)
        in_sync = all(replica in state.isr for state in then)
        stayed = all(replica in state.replicas and not state.recovering for state in since)
        if in_sync and stayed and not _struck(facts, line.name, line.node, sent_ns, line.time_ns + SLACK_NS):
            return int(row)
    return None


def _gone(columns: Columns, load: Placed[LogLoaded], row: int) -> Anomaly:
    sends = columns.sends
    value, offset = columns.value_named(sends.value[row]), int(sends.offset[row])
    return REPLICA_END_REGRESSION.found(
        f"{load.node} loaded its log of {load.name}, which ended at {load.logged.end}, but {value} had "
        f"been acknowledged at {offset} while it was in sync.",
        subject=f"{load.name}@{load.logged.end}",
        time_ns=load.time_ns,
        witness=(int(sends.invoke_op[row]), int(sends.complete_op[row]), load.index),
        explanation=(
            f"{value} was acknowledged at {int(sends.completed_ns[row]) / 1e9:.3f} s.",
            f"{load.cited}: it loads {load.name} up to {load.logged.end}.",
        ),
    )


def _acked_beyond(facts: Facts, columns: Columns, rows: Rows) -> Iterator[Anomaly]:
    """Acknowledged records whose leader later logged a high watermark that was at or below their offset."""
    sends = columns.sends
    for shrunk in shrunk_isrs(facts.history):
        if shrunk.name not in rows or not facts.changes.is_complete(shrunk.name, shrunk.time_ns + SLACK_NS):
            continue
        of_it = rows[shrunk.name]
        early = sends.completed_ns[of_it] <= shrunk.time_ns - SLACK_NS
        for row in of_it[early & (sends.offset[of_it] >= shrunk.logged.high_watermark)][:ROWS_MAX].tolist():
            if _led_since(facts, shrunk, int(sends.invoked_ns[row])):
                yield _early(columns, shrunk, row)
                break


def _led_since(facts: Facts, shrunk: Placed[IsrShrunk], from_ns: int) -> bool:
    """Whether one process of the node led the partition in one epoch until it shrank the ISR."""
    to_ns = shrunk.time_ns + SLACK_NS
    leaderships = {
        (state.leader, state.leader_epoch) for state in facts.changes.possible(shrunk.name, from_ns, to_ns)
    }
    led = len(leaderships) == 1 and {leader for leader, _ in leaderships} == {facts.ids.get(shrunk.node)}
    return led and same_process(facts, shrunk.node, from_ns, to_ns)


def _early(columns: Columns, shrunk: Placed[IsrShrunk], row: int) -> Anomaly:
    sends, mark = columns.sends, shrunk.logged.high_watermark
    value, offset = columns.value_named(sends.value[row]), int(sends.offset[row])
    return ACKED_BEYOND_MARK.found(
        f"{value} was acknowledged at {offset} of {shrunk.name}, but later the high watermark of "
        f"its leader {shrunk.node} was {mark}.",
        subject=str(shrunk.name),
        time_ns=shrunk.time_ns,
        witness=(int(sends.invoke_op[row]), int(sends.complete_op[row]), shrunk.index),
        explanation=(
            f"{value} was acknowledged at {int(sends.completed_ns[row]) / 1e9:.3f} s.",
            f"{shrunk.cited}: its high watermark is {mark}.",
        ),
    )


def _beyond_members(facts: Facts) -> Iterator[Anomaly]:
    """High watermarks above the fetched offset of an ISR member, as the leaders logged both."""
    names = {number: name for name, number in facts.ids.items()}
    for shrunk in shrunk_isrs(facts.history):
        logged_ns = shrunk.time_ns - SLACK_NS, shrunk.time_ns + SLACK_NS
        if facts.versions.oldest(*logged_ns, [shrunk.node]) < UNDER_LOCK_SINCE:
            continue
        for replica, end in shrunk.logged.out:
            beyond = replica in shrunk.logged.isr and 0 <= end < shrunk.logged.high_watermark
            until_ns = shrunk.time_ns + SLACK_NS
            if beyond and not _struck(facts, shrunk.name, names.get(replica, ""), 0, until_ns):
                yield _beyond(shrunk, replica, end)


def _beyond(shrunk: Placed[IsrShrunk], replica: int, end: int) -> Anomaly:
    mark = shrunk.logged.high_watermark
    return MARK_BEYOND_MEMBER.found(
        f"{shrunk.node} led {shrunk.name} with the high watermark {mark} while {replica}, which was in sync,"
        f" had fetched up to {end}.",
        subject=str(shrunk.name),
        time_ns=shrunk.time_ns,
        witness=(shrunk.index,),
        explanation=(
            f"{shrunk.cited}: its own log ends at {shrunk.logged.end},",
            f"and {replica} is removed from the ISR {list(shrunk.logged.isr)}.",
        ),
    )


def _struck(facts: Facts, partition: PartitionName, node: str, from_ns: int, to_ns: int) -> bool:
    """Whether a fault may have removed data of a partition from a node's disk between two times."""
    return any(
        window.concerns(node)
        and window.overlaps(from_ns, to_ns)
        and hits(facts.history, window, partition.topic, partition.partition)
        for window in facts.windows
    )
