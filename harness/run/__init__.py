"""One run from its first container to its last: the stage, the crew, readiness, recovery, healing."""
