"""What is done to a cluster while it is tormented."""
