"""What brokers know of producers at the end, beside what their logs have of these."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from checkers.history.operations import Operation
from tests.mutations.edits import Edit
from tests.mutations.looking import OK, columns_of, phase_ns
from tests.mutations.suite import VALID, Must, invalid, mutation, unknown

RUNS = ("chaos", "txn", "copy", "groups", "deletions", "compacted")
_FORGOTTEN: Must = invalid("producer-forgotten")
_NUMBERS = 2**31
Producer = list[int]


class _Answer(NamedTuple):
    """A partition in a broker's answer: whose it is, and the id, epoch and last number of each producer."""

    node: str
    topic: str
    partition: int
    known: list[Producer]


def _learned(replica: Operation) -> list[Producer]:
    """What a broker learns of producers by appending the batches of a log one by one."""
    known: dict[int, Producer] = {}
    columns = columns_of(replica)
    rows = zip(*(columns[name].tolist() for name in _COLUMNS), strict=True)
    for producer, epoch, first, base, last, count, control in rows:
        if producer < 0 or (control >= 0 and count == 0):
            continue
        entry = known.setdefault(producer, [producer, epoch, -1])
        if entry[1] != epoch:
            entry[1:] = [epoch, -1]
        if control < 0:
            entry[2] = (first + last - base) % _NUMBERS
    return list(known.values())


_COLUMNS = (
    "producer_id",
    "producer_epoch",
    "base_sequence",
    "base_offset",
    "last_offset",
    "count",
    "control",
)


def _answers(edit: Edit) -> Iterator[_Answer]:
    for replica in edit.original.observed("replica"):
        if replica.value["error"] is None:
            value = replica.value
            yield _Answer(str(replica.node), value["topic"], value["partition"], _learned(replica))


def _all_answered(
    edit: Edit,
    change: Callable[[Producer], Producer | None] | None = None,
    *,
    before: bool = False,
    after: bool = True,
) -> None:
    """Let every broker answer after the disks were read, and before; `change` concerns one producer."""
    answers = [*_answers(edit)]
    if change is not None:
        places = [(n, i) for n, answer in enumerate(answers) for i in range(len(answer.known))]
        place, number = edit.chosen(places)
        known = answers[place].known
        changed = change(known[number])
        known[number : number + 1] = [] if changed is None else [changed]
    replicas = edit.original.observed("replica")
    if before:
        _tell(edit, answers, min(operation.value["began_ns"] for operation in replicas) - 2_000)
    if after:
        _tell(edit, answers, max(operation.time_ns for operation in replicas) + 1_000_000)


def _a_later_number(known: Producer) -> Producer:
    return [known[0], known[1], known[2] + 1]


def _tell(edit: Edit, answers: list[_Answer], at_ns: int) -> None:
    like = next(o for o in edit.original.of("phase") if o.key == "evidence")
    for node in sorted({answer.node for answer in answers}):
        topics: dict[str, list[object]] = {}
        for answer in answers:
            if answer.node == node:
                topics.setdefault(answer.topic, []).append([answer.partition, 0, answer.known])
        value = {"began_ns": at_ns, "topics": topics}
        edit.add(like, at_ns + 1_000, type=OK, f="observe", key="producers", value=value, node=node)


@mutation("forgotten", VALID, RUNS, 1)
def all_producers_are_known(edit: Edit) -> None:
    """Every broker knows the producers that its logs have batches of."""
    _all_answered(edit)


@mutation("forgotten", VALID, RUNS, 1)
def later_numbers_are_known(edit: Edit) -> None:
    """One broker knows a later sequence number of a producer than its log had when it was read."""
    _all_answered(edit, _a_later_number)


@mutation("forgotten", VALID, ("chaos", "txn"), 1)
def all_producers_are_known_before_the_disks_are_read(edit: Edit) -> None:
    """Every broker knows what its log has, before it is read and after."""
    _all_answered(edit, before=True)


@mutation("forgotten", invalid("producer-ahead"), ("chaos", "groups", "deletions", "compacted"), 3)
def a_later_number_was_known_before_the_disks_were_read(edit: Edit) -> None:
    """One broker knows a later number of a producer than its log has, before the log is read and after."""
    _all_answered(edit, _a_later_number, before=True)


@mutation("forgotten", VALID, ("chaos", "groups", "deletions", "compacted"), 1)
def a_later_number_was_forgotten_when_the_disks_were_read(edit: Edit) -> None:
    """A broker knew a later number of a producer, and truncated its log before the log was read."""
    _all_answered(edit, _a_later_number, before=True, after=False)
    _all_answered(edit)


@mutation("forgotten", unknown("did not answer which producers it knew"), ("chaos",), 2)
def one_broker_was_not_asked_before_the_disks_were_read(edit: Edit) -> None:
    """All brokers answered after the disks were read, and all but one before as well."""
    node = edit.chosen(sorted({answer.node for answer in _answers(edit)}))
    replicas = edit.original.observed("replica")
    began_ns = min(operation.value["began_ns"] for operation in replicas) - 2_000
    _tell(edit, [answer for answer in _answers(edit) if answer.node != node], began_ns)
    _all_answered(edit)


@mutation("forgotten", _FORGOTTEN, RUNS, 3)
def one_producer_is_not_known(edit: Edit) -> None:
    """One broker does not know a producer that its log has batches of."""
    _all_answered(edit, lambda _: None)


@mutation("forgotten", _FORGOTTEN, ("chaos", "groups", "compacted"), 2)
def an_earlier_number_is_known(edit: Edit) -> None:
    """One broker knows a producer by an earlier sequence number than its log has."""
    _all_answered(edit, lambda known: [known[0], known[1], known[2] - 1])


@mutation("forgotten", _FORGOTTEN, ("txn", "copy"), 2)
def an_older_epoch_is_known(edit: Edit) -> None:
    """One broker knows a producer by an older epoch than its log has."""
    _all_answered(edit, lambda known: [known[0], known[1] - 1, known[2]])


@mutation("forgotten", VALID, ("chaos",), 1)
def asked_before_the_disks_were_read(edit: Edit) -> None:
    """No broker knows any producer before the disks are read, and none is asked later."""
    answers = [answer._replace(known=[]) for answer in _answers(edit)]
    _tell(edit, answers, phase_ns(edit.original, "evidence"))


@mutation("forgotten", VALID, ("chaos",), 1)
def refused(edit: Edit) -> None:
    """Brokers refuse the requests for the producers that they know."""
    last_ns = max(operation.time_ns for operation in edit.original.observed("replica"))
    like = next(o for o in edit.original.of("phase") if o.key == "evidence")
    for answer in _answers(edit):
        value = {"began_ns": last_ns, "topics": {answer.topic: [[answer.partition, 6, []]]}}
        edit.add(like, last_ns + 1, type=OK, f="observe", key="producers", value=value, node=answer.node)
