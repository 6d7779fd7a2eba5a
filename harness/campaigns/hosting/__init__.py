"""Runs on hosts of a Spark cluster; modules in the order in which a run uses them.

host_options (options of a command for runs on hosts), orders (orders to a host, and its reports), host_checks
and table (missing requirements of hosts), assigning (assignment of runs to hosts), tasks (functions that
Spark calls on a host), child (the process of one run), slots (number of clusters per host), hand_over (from
the host's disk to the store).
"""
