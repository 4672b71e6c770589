"""The rows and base models that tests on both kinds of cluster share."""

from functools import cache

import pandas as pd
from lightgbm import LGBMClassifier
from sklearn.tree import DecisionTreeClassifier

from selfpaced.datasets import make_fraud

NAMES = list("abcdef")
TREE = DecisionTreeClassifier(max_depth=8)
BOOSTER = LGBMClassifier(n_estimators=10, verbose=-1)


@cache
def transactions():
    X, y = make_fraud(n_rows=5000, n_frauds=80, n_features=6, random_state=0)
    return pd.DataFrame(X, columns=NAMES).assign(is_fraud=y)
