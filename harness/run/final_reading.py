"""Reads all records at the end of a run, when the load has ended."""

import time

from checkers.history.phases import Phase
from harness.run.stage import Stage, all_brokers_ended
from harness.vocabulary import Workload
from harness.workloads.context import WorkloadContext
from harness.workloads.final_read import end_by, final_readers
from harness.workloads.opening import implementation_of

_FINAL_READ_BOUND_S = 120.0
"""How long all readers together may take; a partition that is not read to its end by then is undecided."""


def read_everything(stage: Stage, context: WorkloadContext[Workload], *, recovery_timed_out: bool) -> None:
    """Read all records with both clients at both isolation levels, and other data that the workload needs."""
    bound_s = 0.0 if all_brokers_ended(stage) else _FINAL_READ_BOUND_S
    stage.phase(Phase.FINAL_READ, limit_s=bound_s)
    deadline = time.monotonic() + bound_s
    listeners = stage.cluster.observe_listeners
    dead = frozenset(listeners[name] for name in stage.cluster.ended if name in listeners)
    readers = final_readers(context, deadline, dead, recovery_timed_out=recovery_timed_out)
    own = implementation_of(context.workload).final_workers(context, deadline)
    for complaint in end_by([*readers, *own], deadline):
        stage.report(Phase.FINAL_READ, complaint)
