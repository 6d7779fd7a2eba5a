"""Commands for a running cluster: start, heal, remove it; elect leaders, move partitions, change voters."""
