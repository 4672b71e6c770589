"""
Costs that differ from row to row
=================================

An alert costs 5, whether it is right or not. A missed fraud costs its amount. One threshold for all rows treats a
payment of 2 and one of 2,000 alike. With calibrated probabilities there is a better rule: alert if probability times
amount is above 5.
"""

import matplotlib.pyplot as plt
import numpy as np
from lightgbm import LGBMClassifier
from sklearn.model_selection import train_test_split

from selfpaced.datasets import make_fraud
from selfpaced.ensembles import SelfPacedEnsembleClassifier
from selfpaced.thresholds import choose_threshold

X, y = make_fraud(n_rows=60_000, n_frauds=600, n_features=10, noise=0.3, random_state=0)
amounts = np.random.default_rng(0).lognormal(mean=3.5, sigma=1.5, size=len(y))
train, rest = train_test_split(np.arange(len(y)), train_size=0.5, stratify=y, random_state=0)
valid, test = train_test_split(rest, train_size=0.5, stratify=y[rest], random_state=0)
base = LGBMClassifier(n_estimators=40, verbose=-1, n_jobs=1)
model = SelfPacedEnsembleClassifier(base, calibration="isotonic", random_state=0).fit(X[train], y[train])
probability = model.predict_proba(X[test])[:, 1]

# %%
# One threshold for all rows is chosen on the validation rows. The rule by row has nothing to choose.

valid_scores = model.predict_proba(X[valid])[:, 1]
choice = choose_threshold(y[valid], valid_scores, "cost=5", amounts=amounts[valid])
RULES = {
    "no alerts": np.zeros(len(test), dtype=bool),
    "probability ≥ 0.5": probability >= 0.5,
    f"probability ≥ {choice.threshold:.3g} (rule cost=5)": probability >= choice.threshold,
    "probability x amount > 5": probability * amounts[test] > 5,
}
costs = {name: (5 * alert.sum(), amounts[test][(y[test] == 1) & ~alert].sum()) for name, alert in RULES.items()}

# %%
# The cost on the test rows: checking alerts, and what the missed frauds took.

figure, (bars, plane) = plt.subplots(1, 2, figsize=(13, 4.2), layout="constrained")
checking, lost = np.array(list(costs.values())).T
bars.barh(list(costs), checking, color="tab:blue", label="alerts")
ends = bars.barh(list(costs), lost, left=checking, color="tab:orange", label="missed frauds")
bars.bar_label(ends, labels=[f"{total:,.0f}" for total in checking + lost], padding=4)
bars.set(xlabel="cost on 15,000 test rows", xlim=(0, (checking + lost).max() * 1.15))
bars.invert_yaxis()
bars.legend(loc="lower right")
shown = np.clip(probability, 1e-4, 1)
plane.scatter(amounts[test], shown, s=2, color="0.8", label="no fraud")
plane.scatter(amounts[test][y[test] == 1], shown[y[test] == 1], s=14, color="tab:orange", label="fraud")
line = np.geomspace(5, 1e4, 50)
plane.plot(line, 5 / line, color="black", label="probability x amount = 5")
plane.set(xscale="log", yscale="log", xlabel="amount", ylabel="probability", title="Alerts lie above the line")
plane.legend(loc="lower left", markerscale=2)
plt.show()
