"""Commands for a living cluster: start, heal, remove it; elect leaders, move partitions, change voters."""
