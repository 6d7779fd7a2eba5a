"""What coordinators and leaders tell of transactions (KIP-664), changed against what was done to those."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from checkers.evidence.coordinators import transactions_partition
from checkers.history.operations import Operation
from tests.mutations.edits import Edit
from tests.mutations.families.lost_states import before_the_end, lose
from tests.mutations.looking import FAIL, INFO, OK, SECOND_NS, pairs
from tests.mutations.partitions import spans, states
from tests.mutations.suite import VALID, invalid, mutation

FAMILY = "descriptions"
RUN = ("lapses",)
_MS = 1_000_000
_NONE = -1


class Open(NamedTuple):
    """A transaction that nobody ended in time, and from when until when it was certainly open."""

    began: Operation
    ended: Operation
    producer: tuple[int, int]
    from_ns: int
    until_ns: int

    @property
    def offsets(self) -> dict[int, int]:
        """Offset of each acknowledged record, by partition."""
        return {mop[2]: mop[4] for mop in self.ended.value["mops"] if mop[4] is not None}


Asked = tuple[Open, Operation, Operation]
"""A transaction, a question about it, and the answer."""


def _lapsed(edit: Edit) -> list[Open]:
    inits = [o for o in edit.original.of("init-transactions") if o.type is OK and o.value.get("timeout_ms")]
    asked = [o for o in edit.original.of("init-transactions") if o.type is not OK]
    found = []
    for began, ended in pairs(edit.original, "txn"):
        if not isinstance(ended.value, dict) or "sent_ns" not in ended.value:
            continue
        init = [o for o in inits if o.key == began.key and o.index < began.index][-1]
        ends = [began.time_ns + init.value["timeout_ms"] * _MS, ended.value["ending_ns"] or 2**62]
        ends += [o.time_ns for o in asked if o.key == began.key and o.index > began.index]
        producer = (init.value["producer_id"], init.value["epoch"])
        found.append(Open(began, ended, producer, ended.value["sent_ns"], min(ends)))
    return found


def _answered(edit: Edit, f: str) -> Iterator[Asked]:
    """Questions of one kind that were answered, with the transaction that they are about."""
    lapsed = {one.producer: one for one in reversed(_lapsed(edit))}
    for asked, answered in pairs(edit.original, f):
        one = lapsed.get((asked.value["producer_id"], asked.value["epoch"]))
        if answered.type is OK and one is not None:
            yield one, asked, answered


def _of_coordinator(edit: Edit) -> list[Asked]:
    """What the coordinator that added the partitions answered while the transaction was open."""
    return [
        (one, asked, answered)
        for one, asked, answered in _answered(edit, "describe-transaction")
        if asked.value["to"] == one.ended.value["coordinator"]
        and asked.time_ns > one.from_ns
        and answered.time_ns < one.until_ns
    ]


def _of_leader(edit: Edit) -> list[Asked]:
    """What leaders that had acknowledged its record answered while a transaction was open."""
    aborts = [o for o in edit.original.of("abort-transaction") if o.type is not OK]
    return [
        (one, asked, answered)
        for one, asked, answered in _answered(edit, "describe-producer")
        if one.ended.value["leaders"].get(str(asked.value["partition"])) == asked.value["to"]
        and asked.value["partition"] in one.offsets
        and asked.time_ns > one.from_ns
        and answered.time_ns < one.until_ns
        and not any(
            o.time_ns < answered.time_ns
            and o.value["producer_id"] == one.producer[0]
            and o.value["partition"] == asked.value["partition"]
            for o in aborts
        )
    ]


def _after_abort(edit: Edit) -> list[Asked]:
    """What leaders answered after they had acknowledged an abort."""
    done = [
        (*(o.value[name] for name in ("producer_id", "epoch", "partition", "to")), o.time_ns)
        for o in edit.original.of("abort-transaction")
        if o.type is OK
    ]
    return [
        (one, asked, answered)
        for one, asked, answered in _answered(edit, "describe-producer")
        if any(
            tuple(asked.value[name] for name in ("producer_id", "epoch", "partition", "to")) == abort[:4]
            and asked.time_ns > abort[4]
            for abort in done
        )
    ]


def _committed_late(edit: Edit) -> list[Asked]:
    """What was described of transactions before their commit was asked for, which was acknowledged."""
    return [
        (one, asked, answered)
        for one, asked, answered in _answered(edit, "describe-transaction")
        if one.ended.type is OK and answered.time_ns < one.ended.value["ending_ns"]
    ]


@mutation(FAMILY, invalid("open-transaction-unknown"), RUN, 3)
def a_coordinator_forgot_a_transaction(edit: Edit) -> None:
    """The coordinator of an open transaction reports that none is ongoing."""
    _, _, answered = edit.chosen(_of_coordinator(edit))
    edit.change(answered.index, lambda value: value | {"state": "Empty", "partitions": []})


@mutation(FAMILY, invalid("open-transaction-unknown"), RUN, 3)
def a_coordinator_forgot_a_partition(edit: Edit) -> None:
    """The coordinator of an open transaction reports all of its partitions but one."""
    some = [each for each in _of_coordinator(edit) if len(each[0].offsets) > 1]
    one, _, answered = edit.chosen(some)
    lost = sorted(one.offsets)[edit.place % len(one.offsets)]
    kept = [place for place in answered.value["partitions"] if place[1] != lost]
    edit.change(answered.index, lambda value: value | {"partitions": kept})


@mutation(FAMILY, invalid("open-transaction-unknown"), RUN, 3)
def a_coordinator_aborted_before_the_timeout(edit: Edit) -> None:
    """The coordinator of a transaction reports, long before its timeout, that it was aborted."""
    _, asked, answered = edit.chosen(_of_coordinator(edit))
    epoch = asked.value["epoch"] + 1
    now = {"state": "CompleteAbort", "told_epoch": epoch, "partitions": []}
    edit.change(answered.index, lambda value: value | now)


@mutation(FAMILY, invalid("open-transaction-unknown"), RUN, 2)
def a_coordinator_that_leads_for_the_first_time_knows_nothing(edit: Edit) -> None:
    """A broker that had not led the transaction's state partition reports that none is ongoing."""
    one, asked, answered = edit.chosen(_of_coordinator(edit))
    place = transactions_partition(edit.original, str(one.began.key))
    assert place is not None
    led = {
        s.leader for s in states(edit.original) if s.topic == place.topic and s.partition == place.partition
    }
    other = next(broker for broker in range(1, 99) if broker not in led)
    edit.change(asked.index, lambda value: value | {"to": other})
    edit.change(answered.index, lambda value: value | {"to": other, "state": "Empty", "partitions": []})


@mutation(FAMILY, invalid("open-producer-unknown"), RUN, 3)
def a_leader_forgot_a_producer(edit: Edit) -> None:
    """The leader of a partition of an open transaction reports that it does not know the producer."""
    _, _, answered = edit.chosen(_of_leader(edit))
    now = {"known": False, "told_epoch": _NONE, "start_offset": _NONE}
    edit.change(answered.index, lambda value: value | now)


@mutation(FAMILY, invalid("open-producer-unknown"), RUN, 3)
def a_leader_ended_a_transaction_early(edit: Edit) -> None:
    """The leader of a partition reports no open transaction for a producer that has one there."""
    _, _, answered = edit.chosen(_of_leader(edit))
    edit.change(answered.index, lambda value: value | {"start_offset": _NONE})


@mutation(FAMILY, invalid("open-producer-unknown"), RUN, 4)
def a_transaction_begins_elsewhere(edit: Edit) -> None:
    """The leader of a partition reports that an open transaction begins one offset lower or higher."""
    _, _, answered = edit.chosen(_of_leader(edit))
    at = answered.value["start_offset"] + (1 if edit.place % 2 else -1)
    edit.change(answered.index, lambda value: value | {"start_offset": at})


@mutation(FAMILY, invalid("aborted-transaction-open"), RUN, 3)
def a_transaction_is_open_after_its_abort(edit: Edit) -> None:
    """A leader acknowledged an abort marker, and reports later that the transaction is open there."""
    one, asked, answered = edit.chosen(_after_abort(edit))
    at = one.offsets.get(asked.value["partition"], 0)
    now = {"known": True, "told_epoch": one.producer[1], "start_offset": at}
    edit.change(answered.index, lambda value: value | now)


@mutation(FAMILY, invalid("commit-after-abort"), RUN, 1)
def a_commit_after_an_abort_was_told(edit: Edit) -> None:
    """A coordinator reported that a transaction was aborted, and later acknowledges its commit."""
    one, _, answered = edit.chosen(_committed_late(edit))
    now = {"state": "CompleteAbort", "partitions": []}
    edit.change(answered.index, lambda value: value | now | {"told_epoch": one.producer[1] + 1})


@mutation(FAMILY, VALID, RUN, 3)
def aborted_after_its_timeout(edit: Edit) -> None:
    """A coordinator reports that a transaction without a commit was aborted after its timeout."""
    left = [one for one in _lapsed(edit) if one.ended.type is FAIL]
    one = edit.chosen(left)
    asked = {"producer_id": one.producer[0], "epoch": one.producer[1], "to": one.ended.value["coordinator"]}
    at_ns = one.until_ns + 1000
    state = {"told_id": one.producer[0], "told_epoch": one.producer[1] + 1, "partitions": []}
    answer = asked | {"state": "CompleteAbort"} | state
    edit.add_call(980_000, "describe-transaction", one.began.key, (at_ns, at_ns + 1000), (asked, answer))


@mutation(FAMILY, VALID, RUN, 3)
def a_coordinator_answers_after_the_timeout(edit: Edit) -> None:
    """A coordinator that was asked before the timeout answers after it that the transaction was aborted."""
    one, asked, answered = edit.chosen(each for each in _of_coordinator(edit) if each[0].ended.type is FAIL)
    edit.drop(answered.index, asked.index)
    epoch = one.producer[1] + 1
    value = answered.value | {"state": "CompleteAbort", "told_epoch": epoch, "partitions": []}
    times_ns = (asked.time_ns, one.until_ns + 1)
    edit.add_call(981_000, asked.f, asked.key, times_ns, (asked.value, value))


def _led_before(edit: Edit, topic: str, partition: int, before_ns: int) -> set[int]:
    """Brokers that have led a partition by a time, and may believe that they still do."""
    span = spans(edit.original)
    some = [s for s in states(edit.original) if (s.topic, s.partition) == (topic, partition)]
    return {s.leader for s in some if span(s.offset)[1] < before_ns and s.leader >= 0}


@mutation(FAMILY, VALID, RUN, 2)
def a_coordinator_that_was_deposed_tells_what_was(edit: Edit) -> None:
    """A former leader of the transaction's state partition reports that none is ongoing."""
    places = []
    for one, asked, answered in _of_coordinator(edit):
        place = transactions_partition(edit.original, str(one.began.key))
        assert place is not None
        led = _led_before(edit, place.topic, place.partition, one.began.time_ns)
        places += [(asked, answered, each) for each in sorted(led - {asked.value["to"]})]
    asked, answered, other = edit.chosen(places)
    edit.change(asked.index, lambda value: value | {"to": other})
    edit.change(answered.index, lambda value: value | {"to": other, "state": "Empty", "partitions": []})


@mutation(FAMILY, VALID, RUN, 2)
def a_leader_that_was_deposed_tells_what_was(edit: Edit) -> None:
    """A broker that had led a partition before reports that it does not know the producer."""
    places = []
    for one, asked, answered in _of_leader(edit):
        led = _led_before(edit, asked.key, asked.value["partition"], one.began.time_ns)
        places += [(asked, answered, each) for each in sorted(led - {asked.value["to"]})]
    asked, answered, other = edit.chosen(places)
    nothing = {"to": other, "known": False, "told_epoch": _NONE, "start_offset": _NONE}
    edit.change(asked.index, lambda value: value | {"to": other})
    edit.change(answered.index, lambda value: value | nothing)


@mutation(FAMILY, VALID, RUN, 3)
def a_question_was_not_answered(edit: Edit) -> None:
    """A coordinator that was asked for an open transaction did not answer."""
    _, asked, answered = edit.chosen(_of_coordinator(edit))
    edit.set(answered.index, type=FAIL, value=asked.value, error="timed out")


@mutation(FAMILY, VALID, RUN, 3)
def an_abort_of_unknown_fate(edit: Edit) -> None:
    """An administrator's abort got no answer; the transaction is reported as open, or no longer."""
    one, asked, answered = edit.chosen(_after_abort(edit))
    for o in edit.original.of("abort-transaction"):
        if o.value["producer_id"] == one.producer[0] and o.type is OK:
            edit.set(o.index, type=INFO, value=_without_code(o.value), error="timed out")
    if edit.place % 2:
        at = one.offsets.get(asked.value["partition"], 0)
        now = {"known": True, "told_epoch": one.producer[1], "start_offset": at}
        edit.change(answered.index, lambda value: value | now)


def _without_code(value: dict[str, Any]) -> dict[str, Any]:
    return {name: each for name, each in value.items() if name != "code"}


def _while_load_goes_on(edit: Edit) -> Asked:
    """What a coordinator answered of an open transaction, in time for disks to die and heal."""
    chosen: Asked = edit.chosen(each for each in _of_coordinator(edit) if before_the_end(edit, each[2]))
    return chosen


@mutation(FAMILY, VALID, RUN, 2)
def forgotten_when_its_state_is_lost(edit: Edit) -> None:
    """A coordinator forgot an open transaction, and its disks had failed meanwhile."""
    one, _, answered = edit.chosen(
        each for each in _of_coordinator(edit) if before_the_end(edit, each[0].began)
    )
    edit.change(answered.index, lambda value: value | {"state": "Empty", "partitions": []})
    lose(edit, str(one.began.key), one.began.time_ns + 1000)


@mutation(FAMILY, invalid("open-transaction-unknown"), RUN, 2)
def forgotten_before_its_state_is_lost(edit: Edit) -> None:
    """A coordinator forgot an open transaction, and its disks failed a second after its answer."""
    one, _, answered = _while_load_goes_on(edit)
    edit.change(answered.index, lambda value: value | {"state": "Empty", "partitions": []})
    lose(edit, str(one.began.key), answered.time_ns + SECOND_NS)


@mutation(FAMILY, invalid("open-transaction-unknown"), RUN, 2)
def forgotten_when_the_state_of_another_is_lost(edit: Edit) -> None:
    """A coordinator forgot an open transaction; only disks with other transactions' states had failed."""
    one, _, answered = edit.chosen(
        each for each in _of_coordinator(edit) if before_the_end(edit, each[0].began)
    )
    edit.change(answered.index, lambda value: value | {"state": "Empty", "partitions": []})
    lose(edit, str(one.began.key), one.began.time_ns + 1000, of_another=True)
