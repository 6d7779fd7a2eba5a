"""Carrying out a schedule: faults, gambits and admin operations, as the cluster is then."""
