"""The front for rw-register histories: versions and their orders, edges, and anomalies without a cycle."""
