"""Converts one run to rows of tables, as Arrow tables."""
