"""Producers that committed after a newer one with the same transactional id had fenced them."""

from bisect import bisect_left
from collections.abc import Iterator
from operator import attrgetter
from typing import NamedTuple

from checkers.columns.tables import NONE, SendOutcome
from checkers.transactional.transactions.kafka.edges import KafkaStory
from checkers.transactional.transactions.kafka.records import KafkaTransactions
from checkers.transactional.transactions.models.anomalies import ANOMALIES
from checkers.transactional.transactions.operations.loading import transactions_of
from checkers.transactional.transactions.proofs.judging import NAME_CHARACTERS
from checkers.verdict.verdict import Anomaly


class Instance(NamedTuple):
    """One initialisation of a transactional id.

    Attributes:
        process: the process that initialised.
        begin: position of the invocation.
        end: position of its ``ok``, `NONE` if there is none.
    """

    process: int | str
    begin: int
    end: int


class _Moment(NamedTuple):
    """A step of a transaction before which its producer may have been fenced.

    Attributes:
        position: index of the first operation in the history that may have come after it.
        text: the step as text.
    """

    position: int
    text: str


def zombies(kafka: KafkaTransactions, story: KafkaStory) -> Iterator[Anomaly]:
    """Transactions that took effect although a newer instance had initialised before they began.

    If the time of the commit request is known, an initialisation before that counts too, because it waits
    until the coordinator has aborted the older instance's transaction.  The newer instance started to
    initialise after every initialisation of the zombie's process was complete.  An instance that has, or may
    have, initialised again since then is not older.
    """
    instances = _instances(kafka)
    operations = kafka.operations
    sends = kafka.columns.sends
    visible = set(kafka.node_of_send[sends.transactional & kafka.seen].tolist())
    for node, value in enumerate(operations.values):
        begin = int(operations.begin[node])
        if begin == NONE or "mops" not in value or not _sends(value["mops"]):
            continue
        if operations.outcome[node] != SendOutcome.OK and node not in visible:
            continue
        operation = kafka.history.operations[begin]
        for moment in _moments(kafka, node):
            newer = _fenced_by(instances.get(operation.key, []), operation.process, moment.position)
            if newer is not None:
                yield _zombie(kafka, story, node, newer, moment)
                break


def _moments(kafka: KafkaTransactions, node: int) -> Iterator[_Moment]:
    yield _Moment(int(kafka.operations.begin[node]), "began T")
    ending_ns = int(kafka.ending_ns[node])
    # Only an abort of a failed transaction may have been requested, and a reader of its record has then
    # received an aborted record.
    if ending_ns != NONE and kafka.operations.outcome[node] != SendOutcome.FAIL:
        position = bisect_left(kafka.history.operations, ending_ns, key=attrgetter("time_ns"))
        yield _Moment(position, "requested the commit of T")


def _sends(mops: list[list[object]]) -> bool:
    """Whether a transaction sends requests to brokers that its commit would make visible."""
    return any(mop[0] in {"send", "offsets"} for mop in mops)


def _fenced_by(instances: list[Instance], process: int | str, position: int) -> Instance | None:
    """The last instance that fenced a process before a position in the history; None if none did.

    Its epoch is the least likely to have been lost.
    """
    mine = [each for each in instances if each.process == process and each.begin < position]
    if not mine or any(each.end == NONE for each in mine):
        return None
    since = max(each.end for each in mine)
    others = (each for each in instances if each.process != process and since < each.begin)
    return max(
        (each for each in others if NONE != each.end < position), key=attrgetter("begin"), default=None
    )


def _zombie(
    kafka: KafkaTransactions, story: KafkaStory, node: int, newer: Instance, moment: _Moment
) -> Anomaly:
    operations = kafka.history.operations
    begin = int(kafka.operations.begin[node])
    key, process = operations[begin].key, operations[begin].process
    acknowledged = kafka.operations.outcome[node] == SendOutcome.OK
    how = "was acknowledged as committed" if acknowledged else "is visible to readers of committed records"
    return ANOMALIES["zombie-accepted"].found(
        f"a transaction of process {process} {how} although process {newer.process} had fenced {key}",
        subject=str(key),
        time_ns=story.time_ns(node),
        witness=sorted((newer.begin, newer.end, *story.operations(node))),
        explanation=(
            f"Process {process} had initialised {key} before process {newer.process} began to.",
            f"The initialisation of process {newer.process} was acknowledged (operation {newer.end}).",
            f"T = {story.transaction(node)[:NAME_CHARACTERS]}",
            f"After that process {process} {moment.text}, which {how}.",
        ),
    )


def _instances(kafka: KafkaTransactions) -> dict[object, list[Instance]]:
    history = kafka.history
    found: dict[object, list[Instance]] = {}
    inits = transactions_of(history, ("init-transactions",))
    for row in range(len(inits.begin)):
        if inits.begin[row] != NONE and inits.outcome[row] != SendOutcome.FAIL:
            operation = history.operations[int(inits.begin[row])]
            instance = Instance(operation.process, int(inits.begin[row]), int(inits.end[row]))
            found.setdefault(operation.key, []).append(instance)
    return found
