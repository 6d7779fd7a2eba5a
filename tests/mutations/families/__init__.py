"""The families of mutations: importing them here fills the suite."""

from tests.mutations.families import acknowledgements, batches, checkpoints, records
from tests.mutations.suite import Case, cases

__all__ = ["Case", "acknowledgements", "batches", "cases", "checkpoints", "records"]
