"""Judges the replicas: after healing, the nodes' logs hold the same batches, each of them once, undamaged.

`observed` is what a history tells of a replica, `evidence` puts all of it in columns, the rules compare them.
"""
