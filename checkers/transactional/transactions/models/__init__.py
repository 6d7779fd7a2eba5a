"""Consistency models, and the anomalies that each of them forbids; proofs and fronts name them."""
