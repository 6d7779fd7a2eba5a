"""The families of mutations: importing them here fills the suite."""

from tests.mutations.families import (
    acknowledgements,
    administration,
    batches,
    checkpoints,
    groups,
    metadata_log,
    missing,
    probes,
    quorum,
    records,
    transactions,
    views,
)
from tests.mutations.suite import Case, cases

__all__ = [
    "Case",
    "acknowledgements",
    "administration",
    "batches",
    "cases",
    "checkpoints",
    "groups",
    "metadata_log",
    "missing",
    "probes",
    "quorum",
    "records",
    "transactions",
    "views",
]
