"""Error codes after which a request to a transaction coordinator is repeated."""

from checkers.history.error_codes import ErrorCode

RETRIABLE = frozenset(
    {
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.CONCURRENT_TRANSACTIONS,
    }
)
"""The coordinator is not ready or not there, or it still ends the transaction before (RetriableException)."""
