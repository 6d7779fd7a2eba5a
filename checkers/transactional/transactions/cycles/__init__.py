"""Cycles in the graph: found, named after their anomaly, sought in all orders of versions that are open."""
