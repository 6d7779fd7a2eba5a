"""Which partition stores a group's commits or a transactional id's state; its leader is the coordinator.

Its number is Java's hash of the id, modulo the number of partitions (Kafka's
``GroupCoordinator.partitionFor`` and ``TransactionStateManager.partitionFor``).  For the state of a share
group in a partition, the id is ``group:topic id:number`` (``SharePartitionKey.asCoordinatorKey``).
"""

from checkers.columns.tables import GroupPartition, PartitionName
from checkers.evidence.partition_changes import partition_changes
from checkers.history.operations import History
from checkers.history.setup import recorded_setup

OFFSETS_TOPIC = "__consumer_offsets"
TRANSACTIONS_TOPIC = "__transaction_state"
SHARES_TOPIC = "__share_group_state"
_BITS = 32
_FACTOR = 31
"""The multiplier of ``java.lang.String.hashCode``."""


def offsets_partition(history: History, group: str) -> PartitionName | None:
    """The partition that stores a group's offsets; None if no metadata log shows the number of partitions.

    Raises:
        msgspec.ValidationError: an observation is not as docs/histories.md says.
    """
    return _partition(history, OFFSETS_TOPIC, group)


def transactions_partition(history: History, transactional_id: str) -> PartitionName | None:
    """The partition that stores a transactional id's state; None if the number of partitions is unknown.

    Raises:
        msgspec.ValidationError: an observation is not as docs/histories.md says.
    """
    return _partition(history, TRANSACTIONS_TOPIC, transactional_id)


def shares_partition(history: History, place: GroupPartition) -> PartitionName | None:
    """The partition that stores a share group's state of a partition; None if it is unknown.

    Raises:
        msgspec.ValidationError: an observation or the set-up is not as docs/histories.md says.
    """
    ids = {topic.topic_id for topic in recorded_setup(history).topics if topic.name == place.topic} - {None}
    key = f"{place.group}:{''.join(map(str, ids))}:{place.partition}"
    return _partition(history, SHARES_TOPIC, key) if len(ids) == 1 else None


def _partition(history: History, topic: str, key: str) -> PartitionName | None:
    numbers = {name.partition for name in partition_changes(history).states if name.topic == topic}
    if not numbers or len(numbers) <= max(numbers):
        return None
    return PartitionName(topic, number_of(key, len(numbers)))


def number_of(group: str, partitions: int) -> int:
    """The number of the partition that an id belongs to, given the number of partitions."""
    code = 0
    units = group.encode("utf-16-be")
    for high, low in zip(units[::2], units[1::2], strict=True):
        code = (_FACTOR * code + (high << 8 | low)) % 2**_BITS
    signed = code - 2**_BITS if code >= 2 ** (_BITS - 1) else code
    # Kafka takes the absolute value, or 0 if an int can't represent it.
    return (0 if signed == -(2 ** (_BITS - 1)) else abs(signed)) % partitions
