"""Logs that followers truncated below what was committed.

Records below a high watermark are committed: every in-sync replica has them, and clean elections elect only
in-sync replicas.  So a follower whose log differs from its leader's truncates its log only above its high
watermark (KIP-101, KIP-279), which its leaders sent to it.  Kafka logs a truncation below the high watermark.

A follower whose log did not end above its high watermark does not log that.  So every truncation is compared
with the records that clients know to be committed too: those that were sent and acknowledged while the
follower certainly was a member of the ISR.  It had them, and since then it has been a replica all the time,
so that its log was not deleted.

Such a truncation is legal after an unclean election, after a disk lost records, or if a licence permits a
loss.  Deleted topics are not judged.
"""

from collections.abc import Iterator

import numpy as np

from checkers.columns.tables import NONE, Columns, Integers
from checkers.evidence.log_ends import SLACK_NS, Cut, Truncated, cut_logs, truncated_logs
from checkers.history.units import NS_PER_S
from checkers.licences import licences_of
from checkers.licences.disks import hits
from checkers.licences.facts import Facts
from checkers.logs.partitions.acknowledged import acknowledged
from checkers.logs.partitions.anomalies import TRUNCATED_BELOW_MARK, TRUNCATED_COMMITTED
from checkers.logs.partitions.zones import certain_states, memberships
from checkers.verdict.verdict import Anomaly


def find_truncations(facts: Facts) -> Iterator[Anomaly]:
    """Every truncation of committed records that nothing explains.

    Raises:
        msgspec.ValidationError: an observation is not as docs/histories.md says.
    """
    removed = {operation.key for operation in facts.history.of("delete-topic")}
    for cut in truncated_logs(facts.history):
        if cut.end < cut.high_watermark and cut.topic not in removed and not _explained(facts, cut):
            yield TRUNCATED_BELOW_MARK.found(
                f"{cut.node} cut off its log of {cut.name} at {cut.end}, below its high watermark "
                f"{cut.high_watermark}.",
                subject=f"{cut.name} on {cut.node}",
                time_ns=cut.time_ns,
                witness=(cut.index,),
                explanation=(
                    f"Line {cut.line} of {cut.node}'s log, at {cut.at}, has both offsets.",
                    "Until then its leaders had been elected cleanly, and no fault hit a disk that holds it.",
                ),
            )


def find_removed(facts: Facts, columns: Columns, end_ns: int) -> Iterator[Anomaly]:
    """Every truncation of acknowledged records that the follower had and that nothing explains.

    Args:
        facts: the history.
        columns: its columns.
        end_ns: the time until which the metadata log is complete, nanoseconds.

    Raises:
        msgspec.ValidationError: an observation is not as docs/histories.md says.
    """
    removed = {operation.key for operation in facts.history.of("delete-topic")}
    acked = acknowledged(columns)
    for cut in cut_logs(facts.history):
        if cut.topic in removed or cut.name not in facts.changes.states or _explained(facts, cut):
            continue
        rows = _had(facts, columns, cut, end_ns)
        rows = rows[acked[rows]]
        if len(rows):
            yield _of_removed(columns, cut, rows)


def _had(facts: Facts, columns: Columns, cut: Cut, end_ns: int) -> Integers:
    """Rows of the sends that the follower's log had at or above the end that was left."""
    sends, broker = columns.sends, facts.ids.get(cut.node, NONE)
    code = columns.partitions.index(cut.name) if cut.name in columns.partitions else NONE
    before_ns = cut.time_ns - SLACK_NS
    mine = (sends.partition == code) & (sends.offset >= cut.end) & (sends.completed_ns < before_ns)
    inside = np.zeros(len(mine), np.bool_)
    for _, span in memberships([*certain_states(facts, facts.changes.states[cut.name], end_ns)], broker):
        since = facts.changes.possible(cut.name, span.to_ns, cut.time_ns + SLACK_NS)
        if all(broker in state.replicas for state in since):
            inside |= (span.from_ns <= sends.invoked_ns) & (sends.completed_ns <= span.to_ns)
    return np.flatnonzero(mine & inside)


def _of_removed(columns: Columns, cut: Cut, rows: Integers) -> Anomaly:
    sends, last = columns.sends, rows[np.argmax(columns.sends.completed_ns[rows])]
    value = columns.value_named(sends.value[last])
    acked_s, cut_s = sends.completed_ns[last] / NS_PER_S, cut.time_ns / NS_PER_S
    return TRUNCATED_COMMITTED.found(
        f"{cut.node} cut off its log of {cut.name} at {cut.end}, below {value} at {sends.offset[last]}.",
        subject=f"{cut.name} on {cut.node}",
        time_ns=cut.time_ns,
        witness=(int(sends.invoke_op[last]), int(sends.complete_op[last]), cut.index),
        explanation=(
            f"{value} was acknowledged at {acked_s:.3f} s, when {cut.node} was a member of the ISR.",
            f"Line {cut.line} of {cut.node}'s log, about {cut_s:.0f} s, has the new end.",
            f"{len(rows)} acknowledged records were removed.",
            "Until then its leaders had been elected cleanly, and no fault hit a disk that holds it.",
        ),
    )


def _explained(facts: Facts, cut: Truncated | Cut) -> bool:
    """Whether committed records may have been lost by then, or whether this is unknown."""
    until_ns = cut.time_ns + SLACK_NS
    if not facts.changes.is_complete(cut.name, until_ns):
        return True
    states = facts.changes.possible(cut.name, 0, until_ns)
    return (
        any(state.unclean or state.last_leader or state.recovering for state in states)
        or any(
            window.invoked_ns <= until_ns
            and (window.tears_writes or hits(facts.history, window, cut.topic, cut.partition))
            for window in facts.windows
        )
        or any(permit.event.from_ns <= until_ns for permit in licences_of(facts.history).of(cut.name))
    )
