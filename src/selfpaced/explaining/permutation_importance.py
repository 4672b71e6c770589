"""The hint to permutation importance, which explains models of any kind, for errors of SHAP."""

INSTEAD = (
    "sklearn.inspection.permutation_importance(model, X, y, scoring='average_precision') works with members of any "
    "kind."
)
