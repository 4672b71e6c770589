"""How many threads every method may use."""

import os

# A worker learns the number from its environment. OpenMP and BLAS read it there, too, when a process starts:
# scikit-learn's boosting has no parameter for it.
NAMES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
USUAL = 2
N_THREADS = int(os.environ.get(NAMES[0], USUAL))


def variables(n_threads: int) -> dict[str, str]:
    return dict.fromkeys(NAMES, str(n_threads))
