"""Tasks on the machines of a Dask cluster (extra ``cluster``).

The client, `client.ClusterPool`, says which machine may make a run: one that has its data, and the same for all runs
whose seconds are compared. It names the worker, and another if that is lost; Dask brings the run there and holds the
worker to its slots. There `host` lets the same guarded child processes make the run as on one machine.
"""
