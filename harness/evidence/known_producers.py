"""Evidence from brokers: the producers that each broker knows for its replicas (KIP-664).

Followers answer DescribeProducers as well as leaders do: both know the producers of their own logs.
"""

from collections.abc import Mapping, Sequence
from itertools import groupby
from operator import itemgetter

from kafka.protocol.admin import DescribeProducersRequest, DescribeProducersResponse

from checkers.history.observed import PRODUCERS, KnownProducer, PartitionProducers, ProducersSeen
from harness.kafka.wire import Connection, WireError
from harness.record.journal import Recorder

_TIMEOUT_S = 5.0

Address = tuple[str, int]


def gather_producers(
    recorder: Recorder, listeners: Mapping[str, Address], partitions: Sequence[tuple[str, int]]
) -> None:
    """Record which producers every answering broker knows for its replicas of some partitions.

    Args:
        recorder: writes as the process ``runner``.
        listeners: broker name to its listener.
        partitions: topic and number of each.
    """
    topic = DescribeProducersRequest.TopicRequest
    request = DescribeProducersRequest(
        topics=[
            topic(name=name, partition_indexes=[number for _, number in those])
            for name, those in groupby(sorted(partitions), itemgetter(0))
        ]
    )
    for node, address in listeners.items():
        began_ns = recorder.journal.clock.now_ns()
        try:
            with Connection(*address, _TIMEOUT_S) as connection:
                answer = connection.ask(request, DescribeProducersResponse)
        except WireError:
            continue  # the assumption producers-covered names brokers that did not answer
        topics = {each.name: [_of_partition(one) for one in each.partitions] for each in answer.topics}
        recorder.observe("observe", PRODUCERS, ProducersSeen(began_ns, topics), node=node)


def _of_partition(answer: DescribeProducersResponse.TopicResponse.PartitionResponse) -> PartitionProducers:
    known = [
        KnownProducer(each.producer_id, each.producer_epoch, each.last_sequence)
        for each in answer.active_producers
    ]
    return PartitionProducers(answer.partition_index, answer.error_code, sorted(known))
