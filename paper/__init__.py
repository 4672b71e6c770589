"""The experiments of the paper on Self-paced Ensemble (Liu et al., ICDE 2020), run again."""
