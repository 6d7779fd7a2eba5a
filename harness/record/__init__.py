"""What a run writes down while it goes on: journals, events, the ledger of faults, the run's folder."""
