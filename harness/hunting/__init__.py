"""Hunting: what may be run, and which of it comes next, by what earlier runs have not shown yet; pure."""
