"""Transactions as columns, with a row for each transaction and micro-operation; all fronts use them."""
