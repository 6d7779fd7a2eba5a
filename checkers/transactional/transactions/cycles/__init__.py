"""Cycles in the graph: finds them, names their anomalies, and tries all undetermined version orders."""
