"""
Categories and missing values
=============================

Data frames reach the base model as data frames, so that categorical columns and missing values need no preparation if
the base model reads them. This example hides a signal in a category and in the pattern of missing values.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from lightgbm import LGBMClassifier
from sklearn.metrics import precision_recall_curve
from sklearn.model_selection import train_test_split

from selfpaced.datasets import make_fraud
from selfpaced.ensembles import SelfPacedEnsembleClassifier
from selfpaced.metrics import aucprc

X, y = make_fraud(n_rows=30_000, n_frauds=300, n_features=6, noise=0.6, random_state=0)
rng = np.random.default_rng(0)
frame = pd.DataFrame(X, columns=[f"V{i}" for i in range(6)])
usual, fraud = [0.4, 0.3, 0.25, 0.05], [0.1, 0.1, 0.1, 0.7]
shops = ["food", "fuel", "books", "gift cards"]
frame["shop"] = pd.Categorical(np.where(y == 1, rng.choice(shops, len(y), p=fraud), rng.choice(shops, len(y), p=usual)))
frame["age"] = np.where(rng.random(len(y)) < np.where(y == 1, 0.5, 0.1), np.nan, rng.normal(40, 12, len(y)))
print(frame.head())

# %%
# The numbers alone find less than half of the frauds. The category and the missing values help to find others.

COLUMNS = {
    "numbers only": list(frame.columns[:6]),
    "+ category": [*frame.columns[:6], "shop"],
    "+ category + missing values": list(frame.columns),
}
train, test = train_test_split(np.arange(len(y)), stratify=y, random_state=0)
base = LGBMClassifier(n_estimators=40, verbose=-1, n_jobs=1)
figure, (curves, shares) = plt.subplots(1, 2, figsize=(12, 4), layout="constrained")
for name, columns in COLUMNS.items():
    model = SelfPacedEnsembleClassifier(base, random_state=0).fit(frame.loc[train, columns], y[train])
    scores = model.predict_proba(frame.loc[test, columns])[:, 1]
    precision, recall, _ = precision_recall_curve(y[test], scores)
    curves.plot(recall, precision, label=f"{name}: AUCPRC {aucprc(y[test], scores):.2f}")
curves.set(xlabel="recall", ylabel="precision", title="The same model on three sets of columns")
curves.set_ylim(0, 1.35)
curves.set_yticks([0, 0.25, 0.5, 0.75, 1])
curves.legend(loc="upper right")

# Where the signal is: the share of frauds by category, and where the age is missing.
by_value = dict(pd.Series(y).groupby(frame["shop"], observed=True).mean())
by_value["age known"], by_value["age missing"] = y[frame["age"].notna()].mean(), y[frame["age"].isna()].mean()
bars = shares.barh(list(by_value), list(by_value.values()), color=["tab:blue"] * 4 + ["tab:orange"] * 2)
shares.bar_label(bars, fmt="{:.1%}", padding=4)
shares.set(
    xlabel="share of frauds",
    title="A category, and missing values as a signal",
    xlim=(0, max(by_value.values()) * 1.15),
)
plt.show()
