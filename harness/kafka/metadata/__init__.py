"""Decodes Kafka's metadata log without Kafka, by layouts in `schemas`, and prints it as Kafka's tool does.

The files there are Kafka's own definitions, reduced to the parts that determine the bytes.  They come from
Kafka 4.4.0, and for control records from 4.3.1; each covers all versions since the first.
"""
