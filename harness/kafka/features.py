"""Feature levels as one node reports them in its answer to ApiVersions (KIP-584)."""

from typing import NamedTuple

from kafka.protocol.metadata import ApiVersionsRequest, ApiVersionsResponse

from harness.kafka.wire import Connection, WireError

UNKNOWN_EPOCH = -1
"""The epoch of an answer that has no finalized levels, for example of a controller that has just started."""


class NodeFeatures(NamedTuple):
    """The features of one node.

    Attributes:
        epoch: offset in the metadata log up to which the levels are those of the log; `UNKNOWN_EPOCH` if the
            node does not know the levels.
        levels: finalized levels by name; a feature that is off is not among them.
        supported: lowest and highest level that the node supports, by name.  Up to version 3 of the answer
            (Kafka before 3.9) features that may be off are not among them (KAFKA-17011).
    """

    epoch: int
    levels: dict[str, int]
    supported: dict[str, tuple[int, int]]


def node_features(connection: Connection) -> NodeFeatures:
    """Ask a node for its features, on an open connection.

    Raises:
        WireError: no answer, or an error.
    """
    request = ApiVersionsRequest(client_software_name="krucible", client_software_version="1")
    answer = connection.ask(request, ApiVersionsResponse)
    if answer.error_code:
        raise WireError(f"ApiVersions answered error {answer.error_code}")
    return NodeFeatures(
        answer.finalized_features_epoch,
        {one.name: one.max_version_level for one in answer.finalized_features or ()},
        {one.name: (one.min_version, one.max_version) for one in answer.supported_features or ()},
    )
