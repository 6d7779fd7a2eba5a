"""Whether brokers report the partitions that exist, and continue to report them.

A broker reports partitions that committed records created, and omits only partitions that a record removed. A
violation is visible when a broker's answer has other partitions than its previous answer.  A removed topic
may be created again under its name: for such a topic it is only required that one of its partitions was
created.
"""

from collections.abc import Iterable, Iterator

from checkers.columns.tables import PartitionName
from checkers.history.units import NS_PER_S
from checkers.kraft.metadata.certain import certain_at
from checkers.licences.facts import Facts
from checkers.logs.partitions.anomalies import VIEW_WENT_BACK, VIEW_WITHOUT_RECORD
from checkers.logs.partitions.broker_lives import is_one_life
from checkers.logs.partitions.brokers import BrokerAnswer, answers_of
from checkers.verdict.verdict import Anomaly


def misreported_topics(facts: Facts) -> Iterator[Anomaly]:
    """Find partitions that brokers reported although they did not exist, or that a broker no longer reports.

    Raises:
        msgspec.ValidationError: an operation is not as docs/histories.md says.
    """
    last: dict[str, tuple[BrokerAnswer, list[PartitionName]]] = {}
    strange: set[PartitionName] = set()
    for answer in answers_of(facts.history):
        partitions = [reported.partition for reported in answer.states]
        before, known = last.get(answer.node, (answer, []))
        last[answer.node] = (answer, partitions)
        if partitions != known:
            new = set(partitions).difference(known, facts.changes.states, strange)
            found = list(_strangers(facts, answer, sorted(new)))
            strange.update(partition for partition, _ in found)
            yield from (anomaly for _, anomaly in found)
            yield from _forgotten(facts, before, answer, sorted(set(known).difference(partitions)))


def _strangers(
    facts: Facts, answer: BrokerAnswer, new: Iterable[PartitionName]
) -> Iterator[tuple[PartitionName, Anomaly]]:
    """Partitions that did not exist, in the first answer that reports them."""
    for partition in new:
        log = certain_at(facts.history, answer.time_ns)
        made_ns = 0 if log is None else log.made_ns(partition)
        if log is not None and (made_ns is None or made_ns > answer.time_ns):
            when = "never created it" if made_ns is None else f"did not create it before {_s(made_ns)}"
            yield (
                partition,
                VIEW_WITHOUT_RECORD.found(
                    f"{answer.node} reported {partition} at {_s(answer.time_ns)}, but the metadata "
                    f"log {when}.",
                    subject=str(partition),
                    time_ns=answer.time_ns,
                    witness=(answer.op, log.op),
                ),
            )


def _forgotten(
    facts: Facts, before: BrokerAnswer, after: BrokerAnswer, gone: Iterable[PartitionName]
) -> Iterator[Anomaly]:
    """Partitions in a broker's answer that its next answer lacks, although they were not removed."""
    for partition in gone:
        log = certain_at(facts.history, after.time_ns)
        if (
            log is not None
            and log.made_ns(partition) is not None
            and not log.removed_by(partition.topic, after.time_ns)
            and is_one_life(facts, before, after)
        ):
            yield VIEW_WENT_BACK.found(
                f"{after.node} no longer reported {partition} at {_s(after.time_ns)}, but had at "
                f"{_s(before.time_ns)}. It was not removed.",
                subject=str(partition),
                time_ns=after.time_ns,
                witness=(before.op, after.op, log.op),
            )


def _s(time_ns: int) -> str:
    return f"{time_ns / NS_PER_S:.3f} s"
