"""Random faults and operations, to find unforeseen defects."""
