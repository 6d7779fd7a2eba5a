"""The pipeline: turns stored runs into tables with Spark, judges them there, and computes on the tables."""
