"""Logs that followers truncated below what was committed.

Records below a high watermark are committed: every in-sync replica has them, and clean elections elect only
in-sync replicas.  So a follower whose log differs from its leader's truncates its log only above its high
watermark (KIP-101, KIP-279), which its leaders sent to it.  Kafka logs a truncation below the high watermark.

A follower whose log did not end above its high watermark does not log that.  So every truncation is compared
with the records that clients know to be committed too: those that were sent and acknowledged while the
follower certainly was a member of the ISR, as the ends of loaded logs are (`ends`).

Such a truncation is legal after an unclean election, after a disk lost records, or if a licence permits a
loss.  Deleted topics are not judged.
"""

from collections.abc import Iterator

from checkers.columns.tables import Columns
from checkers.evidence.log_ends import SLACK_NS, Placed, cut_logs, truncated_logs
from checkers.history.logged import LogCut, LogTruncated
from checkers.history.units import NS_PER_S
from checkers.licences import licences_of
from checkers.licences.disks import hits
from checkers.licences.facts import Facts
from checkers.logs.partitions.anomalies import TRUNCATED_BELOW_MARK, TRUNCATED_COMMITTED
from checkers.logs.partitions.ends import Rows, first_had
from checkers.verdict.verdict import Anomaly

_CLEANLY = "Until then its leaders had been elected cleanly, and no fault hit a disk that holds it."


def find_truncations(facts: Facts) -> Iterator[Anomaly]:
    """Every truncation of committed records that nothing explains.

    Raises:
        msgspec.ValidationError: an observation is not as docs/histories.md says.
    """
    removed = {operation.key for operation in facts.history.of("delete-topic")}
    for cut in truncated_logs(facts.history):
        if (
            cut.logged.end < cut.logged.high_watermark
            and cut.logged.topic not in removed
            and not _explained(facts, cut)
        ):
            yield TRUNCATED_BELOW_MARK.found(
                f"{cut.node} truncated its log of {cut.name} to {cut.logged.end}, below its high watermark "
                f"{cut.logged.high_watermark}.",
                subject=f"{cut.name}@{cut.logged.end}",
                time_ns=cut.time_ns,
                witness=(cut.index,),
                explanation=(
                    f"{cut.cited}, has both offsets.",
                    _CLEANLY,
                ),
            )


def find_removed(facts: Facts, columns: Columns, rows: Rows) -> Iterator[Anomaly]:
    """Every truncation of acknowledged records that the follower had and that nothing explains.

    Args:
        facts: the history.
        columns: its columns.
        rows: rows of the acknowledged sends by partition.

    Raises:
        msgspec.ValidationError: an observation is not as docs/histories.md says.
    """
    removed = {operation.key for operation in facts.history.of("delete-topic")}
    for cut in cut_logs(facts.history):
        if cut.logged.topic in removed or cut.name not in rows or _explained(facts, cut):
            continue
        row = first_had(facts, columns, cut, rows[cut.name])
        if row is not None:
            yield _removed(columns, cut, row)


def _removed(columns: Columns, cut: Placed[LogCut], row: int) -> Anomaly:
    sends, end = columns.sends, cut.logged.end
    value, offset = columns.value_named(sends.value[row]), int(sends.offset[row])
    return TRUNCATED_COMMITTED.found(
        f"{cut.node} truncated its log of {cut.name} to {end}, but {value} had been acknowledged at {offset} "
        "while it was in sync.",
        subject=f"{cut.name}@{cut.logged.end}",
        time_ns=cut.time_ns,
        witness=(int(sends.invoke_op[row]), int(sends.complete_op[row]), cut.index),
        explanation=(
            f"{value} was acknowledged at {int(sends.completed_ns[row]) / NS_PER_S:.3f} s.",
            f"{cut.cited}: its log of {cut.name} ends at {end}.",
            _CLEANLY,
        ),
    )


def _explained(facts: Facts, cut: Placed[LogTruncated] | Placed[LogCut]) -> bool:
    """Whether committed records may have been lost by then, or whether this is unknown."""
    until_ns = cut.time_ns + SLACK_NS
    if not facts.changes.is_complete(cut.name, until_ns):
        return True
    states = facts.changes.possible(cut.name, 0, until_ns)
    return (
        any(state.unclean or state.last_leader or state.recovering for state in states)
        or any(
            window.invoked_ns <= until_ns
            and (window.tears_writes or hits(facts.history, window, cut.name.topic, cut.name.partition))
            for window in facts.windows
        )
        or any(permit.event.from_ns <= until_ns for permit in licences_of(facts.history).of(cut.name))
    )
