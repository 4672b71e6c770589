"""What explains models of any kind, and is named where SHAP does not."""

INSTEAD = (
    "sklearn.inspection.permutation_importance(model, X, y, scoring='average_precision') works with members of any "
    "kind."
)
