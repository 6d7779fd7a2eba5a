"""The graph of dependencies that the fronts build, its adjacency matrices and its components."""
