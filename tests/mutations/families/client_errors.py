"""Errors that Kafka promises not to give: lost sequences, fencing without a rival, forgotten transactions."""

from collections.abc import Callable, Iterator
from typing import Any

from checkers.evidence.coordinators import transactions_partition
from checkers.evidence.partition_changes import partition_changes
from checkers.history.operations import Operation
from tests.mutations.edits import Edit
from tests.mutations.families.transactions import sent
from tests.mutations.looking import FAIL, INFO, OK, SECOND_NS, pairs, phase_ns, settled_ns
from tests.mutations.suite import VALID, invalid, mutation

RUNS = ("chaos", "smoke", "moves", "compacted", "groups", "votes", "txn", "copy")
OUT_OF_ORDER = "OutOfOrderSequenceNumberError: [Error 45] OutOfOrderSequenceNumberError: None"
OUT_OF_ORDER_C = "OUT_OF_ORDER_SEQUENCE_NUMBER: Broker: Broker received an out of order sequence number"
UNKNOWN_ID = "UNKNOWN_PRODUCER_ID: Broker: Unknown Producer Id"
_NEW_VALUE = 992_000_000_001


def last_sends(edit: Edit) -> Iterator[tuple[Operation, Operation, int]]:
    """Of each producer a send that nothing but successes of its partition precede, and that partition."""
    durable = next(iter(edit.original.of("setup"))).value["workload"]["durable_processes"]
    from_ns, to_ns = settled_ns(edit.original), phase_ns(edit.original, "heal")
    last: dict[Any, tuple[Operation, Operation]] = {}
    for began, ended in pairs(edit.original, "send"):
        whole = ended.type is OK and isinstance(ended.value, list)
        if ended.process not in durable and whole and from_ns < began.time_ns < to_ns:
            last[ended.process] = began, ended
    for began, ended in last.values():
        yield began, ended, ended.value[0][0]


def _refused(edit: Edit, error: str, *, before: str = "") -> None:
    """Let a producer's next send, to a partition that had acknowledged its last one, be refused."""
    began, ended, partition = edit.chosen([*last_sends(edit)])
    number = _NEW_VALUE + edit.place
    asked, answer = [[partition, number]], [[partition, number, None, "fail"]]
    at_ns = ended.time_ns + 1000
    edit.add_call(
        began.process,
        "send",
        began.key,
        (at_ns, at_ns + 1000),
        (asked, answer),
        ended=FAIL,
        error=before + error,
    )


_SEQUENCES = invalid("sequence-lost")


@mutation("client-errors", _SEQUENCES, RUNS, 2)
def out_of_order_for_one_library(edit: Edit) -> None:
    """Out-of-order sequence, from kafka-python, for a producer whose records were all acknowledged."""
    _refused(edit, OUT_OF_ORDER)


@mutation("client-errors", _SEQUENCES, RUNS, 2)
def out_of_order_for_the_other_library(edit: Edit) -> None:
    """Out-of-order sequence, from librdkafka, for a producer whose records were all acknowledged."""
    _refused(edit, OUT_OF_ORDER_C)


@mutation("client-errors", _SEQUENCES, RUNS, 1)
def a_producer_is_given_up(edit: Edit) -> None:
    """A producer gets a fatal error from librdkafka: its sequence is out of order."""
    _refused(edit, f"_FATAL: Fatal error; {OUT_OF_ORDER_C} (fatal); _PURGE_QUEUE: Local: Purged in queue")


@mutation("client-errors", _SEQUENCES, RUNS, 1)
def a_producer_is_not_known(edit: Edit) -> None:
    """A broker does not know a producer whose record it acknowledged a moment before."""
    _refused(edit, UNKNOWN_ID)


@mutation("client-errors", VALID, RUNS, 1)
def out_of_order_after_other_trouble(edit: Edit) -> None:
    """A producer is out of order after some of its records had timed out: they may never have arrived."""
    _refused(edit, OUT_OF_ORDER_C, before="_MSG_TIMED_OUT: Local: Message timed out; ")


@mutation("client-errors", VALID, RUNS, 1)
def another_error(edit: Edit) -> None:
    """A producer's record is refused because it is too large, which has nothing to do with sequences."""
    _refused(edit, "MSG_SIZE_TOO_LARGE: Broker: Message size too large")


@mutation("client-errors", VALID, RUNS, 1)
def out_of_order_for_a_new_producer(edit: Edit) -> None:
    """A producer of which nothing had been acknowledged gets an out-of-order sequence."""
    began, ended, partition = edit.chosen([*last_sends(edit)])
    asked, answer = [[partition, _NEW_VALUE]], [[partition, _NEW_VALUE, None, "fail"]]
    times_ns = (ended.time_ns + 1000, ended.time_ns + 2000)
    edit.add_call(940_000, "send", began.key, times_ns, (asked, answer), ended=FAIL, error=OUT_OF_ORDER)


@mutation("client-errors", VALID, RUNS, 1)
def out_of_order_beside_what_was_acknowledged(edit: Edit) -> None:
    """One of two records of a send is acknowledged, and the other one is out of order."""
    began, ended, partition = edit.chosen([*last_sends(edit)])

    def change(value: list[Any]) -> None:
        value.append([partition, _NEW_VALUE, None, "fail"])

    edit.change(began.index, lambda value: value.append([partition, _NEW_VALUE]))
    edit.change(ended.index, change)
    edit.set(ended.index, type=INFO, error=OUT_OF_ORDER)
    for o in edit.original.operations:
        if o.process == ended.process and o.index > ended.index:
            edit.set(o.index, process=945_000)


_INIT_NS = SECOND_NS * 9 // 10


def refusable(edit: Edit, wanted: Callable[[Operation], bool]) -> list[tuple[Operation, Operation]]:
    """Transactions of producers who alone had their id, and had ended another one well, of some kind."""
    inits = [(i, o) for i, o in pairs(edit.original, "init-transactions")]
    good: dict[Any, int] = {}
    found = []
    for began, ended in pairs(edit.original, "txn"):
        mine = [(i, o) for i, o in inits if i.process == began.process and i.index < began.index]
        if not mine or mine[-1][1].type is not OK or mine[-1][1].time_ns - mine[-1][0].time_ns > _INIT_NS:
            continue
        since = mine[-1][0]
        alone = not any(
            i.key == began.key
            and i.index != since.index
            and i.time_ns < ended.time_ns
            and o.time_ns > since.time_ns
            for i, o in inits
        )
        if alone and good.get(began.process, -1) > since.index and wanted(ended):
            found.append((began, ended))
        if ended.error is None:
            good[began.process] = ended.index
    return found


def is_aborted(ended: Operation) -> bool:
    """Whether a transaction was aborted on purpose, with some records."""
    return (
        ended.type is FAIL and ended.error is None and ended.value["ended"] == "abort" and bool(sent(ended))
    )


def _is_refused(edit: Edit, error: str) -> tuple[Operation, Operation]:
    """Let a transaction that its client aborted end with an error instead."""
    began, ended = edit.chosen(refusable(edit, is_aborted))
    refuse(edit, ended, error)
    return began, ended


def refuse(edit: Edit, ended: Operation, error: str) -> None:
    """Let a transaction that its client aborted end with an error instead."""
    edit.change(ended.index, lambda value: value.update(ended=None))
    edit.set(ended.index, error=error)


FENCED = "ProducerFencedError: [Error 90] ProducerFencedError"
NOT_ADDED = (
    "InvalidTxnStateError: [Error 48] InvalidTxnStateError: Partition was not added to the transaction"
)
FENCED_C = "_FENCED: Failed to end transaction: Local: This instance has been fenced by a newer instance"
OLD_EPOCH = (
    "InvalidProducerEpochError: [Error 47] InvalidProducerEpochError: None; its commit was never asked for"
)


@mutation("client-errors", invalid("fenced-without-rival"), ("txn",), 2)
def fenced_and_nobody_else_there(edit: Edit) -> None:
    """The only producer of a transactional id gets the error that a newer instance has fenced it."""
    _is_refused(edit, FENCED)


@mutation("client-errors", invalid("fenced-without-rival"), ("txn",), 2)
def fenced_in_the_words_of_the_other_library(edit: Edit) -> None:
    """The only producer of a transactional id gets librdkafka's error that it was fenced."""
    _is_refused(edit, FENCED_C)


@mutation("client-errors", invalid("fenced-without-rival"), ("txn",), 2)
def its_epoch_is_old_and_nobody_raised_it(edit: Edit) -> None:
    """The only producer of a transactional id gets the error that its epoch is outdated."""
    _is_refused(edit, OLD_EPOCH)


@mutation("client-errors", invalid("transaction-forgotten"), ("txn",), 2)
def its_transaction_is_not_under_way(edit: Edit) -> None:
    """The coordinator does not know a transaction whose records brokers had acknowledged."""
    _is_refused(edit, "InvalidTxnStateError: [Error 48] InvalidTxnStateError: None")


def _unverified(edit: Edit) -> Operation:
    """Let a transaction be refused by a leader; the one before it, which was ended at once, is returned.

    Its coordinator did not move since its producer was initialised.
    """
    changes = partition_changes(edit.original)
    followed: list[tuple[Operation, Operation]] = []
    for began, ended in refusable(edit, is_aborted):
        inits = [o for o, _ in pairs(edit.original, "init-transactions") if o.process == began.process]
        since = [o for o in inits if o.index < began.index][-1]
        before = [
            o
            for i, o in pairs(edit.original, "txn")
            if o.process == began.process and since.index < i.index < began.index
        ]
        at_once = all(
            o.error is None and sent(o) and o.time_ns - o.value["ending_ns"] < _INIT_NS for o in before
        )
        place = transactions_partition(edit.original, began.key)
        assert place is not None
        terms = {each.leader_epoch for each in changes.possible(place, since.time_ns, ended.time_ns)}
        if at_once and len(terms) == 1:
            followed.append((before[-1], ended))
    last: Operation
    last, ended = edit.chosen(followed)
    refuse(edit, ended, f"{NOT_ADDED}; {_NEVER_ASKED}")
    edit.change(ended.index, _without_offsets)
    return last


def _without_offsets(value: dict[str, Any]) -> None:
    for mop in value["mops"]:
        mop[4:] = [None] if mop[0] == "send" else mop[4:]


@mutation("client-errors", invalid("transaction-forgotten"), ("txn",), 2)
def its_partition_is_not_known(edit: Edit) -> None:
    """A leader refuses the records of a transaction: the coordinator does not know their partition."""
    _unverified(edit)


@mutation("client-errors", VALID, ("txn",), 2)
def its_partition_is_not_known_after_an_end_that_took_long(edit: Edit) -> None:
    """The same after a transaction whose end took long: it may have been requested twice (KAFKA-17754)."""
    last = _unverified(edit)
    edit.change(last.index, lambda value: value.update(ending_ns=last.time_ns - 2 * _INIT_NS))


@mutation("client-errors", invalid("transaction-forgotten"), ("txn",), 2)
def its_id_is_another_producers(edit: Edit) -> None:
    """The coordinator has another producer id for a transactional id that only one producer has."""
    _is_refused(edit, "INVALID_PRODUCER_ID_MAPPING: Failed to end transaction: Broker: Invalid mapping")


def _follows(edit: Edit, *, same: bool = True) -> tuple[Operation, Operation, tuple[str, int]]:
    """A transaction that its process begins right after another one, and a partition that both wrote to.

    Or, where it is not the same, one that only the second one wrote to, first of all of its producer.
    """
    places = []
    last: dict[Any, Operation] = {}
    written: dict[Any, set[tuple[str, int]]] = {}
    for began, ended in pairs(edit.original, "init-transactions", "txn"):
        if began.f == "init-transactions":
            last.pop(began.process, None)
            written[began.process] = set()
            continue
        here = {(topic, partition) for topic, partition, _, _ in sent(ended)}
        before = last.get(began.process)
        known = written.setdefault(began.process, set())
        if before is not None and before.key == ended.key and before.error is None and is_aborted(ended):
            shared = sorted(here & known if same else here - known)
            places += [(began, ended, shared[0])] if shared else []
        known |= here
        last[began.process] = ended
    found: tuple[Operation, Operation, tuple[str, int]] = edit.chosen(places)
    return found


def _out_of_order(edit: Edit, ended: Operation, place: tuple[str, int], error: str, *, whole: bool) -> None:
    """Let the records of a transaction be refused in one partition, and all others be acknowledged."""

    def change(value: dict[str, Any]) -> None:
        value["ended"] = None
        refused = [mop for mop in value["mops"] if mop[0] == "send" and (mop[1], mop[2]) == place]
        for mop in refused if whole else refused[:1]:
            mop[4] = None

    edit.change(ended.index, change)
    edit.set(ended.index, error=error)


_NEVER_ASKED = "its commit was never asked for"


@mutation("client-errors", _SEQUENCES, ("txn", "copy"), 2)
def out_of_order_within_a_transaction(edit: Edit) -> None:
    """A producer is out of order in a partition that acknowledged records of its previous transaction."""
    _, ended, place = _follows(edit)
    _out_of_order(edit, ended, place, f"{OUT_OF_ORDER}; {_NEVER_ASKED}", whole=True)


@mutation("client-errors", _SEQUENCES, ("txn",), 2)
def out_of_order_and_its_abort_too(edit: Edit) -> None:
    """The same error for the records and for the abort, which librdkafka reports as fatal."""
    _, ended, place = _follows(edit)
    error = f"{OUT_OF_ORDER_C}; {_NEVER_ASKED}; abort: _FATAL: Fatal error: {OUT_OF_ORDER_C}"
    _out_of_order(edit, ended, place, error, whole=True)


@mutation("client-errors", _SEQUENCES, ("txn",), 1)
def not_known_within_a_transaction(edit: Edit) -> None:
    """A broker does not know a transactional producer whose records it acknowledged a moment before."""
    _, ended, place = _follows(edit)
    _out_of_order(edit, ended, place, f"{UNKNOWN_ID}; {_NEVER_ASKED}", whole=True)


@mutation("client-errors", VALID, ("txn",), 2)
def out_of_order_where_nothing_was_acknowledged(edit: Edit) -> None:
    """A producer is out of order in a partition to which it had sent nothing before."""
    _, ended, place = _follows(edit, same=False)
    _out_of_order(edit, ended, place, f"{OUT_OF_ORDER}; {_NEVER_ASKED}", whole=True)


@mutation("client-errors", VALID, ("txn",), 2)
def out_of_order_within_a_transaction_after_other_trouble(edit: Edit) -> None:
    """A batch of a transaction timed out, and the next one is out of order: the first may be lost."""
    _, ended, place = _follows(edit)
    error = f"_MSG_TIMED_OUT: Local: Message timed out; {OUT_OF_ORDER_C}; {_NEVER_ASKED}"
    _out_of_order(edit, ended, place, error, whole=True)


@mutation("client-errors", VALID, ("txn",), 1)
def out_of_order_for_a_transaction_beside_what_was_acknowledged(edit: Edit) -> None:
    """Of two records of a transaction in a partition one is acknowledged; the other is out of order."""
    found = [
        (o, (mops[0][1], mops[0][2]))
        for _, o in pairs(edit.original, "txn")
        if is_aborted(o)
        for mops in [[mop for mop in o.value["mops"] if mop[0] == "send" and mop[4] is not None]]
        if len(mops) > len({(mop[1], mop[2]) for mop in mops}) == 1
    ]
    ended, place = edit.chosen(found)
    _out_of_order(edit, ended, place, f"{OUT_OF_ORDER}; {_NEVER_ASKED}", whole=False)


@mutation("client-errors", VALID, ("txn",), 2)
def fenced_by_a_rival(edit: Edit) -> None:
    """A producer is fenced while another one initialises its transactional id."""
    began, _ = _is_refused(edit, FENCED)
    times_ns = (began.time_ns + 100, began.time_ns + 200)
    asked: dict[str, Any] = {"client": "kafka-python"}
    edit.add_call(
        975_000, "init-transactions", began.key, times_ns, (asked, asked), ended=INFO, error="timeout"
    )


@mutation("client-errors", VALID, ("txn",), 2)
def fenced_after_its_timeout(edit: Edit) -> None:
    """A producer is fenced after its transaction was open for longer than its timeout."""
    setup = next(iter(edit.original.of("setup")))
    edit.change(setup.index, lambda value: value["workload"].update(transaction_timeout_ms=1))
    _is_refused(edit, FENCED_C)


@mutation("client-errors", VALID, ("txn",), 2)
def fenced_after_other_trouble(edit: Edit) -> None:
    """A producer's request timed out before; libraries then raise the epoch by themselves."""
    _is_refused(edit, f"_TIMED_OUT: Local: Timed out; {FENCED_C}")


@mutation("client-errors", VALID, ("txn",), 2)
def refused_before_its_records_arrived(edit: Edit) -> None:
    """The coordinator does not know a transaction of which one record was not acknowledged."""
    _, ended = _is_refused(edit, "InvalidTxnStateError: [Error 48] InvalidTxnStateError: None")
    last = max(n for n, mop in enumerate(ended.value["mops"]) if mop[0] == "send")

    def change(value: dict[str, Any]) -> None:
        value["mops"][last][4] = None

    edit.change(ended.index, change)


@mutation("client-errors", VALID, ("txn",), 2)
def its_commit_met_load_of_the_coordinator(edit: Edit) -> None:
    """A transaction is aborted because its coordinator was loading its log; a retry is possible."""
    _is_refused(edit, "CoordinatorLoadInProgressError: [Error 14] CoordinatorLoadInProgressError: None")
