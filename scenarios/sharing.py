"""Brokers for share groups (KIP-932), as scenarios of them have."""

from harness.vocabulary import ShareWorkload


def share_brokers(workload: ShareWorkload) -> dict[str, str]:
    """Properties of brokers that keep the state of share groups on three of them, in few partitions."""
    return {
        "min.insync.replicas": "2",
        "share.coordinator.state.topic.num.partitions": "6",
        "share.coordinator.state.topic.replication.factor": "3",
        "share.coordinator.state.topic.min.isr": "2",
        "group.share.initialize.retry.interval.ms": "5000",
    } | workload.broker_config
