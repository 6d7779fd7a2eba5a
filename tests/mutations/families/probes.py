"""Probes of faults, and what the runner and the nodes' observer tell of the run as a whole."""

from datetime import datetime, timedelta
from typing import Any

from checkers.history.operations import Operation
from tests.mutations.edits import Edit
from tests.mutations.looking import FAIL, INFO, INVOKE, OK, final_reads, pairs, phase_ns
from tests.mutations.partitions import own
from tests.mutations.suite import VALID, invalid, mutation, unknown

RUNS = ("chaos", "smoke", "txn", "copy", "groups", "offsets", "metadata", "disks", "moves", "voters")
FINAL = ("chaos", "smoke", "txn", "copy", "compacted", "moves", "bulk")


def _completed(edit: Edit, f: str) -> Operation:
    chosen: Operation = edit.chosen(o for o in edit.original.of(f) if o.type is OK)
    return chosen


@mutation("probes", unknown("fault|probe|inject|proven"), RUNS, 1)
def the_probe_of_an_injection_is_empty(edit: Edit) -> None:
    """A fault counts as in force, and its probe has no proof."""
    edit.change(_completed(edit, "inject").index, lambda value: value.update(probe={}))


@mutation("probes", unknown("heal|probe|proven"), RUNS, 1)
def the_probe_of_a_heal_is_empty(edit: Edit) -> None:
    """A fault counts as healed, and its probe has no proof."""
    edit.change(_completed(edit, "heal").index, lambda value: value.update(probe={}))


@mutation("probes", unknown("faults-injected|fault-proven"), RUNS, 1)
def an_injection_was_not_confirmed(edit: Edit) -> None:
    """A fault was injected, and its probe did not see that it took effect."""
    edit.set(_completed(edit, "inject").index, type=INFO, error="the probe saw nothing of it")


@mutation("probes", unknown("fault-healed"), RUNS, 1)
def a_heal_was_not_confirmed(edit: Edit) -> None:
    """A fault was healed, and its probe did not see that it is gone."""
    edit.set(_completed(edit, "heal").index, type=INFO, error="the node does not answer")


@mutation("probes", unknown("fault-held"), RUNS, 1)
def a_fault_was_held_for_a_moment(edit: Edit) -> None:
    """A fault was healed at once, long before the time for which it had to be held."""
    injected = _completed(edit, "inject")
    heal = next(o for o in edit.original.of("heal") if o.type is INVOKE and o.key == injected.key)
    edit.set(heal.index, time_ns=injected.time_ns + 2_000_000)


@mutation("probes", unknown("faults-injected"), ("smoke", "txn", "copy", "groups", "offsets", "metadata"), 1)
def no_fault_at_all(edit: Edit) -> None:
    """The history has none of the planned faults, and its journals are complete."""
    history = edit.original
    edit.drop(*[o.index for f in ("inject", "heal") for o in history.of(f)])
    first = {o.node: o.index for o in reversed(history.observed("node"))}
    edit.drop(*[o.index for o in history.observed("node") if first[o.node] != o.index])


@mutation("probes", unknown("run-complete"), RUNS, 1)
def the_run_did_not_end(edit: Edit) -> None:
    """The run never reached its last phase."""
    edit.drop(*[o.index for o in edit.original.of("phase") if o.key == "done"])


@mutation("probes", unknown("recover"), RUNS, 1)
def nobody_waited_for_recovery(edit: Edit) -> None:
    """Nothing shows whether the partitions recovered."""
    edit.drop(*[o.index for o in edit.original.of("recover")])


@mutation("probes", invalid("not-recovered"), RUNS, 1)
def a_partition_did_not_recover(edit: Edit) -> None:
    """A partition had no leader when the time for recovery was over."""
    recovery = next(o for o in edit.original.of("recover") if o.type is OK)

    def change(value: dict[str, Any]) -> None:
        value["took_ms"], value["load_per_cpu"] = value["bound_ms"] + 1, 1.0
        value["partitions"][0].update(leader=None, write_acked=False)

    edit.change(recovery.index, change)
    edit.set(recovery.index, type=INFO, error="not recovered in time")


@mutation("probes", unknown("final"), FINAL, 2)
def a_final_read_did_not_end(edit: Edit) -> None:
    """A final read of one partition gave up before the end, and nothing else shows the rest."""
    topic = max(own(edit.original))
    read = edit.draw.choice(final_reads(edit.original, topic, edit.place))

    def change(value: dict[str, Any]) -> None:
        value["records"] = [[n, o[: len(o) // 2], v[: len(v) // 2]] for n, o, v in value["records"][:1]]
        value["position"] = value["records"][0][1][-1] + 1

    edit.change(read.index, change)
    edit.set(read.index, type=INFO, error="timed out")


@mutation("probes", unknown("final"), FINAL, 1)
def nobody_read_at_the_end(edit: Edit) -> None:
    """There are no final reads, although they were planned."""
    edit.drop(*[o.index for o in edit.original.of("final-read")])


@mutation("probes", invalid("node-died"), RUNS, 1)
def a_node_died_by_itself(edit: Edit) -> None:
    """A node that no fault hit ended and was restarted before the end of the load."""
    history = edit.original
    hit = {t for o in history.of("inject") for t in (o.value or {}).get("targets", ())}
    nodes = [n["name"] for o in history.of("setup") for n in o.value["nodes"]]
    node = next((n for n in nodes if n not in hit), None)
    if node is None:
        edit.give_up("every node had its fault")
    seen = next(o for o in history.observed("node") if o.node == node)
    at_ns = phase_ns(history, "heal") - 3_000_000_000
    edit.add(seen, at_ns, value=seen.value | {"status": "exited", "exit_code": 1})
    edit.add(seen, at_ns + 1_000_000_000, value=seen.value | {"started_at": "2026-11-22T23:59:59.0Z"})


@mutation("probes", invalid("node-died"), ("chaos", "smoke", "txn", "moves", "deletions"), 1)
def a_node_started_again_by_itself(edit: Edit) -> None:
    """A node that no fault hit has a later start time: its process was replaced unseen."""
    seen = next(iter(reversed([o for o in edit.original.observed("node") if o.value["status"] == "running"])))
    at_ns = max(seen.time_ns, phase_ns(edit.original, "heal")) + 1_000_000
    edit.add(seen, at_ns, value=seen.value | {"started_at": "2026-11-22T23:59:59.0Z"})


UNEXPECTED = "Unexpected error occurred while processing data for partition log-0-1 at offset 621"


@mutation("probes", invalid("fetcher-stopped"), RUNS, 1)
def a_fetcher_stopped(edit: Edit) -> None:
    """Before the load, a broker logged an error after which its fetcher dropped a partition."""
    _logged(edit, UNEXPECTED)


@mutation("probes", VALID, RUNS, 1)
def a_fetcher_goes_on(edit: Edit) -> None:
    """A broker logged an error of its fetcher after which it tries again."""
    _logged(edit, UNEXPECTED.replace("Unexpected error occurred", "Error"))


def _logged(edit: Edit, text: str) -> None:
    """Add a line to a broker's log that was written when the load began."""
    setup = next(iter(edit.original.of("setup")))
    broker = edit.chosen(n["name"] for n in setup.value["nodes"] if "broker" in n["roles"])
    began = datetime.fromisoformat(edit.original.began_at)
    at = began + timedelta(microseconds=phase_ns(edit.original, "load") // 1_000)
    like = edit.original.observed("node")[-1]
    value = {"line": 77, "at": at.isoformat(), "level": "ERROR", "text": text}
    edit.add(like, phase_ns(edit.original, "done") - 1, key="node-log", node=broker, value=value)


@mutation("probes", VALID, ("chaos",), 1)
def a_drawn_fault_found_its_target_held(edit: Edit) -> None:
    """One more fault was drawn, and not attempted because another one held its target."""
    history = edit.original
    invoked, injected = next(pairs(history, "inject"))
    at_ns = injected.time_ns + 500_000_000
    value = invoked.value
    edit.add(invoked, at_ns, key="f99", value=value)
    error = f"{injected.value['targets'][0]} is held by {injected.key}"
    edit.add(injected, at_ns + 1000, key="f99", type=FAIL, value=value, error=error)


def _powerless(edit: Edit, behind: int) -> None:
    """Let the probe of a fault say that a log of its target ends so far behind its recovery point."""
    topic = min(own(edit.original))
    left = [[topic, 0, 12, 12], [topic, 1, 12, 12 - behind]]
    edit.change(_completed(edit, "inject").index, lambda value: value["probe"].update(flushed=left))


@mutation("probes", invalid("flushed-lost"), RUNS, 1)
def a_flushed_log_is_shorter(edit: Edit) -> None:
    """After a loss of power a log ends one record below the recovery point on the same disk."""
    _powerless(edit, 1)


@mutation("probes", VALID, RUNS, 1)
def a_flushed_log_is_whole(edit: Edit) -> None:
    """After a loss of power each log reaches the recovery point on the same disk, and one is longer."""
    _powerless(edit, -3)
