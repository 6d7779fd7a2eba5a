"""Tasks of Spark workers: reading and judging runs."""
