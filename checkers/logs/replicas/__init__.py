"""Judges replicas: after healing, all of them have the same batches, without duplicates or damage.

`observed` has the types of recorded replicas, `evidence` converts them to columns, and the rules compare
them.
"""
