"""The system under test: image recipes, topologies as compose files, broker configuration."""
