"""Commands that show what was found: findings, issue, signatures, summary, serve."""
