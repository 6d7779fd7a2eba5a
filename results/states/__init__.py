"""Abstract states that a run went through, and the transitions between them, read from its history.

Runs differ in every time and every offset; what they make Kafka go through is one of few thousand situations.
An *actor* is a partition, a coordinator, the quorum, or an operation; its state is a few words, of which each
module here documents its own.  A transition is the state before, what happened, and the state after.  States
of all actors of one kind are one set: that broker 2 and not 1 was cut off is nothing new.

The same history gives the same sets under one `ALPHABET`.
"""

from checkers.history import History
from checkers.setup import setup_of
from results.states.cluster import cluster_visited
from results.states.operations import operations_visited
from results.states.partitions import partitions_visited
from results.states.quorum import quorum_of, quorum_visited
from results.states.tracks import NOTHING, Visited, joined
from results.states.trouble import trouble_of

__all__ = ["ALPHABET", "Visited", "visited"]

ALPHABET = 2
"""Version of the words: sets of different versions are not compared."""


def visited(history: History) -> Visited:
    """All states and transitions of a history; none of one without a setup.

    Raises:
        KeyError, msgspec.ValidationError: the history is not as docs/histories.md says.
    """
    setup = setup_of(history)
    if setup is None:
        return NOTHING
    trouble = trouble_of(history, setup)
    quorum = quorum_of(history, setup, trouble)
    return joined(
        [
            partitions_visited(history, trouble),
            quorum_visited(quorum),
            cluster_visited(history, quorum),
            operations_visited(history, trouble),
        ]
    )
