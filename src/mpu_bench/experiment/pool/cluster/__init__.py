"""Tasks on the machines of a Dask cluster (extra ``cluster``): Dask carries them, and says who is there.

The client, `client.ClusterPool`, hands each run to a worker of its choice (`placement`); there `host` lets the same
guarded child processes make it as on one machine. Data are fetched and prepared once a machine, or sent (`sending`).
"""
