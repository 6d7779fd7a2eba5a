"""The load of a cluster, and the reads and writes that check it."""
