"""How a run happens: cluster, clients, workloads, faults, journal, the runner and the CLI."""
