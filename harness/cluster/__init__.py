"""Clusters: from a topology to running containers, and their removal."""
