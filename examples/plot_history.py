"""
What customers and terminals did before
=======================================

A payment alone says little about fraud. Earlier payments of its customer and its terminal say much, and frauds that
have been reported there say more. :class:`selfpaced.history.History` computes both for every row, from what was known
at its time. Here labels are known after a week.
"""

from dataclasses import replace

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import precision_recall_curve

from selfpaced.datasets import make_transactions
from selfpaced.ensembles import SelfPacedEnsembleClassifier
from selfpaced.history import History
from selfpaced.metrics import aucprc

X, y = make_transactions(days=120, fraud_share=0.01, random_state=0)
begin = pd.Timestamp("2025-04-01")
# The model is trained on payments whose labels are known when the test begins.
train, test = X["when"] < begin - pd.Timedelta(days=7), X["when"] >= begin

# %%
# The same rows with more and more features. The last ones use labels that nobody knew yet: that is a mistake, which no
# error message reports.

row = X[["amount"]].assign(hour=X["when"].dt.hour)
windows = History("when", ["customer", "terminal"], "amount")
labels = replace(windows, delay="7d").with_base_rate(y[train])
tables = {
    "the row alone": row,
    "and windows of 1, 7 and 30 days": row.join(windows.features(X)),
    "and known labels, a week late": row.join(labels.features(X, y)),
    "mistake: labels at once": row.join(replace(labels, delay="0s").features(X, y)),
}

figure, axis = plt.subplots(figsize=(9, 4.6), layout="constrained")
looks = [("0.5", "-"), ("tab:blue", "-"), ("tab:green", "-"), ("tab:red", ":")]
for (name, table), (color, line) in zip(tables.items(), looks, strict=True):
    base = HistGradientBoostingClassifier(max_iter=50)
    model = SelfPacedEnsembleClassifier(base, n_estimators=3, ratio=3, random_state=0).fit(table[train], y[train])
    scores = model.predict_proba(table[test])[:, 1]
    precision, recall, _ = precision_recall_curve(y[test], scores)
    axis.plot(recall, precision, line, color=color, label=f"{name}: {aucprc(y[test], scores):.2f}")
axis.set(xlabel="recall: share of the frauds that are found", ylabel="precision: share of alerts that are right")
axis.set(xlim=(0, 1), ylim=(0, 1.02), title="Payments of the last month: what was known before each of them")
axis.legend(title="AUCPRC", loc="lower left", bbox_to_anchor=(0.0, 0.04))
plt.show()
