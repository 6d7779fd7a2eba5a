"""Share groups with read_committed: what they are given of transactions.

The recorded run has no transactions and a group with read_uncommitted.  So a mutation gives its group the
other level, and takes a record from a plain send for a transaction.
"""

from typing import Any

from checkers.history.operations import OperationType
from tests.mutations.edits import Edit
from tests.mutations.families.share import MS_NS, RUNS, Given, given
from tests.mutations.looking import FAIL, OK, acked, final_reads, pairs, without_offsets
from tests.mutations.suite import VALID, invalid, mutation

_PROCESS = 970_000
_GROUP = "share-0"


def at_read_committed(edit: Edit) -> None:
    """Let the group of the run be one with read_committed."""
    (setup,) = edit.original.of("setup")
    edit.change(setup.index, lambda value: value["workload"].update(committed=[_GROUP]))


def certain(edit: Edit) -> list[Given]:
    """One delivery of each record whose send was acknowledged."""
    sent = {(record.partition, record.offset) for record in acked(edit.original)}
    found = {(one.partition, one.offset): one for one in reversed(given(edit.original))}
    return [found[name] for name in sorted(sent & found.keys())]


def in_transaction(edit: Edit, one: Given, end: OperationType, ending_ns: int) -> None:
    """Let a transaction have sent a record, and not a producer without transactions."""
    for began, ended in pairs(edit.original, "send"):
        if began.key == one.poll.key and [one.partition, one.value] in began.value:
            for operation in (began, ended):
                edit.change(
                    operation.index, lambda value: [e for e in value if e[:2] != [one.partition, one.value]]
                )
            times_ns = began.time_ns + 1, max(ended.time_ns, ending_ns) + MS_NS
            break
    else:
        edit.give_up(f"{one.value} was not sent")
    send: list[Any] = ["send", one.poll.key, one.partition, one.value]
    name = "commit" if end is OK else "abort"
    asked = {"client": "kafka-clients", "end": name, "mops": [send]}
    answer = asked | {"mops": [[*send, one.offset]], "ended": name, "ending_ns": ending_ns}
    edit.add_call(_PROCESS, "txn", "txn-0", times_ns, (asked, answer), ended=end)


@mutation("share", VALID, RUNS, 1)
def a_group_of_committed_records_without_transactions(edit: Edit) -> None:
    """The group has read_committed, and there are no transactions."""
    at_read_committed(edit)


@mutation("share", invalid("share-uncommitted-read"), RUNS, 3)
def a_record_of_an_aborted_transaction_is_delivered(edit: Edit) -> None:
    """A member of a group with read_committed is given a record of a transaction that was aborted."""
    at_read_committed(edit)
    one = edit.chosen(certain(edit))
    in_transaction(edit, one, FAIL, one.poll.time_ns - MS_NS)
    for read in final_reads(edit.original, one.poll.key, one.partition, "read_committed"):
        edit.change(read.index, lambda value: without_offsets(value, one.partition, {one.offset}))


@mutation("share", invalid("share-uncommitted-read"), RUNS, 3)
def a_record_is_delivered_before_its_transaction_is_committed(edit: Edit) -> None:
    """A member of a group with read_committed gets a record before its commit is requested."""
    at_read_committed(edit)
    one = edit.chosen(certain(edit))
    in_transaction(edit, one, OK, one.poll.time_ns + MS_NS)
