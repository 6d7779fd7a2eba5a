"""Tables of a page: checkers, assumptions, faults, gambits, log lines, the identity of a run."""
