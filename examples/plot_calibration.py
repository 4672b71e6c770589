"""
Calibration, before and after
=============================

Members see as many minority rows as majority rows. Their mean score ranks rows well, but as a probability it is far too
high. With ``calibration="isotonic"`` the scores become probabilities. No rows are set aside for it.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

from selfpaced.datasets import make_checkerboard
from selfpaced.ensembles import SelfPacedEnsembleClassifier

X, y = make_checkerboard(n_minority=2_000, n_majority=60_000, random_state=0)
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)
tree = DecisionTreeClassifier(max_depth=10, min_samples_leaf=10)

scores = {}
for name, method in (("raw scores", None), ("calibrated", "isotonic")):
    model = SelfPacedEnsembleClassifier(tree, calibration=method, random_state=0).fit(X_train, y_train)
    scores[name] = model.predict_proba(X_test)[:, 1]
    print(f"{name}: {scores[name].sum():8,.0f} minority rows expected, {y_test.sum()} found")

# %%
# The reliability diagram sorts the test rows by score and divides them into ten groups with the same number of minority
# rows. On the dashed line, the mean score of a group is the share of minority rows in it. Both axes are logarithmic.


def by_group(values, groups=10):
    """The mean score and the share of minority rows of each group."""
    order = np.argsort(values)
    ends = np.searchsorted(np.cumsum(y_test[order]), np.linspace(0, y_test.sum(), groups + 1)[1:-1])
    return np.array([(values[part].mean(), y_test[part].mean()) for part in np.split(order, ends)]).T


figure, axis = plt.subplots(figsize=(6.5, 5), layout="constrained")
for name, color in (("raw scores", "tab:orange"), ("calibrated", "tab:blue")):
    axis.plot(*by_group(scores[name]), "o-", color=color, label=name)
axis.plot([2e-3, 1], [2e-3, 1], "--", color="0.4", label="perfectly calibrated")
axis.set(xscale="log", yscale="log", xlabel="mean score of the group", ylabel="share of minority rows in the group")
axis.set_title("Reliability on 15,500 test rows")
axis.legend()
plt.show()
