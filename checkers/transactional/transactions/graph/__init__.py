"""The graph of dependencies between transactions, its adjacency matrices and its components."""
