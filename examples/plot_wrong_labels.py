"""
Finding wrong labels
====================

``suspects`` lists the training rows whose labels the ensemble doubts most. Rows are judged by models that were not
trained on them. Here we mislabel some rows on purpose and count how many of them we find.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.tree import DecisionTreeClassifier

from selfpaced.datasets import make_checkerboard
from selfpaced.ensembles import SelfPacedEnsembleClassifier

X, y = make_checkerboard(n_minority=1_000, n_majority=10_000, covariance=0.03, random_state=0)
wrong = np.random.default_rng(0).choice(np.flatnonzero(y == 0), size=60, replace=False)
labels = y.copy()
labels[wrong] = 1  # 60 majority rows carry the label of the minority

# %%
# The model sees the wrong labels only. We ask for the 60 most doubtful rows with label 1.

tree = DecisionTreeClassifier(max_depth=8, min_samples_leaf=10)
model = SelfPacedEnsembleClassifier(tree, calibration="isotonic", random_state=0).fit(X, labels)
found = model.suspects(X, labels, n=60, label=1)
is_wrong = np.isin(found.rows, wrong)
print(f"{is_wrong.sum()} of the 60 most doubtful rows are mislabelled")

# %%
# Suspects that are correctly labelled lie far from the centre of their field, among rows of the other class.

figure, (board, curve) = plt.subplots(1, 2, figsize=(11, 4.8), layout="constrained")
board.scatter(*X[labels == 0].T, s=2, color="0.85", label="label 0")
board.scatter(*X[labels == 1].T, s=4, color="tab:blue", alpha=0.5, label="label 1")
suspects = X[found.rows]
board.scatter(*suspects[is_wrong].T, s=40, facecolor="none", edgecolor="tab:red", label="suspect, label is wrong")
board.scatter(*suspects[~is_wrong].T, s=40, facecolor="none", edgecolor="black", label="suspect, label is right")
board.set(title="Where the suspects lie", xticks=[], yticks=[], aspect="equal", ylim=(-0.7, 4.7))
board.legend(loc="upper center", ncols=2, fontsize="small", markerscale=0.9)
board.grid(False)

ranked = model.suspects(X, labels, n=300, label=1)
curve.plot(np.arange(1, 301), np.cumsum(np.isin(ranked.rows, wrong)), color="tab:red")
curve.plot([0, 60], [0, 60], "--", color="0.5", label="every checked row is mislabelled")
curve.axhline(60, color="0.8", zorder=0)
curve.set(xlabel="rows checked, most doubtful first", ylabel="wrong labels found", title="60 wrong labels in all")
curve.legend(loc="lower right")
plt.show()
