"""Kafka's protocol and files, as the harness itself uses them: requests, topics, segments."""
