"""
What the blend of recipes chose
===============================

``AutoSelfPacedClassifier`` compares several recipes on rows that they were not trained on, and blends those that help.
``recipes_`` says what came of each. Small recipes keep this example fast; leave them out to use the default recipes.
"""

import matplotlib.pyplot as plt
import numpy as np
from lightgbm import LGBMClassifier
from sklearn.datasets import make_classification
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

from selfpaced.ensembles import SelfPacedEnsembleClassifier
from selfpaced.ensembles.auto import AutoSelfPacedClassifier
from selfpaced.metrics import aucprc

X, y = make_classification(
    8_000, 15, n_informative=6, n_clusters_per_class=1, weights=[0.98], flip_y=0.003, class_sep=0.6, random_state=1
)
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)
recipes = [
    ("linear model", SelfPacedEnsembleClassifier(LogisticRegression(), ratio=10)),
    ("decision trees", SelfPacedEnsembleClassifier(DecisionTreeClassifier(max_depth=8), n_estimators=20)),
    ("boosted trees", SelfPacedEnsembleClassifier(LGBMClassifier(n_estimators=30, verbose=-1, n_jobs=1), ratio=5)),
    ("extra trees", SelfPacedEnsembleClassifier(ExtraTreesClassifier(30), ratio=10)),
]
model = AutoSelfPacedClassifier(recipes, random_state=0).fit(X_train, y_train)

# %%
# A recipe can be good by itself and still get no weight, because the others already know what it knows.

for result in model.recipes_:
    print(f"{result.name:15} AUCPRC {result.aucprc:.3f}  weight {result.weight:.2f}  {result.note or ''}")

# %%
# Left: the comparison, on a sample of the training rows. Right: the test rows, which took no part in it.

names = [result.name for result in model.recipes_]
alone = {
    name: aucprc(y_test, ensemble.set_params(random_state=0).fit(X_train, y_train).predict_proba(X_test)[:, 1])
    for name, ensemble in recipes
}
alone["the blend"] = aucprc(y_test, model.predict_proba(X_test)[:, 1])
figure, (compared, weights, tested) = plt.subplots(1, 3, figsize=(13, 3.4), layout="constrained")
scores, errors = np.array([(result.aucprc, result.standard_error) for result in model.recipes_]).T
compared.barh(names, scores, xerr=errors, color="0.7", capsize=3)
compared.set(xlabel="AUCPRC, with standard error", xlim=(0, 1), title="Compared on held-out rows")
weights.barh(names, [result.weight for result in model.recipes_], color="tab:blue")
weights.set(xlabel="weight in the blend", xlim=(0, 1), title="What the blend uses", yticks=[])
bars = tested.barh(list(alone), list(alone.values()), color=["0.7"] * len(recipes) + ["tab:blue"])
tested.bar_label(bars, fmt="%.2f", padding=3)
tested.set(xlabel="AUCPRC", xlim=(0, 1), title="On the test rows")
plt.show()
