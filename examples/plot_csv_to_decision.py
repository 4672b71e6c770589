"""
From a CSV file to a decision
=============================

The whole way on one page: read a table, train with the defaults, choose a threshold on rows that the model was not
trained on, and check the result on later rows. On the command line, ``selfpaced train payments.csv --target is_fraud
--rule "precision>=0.8"`` does the same.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from lightgbm import LGBMClassifier

from selfpaced.datasets import make_fraud
from selfpaced.ensembles import SelfPacedEnsembleClassifier
from selfpaced.thresholds import choose_threshold

X, y = make_fraud(n_rows=60_000, n_frauds=600, random_state=0)
folder = Path(tempfile.mkdtemp())
frame = pd.DataFrame(X, columns=[f"V{i}" for i in range(20)]).assign(is_fraud=y)
frame.to_csv(folder / "payments.csv", index=False)  # in practice, your own file

# %%
# Train on the first rows, choose the threshold on the next, and keep the last rows for the test.

payments = pd.read_csv(folder / "payments.csv")
train, valid, test = payments[:30_000], payments[30_000:45_000], payments[45_000:]
features = payments.columns.drop("is_fraud")
base = LGBMClassifier(n_estimators=50, verbose=-1, n_jobs=1)
model = SelfPacedEnsembleClassifier(base, calibration="isotonic", random_state=0)
model.fit(train[features], train["is_fraud"])

choice = choose_threshold(valid["is_fraud"], model.predict_proba(valid[features])[:, 1], "precision>=0.8")
print(choice)

# %%
# The test rows were used for nothing so far.

scores = model.predict_proba(test[features])[:, 1]
bins = np.linspace(0, 1, 41)
figure, axis = plt.subplots(figsize=(9, 4), layout="constrained")
for label, name, color in ((0, "no fraud", "tab:blue"), (1, "fraud", "tab:orange")):
    axis.hist(scores[test["is_fraud"] == label], bins, label=name, color=color, alpha=0.7)
axis.axvline(choice.threshold, color="black", linestyle="--")
alerts = scores >= choice.threshold
found = test["is_fraud"][alerts]
axis.set(yscale="log", xlabel="probability of fraud", ylabel="test rows (log scale)")
axis.set_title(
    f"{alerts.sum()} alerts right of the threshold: precision {found.mean():.2f}, "
    f"recall {found.sum() / test['is_fraud'].sum():.2f}"
)
axis.legend()
plt.show()
