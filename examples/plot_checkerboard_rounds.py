"""
The checkerboard, round by round
================================

Self-paced Ensemble trains each member on all minority rows and on as many majority rows, which are drawn by how hard
they are for the ensemble so far. The picture shows the training rows of the first, the fifth and the tenth member, and
the mean score of all ten.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.tree import DecisionTreeClassifier

from selfpaced.datasets import make_checkerboard
from selfpaced.ensembles import SelfPacedEnsembleClassifier

X, y = make_checkerboard(n_minority=500, n_majority=20_000, random_state=0)

# %%
# A base model can keep its training rows. Each member is a copy of this tree, so we can look at the rows later.


class RecordingTree(DecisionTreeClassifier):
    """A decision tree that keeps its training rows."""

    def fit(self, X, y):
        self.rows_, self.labels_ = X, y
        return super().fit(X, y)


model = SelfPacedEnsembleClassifier(RecordingTree(max_depth=10), n_estimators=10, random_state=0).fit(X, y)

# %%
# The first member's majority rows crowd where the warm-up tree is wrong. Later the errors of the ensemble are finer:
# the drawn rows spread along all borders, also inside the minority's fields.

figure, axes = plt.subplots(1, 4, figsize=(14, 3.8), sharex=True, sharey=True, layout="constrained")
for axis, number in zip(axes, (1, 5, 10), strict=False):
    member = model.estimators_[number - 1]
    for label, color, name in ((0, "tab:blue", "majority"), (1, "tab:orange", "minority")):
        rows = member.rows_[member.labels_ == label]
        axis.scatter(*rows.T, s=5, color=color, alpha=0.7, label=name)
    axis.set_title(f"training rows of member {number}")
axes[0].legend(loc="upper left", markerscale=3)

grid = np.linspace(-1, 4, 150)
points = np.column_stack([axis.ravel() for axis in np.meshgrid(grid, grid)])
scores = model.predict_proba(points)[:, 1].reshape(150, 150)
image = axes[3].pcolormesh(grid, grid, scores, cmap="RdYlBu_r", vmin=0, vmax=1, rasterized=True)
axes[3].set_title("mean score of 10 members")
figure.colorbar(image, ax=axes[3], shrink=0.85)
for axis in axes:
    axis.set(xlim=(-1, 4), ylim=(-1, 4), aspect="equal", xticks=[], yticks=[])
    axis.grid(False)
plt.show()
