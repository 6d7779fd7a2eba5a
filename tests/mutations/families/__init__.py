"""The families of mutations: importing them here fills the suite."""

from tests.mutations.families import (
    acknowledgements,
    administration,
    batches,
    checkpoints,
    client_errors,
    coverage,
    groups,
    metadata_log,
    missing,
    probes,
    quorum,
    records,
    recreations,
    starts,
    transactions,
    views,
    votes,
)
from tests.mutations.suite import Case, cases

__all__ = [
    "Case",
    "acknowledgements",
    "administration",
    "batches",
    "cases",
    "checkpoints",
    "client_errors",
    "coverage",
    "groups",
    "metadata_log",
    "missing",
    "probes",
    "quorum",
    "records",
    "recreations",
    "starts",
    "transactions",
    "views",
    "votes",
]
