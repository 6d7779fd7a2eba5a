"""The front for Kafka's own transactions: records, edges, visibility, fencing and producer epochs."""
