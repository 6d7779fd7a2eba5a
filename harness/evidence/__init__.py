"""Evidence that is collected at the end of a run: disks, logs of nodes, and answers of brokers."""
