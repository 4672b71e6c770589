"""
A fit on a Dask cluster
=======================

The partitions of a Dask frame score and count their own rows. Only the minority rows and the drawn rows travel to the
process that trains the members. The model is the same as on one machine, whatever the number of partitions.
"""

import dask.dataframe as dd
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from distributed import Client
from sklearn.tree import DecisionTreeClassifier

from selfpaced.clusters.dask.estimators import DaskSelfPacedEnsembleClassifier
from selfpaced.datasets import make_fraud
from selfpaced.ensembles import SelfPacedEnsembleClassifier

X, y = make_fraud(n_rows=30_000, n_frauds=150, n_features=8, random_state=0)
rows = pd.DataFrame(X, columns=[f"V{i}" for i in range(8)]).assign(is_fraud=y)
tree = DecisionTreeClassifier(max_depth=8)
local = SelfPacedEnsembleClassifier(tree, n_estimators=5, random_state=0).fit(rows.drop(columns="is_fraud"), y)

# %%
# A cluster inside this process stands in for yours: ``Client("scheduler:8786")``.

with Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=None) as client:
    frame = dd.from_pandas(rows, npartitions=6)
    model = DaskSelfPacedEnsembleClassifier(tree, n_estimators=5, random_state=0, client=client)
    model.fit(frame, frame["is_fraud"])
    scores = np.asarray(model.predict_proba(frame))[:, 1]
print("largest difference:", np.abs(scores - local.predict_proba(rows.drop(columns="is_fraud"))[:, 1]).max())

# %%
# What travels is small: the minority once, and as many majority rows in each round.

sent = np.cumsum([note.n_rows for note in model.rounds_])
figure, axes = plt.subplots(1, 2, figsize=(11, 3.8), layout="constrained")
axes[0].plot(local.predict_proba(rows.drop(columns="is_fraud"))[:, 1], scores, ".", alpha=0.3)
axes[0].plot([0, 1], [0, 1], "--", color="0.4")
axes[0].set(xlabel="score of the model of one machine", ylabel="score of the model of the cluster")
axes[0].set_title("The same scores, row by row")
bars = axes[1].barh(["in the cluster", "sent, 6 draws"], [len(rows), sent[-1]], color=["0.6", "tab:blue"])
axes[1].bar_label(bars, labels=[f"{len(rows):,} rows", f"at most {sent[-1]:,} rows"], padding=4)
axes[1].set(xlim=(0, 42_000), title="Few rows travel", xlabel="rows")
axes[1].grid(False)
plt.show()
