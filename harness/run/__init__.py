"""One run from its first container to its last: the stage, the execution, readiness, recovery, healing."""
