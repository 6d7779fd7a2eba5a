"""Creates anomalies with proofs, as texts and drawings, from cycles and findings; all fronts use it."""
