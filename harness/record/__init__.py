"""The records of a run: journals, events, the ledger of faults, and the run's folder."""
