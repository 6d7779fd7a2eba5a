"""Records sent and returned as NumPy arrays, one row each."""
