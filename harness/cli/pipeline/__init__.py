"""``krucible pipeline``: its group, commands and options, and the lines that they print."""
