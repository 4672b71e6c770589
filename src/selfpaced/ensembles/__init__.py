"""The scikit-learn estimators, one in each file, and what can be done with a fitted one."""

from selfpaced.ensembles.base import AveragingEnsemble, bases_of, predicting_in_one_thread
from selfpaced.ensembles.checks import (
    FEWEST_MINORITY_ROWS,
    check_classes,
    check_labels,
    give_constructor,
    parameters_of,
    summaries_of,
    with_inherited_entries,
)
from selfpaced.ensembles.fit import naming_the_round, rows_to_draw
from selfpaced.ensembles.members import LARGEST_RANDOM_STATE, MemberFactory
from selfpaced.ensembles.pools import Stopwatch
from selfpaced.ensembles.self_paced import SelfPacedEnsembleClassifier
from selfpaced.ensembles.single import SingleModelClassifier, adopt
from selfpaced.ensembles.suspects import DoubtingEnsemble, suspects_in_table
from selfpaced.ensembles.under_sampling import BalanceCascadeClassifier, UnderBaggingClassifier
