"""What a history tells beside records: faults, metadata, replicas, administration; for all checkers."""
