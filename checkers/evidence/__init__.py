"""Facts of a history that several checkers use: faults, metadata, replicas, admin operations."""
