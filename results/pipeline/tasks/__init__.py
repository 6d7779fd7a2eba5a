"""Tasks that Spark workers carry out: runs are read, and judged."""
