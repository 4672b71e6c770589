"""The data sets of the paper's experiments."""

from paper.datasets.credit_fraud import CREDIT_FRAUD
from paper.datasets.dataset import Dataset
from paper.datasets.folder import data_folder
from paper.datasets.splits import Split, random_split

DATASETS: dict[str, Dataset] = {dataset.name: dataset for dataset in [CREDIT_FRAUD]}

__all__ = ["DATASETS", "Dataset", "Split", "data_folder", "random_split"]
