"""Who works in the groups workload: under load, and at the end."""

from harness.clients.group_opening import Join, join_group
from harness.clients.group_outdated import commit_as
from harness.workloads.groups import CommitAs, GroupsContext, MemberWorker
from harness.workloads.groups_drain import DrainWorker
from harness.workloads.producing import ProducerWorker
from harness.workloads.subscribed import consumer_workers
from harness.workloads.worker import Worker


def groups_workers(
    context: GroupsContext, join: Join = join_group, commit_late: CommitAs = commit_as
) -> list[Worker]:
    """Producers, consumers without a group, then the members of every group."""
    workload = context.workload
    members = range(workload.members * len(workload.groups))
    return [
        *(ProducerWorker(context, number) for number in range(workload.producers)),
        *consumer_workers(context, join),
        *(MemberWorker(context, index, join, commit_late) for index in members),
    ]


def groups_final_workers(context: GroupsContext, deadline: float, join: Join = join_group) -> list[Worker]:
    """One that drains each group."""
    return [DrainWorker(context, group, deadline, join) for group in range(len(context.workload.groups))]
