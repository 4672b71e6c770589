"""Ensembles on clusters: Dask and Spark."""

from selfpaced.clusters.partitions import PartitionedTable, divided, some_rows
from selfpaced.clusters.scoring import cluster_scores, travelling
