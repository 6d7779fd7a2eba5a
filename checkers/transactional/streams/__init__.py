"""An application of Kafka Streams that counts records by key processes each record exactly once.

Each record of the output names the record of the input that it stands for, and has the count of its key in
that partition.  So outputs are tied to inputs without knowing which member wrote them in which transaction.
The output is read at read_committed once the last member has ended and no transaction is open.

1.  ``streams-duplicated``: two committed records of the output stand for one record of the input.
2.  ``streams-lost``: a record has no committed output, although the group's offset was above it.
3.  ``streams-without-offsets``: a record has a committed output, although the group's offset was at or below
    it when all transactions had ended.
4.  ``streams-count-wrong``: a count is not the number of records of the key up to there.
5.  ``streams-invented``: a record of the output stands for no record of the input.
6.  ``streams-reordered``: records of one partition are in another order in the output.
7.  ``streams-misplaced``: a record of the output is in another partition than its record of the input.  The
    application's partitioner keeps the number of the partition.

A finding is legal if a permitted loss may explain it (`excuses`).  No loss explains 7: it moves no record.

The last member works after all faults.  If it processed everything, nothing was tested.  So the result is
valid only if members of the load were running and processed records between the first fault and the last
heal, if most rules had their outputs to judge, and if the group has gone past all of the input at the end
(`exercise`).  That a group makes no progress breaks no rule: the result is unknown.
"""

from checkers.history.operations import History
from checkers.transactional.streams.anomalies import ANOMALIES, NEEDS
from checkers.transactional.streams.doubts import doubts_of
from checkers.transactional.streams.excuses import Excuses
from checkers.transactional.streams.exercise import exercise_of, figures_of
from checkers.transactional.streams.loading import application_of
from checkers.transactional.streams.rules import Judging
from checkers.verdict.entry import Entry
from checkers.verdict.verdict import CheckerResult, result_of

CHECKER = "streams"


def check_streams(history: History) -> CheckerResult:
    """Judge the application of a history; the result is not exercised if it has none.

    Args:
        history: as `checkers.history.reading.read_history` returns it.
    """
    loaded = application_of(history)
    if loaded is None:
        return result_of(CHECKER, [], exercised=False)
    excuses = Excuses(history, loaded)
    judged = [excuses.judged(found) for found in Judging(history, loaded).findings()]
    doubts = [*doubts_of(history, loaded), *(one.doubt for one in judged if one.doubt is not None)]
    return result_of(
        CHECKER,
        [one.anomaly for one in judged if one.anomaly is not None],
        assumptions=exercise_of(history, loaded),
        figures=figures_of(loaded),
        unknown_because="; ".join(dict.fromkeys(doubts)) or None,
    )


ENTRY = Entry(CHECKER, check_streams, ANOMALIES, NEEDS)
"""The anomalies of an application that should process each record exactly once."""
