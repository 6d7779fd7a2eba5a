"""The front for list-append histories: versions of lists, edges, and anomalies without a cycle."""
