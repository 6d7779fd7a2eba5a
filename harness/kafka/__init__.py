"""Kafka's protocol and files as the harness itself speaks and reads them: requests, topics, segments."""
