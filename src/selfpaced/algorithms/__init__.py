"""The paper: under-sampling ensembles on plain numpy, asking the majority class a few questions."""
