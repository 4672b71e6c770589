"""Ensembles on clusters: Dask and Spark."""

from selfpaced.clusters.history import add_history
from selfpaced.clusters.partitions import ON_A_CLUSTER, PartitionedTable
from selfpaced.clusters.scoring import cluster_scores, hold_out, sample_rows, worker_model
