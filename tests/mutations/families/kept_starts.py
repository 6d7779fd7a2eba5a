"""Starts of logs on disks at the end, beside deletions that were acknowledged long before."""

from checkers.history.operations import Operation
from tests.mutations.edits import Edit
from tests.mutations.looking import INFO, INVOKE, OK, SECOND_NS, pairs, replicas
from tests.mutations.suite import VALID, Must, invalid, mutation

RUNS = ("deletions",)
TOPIC = "log-0"
PARTITIONS = (0, 1, 2, 3, 4, 5)
BELOW = 10
STOPPED, KILLED, UNTOUCHED = "n3", "n1", "n2"
_NOT_KEPT: Must = invalid("deletion-not-kept")


def _partition(edit: Edit) -> int:
    chosen: int = edit.chosen(PARTITIONS)
    return chosen


def _ended_ns(edit: Edit, kind: str) -> int:
    """When the nemesis began to end the process of a node."""
    injected = (o for o in edit.original.of("inject") if o.type is INVOKE and o.value["kind"] == kind)
    return next(injected).time_ns


def _deleted(edit: Edit, at_ns: int, partition: int, *, ended: bool = True) -> None:
    """Ask for the deletion of a few records, which is answered a moment later."""
    asked, how = [[partition, BELOW]], OK if ended else INFO
    error = None if ended else "_TIMED_OUT"
    edit.add_call(
        978_000, "delete-records", TOPIC, (at_ns, at_ns + 1_000_000), (asked, asked), ended=how, error=error
    )


def _on_disk(edit: Edit, node: str, partition: int, start: int) -> None:
    """Let a node's disk say where a log begins."""
    found: Operation = next(o for o in replicas(edit.original, TOPIC, partition) if o.node == node)
    edit.change(found.index, lambda value: value.update(log_start=start))


def _before_the_stop(edit: Edit, start: int, *, ended: bool = True) -> None:
    """Delete records before the clean stop of a node, whose disk shows at the end where the log begins."""
    partition = _partition(edit)
    _deleted(edit, _ended_ns(edit, "stop") - SECOND_NS // 10, partition, ended=ended)
    _on_disk(edit, STOPPED, partition, start)


@mutation("kept-starts", _NOT_KEPT, RUNS, 3)
def deleted_before_a_stop_and_not_written(edit: Edit) -> None:
    """A deletion is acknowledged before a clean stop, and the disk of that node has an older start."""
    _before_the_stop(edit, 0)


@mutation("kept-starts", _NOT_KEPT, RUNS, 2)
def one_record_less_is_written(edit: Edit) -> None:
    """A deletion is acknowledged before a clean stop, and the start on disk is lower by one."""
    _before_the_stop(edit, BELOW - 1)


@mutation("kept-starts", VALID, RUNS, 2)
def deleted_before_a_stop_and_written(edit: Edit) -> None:
    """A deletion is acknowledged before a clean stop, and the disk of that node has its start."""
    _before_the_stop(edit, BELOW)


@mutation("kept-starts", VALID, RUNS, 2)
def not_answered_before_a_stop(edit: Edit) -> None:
    """A deletion times out before a clean stop, and the disk of that node has an older start."""
    _before_the_stop(edit, 0, ended=False)


@mutation("kept-starts", VALID, RUNS, 2)
def deleted_before_a_kill_and_not_written(edit: Edit) -> None:
    """A deletion is acknowledged before a kill, and the disk of that node has an older start."""
    partition = _partition(edit)
    _deleted(edit, _ended_ns(edit, "kill") - SECOND_NS // 10, partition)
    _on_disk(edit, KILLED, partition, 0)


def _early(edit: Edit) -> int:
    """Partition of a deletion that was acknowledged while one node was down, long before the end."""
    early_ns = _ended_ns(edit, "kill")
    asked = [o for _, o in pairs(edit.original, "delete-records") if o.type is OK and o.time_ns < early_ns]
    chosen: Operation = edit.chosen(asked)
    partition: int = chosen.value[0][0]
    return partition


def _written_every_second(edit: Edit) -> None:
    """Let brokers be configured to write the starts of their logs every second."""
    often = {"log.flush.start.offset.checkpoint.interval.ms": 1000, "log.initial.task.delay.ms": 1000}
    setup = next(iter(edit.original.of("setup")))
    edit.change(setup.index, lambda value: value.update(config=value["config"] | often))


@mutation("kept-starts", _NOT_KEPT, RUNS, 2)
def not_written_for_long(edit: Edit) -> None:
    """Log starts must be written every second, and a disk lacks a deletion of half a minute ago."""
    _written_every_second(edit)
    _on_disk(edit, UNTOUCHED, _early(edit), 0)


@mutation("kept-starts", VALID, RUNS, 1)
def written_long_ago(edit: Edit) -> None:
    """Log starts must be written every second, and all disks have all acknowledged deletions."""
    _written_every_second(edit)
    deleted = [tuple(o.value[0]) for _, o in pairs(edit.original, "delete-records") if o.type is OK]
    for partition, below in sorted(deleted):
        for node in (STOPPED, KILLED, UNTOUCHED):
            _on_disk(edit, node, partition, below)


@mutation("kept-starts", VALID, RUNS, 2)
def not_written_within_a_minute(edit: Edit) -> None:
    """Log starts are written every minute, and a disk lacks a deletion of half a minute ago."""
    _on_disk(edit, UNTOUCHED, _early(edit), 0)
