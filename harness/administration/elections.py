"""Requests for elections (KIP-460): preferred or unclean, for some partitions or for all of a cluster.

A broker forwards the request to the active controller.  A controller answers only while it is active.
"""

from collections.abc import Iterable, Sequence

import msgspec
from kafka.protocol.admin.topics import ElectLeadersRequest, ElectLeadersResponse

from checkers.history.error_codes import ErrorCode
from harness.kafka.wire import Connection, WireError
from harness.vocabulary.administration import ElectionType

ANSWER_SLACK_S = 1.0
"""Time to wait for an answer after Kafka's own timeout, so that Kafka's refusal arrives first."""
TYPES = {ElectionType.PREFERRED: 0, ElectionType.UNCLEAN: 1}
FIRST_WITH_TYPES = 1
"""In earlier versions of the request every election is a preferred one, and there is no type."""


Address = tuple[str, int]


class ElectionResult(msgspec.Struct, frozen=True):
    """The answer for one partition; `code` is Kafka's, 0 if a leader was elected."""

    topic: str
    partition: int
    code: int
    message: str | None


class ElectionAnswer(msgspec.Struct, frozen=True):
    """The answer to a request for elections.

    Attributes:
        code: Kafka's error code for the request as a whole.
        results: result of each requested partition; without a list of partitions, those that needed no
            election are absent.
    """

    code: int
    results: tuple[ElectionResult, ...]


def elect_leaders(
    address: Address,
    election: ElectionType,
    partitions: Sequence[tuple[str, int]] | None,
    timeout_ms: int,
) -> ElectionAnswer:
    """Ask one node for elections.

    Args:
        address: its listener.
        election: preferred or unclean; an unclean election takes any live replica, but only if there is
            no leader.
        partitions: topic and partition; None for all partitions of the cluster.
        timeout_ms: how long Kafka may take, milliseconds.

    Raises:
        WireError: no answer, or the node does not know this type of election.
    """
    with Connection(*address, timeout_ms / 1000 + ANSWER_SLACK_S) as connection:
        _, newest = connection.versions.get(ElectLeadersRequest.API_KEY, (0, -1))
        if election is not ElectionType.PREFERRED and newest < FIRST_WITH_TYPES:
            raise WireError(f"ElectLeaders: the node supports only preferred elections, not {election}")
        request = ElectLeadersRequest(
            election_type=TYPES[election],
            topic_partitions=None if partitions is None else _by_topic(partitions),
            timeout_ms=timeout_ms,
        )
        answer = connection.ask(request, ElectLeadersResponse)
    return ElectionAnswer(
        # The first version reports partitions only.
        answer.error_code or ErrorCode.NONE,
        tuple(
            ElectionResult(topic.topic, result.partition_id, result.error_code, result.error_message)
            for topic in answer.replica_election_results
            for result in topic.partition_result
        ),
    )


def _by_topic(partitions: Iterable[tuple[str, int]]) -> list[object]:
    """Partitions by topic, as the request needs them: each topic and each partition once."""
    found: dict[str, list[int]] = {}
    for topic, partition in dict.fromkeys(partitions):
        found.setdefault(topic, []).append(partition)
    one = ElectLeadersRequest.TopicPartitions
    return [one(topic=topic, partitions=numbers) for topic, numbers in found.items()]
