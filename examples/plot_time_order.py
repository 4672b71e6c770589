"""
Validation in the order of time
===============================

Fraud changes with time. A random split puts rows of the same days into training and test rows, and reports a score that
the model will not reach next month. Here fraud moves from one set of features to another during twelve weeks.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split

from selfpaced.ensembles import SelfPacedEnsembleClassifier
from selfpaced.metrics import aucprc

WEEKS, ROWS = 12, 3_000
rng = np.random.default_rng(0)
week = np.repeat(np.arange(WEEKS), ROWS)
y = (rng.random(WEEKS * ROWS) < 0.02).astype(int)
X = rng.normal(size=(WEEKS * ROWS, 12))
# In week w, fraud shows in the features w and w + 1, and later in others.
for place in (0, 1):
    X[np.arange(len(y)), (week + place) % 12] += 2.5 * y


def fitted(rows):
    """A model of the rows, which are given as a mask or as positions."""
    base = HistGradientBoostingClassifier(max_iter=20)
    return SelfPacedEnsembleClassifier(base, n_estimators=5, random_state=0).fit(X[rows], y[rows])


# %%
# A random split promises a high score. Each week's model, trained on all weeks before it, reaches much less: it meets a
# kind of fraud that it has not seen. The last line uses only the four weeks before.

train, test = train_test_split(np.arange(len(y)), stratify=y, random_state=0)
promised = aucprc(y[test], fitted(train).predict_proba(X[test])[:, 1])
reached = {"all weeks before": [], "the last 4 weeks": []}
tested = range(5, WEEKS)
for now in tested:
    for name, first in (("all weeks before", 0), ("the last 4 weeks", now - 4)):
        model = fitted((week >= first) & (week < now))
        reached[name].append(aucprc(y[week == now], model.predict_proba(X[week == now])[:, 1]))

figure, axis = plt.subplots(figsize=(9, 4.2), layout="constrained")
axis.axhline(promised, color="tab:orange", linestyle="--", label="promised by a random split")
for (name, scores), color in zip(reached.items(), ("tab:blue", "tab:green"), strict=True):
    axis.plot(tested, scores, "o-", color=color, label=f"reached, trained on {name}")
axis.axhline(y.mean(), color="0.6", linestyle=":", label="by chance")
axis.set(xlabel="week", ylabel="AUCPRC of the week", ylim=(0, 1), xticks=list(tested))
axis.set_title("Validate on later rows: in Python by slicing, on the command line by --time-column")
axis.legend(loc="upper left", bbox_to_anchor=(0.0, 0.99), ncols=2, fontsize="small")
plt.show()
