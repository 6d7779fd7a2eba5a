"""The partition and the offset of an anomaly, read from its subject."""

from checkers.verdict.places import place_of
from checkers.verdict.verdict import Anomaly
from results.report.reading.client_words import RecordContext
from results.run.anomaly_partitions import partition_named


def context_of(anomaly: Anomaly, checker: str) -> RecordContext:
    """The partition and the offset of an anomaly, as far as its subject has them."""
    place = place_of(anomaly.subject, checker)
    partition = partition_named(place.name)
    return (
        RecordContext()
        if partition is None
        else RecordContext(partition.topic, partition.partition, place.offset)
    )
