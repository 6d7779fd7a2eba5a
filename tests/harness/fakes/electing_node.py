"""A node on loopback that is asked for elections, and answers as the test decides."""

from typing import Any

from kafka.protocol.admin.topics import ElectLeadersRequest, ElectLeadersResponse

from tests.harness.fakes.node import METADATA, FakeNode, metadata_answer

ELECT = 43


class FakeElectingNode(FakeNode):
    """A broker, or with `is_controller` one that has no Metadata.

    Attributes:
        code: Kafka's code for the request as a whole.
        codes: code and message by topic and partition; None: it never answers.
        elections: what was asked for: type, topics with their partitions, timeout.
    """

    def __init__(self, *, is_controller: bool = False) -> None:
        super().__init__()
        self.code = 0
        self.codes: dict[tuple[str, int], tuple[int, str | None]] | None = {}
        self.elections: list[tuple[int | None, list[tuple[str, list[int]]] | None, int]] = []
        self.versions[ELECT] = 2
        self.requests[ELECT] = ElectLeadersRequest
        self.answers[ELECT] = self._elect
        self.answers[METADATA] = self._metadata
        if is_controller:
            del self.versions[METADATA]

    def _metadata(self, _request: Any) -> Any:
        answer = metadata_answer([1], [])
        answer.brokers[0].host, answer.brokers[0].port = self.address
        return answer

    def _elect(self, request: Any) -> Any:
        topics = request.topic_partitions
        named = None if topics is None else [(each.topic, list(each.partitions)) for each in topics]
        self.elections.append((request.election_type, named, request.timeout_ms))
        if self.codes is None:
            return None
        one = ElectLeadersResponse.ReplicaElectionResult
        results = [
            one(
                topic=topic,
                partition_result=[
                    one.PartitionResult(partition_id=number, error_code=code, error_message=message)
                ],
            )
            for (topic, number), (code, message) in self.codes.items()
        ]
        return ElectLeadersResponse(
            throttle_time_ms=0, error_code=self.code, replica_election_results=results
        )
