"""
A threshold for an alert budget
===============================

A team can check 50 alerts in 10,000 rows. The rule ``alerts<=50/10000`` chooses the threshold for this budget, and says
which precision and recall to expect, with intervals.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split

from selfpaced.datasets import make_fraud
from selfpaced.ensembles import SelfPacedEnsembleClassifier
from selfpaced.thresholds import choose_threshold

X, y = make_fraud(n_rows=60_000, n_frauds=600, random_state=1)
X_train, X_rest, y_train, y_rest = train_test_split(X, y, train_size=0.5, stratify=y, random_state=0)
X_valid, X_test, y_valid, y_test = train_test_split(X_rest, y_rest, train_size=0.5, stratify=y_rest, random_state=0)
base = HistGradientBoostingClassifier(max_iter=30)
model = SelfPacedEnsembleClassifier(base, random_state=0).fit(X_train, y_train)
valid_scores, test_scores = (model.predict_proba(rows)[:, 1] for rows in (X_valid, X_test))

choice = choose_threshold(y_valid, valid_scores, "alerts<=50/10000")
print(choice)

# %%
# The curves come from the validation rows, the stars from the test rows at the same thresholds. The bars are the
# 90% intervals of ``choose_threshold``.

budgets = np.array([10, 25, 50, 75, 100, 150])
choices = [choose_threshold(y_valid, valid_scores, f"alerts<={budget}/10000") for budget in budgets]
figure, axis = plt.subplots(figsize=(9, 4.5), layout="constrained")
for name, color in (("precision", "tab:blue"), ("recall", "tab:orange")):
    values = np.array([each.value(name) for each in choices])
    low, high = np.array([(each.intervals[name].low, each.intervals[name].high) for each in choices]).T
    errors = np.clip([values - low, high - values], 0, None)
    axis.errorbar(budgets, values, errors, color=color, marker="o", capsize=4, label=f"{name}, validation rows")
    tested = []
    for each in choices:
        alerts = test_scores >= each.threshold
        tested.append(y_test[alerts].sum() / (alerts.sum() if name == "precision" else y_test.sum()))
    axis.plot(budgets + 1.5, tested, "*", color=color, markersize=11, label=f"{name}, test rows")
axis.axvline(50, color="0.5", linestyle="--", zorder=0)
axis.set(xlabel="alert budget in 10,000 rows", ylim=(0, 1.02), title="What each budget brings")
axis.legend(ncols=2, loc="lower right")
plt.show()
