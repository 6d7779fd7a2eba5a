"""Beginnings: after an accepted change of its start offset a share group gets nothing below it.

The coordinator changes only groups without members, and accepts once the share coordinator has the new start
offset in its log (``GroupCoordinatorService.alterShareGroupOffsets``).  A leader forgets the states of a
group when the last session of its members ends (``SharePartitionManager``), and reads the new ones when a
member fetches again.  A fault may keep it from noticing that the members have left.  So only deliveries by a
leader count that led all the time, and that no fault affected shortly before the change or since.

Whether a group gets all records from the new start offset on is judged with all others (`passing`).
"""

import numpy as np

from checkers.columns.tables import NONE, PartitionName
from checkers.history.operations import History
from checkers.share_groups import anomalies as kinds
from checkers.share_groups.calm import SETTLED_NS, Calm
from checkers.share_groups.deliveries import Found
from checkers.share_groups.loading import ShareGroups, times_of
from checkers.share_groups.locks import undisturbed


def below_beginnings(history: History, groups: ShareGroups, calm: Calm) -> Found:
    """Deliveries below a start offset that was set in a request that was accepted before.

    Args:
        history: as `checkers.history.reading.read_history` returns it.
        groups: the records that members received.
        calm: the times at which leaders were undisputed.
    """
    all_, times_ns, lives = groups.deliveries, times_of(history), groups.lives.all
    begin, asked, ended = (
        np.array([getattr(life, name) for life in lives], np.int64) for name in ("begin", "asked", "ended")
    )
    rows = np.flatnonzero(all_.settled & (all_.offset < begin[all_.life]) & (asked[all_.life] != NONE))
    kept = np.zeros(len(rows), np.bool_)
    for place in np.unique(all_.place[rows]).tolist():
        here, name = all_.place[rows] == place, groups.places[place]
        since_ns = times_ns[asked[all_.life[rows[here]]]] - SETTLED_NS
        until_ns = times_ns[all_.answered[rows[here]]]
        kept[here] = undisturbed(history, calm, PartitionName(name.topic, name.partition), since_ns, until_ns)
    rows = rows[kept]
    life = all_.life[rows]

    def text(row: int) -> str:
        return (
            f"was delivered by operation {all_.answered[rows[row]]}, but before that operation "
            f"{ended[life[row]]} had set the start offset to {begin[life[row]]}"
        )

    witness = (asked[life], ended[life], all_.asked[rows], all_.answered[rows])
    return Found(kinds.START_NOT_SET, rows, all_.place[rows], witness, text)
