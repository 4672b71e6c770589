"""A small ensemble, and what its members are known by."""

from sklearn.tree import DecisionTreeClassifier

from selfpaced.ensembles import SelfPacedEnsembleClassifier


def three_trees(**options):
    return SelfPacedEnsembleClassifier(DecisionTreeClassifier(max_depth=3), 3, random_state=0, **options)


def fitted(table, checkpoint=None, **options):
    return three_trees(**options).fit_table(table, checkpoint=checkpoint)


def members_of(model):
    return [member.tree_.threshold.tolist() for member in model.estimators_]
