"""Whether compaction removed any record, and any of an aborted transaction.

Otherwise a verdict on a compacted topic proves nothing.
"""

from collections import defaultdict

import numpy as np

from checkers.columns.sends import acknowledged
from checkers.columns.tables import NONE, SendOutcome
from checkers.evidence.loading import columns_of
from checkers.history.operations import OK, History
from checkers.history.setup import Setup
from checkers.verdict.verdict import Assumption


def compaction_ran(history: History, setup: Setup) -> list[Assumption]:
    """Require that final reads of each compacted topic found fewer records than were acknowledged.

    Final reads also find records with an unknown outcome.  So a small amount of compaction may be missed, but
    compaction is never assumed wrongly.

    Raises:
        KeyError: the history is not as docs/histories.md says.
    """
    names = [topic.name for topic in setup.topics if "compact" in topic.cleanup]
    if not names:
        return []
    acked, found = acknowledged(history), _found(history)
    counts = dict(zip(acked.topics, np.bincount(acked.topic, minlength=len(acked.topics)), strict=True))
    removed = {name: int(counts.get(name, 0)) - found.get(name, 0) for name in names}
    return [
        Assumption(
            "compaction-ran",
            all(name in found and count > 0 for name, count in removed.items()),
            "fewer records found at the end of each compacted topic than were acknowledged",
            ", ".join(
                f"{name}: {f'{count} fewer' if name in found else 'not read'}"
                for name, count in removed.items()
            ),
        )
    ]


def aborted_removed(history: History, setup: Setup) -> list[Assumption]:
    """Require that a record of an aborted transaction was removed, if the load has such transactions.

    Only records with a known offset count, which certainly were in the log, in partitions of which a final
    read at read_uncommitted reached the end: it would have returned them.
    """
    names = {topic.name for topic in setup.topics if "compact" in topic.cleanup}
    if not names or not setup.workload.transactors:
        return []
    columns = columns_of(history)
    sends, reads, finals = columns.sends, columns.reads, columns.final_reads
    compacted = np.array([name.topic in names for name in columns.partitions], dtype=np.bool_)
    committed = np.array([reader.committed for reader in columns.readers], dtype=np.bool_)
    whole = finals.whole & ~committed[columns.calls.reader[finals.call]]
    aborted = (sends.outcome == SendOutcome.ABORTED) & (sends.offset != NONE) & compacted[sends.partition]
    aborted &= np.isin(sends.partition, finals.partition[whole])
    found = reads.value[np.isin(reads.call, finals.call[whole])]
    removed = int((~np.isin(sends.value[aborted], found)).sum())
    return [
        Assumption(
            "aborted-compacted",
            removed > 0,
            "at least 1 record of an aborted transaction removed by compaction",
            f"{removed} of {int(aborted.sum())} removed",
        )
    ]


def _found(history: History) -> dict[str, int]:
    """The largest number of records of each topic that a reader received at the end."""
    counts: dict[tuple[str, str, str], int] = defaultdict(int)
    for operation in history.of("final-read"):
        if operation.type is OK:
            value = operation.value
            reader = (operation.key, value["client"], value["isolation"])
            counts[reader] += sum(len(offsets) for _, offsets, _ in value["records"])
    most: dict[str, int] = {}
    for (topic, *_), count in counts.items():
        most[topic] = max(most.get(topic, 0), count)
    return most
