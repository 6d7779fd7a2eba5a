"""Random trouble, to find what nobody thought of."""
