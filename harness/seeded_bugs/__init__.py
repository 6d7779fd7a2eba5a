"""Seeded bugs: their definition, their installation on a node, and their traces in its log."""
