"""Commands that show findings and failures: findings, issue, signatures, summary, serve."""
