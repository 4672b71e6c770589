"""PySpark's daemon with the packages of its workers loaded: each Python worker is a fork of it.

A worker collects garbage after every task, and searches all that it has imported. What is loaded and frozen before the
fork is not searched. With tests' small tasks this is most of a worker's time.
"""

import gc

import lightgbm  # noqa: F401
import pandas  # noqa: F401
import sklearn.tree  # noqa: F401
from pyspark.daemon import manager

import selfpaced.spark  # noqa: F401

if __name__ == "__main__":
    gc.freeze()
    manager()
