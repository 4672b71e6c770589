"""Ensembles on a Dask cluster. Needs `selfpaced[dask]`."""

from selfpaced.clusters.dask.engine import naming_the_cluster, send
from selfpaced.clusters.dask.estimators import (
    DaskAutoSelfPacedClassifier,
    DaskBalanceCascadeClassifier,
    DaskSelfPacedEnsembleClassifier,
    DaskUnderBaggingClassifier,
)
from selfpaced.clusters.dask.history import describe_dask_frame
from selfpaced.clusters.dask.table import PARQUET, Piece, frame_of_pieces, import_dask, open_dask_frame, parquet_pieces

__all__ = [
    "DaskAutoSelfPacedClassifier",
    "DaskBalanceCascadeClassifier",
    "DaskSelfPacedEnsembleClassifier",
    "DaskUnderBaggingClassifier",
]
