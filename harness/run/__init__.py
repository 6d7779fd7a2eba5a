"""One run from its start to its end: stage, execution, readiness, recovery, healing."""
