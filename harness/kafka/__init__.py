"""The parts of Kafka's protocol and files that the harness itself uses: requests, topics, segments."""
