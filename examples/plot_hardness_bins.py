"""
Hardness bins and what is drawn from them
=========================================

In each round the majority rows are divided into bins by hardness, which is the ensemble's error on them. The model
keeps notes of each round in ``rounds_``: how many rows each bin holds, and how many of them the round draws.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.tree import DecisionTreeClassifier

from selfpaced.datasets import make_fraud
from selfpaced.ensembles import SelfPacedEnsembleClassifier

X, y = make_fraud(n_rows=50_000, n_frauds=500, random_state=0)
tree = DecisionTreeClassifier(max_depth=8, min_samples_leaf=5)
model = SelfPacedEnsembleClassifier(tree, n_estimators=10, n_bins=10, random_state=0).fit(X, y)

# %%
# Most majority rows are trivial: they fall into the first bin. Under-sampling at random would spend nearly all draws
# on them. Early rounds draw so that each bin contributes the same total hardness. As the self-paced factor alpha grows,
# the draws are spread over all bins alike.

for note in model.rounds_[1:]:
    print(f"round {note.number:2}  alpha {note.alpha:8.3g}  drawn from the bins {[int(n) for n in note.quota]}")

# %%
# The left picture shows all majority rows, on a logarithmic scale. The others show the rows that three rounds draw.

rounds = [model.rounds_[i] for i in (1, 5, 10)]
edges = np.arange(10) / 10
figure, axes = plt.subplots(1, 4, figsize=(14, 3.4), layout="constrained")
axes[0].bar(edges, rounds[0].counts, width=0.09, align="edge", color="0.6")
axes[0].set(yscale="log", title=f"all {int(sum(rounds[0].counts)):,} majority rows", ylabel="rows (log scale)")
for axis, note in zip(axes[1:], rounds, strict=True):
    axis.bar(edges, note.quota, width=0.09, align="edge", color="tab:blue")
    axis.set(title=f"drawn in round {note.number}", ylim=(0, max(max(n.quota) for n in rounds) * 1.05))
axes[1].set_ylabel("rows")
for axis in axes:
    axis.set(xlabel="hardness", xlim=(0, 1))
plt.show()
