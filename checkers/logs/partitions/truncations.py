"""Logs that followers truncated below their high watermarks.

Records below a high watermark are committed: every in-sync replica has them, and clean elections elect only
in-sync replicas.  So a follower whose log differs from its leader's truncates its log only above its high
watermark (KIP-101, KIP-279), which its leaders sent to it.  Kafka logs a truncation below the high watermark.

Such a truncation is legal after an unclean election, after a disk lost records, or if a licence permits a
loss.  Deleted topics are not judged.
"""

from collections.abc import Iterator

from checkers.evidence.log_ends import SLACK_NS, Truncated, truncated_logs
from checkers.licences import licences_of
from checkers.licences.disks import hits
from checkers.licences.facts import Facts
from checkers.logs.partitions.anomalies import TRUNCATED_BELOW_MARK
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


def _explained(facts: Facts, cut: Truncated) -> bool:
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
