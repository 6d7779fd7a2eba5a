"""Properties of brokers that scenarios with share groups (KIP-932) share."""

from harness.vocabulary import ShareWorkload


def share_brokers(workload: ShareWorkload) -> dict[str, str]:
    """The state of share groups has few partitions and three replicas; two must be in sync."""
    return {
        "min.insync.replicas": "2",
        "share.coordinator.state.topic.num.partitions": "6",
        "share.coordinator.state.topic.replication.factor": "3",
        "share.coordinator.state.topic.min.isr": "2",
        "group.share.initialize.retry.interval.ms": "5000",
    } | workload.broker_config
