"""What a run writes: journals, events, the ledger of faults, and the run's folder."""
