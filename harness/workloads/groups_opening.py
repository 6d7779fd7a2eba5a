"""The workers of the groups workload: under load, and at the end."""

from harness.clients.group_opening import Join
from harness.clients.group_outdated import commit_as, remove_group, reset_offsets
from harness.workloads.groups import CommitAs, GroupsContext, MemberWorker, Reset
from harness.workloads.groups_drain import DrainWorker, Remove
from harness.workloads.producing import ProducerWorker
from harness.workloads.subscribed import consumer_workers
from harness.workloads.worker import Worker


def groups_workers(
    context: GroupsContext,
    join: Join | None = None,
    commit_late: CommitAs = commit_as,
    reset: Reset = reset_offsets,
) -> list[Worker]:
    """Producers, consumers without a group, then the members of every group, which `join` makes."""
    workload, join = context.workload, join or context.clients.member
    members = range(workload.members * len(workload.groups))
    return [
        *(ProducerWorker(context, number) for number in range(workload.producers)),
        *consumer_workers(context, join),
        *(MemberWorker(context, index, join, commit_late, reset) for index in members),
    ]


def groups_final_workers(
    context: GroupsContext, deadline: float, join: Join | None = None, remove: Remove = remove_group
) -> list[Worker]:
    """One worker for each group that drains it."""
    join = join or context.clients.member
    groups = range(len(context.workload.groups))
    return [DrainWorker(context, group, deadline, join, remove) for group in groups]
