"""Coordinators that may have lost the states of their transactions legally: what that explains, and what not.

All brokers' disks die for a while that have one partition of ``__transaction_state``, in a run in which none
of them lost anything.
"""

from collections.abc import Iterator
from typing import Any

from checkers.evidence.coordinators import TRANSACTIONS_TOPIC, transactions_partition
from checkers.history.operations import Operation
from tests.mutations.edits import Edit
from tests.mutations.families.client_errors import FENCED, FENCED_C, is_aborted, refusable, refuse
from tests.mutations.families.transactions import committed, fenced, sent, turned, undone
from tests.mutations.looking import INFO, OK, SECOND_NS, pairs, phase_ns
from tests.mutations.suite import VALID, invalid, mutation, unknown

FAMILY = "lost-states"
RUNS = ("txn", "copy")
_HELD_NS = 6 * SECOND_NS
_LOST = unknown(TRANSACTIONS_TOPIC)


def lose(edit: Edit, key: str, at_ns: int, *, of_another: bool = False) -> None:
    """Let the disks die on which the state of a transactional id is kept, or that of another one."""
    ids = sorted({str(o.key) for o in edit.original.of("txn")} - {key}) if of_another else [key]
    own = transactions_partition(edit.original, key)
    places = [transactions_partition(edit.original, each) for each in ids]
    place = next(one for one in places if one is not None and (one == own) is not of_another)
    lose_logs(edit, [f"{TRANSACTIONS_TOPIC}-{place.partition}"], at_ns)


def lose_logs(edit: Edit, logs: list[str], at_ns: int) -> None:
    """Let the disks of all brokers die on which some logs are."""
    setup = next(iter(edit.original.of("setup"))).value
    plan = {"kind": "dead-disk", "spec": {"kind": "dead-disk", "target": "brokers", "log_dir": 1}}
    nodes = [node["name"] for node in setup["nodes"] if "broker" in node["roles"]]
    done = plan | {"targets": nodes, "cut": [], "probe": {"removed": logs}}
    edit.add_call("nemesis", "inject", "f99", (at_ns, at_ns + 1000), (plan, done))
    healed_ns = at_ns + _HELD_NS
    healed = done | {"probe": {"answers": True}}
    edit.add_call("nemesis", "heal", "f99", (healed_ns, healed_ns + 1000), (plan, healed))


def before_the_end(edit: Edit, ended: Operation) -> bool:
    """Whether a disk that dies around a transaction is well again before the load is over."""
    return ended.time_ns + 2 * SECOND_NS + _HELD_NS < phase_ns(edit.original, "heal")


def _refused(edit: Edit, error: str) -> tuple[Operation, Operation]:
    """A transaction that its coordinator refuses."""
    found = [(i, o) for i, o in refusable(edit, is_aborted) if before_the_end(edit, o)]
    began, ended = edit.chosen(found)
    refuse(edit, ended, error)
    return began, ended


@mutation(FAMILY, VALID, ("txn",), 2)
def fenced_when_its_state_is_lost(edit: Edit) -> None:
    """A producer is fenced right after its partition of __transaction_state may have lost its end."""
    began, _ = _refused(edit, FENCED)
    lose(edit, began.key, began.time_ns - 1000)


@mutation(FAMILY, VALID, ("txn",), 2)
def forgotten_when_its_state_is_lost(edit: Edit) -> None:
    """A transaction is forgotten while its partition of __transaction_state may have lost its end."""
    began, ended = _refused(edit, "InvalidTxnStateError: [Error 48] InvalidTxnStateError: None")
    lose(edit, began.key, (began.time_ns + ended.time_ns) // 2)


@mutation(FAMILY, invalid("fenced-without-rival"), ("txn",), 2)
def fenced_when_the_state_of_another_is_lost(edit: Edit) -> None:
    """A producer is fenced after another partition of __transaction_state may have lost its end."""
    began, _ = _refused(edit, FENCED_C)
    lose(edit, began.key, began.time_ns - 1000, of_another=True)


@mutation(FAMILY, invalid("fenced-without-rival"), ("txn",), 2)
def fenced_before_its_state_is_lost(edit: Edit) -> None:
    """A producer is fenced a second before its coordinator may have lost anything."""
    began, ended = _refused(edit, FENCED)
    lose(edit, began.key, ended.time_ns + SECOND_NS)


@mutation(FAMILY, invalid("transaction-forgotten"), ("txn",), 2)
def forgotten_before_its_state_is_lost(edit: Edit) -> None:
    """A transaction is forgotten a second before its coordinator may have lost anything."""
    began, ended = _refused(edit, "InvalidTxnStateError: [Error 48] InvalidTxnStateError: None")
    lose(edit, began.key, ended.time_ns + SECOND_NS)


def _last_ones(edit: Edit) -> Iterator[tuple[Operation, Operation]]:
    """Committed transactions, each with the next one of its id that its coordinator decided on."""
    decided = [(i, o) for i, o in pairs(edit.original, "txn") if o.error is None and sent(o)]
    for ended in committed(edit):
        after = [o for i, o in decided if i.key == ended.key and i.index > ended.index]
        if after and before_the_end(edit, after[0]):
            yield ended, after[0]


@mutation(FAMILY, invalid("lost-write", "marker-against-answer"), RUNS, 2)
def a_commit_turns_out_an_abort(edit: Edit) -> None:
    """A committed transaction is aborted in the end, for replicas and readers, and nothing was lost."""
    undone(edit, edit.chosen(_last_ones(edit))[0])


@mutation(FAMILY, _LOST, RUNS, 2)
def a_commit_turns_out_an_abort_as_it_was_the_last(edit: Edit) -> None:
    """In the end a transaction is aborted; its coordinator may have lost its commit, which was the last."""
    ended, _ = edit.chosen(_last_ones(edit))
    undone(edit, ended)
    lose(edit, ended.key, ended.time_ns + 1000)


@mutation(FAMILY, invalid("lost-write"), RUNS, 2)
def a_commit_turns_out_an_abort_though_it_was_done(edit: Edit) -> None:
    """In the end a transaction is aborted; its coordinator had ended the next one before the loss."""
    ended, following = edit.chosen(_last_ones(edit))
    undone(edit, ended)
    lose(edit, ended.key, following.time_ns + 1000)


@mutation(FAMILY, invalid("marker-against-answer"), RUNS, 2)
def a_marker_is_wrong_and_the_state_of_another_is_lost(edit: Edit) -> None:
    """An abort marker ends a committed transaction; only states of other ids may be lost."""
    ended, _ = edit.chosen(_last_ones(edit))
    turned(edit, ended)
    lose(edit, ended.key, ended.time_ns + 1000, of_another=True)


@mutation(FAMILY, _LOST, ("txn",), 2)
def a_zombie_commits_as_its_rivals_epoch_is_lost(edit: Edit) -> None:
    """A producer commits although a newer instance had fenced it, whose epoch may be lost."""
    _zombie(edit, 0)


@mutation(FAMILY, invalid("zombie-accepted"), ("txn",), 2)
def a_zombie_commits_before_anything_is_lost(edit: Edit) -> None:
    """A producer that a newer instance had fenced commits, a second before states may be lost."""
    _zombie(edit, SECOND_NS)


def _zombie(edit: Edit, late_ns: int) -> None:
    """Let a fenced transaction commit, and its state be lost some time after its end, or within it."""
    begun = {o.index: i for i, o in pairs(edit.original, "txn")}
    ended = edit.chosen(o for o in committed(edit) if before_the_end(edit, o))
    fenced(edit, ended)
    lose(edit, ended.key, ended.time_ns + late_ns if late_ns else begun[ended.index].time_ns + 1)


def _initialised(edit: Edit) -> list[tuple[Operation, Operation, Operation]]:
    """Initialisations that tell their epoch, and the next one of the same id from its beginning on."""
    known = [
        (i, o)
        for i, o in pairs(edit.original, "init-transactions")
        if o.type is OK and o.value["epoch"] is not None and before_the_end(edit, o)
    ]
    found = []
    for _, first in known:
        after = [(i, o) for i, o in known if i.key == first.key and i.index > first.index]
        if after:
            found.append((first, *after[0]))
    return found


def _given_again(edit: Edit) -> tuple[Operation, Operation, Operation]:
    first, began, second = edit.chosen(_initialised(edit))

    def change(value: dict[str, Any]) -> None:
        value.update(producer_id=first.value["producer_id"], epoch=first.value["epoch"])

    edit.change(second.index, change)
    return first, began, second


@mutation(FAMILY, _LOST, ("txn",), 2)
def an_epoch_is_given_again_that_is_lost(edit: Edit) -> None:
    """Two instances get one epoch; between them their coordinator may have lost the first."""
    first, began, _ = _given_again(edit)
    lose(edit, first.key, (first.time_ns + began.time_ns) // 2)


@mutation(FAMILY, invalid("producer-epoch-given-again"), ("txn",), 2)
def an_epoch_is_given_again_and_lost_later(edit: Edit) -> None:
    """Two instances get one epoch, a second before their coordinator may have lost anything."""
    first, _, second = _given_again(edit)
    lose(edit, first.key, second.time_ns + SECOND_NS)


@mutation(FAMILY, invalid("producer-epoch-given-again"), ("txn",), 2)
def an_epoch_is_given_again_and_that_of_another_is_lost(edit: Edit) -> None:
    """Two instances get one epoch; between them only states of other ids may be lost."""
    first, began, _ = _given_again(edit)
    lose(edit, first.key, (first.time_ns + began.time_ns) // 2, of_another=True)


@mutation(FAMILY, invalid("producer-epoch-given-again"), ("txn",), 2)
def an_older_epoch_is_given(edit: Edit) -> None:
    """An instance gets an epoch below that of the instance before it."""
    first, _, second = edit.chosen(one for one in _initialised(edit) if one[0].value["epoch"] > 0)

    def change(value: dict[str, Any]) -> None:
        value.update(producer_id=first.value["producer_id"], epoch=first.value["epoch"] - 1)

    edit.change(second.index, change)


@mutation(FAMILY, invalid("producer-epoch-given-again"), RUNS, 2)
def a_producer_id_is_given_to_two(edit: Edit) -> None:
    """Two transactional ids get one producer id."""
    known = [
        o for o in edit.original.of("init-transactions") if o.type is OK and o.value["epoch"] is not None
    ]
    pairs_ = [(a, b) for a in known for b in known if a.index < b.index and a.key != b.key]
    first, second = edit.chosen(pairs_)
    edit.change(second.index, lambda value: value.update(producer_id=first.value["producer_id"]))


@mutation(FAMILY, VALID, ("txn",), 2)
def an_instance_is_given_a_new_producer_id(edit: Edit) -> None:
    """An instance gets a new producer id: the epochs of the previous one are used up."""
    _, _, second = edit.chosen(_initialised(edit))
    fresh = 900_000 + edit.place
    for o in edit.original.of("init-transactions"):
        if o.type is OK and o.key == second.key and o.index >= second.index and o.value["epoch"] is not None:
            edit.change(o.index, lambda value: value.update(producer_id=fresh))


@mutation(FAMILY, VALID, ("txn",), 2)
def an_initialisation_was_not_answered(edit: Edit) -> None:
    """An initialisation got no answer; whatever its epoch is, the next one is newer."""
    first, _, _ = edit.chosen(_initialised(edit))
    times_ns = (first.time_ns - 2000, first.time_ns - 1000)
    asked = {"client": "kafka-python"}
    nobody = asked | {"producer_id": None, "epoch": None}
    edit.add_call(
        976_000, "init-transactions", first.key, times_ns, (asked, nobody), ended=INFO, error="timeout"
    )
