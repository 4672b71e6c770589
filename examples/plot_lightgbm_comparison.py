"""
Comparing with LightGBM
=======================

A fair comparison gives both sides the same rows and the same splits, measures by AUCPRC, repeats, and shows where the
other side wins. LightGBM trains on all rows. The members of the Self-paced Ensemble are LightGBM models that train on a
few hundred rows each.
"""

import matplotlib.pyplot as plt
import numpy as np
from lightgbm import LGBMClassifier
from sklearn.model_selection import StratifiedShuffleSplit

from selfpaced.datasets import make_checkerboard, make_fraud
from selfpaced.ensembles import SelfPacedEnsembleClassifier
from selfpaced.metrics import aucprc

FAST = {"verbose": -1, "n_jobs": 1, "random_state": 0}
base = LGBMClassifier(n_estimators=50, **FAST)
MODELS = {
    "LightGBM, defaults": LGBMClassifier(n_estimators=100, **FAST),
    "LightGBM, class weights": LGBMClassifier(n_estimators=100, class_weight="balanced", **FAST),
    "LightGBM, 200 slow rounds": LGBMClassifier(n_estimators=200, learning_rate=0.03, **FAST),
    "Self-paced Ensemble, defaults": SelfPacedEnsembleClassifier(base, random_state=0),
    "Self-paced Ensemble, ratio=5": SelfPacedEnsembleClassifier(base, ratio=5, random_state=0),
}
TABLES = {
    "payments: 100 frauds in 20,000 rows": make_fraud(n_rows=20_000, n_frauds=100, random_state=0),
    "checkerboard: 500 in 10,500 rows": make_checkerboard(n_minority=500, n_majority=10_000, random_state=0),
}

# %%
# Three random splits of each table, half of the rows for training. The same splits for every model.


def scores_of(model, X, y):
    """AUCPRC on the test rows of three splits."""
    splits = StratifiedShuffleSplit(3, test_size=0.5, random_state=0).split(X, y)
    return [aucprc(y[test], model.fit(X[train], y[train]).predict_proba(X[test])[:, 1]) for train, test in splits]


results = {table: {name: scores_of(model, *rows) for name, model in MODELS.items()} for table, rows in TABLES.items()}

# %%
# Dots are single splits, bars are means. Most differences are smaller than the distance between the dots, so they mean
# little. One is large: with 50 frauds to train on, the default ratio of 1 gives each member 100 rows, which are too few
# for LightGBM's own defaults. ``AutoSelfPacedClassifier`` compares several ratios itself.

figure, axes = plt.subplots(1, 2, figsize=(12, 3.6), sharey=True, layout="constrained")
for axis, (table, scores) in zip(axes, results.items(), strict=True):
    colors = ["tab:blue" if "Self-paced" in name else "0.7" for name in scores]
    axis.barh(list(scores), [np.mean(each) for each in scores.values()], color=colors)
    for place, each in enumerate(scores.values()):
        axis.plot(each, [place] * len(each), "o", color="black", markersize=4)
    axis.set(title=table, xlabel="AUCPRC", xlim=(0, 1))
plt.show()
