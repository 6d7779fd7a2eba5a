"""Kafka's metadata log, decoded without Kafka by the layouts in `schemas`, and printed as its tool does.

The files there are Kafka's own definitions, reduced to the parts that determine the bytes.  They
are those of Kafka 4.4.0, and of 4.3.1 for control records: each covers all versions since the first.
"""
