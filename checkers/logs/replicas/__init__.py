"""Judges replicas: after healing all of them have the same batches, once and undamaged.

`observed` is what a history has of a replica, `evidence` puts all of it in columns, the rules compare them.
"""
