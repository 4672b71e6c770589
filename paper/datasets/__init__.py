"""The data sets of the paper's experiments."""

from pathlib import Path

from paper.datasets.credit_fraud import CREDIT_FRAUD
from paper.datasets.dataset import Dataset
from paper.datasets.folder import data_folder
from paper.datasets.kddcup99 import KDDCUP_DOS_PRB, KDDCUP_DOS_PRB_10, KDDCUP_DOS_R2L, KDDCUP_DOS_R2L_10
from paper.datasets.payment_simulation import PAYMENT_SIMULATION, PAYSIM_SIMULATED
from paper.datasets.record_linkage import FEBRL_PAIRS, RECORD_LINKAGE
from paper.datasets.splits import Split, random_split, split_in_order

DATASETS: dict[str, Dataset] = {
    dataset.name: dataset
    for dataset in [
        CREDIT_FRAUD,
        KDDCUP_DOS_PRB,
        KDDCUP_DOS_PRB_10,
        KDDCUP_DOS_R2L,
        KDDCUP_DOS_R2L_10,
        RECORD_LINKAGE,
        FEBRL_PAIRS,
        PAYMENT_SIMULATION,
        PAYSIM_SIMULATED,
    ]
}


def unused(folder: Path) -> list[str]:
    """The data sets that run on request only: the paper's that are not in the folder, or else their stand-ins."""
    return [
        dataset.name if DATASETS[dataset.stands_for].is_in(folder) else dataset.stands_for
        for dataset in DATASETS.values()
        if dataset.stands_for
    ]


__all__ = ["DATASETS", "Dataset", "Split", "data_folder", "random_split", "split_in_order", "unused"]
