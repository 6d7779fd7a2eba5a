"""Starts clusters from topologies as containers, and removes them."""
