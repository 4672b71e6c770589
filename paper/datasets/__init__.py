"""The data sets of the paper's experiments."""

from paper.datasets.credit_fraud import CREDIT_FRAUD
from paper.datasets.dataset import Dataset
from paper.datasets.folder import data_folder
from paper.datasets.kddcup99 import KDDCUP_DOS_PRB, KDDCUP_DOS_PRB_10, KDDCUP_DOS_R2L, KDDCUP_DOS_R2L_10
from paper.datasets.payment_simulation import PAYMENT_SIMULATION
from paper.datasets.record_linkage import RECORD_LINKAGE
from paper.datasets.splits import Split, random_split
from paper.datasets.stand_ins import PAYMENT_SIMULATION_STAND_IN, RECORD_LINKAGE_STAND_IN

DATASETS: dict[str, Dataset] = {
    dataset.name: dataset
    for dataset in [
        CREDIT_FRAUD,
        KDDCUP_DOS_PRB,
        KDDCUP_DOS_PRB_10,
        KDDCUP_DOS_R2L,
        KDDCUP_DOS_R2L_10,
        RECORD_LINKAGE,
        RECORD_LINKAGE_STAND_IN,
        PAYMENT_SIMULATION,
        PAYMENT_SIMULATION_STAND_IN,
    ]
}

__all__ = ["DATASETS", "Dataset", "Split", "data_folder", "random_split"]
