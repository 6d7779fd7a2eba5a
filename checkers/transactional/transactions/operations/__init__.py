"""Transactions as columns: a row for each transaction and for each micro-operation; all fronts read them."""
