"""
Files larger than memory
========================

``fit_table`` reads the majority rows from files once a round, batch by batch. The members are the same, bit for bit, as
those of ``fit`` on the same rows. This example writes 300,000 rows to Parquet files, trains on both and compares.
"""

import tempfile
import tracemalloc
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pyarrow as pa
from sklearn.tree import DecisionTreeClassifier

from selfpaced.datasets import make_fraud
from selfpaced.ensembles import SelfPacedEnsembleClassifier
from selfpaced.tables.sources import open_table

folder = Path(tempfile.mkdtemp())
for month in range(3):
    X, y = make_fraud(n_rows=100_000, n_frauds=150, random_state=month)
    frame = pd.DataFrame(X, columns=[f"V{i}" for i in range(20)]).assign(is_fraud=y)
    frame.to_parquet(folder / f"month-{month}.parquet", row_group_size=10_000)


def from_memory(model):
    everything = pd.read_parquet(folder)
    return model.fit(everything.drop(columns="is_fraud"), everything["is_fraud"])


def from_files(model):
    return model.fit_table(open_table(folder, target="is_fraud", batch_rows=10_000))


# %%
# The peak counts what Python and Arrow allocate during a fit.

models, peaks, usual = {}, {}, pa.default_memory_pool()
for name, train in (("fit_table", from_files), ("fit", from_memory)):
    pa.set_memory_pool(arrow := pa.proxy_memory_pool(pa.system_memory_pool()))
    tracemalloc.start()
    tree = DecisionTreeClassifier(max_depth=8)
    models[name] = train(SelfPacedEnsembleClassifier(tree, n_estimators=5, random_state=0))
    peaks[name] = (tracemalloc.get_traced_memory()[1] + arrow.max_memory()) / 1e6
    tracemalloc.stop()
    pa.set_memory_pool(usual)  # Arrow must not use the proxy after this example has ended

# %%
# The same members, with less memory. The difference grows with the number of rows.

scores = [model.predict_proba(frame.drop(columns="is_fraud")) for model in models.values()]
figure, axis = plt.subplots(figsize=(8, 2.6), layout="constrained")
bars = axis.barh(list(peaks), list(peaks.values()), color=["tab:blue", "0.6"])
axis.bar_label(bars, fmt="%.0f MB", padding=4)
axis.set(xlabel="peak memory of the fit, MB", xlim=(0, max(peaks.values()) * 1.15))
axis.set_title(f"300,000 rows of 20 features. Identical probabilities: {np.array_equal(*scores)}")
plt.show()
