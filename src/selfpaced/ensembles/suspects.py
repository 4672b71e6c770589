"""Rows whose labels may be wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.utils import check_consistent_length

from selfpaced.algorithms import hardness_named
from selfpaced.calibration import PriorCorrection
from selfpaced.callbacks import Round
from selfpaced.ensembles import checks
from selfpaced.ensembles.base import AveragingEnsemble
from selfpaced.ensembles.cross_fitting import CrossFitted, Floats, cross_fit, honest_means, prior_correction
from selfpaced.ensembles.members import MemberFactory
from selfpaced.ensembles.pools import weighting_named
from selfpaced.exceptions import TableError, warn
from selfpaced.pools import GROUP
from selfpaced.tables import ClassCounts, InMemoryTable, Labels, column_groups

if TYPE_CHECKING:
    from selfpaced.tables.files import StreamedTable


@dataclass(frozen=True)
class Suspects:
    """Rows whose labels are doubtful, the most doubtful first."""

    rows: NDArray[np.intp]  # their positions
    labels: NDArray[Any]
    likelier: NDArray[Any]  # the most probable of the other labels
    doubts: Floats  # the probability that the label is wrong, at the true shares of the classes
    # Whether the ensemble was trained on these rows, and each was judged by models that had not seen it. Otherwise the
    # ensemble itself judged them as other rows.
    cross_fitted: bool

    def __len__(self) -> int:
        return int(self.rows.size)


def own_probabilities(probabilities: Floats, labels: Labels) -> Floats:
    own: Floats = probabilities[np.arange(labels.codes.size), labels.codes]
    return own


def most_doubted(probabilities: Floats, labels: Labels, n: int, label: Any, cross_fitted: bool) -> Suspects:
    """The `n` rows with the smallest probabilities of their own classes, among those of one label if it is given."""
    own = own_probabilities(probabilities, labels)
    candidates = np.arange(own.size) if label is None else np.flatnonzero(labels.classes[labels.codes] == label)
    if not candidates.size:
        raise ValueError(f"No row has the label {label!r}. The labels are {labels.names}.")
    rows = candidates[np.argsort(own[candidates], kind="stable")[:n]]
    numbers, others = labels.codes[rows], probabilities[rows]
    others[np.arange(rows.size), numbers] = -1
    likelier = labels.classes[others.argmax(axis=1)]
    return Suspects(rows, labels.classes[numbers], likelier, np.clip(1 - own[rows], 0, 1), cross_fitted)


def places_of_training_rows(
    rounds: Sequence[Round], labels: Labels, class_counts: NDArray[np.int64], ids: Any = None
) -> list[NDArray[np.intp]] | None:
    """The positions of the training rows of each round among the rows with these labels; None if they are other rows.

    They are the rows of the fit if rare training rows are rare here, and the others are not. With `ids`, the ids
    replace the positions.
    """
    n_rows, rare = labels.codes.size, ClassCounts(labels.classes, class_counts).rarest
    if any(each.ids is None for each in rounds) or not np.array_equal(labels.counts, class_counts):
        return None
    names = np.arange(n_rows, dtype=np.uint64) if ids is None else np.asarray(ids).astype(np.uint64)
    check_consistent_length(labels.codes, names)
    order = np.argsort(names, kind="stable")
    places = []
    for seen, bins in ((each.ids, each.bins.values()) for each in rounds if each.ids is not None):
        found = order[np.minimum(np.searchsorted(names, seen, sorter=order), n_rows - 1)]
        n_drawn = sum(int(np.minimum(notes.quota, notes.counts).sum()) for notes in bins)
        was_rare = np.arange(seen.size) < seen.size - n_drawn  # they stand first
        if not (np.array_equal(names[found], seen) and np.array_equal(labels.codes[found] == rare, was_rare)):
            return None
        places.append(found)
    return places


def suspects_in_table(
    model: Any, table: StreamedTable, trained_on: NDArray[np.bool_] | None, n: int, label: Any = None
) -> Suspects:
    """The most doubtful rows. One probability of each row is kept, and the training rows of the members are loaded.

    The table has labels and is opened to be scored by the model. `trained_on` says which rows the model was trained on;
    None for none of them. If the training rows had another order, all rows are treated as other rows.
    """
    from selfpaced.predicting import streamed  # files are read by few programs

    labels = _as_known(table.labels(), model)
    calibrator = model.calibrator_ or model._prior_correction()
    parts = []
    for _, probabilities in streamed(model.model_, table, model.n_jobs):
        parts.append(probabilities if model.calibrator_ is not None else calibrator(probabilities))
    probabilities = np.concatenate(parts)
    seen = None if trained_on is None else _seen(model, labels, trained_on)
    if seen is not None:
        # Copies judge the rows that members have seen, and with groups also the other rows of their groups.
        some, name, metadata = np.unique(np.concatenate(seen)), model.trained_on_.group, {}
        if name is not None:
            groups = column_groups(table.column(name), f"The group column {name!r}")
            some = np.flatnonzero(np.isin(groups, groups[some]))
            metadata[GROUP] = groups[some]
        rows = InMemoryTable(table.part(np.isin(np.arange(labels.codes.size), some)).features(), metadata)
        places, own = [np.searchsorted(some, each) for each in seen], _counted(labels.classes, labels.codes[some])
        probabilities[some] = calibrator(model._honest_means(rows, own, places, {}))
    return most_doubted(probabilities, labels, n, label, seen is not None)


def _as_known(labels: Labels, model: Any) -> Labels:
    """The labels numbered like those of the training rows."""
    known, names = model.classes_.tolist(), labels.names
    unknown = [name for name in names if name not in known]
    if unknown:
        raise TableError(
            f"The labels are {names}, but the model was trained with {known} and does not know {unknown[0]!r}."
        )
    numbers = np.array([known.index(name) for name in names], dtype=np.uint8)
    return _counted(model.classes_, numbers[labels.codes])


def _counted(classes: NDArray[Any], codes: NDArray[np.unsignedinteger]) -> Labels:
    """Labels by their class numbers. Classes without a row stay."""
    return Labels(classes, np.bincount(codes, minlength=classes.size).astype(np.int64), codes)


def _seen(model: Any, labels: Labels, trained_on: NDArray[np.bool_]) -> list[NDArray[np.intp]] | None:
    """The positions of the training rows of each member in the table; None if these are not the training rows."""
    own = _counted(labels.classes, labels.codes[trained_on])
    places = places_of_training_rows(model.rounds_of_members, own, model.class_counts_)
    positions = np.flatnonzero(trained_on)
    return None if places is None else [positions[each] for each in places]


class DoubtingEnsemble(AveragingEnsemble):
    """An ensemble that remembers which rows its members were trained on."""

    @property
    def rounds_(self) -> list[Round]:
        """The notes of each round."""
        return list(self._fitted.parts[0].rounds)

    # 0 if the algorithm begins with a warm-up, a model that does not become a member.
    _first_round = 1

    def hardness_of(self, X: Any, y: Any) -> NDArray[np.float32]:
        """The hardness of each row: the error of the ensemble, by the hardness function of its training. 0 is no error.

        The probabilities are those of the members, before any calibration, as in the rounds of the fit. Rows that
        members were trained on look easier than they are; `suspects` allows for that.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_rows, n_features)
            Rows in memory.
        y : array-like of shape (n_rows,)
            Their labels.

        Returns
        -------
        ndarray of shape (n_rows,)
            The hardness of each row, at least 0.
        """
        table = self._fitted.reader(X)
        labels = checks.check_known_labels(y, X, self.classes_)
        doubts = 1 - own_probabilities(self.model_.means(table, checks.check_jobs(self.n_jobs)), labels)
        return hardness_named(self.get_params(deep=False).get("hardness", "absolute"))(
            np.clip(doubts, 0, 1).astype(np.float32)
        )

    def suspects(
        self,
        X: Any,
        y: Any,
        n: int = 20,
        *,
        label: Any = None,
        ids: Any = None,
        trained_on: bool | None = None,
        groups: Any = None,
        **fit_params: Any,
    ) -> Suspects:
        """The rows whose labels are most doubtful: their labels may be wrong.

        A training row of a member is judged by models that have not seen it: for each fifth of the training rows, a
        copy of the member is trained on the other four fifths. Doubts are probabilities at the true shares of the
        classes, by the calibration or, without one, by the closed form for under-sampled classes. At the equal shares
        that the members see, a mislabelled rare row would hardly look doubtful.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_rows, n_features)
            The rows that the ensemble was trained on, all of them and in the same order; or any rows that it was not
            trained on. The places of the rare rows show which of the two. Do not mix them.
        y : array-like of shape (n_rows,)
            Their labels.
        n : int, default=20
            The number of rows to list.
        label : label, default=None
            Only rows with this label. Without it, most suspects are rare rows: the label of a rare row that looks
            common is more doubtful than that of a common row that looks rare, because few rows are rare.
        ids : array-like of shape (n_rows,), default=None
            The ids of the rows, if the ensemble was trained on a table with ids.
        trained_on : bool or None, default=None
            Whether these are the training rows. With None, the positions of the rare rows decide. With False, they are
            treated as other rows.
        groups : array-like of shape (n_rows,), default=None
            The group of each row, if the ensemble was trained with groups: every row is judged by models that have not
            seen its group.
        **fit_params : dict
            Further arguments that `fit` was given, such as `sample_weight`.

        Returns
        -------
        Suspects
            `rows`, `labels`, `likelier` labels and `doubts`, the most doubtful row first.

        Raises
        ------
        ValueError
            If `trained_on` is True and the rows are not the training rows.

        Examples
        --------
        >>> from selfpaced import SelfPacedEnsembleClassifier
        >>> from selfpaced.datasets import make_fraud
        >>> X, y = make_fraud(n_rows=4000, n_frauds=80, random_state=0)
        >>> y[0] = 1  # an honest row by mistake
        >>> found = SelfPacedEnsembleClassifier(random_state=0).fit(X, y).suspects(X, y, n=20)
        >>> 0 in found.rows, found.cross_fitted
        (True, True)
        """
        table = self._fitted.reader(X)
        labels = checks.check_known_labels(y, X, self.classes_)
        n = checks.check_whole("n", n)
        seen = None
        if trained_on is not False:
            seen = places_of_training_rows(self.rounds_of_members, labels, self.class_counts_, ids)
        if seen is None and (trained_on or (trained_on is None and ids is not None)):
            raise ValueError(
                f"These are not the rows that the ensemble was trained on, in the same order. It was trained on "
                f"{self.class_counts_.sum()} rows, {self.class_counts_.min()} of them of the class "
                f"{labels.names[self.trained_on_.minority_number]!r}, and the rare rows must be at the same positions "
                "(or have the same ids). For other rows, set trained_on=False."
            )
        if seen is None and trained_on is None and np.array_equal(labels.counts, self.class_counts_):
            warn(
                "Each class has as many rows as in training, but the rare rows are at other positions. If these are "
                "the training rows, bring them into the order of the fit: now they are treated as other rows, and "
                "their doubts are too small. If they are other rows, set trained_on=False."
            )
        if seen is None:
            means = self.model_.means(table, checks.check_jobs(self.n_jobs))
        else:
            if (groups is None) != (self.trained_on_.group is None):
                given = "without groups. Omit" if self.trained_on_.group is None else "with groups. Pass the same as"
                raise ValueError(f"The ensemble was trained {given} groups=.")
            means = self._honest_means(
                table.with_metadata(checks.check_groups(groups, labels)), labels, seen, fit_params
            )
        calibrator = self.calibrator_ or self._prior_correction()
        return most_doubted(calibrator(means), labels, n, label, seen is not None)

    def _honest_means(
        self, table: InMemoryTable, labels: Labels, seen: Sequence[NDArray[np.intp]], fit_params: dict[str, Any]
    ) -> NDArray[np.float64]:
        """The mean probabilities of rows. Those that a member was trained on are judged by copies of it."""
        bases, seed = self._bases(), checks.check_seed(self.random_state)
        n_threads = effective_n_jobs(checks.check_jobs(self.n_jobs))
        per_row, for_all = checks.split_by_row(checks.fit_metadata(self, bases, labels, fit_params), table.n_rows)
        per_row |= {} if table.groups is None else {GROUP: table.groups}
        factory, table = MemberFactory(bases, seed, for_all, n_threads), table.with_metadata(per_row)
        members = []
        trained = zip(self.estimators_, seen, self.rounds_of_members, strict=True)
        for number, (member, places, each) in enumerate(trained, start=1 - self._first_round):
            rows, y = table.rows(places), labels.codes[places].astype(np.intp)
            rows = rows if each.weights is None else rows.weighted(each.weights)
            members.append(CrossFitted(member, cross_fit(factory, number, rows, y, seed, n_threads)))
        return honest_means(members, table, np.arange(table.n_rows), len(self.classes_), n_threads)

    @property
    def rounds_of_members(self) -> list[Round]:
        """The notes of the rounds whose models are members, in the order of the members."""
        return [each for part in self._fitted.parts for each in part.rounds_of_members]

    def _prior_correction(self) -> PriorCorrection:
        n_draw = max(int(notes.quota.sum()) for notes in self.rounds_[0].bins.values())
        weighting = weighting_named(self.get_params(deep=False).get("weighting"))
        return prior_correction(self.class_counts_.tolist(), self.trained_on_.minority_number, n_draw, weighting)
