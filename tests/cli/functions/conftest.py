"""A small file of payments, and a model trained on it."""

import numpy as np
import pandas as pd
import pytest

from selfpaced.cli.commands.train import train
from selfpaced.cli.request import TrainRequest
from selfpaced.datasets import make_fraud


@pytest.fixture(scope="session")
def payments(tmp_path_factory):
    """1,000 payments, 40 of them frauds, with amounts."""
    X, y = make_fraud(n_rows=1000, n_frauds=40, n_features=4, random_state=0)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(amount=np.arange(1000) % 90 + 10.0, label=y)
    path = tmp_path_factory.mktemp("functions") / "payments.parquet"
    frame.to_parquet(path, row_group_size=100)
    return path


@pytest.fixture(scope="session")
def trained(payments):
    return train(TrainRequest(payments, "label", base="tree", members=3, holdout=0.5), for_report=True)
