"""Runs on hosts of a Spark cluster; modules in the order in which a run uses them.

orders (orders to a host, and its reports), looking and table (what hosts lack), driving (which host gets
which run), tasks (what Spark calls on a host), child (the process of one run), slots (one cluster a host at a
time), hand_over (from the host's disk to the store).
"""
