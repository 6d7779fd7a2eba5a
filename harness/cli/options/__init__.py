"""What several commands share: options, types of option values, shell completion, the source of Kafka."""
