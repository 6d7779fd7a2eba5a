"""The Spark pipeline: converts stored runs to tables, judges them, and computes further tables."""
