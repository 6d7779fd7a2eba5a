"""From cycles and findings to anomalies with proofs, in words and as drawings; all fronts use it."""
