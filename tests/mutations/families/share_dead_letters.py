"""Dead-letter queues of share groups: what they have at the end.

The recorded run has no dead-letter queue.  So a mutation gives its group one, and reads it at the end.
"""

from datetime import datetime, timedelta
from typing import Any

from checkers.evidence.faults import fault_windows
from checkers.evidence.node_logs import LETTER_FAILED
from checkers.history.logged import NODE_LOG
from checkers.history.operations import OperationType
from checkers.history.setup import recorded_setup
from tests.mutations.edits import Edit
from tests.mutations.families.share import LIMIT, MS_NS, RUNS, Given, drained, given
from tests.mutations.families.share_states import tell_states
from tests.mutations.looking import FAIL, OK
from tests.mutations.suite import VALID, invalid, mutation, unknown

SPAN_NS = 4_000 * MS_NS
"""By how much the end of a process, or a line of a log, may be off in time and still explain something."""
_PROCESS = 975_000
_GROUP = "share-0"
_TOPIC = "dlq.share-0"


def read(edit: Edit, *letters: tuple[dict[str, str], Any], ended: OperationType = OK) -> None:
    """Let the group have a dead-letter queue of one partition with these records, and let it be read."""
    (setup,) = edit.original.of("setup")
    edit.change(setup.index, lambda value: value["workload"].update(dead_letters=True))
    last_ns = max(one.poll.time_ns for one in drained(edit))
    asked: dict[str, Any] = {"group": _GROUP, "partition": 0}
    records = [[at, headers, value] for at, (headers, value) in enumerate(letters)]
    times_ns = (last_ns + MS_NS, last_ns + 2 * MS_NS)
    answer = asked | {"end": len(records), "records": records}
    values = asked, answer if ended is OK else asked
    edit.add_call(_PROCESS, "dead-letters", _TOPIC, times_ns, values, ended=ended)


def headers_of(one: Given, count: int, **changed: str) -> dict[str, str]:
    """The headers of the dead letter of a record."""
    place = {"topic": str(one.poll.key), "partition": str(one.partition), "offset": str(one.offset)}
    texts = place | {"group": _GROUP, "delivery.count": str(count)} | changed
    return {f"__dlq.errors.{name}": text for name, text in texts.items()}


def rejected(edit: Edit) -> list[Given]:
    """Records that members rejected, as a broker confirmed."""
    return [one for one in given(edit.original) if one.type == "reject" and one.confirmed]


def never_rejected(edit: Edit) -> list[Given]:
    """Records that no member asked to reject."""
    asked = {(one.partition, one.offset) for one in given(edit.original) if one.type == "reject"}
    return [one for one in given(edit.original) if (one.partition, one.offset) not in asked]


@mutation("share", VALID, RUNS, 2)
def a_rejected_record_is_a_dead_letter(edit: Edit) -> None:
    """The dead-letter queue has a rejected record twice, one of them without its value."""
    one = edit.chosen(rejected(edit))
    texts = headers_of(one, one.count)
    read(edit, (texts, one.value), (texts, None))


@mutation("share", VALID, RUNS, 1)
def a_record_at_the_limit_of_deliveries_is_a_dead_letter(edit: Edit) -> None:
    """The dead-letter queue has a record that nobody rejected, with the delivery count of the limit."""
    one = edit.chosen(never_rejected(edit))
    read(edit, (headers_of(one, LIMIT), one.value))


@mutation("share", invalid("dead-letter-unasked"), RUNS, 3)
def a_record_that_nobody_rejected_is_a_dead_letter(edit: Edit) -> None:
    """The dead-letter queue has a record that nobody rejected, and that may be delivered again."""
    one = edit.chosen(never_rejected(edit))
    read(edit, (headers_of(one, 1), one.value))


@mutation("share", invalid("dead-letter-wrong"), RUNS, 3)
def a_dead_letter_has_the_value_of_another_record(edit: Edit) -> None:
    """The dead-letter queue has a rejected record with the value of another one."""
    one = edit.chosen(rejected(edit))
    read(edit, (headers_of(one, one.count), one.value + 1))


@mutation("share", invalid("dead-letter-wrong"), RUNS, 2)
def a_dead_letter_names_another_group(edit: Edit) -> None:
    """The dead-letter queue of a group has a record with the name of another group."""
    one = edit.chosen(rejected(edit))
    read(edit, (headers_of(one, one.count, group="share-9"), one.value))


@mutation("share", unknown("dead-letters: the dead-letter queue of share-0 was not read completely"), RUNS, 1)
def a_queue_was_not_read(edit: Edit) -> None:
    """The dead-letter queue of a group could not be read."""
    read(edit, ended=FAIL)


@mutation("share", unknown("dead letters of share-0: at least 1 dead letter; found 0"), RUNS, 1)
def a_queue_is_empty(edit: Edit) -> None:
    """The dead-letter queue of a group has no record, although some were rejected."""
    read(edit)


def all_but(edit: Edit, *without: Given) -> None:
    """Let the states be stored, and the queue have all rejected records except some."""
    tell_states(edit)
    left = {(one.partition, one.offset) for one in without}
    ones = {(one.partition, one.offset): one for one in rejected(edit)}
    read(edit, *((headers_of(one, one.count), one.value) for at, one in ones.items() if at not in left))


def archived(edit: Edit) -> Given:
    """A record that was received and rejected while no process of a node may have ended."""
    ends = [window for window in fault_windows(edit.original) if window.ends_processes]
    calm = [
        one
        for one in rejected(edit)
        if one.settled_by is not None
        and one.count == 1
        and not any(
            window.overlaps(one.asked.time_ns - SPAN_NS, one.settled_by[1].time_ns + SPAN_NS)
            for window in ends
        )
    ]
    one: Given = edit.chosen(calm)
    return one


def log_line(edit: Edit, one: Given, later_ns: int, text: str, line: int | None = 7) -> None:
    """Let a broker log an error some time after a record was received."""
    began_at = datetime.fromisoformat(edit.original.began_at)
    at = began_at + timedelta(microseconds=(one.poll.time_ns + later_ns) // 1_000)
    value: dict[str, Any] = {"line": line, "level": "ERROR", "text": text}
    value |= {"at": None if line is None else at.isoformat()} | ({"unjudged": True} if line is None else {})
    node = next(node.name for node in recorded_setup(edit.original).nodes if "broker" in node.roles)
    like = next(iter(edit.original.observed("replica")))
    last_ns = edit.original.operations[-1].time_ns
    edit.add(like, last_ns, type=OK, key=NODE_LOG, value=value, node=node)


@mutation("share", VALID, RUNS, 2)
def all_archived_records_are_dead_letters(edit: Edit) -> None:
    """The coordinator's log has rejected records as Archived, and the dead-letter queue has them all."""
    all_but(edit)


@mutation("share", invalid("dead-letter-missing"), RUNS, 3)
def a_dead_letter_is_missing(edit: Edit) -> None:
    """The dead-letter queue lacks an archived record, and no broker logged that it could not write it."""
    all_but(edit, archived(edit))


@mutation("share", VALID, RUNS, 2)
def a_dead_letter_could_not_be_written(edit: Edit) -> None:
    """The dead-letter queue lacks an archived record, and a broker logged that it could not write one."""
    one = archived(edit)
    all_but(edit, one)
    log_line(edit, one, 100 * MS_NS, LETTER_FAILED)


@mutation("share", invalid("dead-letter-missing"), RUNS, 2)
def another_dead_letter_could_not_be_written(edit: Edit) -> None:
    """The dead-letter queue lacks an archived record, and a broker logged a failure long before it."""
    one = archived(edit)
    all_but(edit, one)
    log_line(edit, one, -10 * SPAN_NS, LETTER_FAILED)


@mutation("share", unknown("dead-letter-missing of .* may follow from .* logged 9 further lines"), RUNS, 1)
def the_line_may_have_been_left_out(edit: Edit) -> None:
    """The dead-letter queue lacks an archived record, and lines of a broker's log were left out."""
    one = archived(edit)
    all_but(edit, one)
    log_line(edit, one, 0, "9 further lines", None)
