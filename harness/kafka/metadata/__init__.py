"""Kafka's metadata log, decoded without Kafka by the layouts in `schemas`, and printed as its tool does.

The files there have the form of Kafka's own definitions, with what decides the bytes and nothing else.  They
are those of Kafka 4.4.0, and of 4.3.1 for control records: each tells all versions since the first.
"""
