"""Classifies errors of kafka-clients: every ``ApiException`` of its, and what others it reports.

A record's sending failed only under the conditions of `harness.clients.errors`.  Errors that a broker answers
mean what they mean there.
"""

from collections.abc import Iterator

from harness.clients.errors import TABLE as COMMON
from harness.clients.errors import Appended, Classified, ErrorSource, ProduceErrorRule, judged

_NO, _AWAITED, _MAYBE = Appended.NO, Appended.NO_UNLESS_AWAITED, Appended.MAYBE

CODES = {
    "UnknownServerException": -1,
    "CorruptRecordException": 2,
    "UnknownTopicOrPartitionException": 3,
    "LeaderNotAvailableException": 5,
    "NotLeaderOrFollowerException": 6,
    "RecordTooLargeException": 10,
    "NetworkException": 13,
    "InvalidTopicException": 17,
    "RecordBatchTooLargeException": 18,
    "NotEnoughReplicasException": 19,
    "NotEnoughReplicasAfterAppendException": 20,
    "InvalidRequiredAcksException": 21,
    "TopicAuthorizationException": 29,
    "ClusterAuthorizationException": 31,
    "InvalidTimestampException": 32,
    "UnsupportedForMessageFormatException": 43,
    "OutOfOrderSequenceException": 45,
    "DuplicateSequenceException": 46,
    "InvalidProducerEpochException": 47,
    "KafkaStorageException": 56,
    "UnknownProducerIdException": 59,
    "UnsupportedCompressionTypeException": 76,
    "InvalidRecordException": 87,
    "ProducerFencedException": 90,
}
"""The library's classes of the errors that brokers answer to sends, and Kafka's codes of these."""

COMMIT_CODES = CODES | {
    "CoordinatorLoadInProgressException": 14,
    "CoordinatorNotAvailableException": 15,
    "NotCoordinatorException": 16,
    "InvalidTxnStateException": 48,
    "InvalidPidMappingException": 49,
    "ConcurrentTransactionsException": 51,
    "TransactionalIdAuthorizationException": 53,
    "TransactionAbortableException": 120,
}
"""The same with the errors that coordinators of transactions answer."""

_NAMES = {
    "InvalidTxnStateException": "INVALID_TXN_STATE",
    "InvalidPidMappingException": "INVALID_PRODUCER_ID_MAPPING",
    "ConcurrentTransactionsException": "CONCURRENT_TRANSACTIONS",
    "TransactionAbortableException": "TRANSACTION_ABORTABLE",
    "IllegalGenerationException": "ILLEGAL_GENERATION",
    "UnknownMemberIdException": "UNKNOWN_MEMBER_ID",
    "RebalanceInProgressException": "REBALANCE_IN_PROGRESS",
    "GroupMaxSizeReachedException": "GROUP_MAX_SIZE_REACHED",
    "FencedInstanceIdException": "FENCED_INSTANCE_ID",
    "FencedMemberEpochException": "FENCED_MEMBER_EPOCH",
    "UnreleasedInstanceIdException": "UNRELEASED_INSTANCE_ID",
    "StaleMemberEpochException": "STALE_MEMBER_EPOCH",
}
"""Kafka's names of further errors; an error outside of the table is named by its class."""

_OWN: tuple[tuple[str, Appended, str], ...] = (
    ("TimeoutException", _MAYBE, "waiting or in flight, or the broker's, the exception can't say"),
    ("BufferExhaustedException", _NO, "there was no memory in which to queue it"),
    ("DisconnectException", _MAYBE, "the connection broke, the request may have arrived"),
    ("TransactionAbortedException", _MAYBE, "waiting or in flight when its transaction was aborted"),
    ("UnknownTopicIdException", _AWAITED, "the broker knows no topic of that id"),
    ("KafkaException", _MAYBE, "the library uses it for many errors, and for all once it gave up"),
    ("IllegalStateException", _MAYBE, "the library's own state is wrong; earlier attempts are open"),
    ("InterruptException", _MAYBE, "the thread was interrupted at an unknown point"),
)

_BASES = (
    "ApiException RetriableException RefreshRetriableException InvalidMetadataException "
    "InvalidConfigurationException ApplicationRecoverableException InvalidOffsetException "
    "AuthenticationException AuthorizationException"
)
_OTHERS: dict[str, str] = {
    "metadata or its age, which says nothing of an earlier attempt": (
        "StaleMetadataException NoAvailableBrokersException FencedLeaderEpochException "
        "UnknownLeaderEpochException InconsistentTopicIdException ListenerNotFoundException "
        "ReplicaNotAvailableException BrokerNotAvailableException RebootstrapRequiredException "
        "InconsistentClusterIdException MismatchedEndpointTypeException UnsupportedEndpointTypeException"
    ),
    "a transaction, whose earlier attempts are open": (
        "ConcurrentTransactionsException InvalidPidMappingException InvalidTxnStateException "
        "InvalidTxnTimeoutException TransactionAbortableException TransactionCoordinatorFencedException "
        "TransactionalIdAuthorizationException TransactionalIdNotFoundException"
    ),
    "a coordinator, which takes no records": (
        "CoordinatorLoadInProgressException CoordinatorNotAvailableException NotCoordinatorException "
        "NoBatchedFindCoordinatorsException"
    ),
    "a group or its members, which no send is about": (
        "RetriableCommitFailedException UnjoinedGroupException FencedInstanceIdException "
        "FencedMemberEpochException GroupAuthorizationException GroupIdNotFoundException "
        "GroupMaxSizeReachedException GroupNotEmptyException GroupSubscribedToTopicException "
        "IllegalGenerationException InconsistentGroupProtocolException InvalidGroupIdException "
        "InvalidSessionTimeoutException MemberIdRequiredException RebalanceInProgressException "
        "StaleMemberEpochException UnknownMemberIdException UnreleasedInstanceIdException "
        "UnsupportedAssignorException InvalidRegularExpression StreamsInvalidTopologyEpochException "
        "StreamsInvalidTopologyException StreamsTopologyFencedException GroupDeletionFailedException "
        "StreamsTopologyDescriptionUpdateFailedException"
    ),
    "a group of shares, which no send is about": (
        "FencedStateEpochException InvalidRecordStateException InvalidShareSessionEpochException "
        "ShareSessionLimitReachedException ShareSessionNotFoundException"
    ),
    "offsets, which no send is about": (
        "InvalidCommitOffsetSizeException OffsetMetadataTooLarge OffsetMovedToTieredStorageException "
        "OffsetNotAvailableException OffsetOutOfRangeException UnstableOffsetCommitException "
        "NoBatchedOffsetFetchRequestException"
    ),
    "a fetch, which no send is": (
        "FetchSessionIdNotFoundException FetchSessionTopicIdException InvalidFetchSessionEpochException "
        "InvalidFetchSizeException PositionOutOfRangeException SnapshotNotFoundException"
    ),
    "a controller or a voter, which no send is about": (
        "BrokerIdNotRegisteredException ControllerMovedException DuplicateBrokerRegistrationException "
        "DuplicateVoterException ElectionNotNeededException EligibleLeadersNotAvailableException "
        "FeatureUpdateFailedException InconsistentVoterSetException IneligibleReplicaException "
        "InvalidRegistrationException InvalidUpdateVersionException InvalidVoterKeyException "
        "NewLeaderElectedException NotControllerException PreferredLeaderNotAvailableException "
        "StaleBrokerEpochException UnknownControllerIdException VoterNotFoundException "
        "ControllerIdNotRegisteredException"
    ),
    "a request of an administrator, which no send is": (
        "DuplicateResourceException InvalidPartitionsException InvalidReplicaAssignmentException "
        "InvalidReplicationFactorException LogDirNotFoundException NoReassignmentInProgressException "
        "OperationNotAttemptedException PolicyViolationException ReassignmentInProgressException "
        "ResourceNotFoundException ThrottlingQuotaExceededException TopicDeletionDisabledException "
        "TopicExistsException UnacceptableCredentialException"
    ),
    "permissions or identities, which this cluster does not have": (
        "AuthorizerNotReadyException DelayedResponseAuthenticationException "
        "DelegationTokenAuthorizationException DelegationTokenDisabledException "
        "DelegationTokenExpiredException DelegationTokenNotFoundException "
        "DelegationTokenOwnerMismatchException IllegalSaslStateException InvalidPrincipalTypeException "
        "PrincipalDeserializationException SaslAuthenticationException SecurityDisabledException "
        "SslAuthenticationException UnsupportedByAuthenticationException UnsupportedSaslMechanismException"
    ),
    "the form of a request, which an earlier attempt may not have had": (
        "InvalidRequestException UnsupportedVersionException UnsupportedProtocolFieldException"
    ),
    "the client's own measurements, which no send is about": (
        "TelemetryTooLargeException UnknownSubscriptionIdException"
    ),
}


def _rows() -> Iterator[ProduceErrorRule]:
    common = {row.key: row for row in COMMON if row.source is ErrorSource.BROKER}
    for key, code in CODES.items():
        yield common[code]._replace(source=ErrorSource.JAVA, key=key)
    for key, appended, reason in _OWN:
        yield ProduceErrorRule(ErrorSource.JAVA, key, key, appended, reason)
    for key in _BASES.split():
        yield ProduceErrorRule(
            ErrorSource.JAVA, key, key, _MAYBE, "a base of many errors, so it may mean any of them"
        )
    for about, keys in _OTHERS.items():
        for key in keys.split():
            yield ProduceErrorRule(ErrorSource.JAVA, key, _NAMES.get(key, key), _MAYBE, f"about {about}")


TABLE: tuple[ProduceErrorRule, ...] = tuple(_rows())
REFUSALS = frozenset(
    {
        "TimeoutException",
        "BufferExhaustedException",
        "RecordTooLargeException",
        "SerializationException",
        "InvalidTopicException",
        "IllegalArgumentException",
    }
)
"""What a call of ``send`` reports before the record is queued."""

_BY_KEY = {row.key: row for row in TABLE}


def classify(name: str, *, only_attempt: bool, acks: str) -> Classified:
    """The outcome of a queued record, given the class of its error; see `harness.clients.errors.classify`."""
    return judged(_BY_KEY.get(name), only_attempt=only_attempt, acks=acks)


def error_line(name: str, message: str) -> str:
    """An error as one line: Kafka's name of it if it has one, otherwise its class, and its message."""
    row = _BY_KEY.get(name)
    text = " ".join(message.replace(";", ",").split())
    known = name if row is None else row.name
    return f"{known}: {text}" if text else known
