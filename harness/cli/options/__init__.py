"""What commands share on the command line: options, types of their values, completion, origins of Kafka."""
