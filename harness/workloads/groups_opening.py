"""The workers of the groups workload: under load, and at the end."""

from harness.clients.group_opening import Join, join_group
from harness.clients.group_outdated import commit_as, remove_group, reset_offsets
from harness.workloads.groups import CommitAs, GroupsContext, MemberWorker, Reset
from harness.workloads.groups_drain import DrainWorker, Remove
from harness.workloads.producing import ProducerWorker
from harness.workloads.subscribed import consumer_workers
from harness.workloads.worker import Worker


def groups_workers(
    context: GroupsContext,
    join: Join = join_group,
    commit_late: CommitAs = commit_as,
    reset: Reset = reset_offsets,
) -> list[Worker]:
    """Producers, consumers without a group, then the members of every group."""
    workload = context.workload
    members = range(workload.members * len(workload.groups))
    return [
        *(ProducerWorker(context, number) for number in range(workload.producers)),
        *consumer_workers(context, join),
        *(MemberWorker(context, index, join, commit_late, reset) for index in members),
    ]


def groups_final_workers(
    context: GroupsContext, deadline: float, join: Join = join_group, remove: Remove = remove_group
) -> list[Worker]:
    """One worker for each group that drains it."""
    groups = range(len(context.workload.groups))
    return [DrainWorker(context, group, deadline, join, remove) for group in groups]
