"""What a run recorded: the types of all operations, and how journals are read, checked and merged."""
