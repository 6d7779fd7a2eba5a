"""The recorded data of a run: the types of all operations, and reading, checking and merging of journals."""
