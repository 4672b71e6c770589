"""
Explaining an alert
===================

``shap_values`` divides a score into what each feature adds to it. The values of an ensemble are the mean of the values
of its members, so they add up to the score. It needs ``pip install 'selfpaced[explain]'``.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

from selfpaced.datasets import make_fraud
from selfpaced.ensembles import SelfPacedEnsembleClassifier
from selfpaced.explaining import shap_values

names = ["amount", "hour", "distance", "age", "visits", "devices", "refunds", "speed"]
X, y = make_fraud(n_rows=20_000, n_frauds=200, n_features=8, random_state=0)
frame = pd.DataFrame(X, columns=names)
X_train, X_test, y_train, y_test = train_test_split(frame, y, stratify=y, random_state=0)
tree = DecisionTreeClassifier(max_depth=6, min_samples_leaf=5)
model = SelfPacedEnsembleClassifier(tree, random_state=0).fit(X_train, y_train)

# %%
# The test row with the highest score.

scores = model.predict_proba(X_test)[:, 1]
row = int(scores.argmax())
explanation = shap_values(model, X_test.iloc[[row]])
start, values = float(np.ravel(explanation.base_values)[0]), explanation[0].values
print(f"start {start:.2f} + features {values.sum():.2f} = score {scores[row]:.2f}")

# %%
# Each bar starts where the bar above it ends. The first starts at the mean score of the training rows of the members,
# half of which are rare.

order = np.argsort(-np.abs(values))
ends = start + np.cumsum(values[order])
begins = np.concatenate([[start], ends[:-1]])
figure, axis = plt.subplots(figsize=(8.5, 4.2), layout="constrained")
colors = np.where(values[order] > 0, "tab:orange", "tab:blue")
places = np.arange(len(order))
axis.barh(places, values[order], left=begins, color=colors)
axis.vlines(ends[:-1], places[:-1], places[1:], color="0.6", linewidth=0.8)
labels = [f"{names[i]} = {X_test.iloc[row, i]:.2f}" for i in order]
axis.set_yticks(places, labels)
for place, begin, value in zip(places, begins, values[order], strict=True):
    axis.annotate(f"{value:+.2f}", (max(begin, begin + value), place), (4, 0), textcoords="offset points", va="center")
axis.axvline(start, color="0.5", linestyle="--", zorder=0)
axis.invert_yaxis()
axis.set(xlabel="score", xlim=(min(begins.min(), ends.min()) - 0.03, max(ends.max(), begins.max()) + 0.08))
axis.set_title(f"Why this row scores {scores[row]:.2f} (start: {start:.2f}, the mean of the training rows)")
plt.show()
