"""Carries out a schedule: faults, gambits and admin operations, chosen by the state of the cluster."""
