"""Clusters: from a topology to containers that answer, and back to nothing."""
