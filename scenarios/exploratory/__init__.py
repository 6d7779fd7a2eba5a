"""Random faults and operations, to find what nobody thought of."""
