"""Rows of tables: what one run becomes, as Arrow tables."""
