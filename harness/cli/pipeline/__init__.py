"""``krucible pipeline``: its group, its commands, their options, and the lines that they print."""
