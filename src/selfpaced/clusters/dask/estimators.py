"""Ensembles on a Dask cluster. Needs `selfpaced[dask]`.

Each partition scores its own rows and counts its own bins. Only the rows of the rarest class and the drawn rows are
sent to this process, which trains the members. The members are the same as those of `fit` in memory.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from operator import call
from os import PathLike
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from selfpaced import ensembles
from selfpaced.clusters.dask import table
from selfpaced.clusters.partitions import LABEL, PartitionedTable
from selfpaced.clusters.scoring import scores_of_rows, worker_model
from selfpaced.ensembles import DoubtingEnsemble, parameters_of
from selfpaced.ensembles.auto import AutoSelfPacedClassifier
from selfpaced.exceptions import TableError
from selfpaced.pools import GROUP
from selfpaced.tables import ID, WEIGHT, Schema, TableOptions, is_dask_array, is_dask_frame
from selfpaced.tables.sources import open_table


class DaskEnsemble(DoubtingEnsemble):
    """An ensemble whose rows are on a Dask cluster."""

    def __init_subclass__(cls) -> None:
        """The constructor takes the parameters of the ensemble in memory, and those of a cluster."""
        super().__init_subclass__()
        if "__init__" not in vars(cls):
            parameters = {**parameters_of(cls._in_memory()), **parameters_of(DaskEnsemble)}
            ensembles.give_constructor(cls, list(parameters.values()))

    def __init__(self, *values: Any, client: Any = None, fit_on: str = "driver", **named: Any) -> None:
        super().__init__(*values, **named)
        self.client = client
        self.fit_on = fit_on

    @classmethod
    def _in_memory(cls) -> type[DoubtingEnsemble]:
        """The class of the same ensemble that takes rows in memory."""
        return next(kind for kind in cls.__mro__ if kind.__module__.startswith("selfpaced.ensembles."))

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        sample_weight: Any = None,
        ids: Any = None,
        groups: Any = None,
        eval_set: tuple[Any, Any] | None = None,
        checkpoint: str | PathLike[str] | None = None,
        allow: str | Sequence[str] = (),
    ) -> Self:
        """Train the ensemble on a cluster: the same members as in memory, for any number of partitions.

        Parameters
        ----------
        X : Dask DataFrame or Dask array
            Features. All partitions are converted to the same types. Strings become categories.
        y : Dask Series or array, or the name of a column of X
            Labels. A Series that is a column of X is not a feature.
        sample_weight : Dask Series or array, or the name of a column of X, default=None
            How much each row counts in the fit of a member.
        ids : Dask Series or array, or the name of a column of X, default=None
            Unique integers. Rows are drawn by them, so their order does not matter. Without ids, a row's id is its
            position in X.
        groups : Dask Series or array, or the name of a column of X, default=None
            The group of each row, such as a card. It is not a feature. The calibration judges every row by models that
            have not seen its group.
        eval_set : tuple (X, y), default=None
            Held-out rows, which are in memory or are sent to this process. After each round the ensemble so far is
            scored on them, by AUCPRC. A blend holds out rows itself, and refuses others.
        checkpoint : path or URL, default=None
            A folder of this machine, or of an object store, that keeps every finished round. The same call after a
            crash continues, as for `SelfPacedEnsembleClassifier.fit_table`.
        allow : str or list of str, default=()
            Types that the files of the checkpoint may hold besides those that `load_model` accepts.

        Returns
        -------
        self : estimator
            The fitted ensemble.
        """
        others: dict[str, Any] = {} if eval_set is None else {"eval_set": self._held_out(eval_set)}
        rows = self._open_training(X, y=y, sample_weight=sample_weight, ids=ids, groups=groups)
        return self.fit_table(rows, checkpoint=checkpoint, allow=allow, **others)  # type: ignore[no-any-return]

    def predict_proba(self, X: Any) -> Any:
        """The mean of the members' probabilities, one column for each of `classes_`.

        Parameters
        ----------
        X : Dask DataFrame, Dask array, or rows in memory
            Rows to score.

        Returns
        -------
        dask.array.Array or ndarray of shape (n_rows, n_classes)
            Lazy for a Dask DataFrame or array, and computed at once for rows in memory.
        """
        check_is_fitted(self)
        if not (is_dask_frame(X) or is_dask_array(X)):
            return self.to_local().predict_proba(X)
        score = partial(_probabilities, worker_model(self.to_local()))
        return (_map_frame if is_dask_frame(X) else _map_array)(score, X, self.trained_on_.schema, len(self.classes_))

    def predict(self, X: Any) -> Any:
        """The most probable class.

        Parameters
        ----------
        X : Dask DataFrame, Dask array, or rows in memory
            Rows to classify.

        Returns
        -------
        dask.array.Array or ndarray of shape (n_rows,)
            Lazy for a Dask DataFrame or array, and computed at once for rows in memory.
        """
        check_is_fitted(self)
        if not (is_dask_frame(X) or is_dask_array(X)):
            return self.to_local().predict(X)
        classes = self.classes_
        return self.predict_proba(X).map_blocks(
            lambda scores: classes[scores.argmax(axis=1)], drop_axis=1, dtype=classes.dtype, meta=classes[:0]
        )

    def to_local(self) -> DoubtingEnsemble:
        """The same model without Dask: it predicts in memory, and can be pickled.

        Returns
        -------
        estimator
            An ensemble of the class for rows in memory.
        """
        given = self.get_params(deep=False)
        params = {name: given[name] for name in parameters_of(self._in_memory())}
        local = self._in_memory()(**params)
        local.__dict__.update({name: value for name, value in vars(self).items() if name.endswith("_")})
        return local

    def _open_training(self, X: Any, **others: Any) -> PartitionedTable:
        """`others` are the other arguments of `fit` with a value for each row; those not given are None."""
        client = table.active_client(self.client)
        if not (is_dask_array(X) or is_dask_frame(X)):
            raise TypeError(
                f"X is a {type(X).__name__}, not a Dask DataFrame or array. For rows in memory, use "
                f"{self._in_memory().__name__}."
            )
        if others["y"] is None:
            raise ValueError("This classifier requires y to be passed, but the target y is None.")
        if is_dask_array(X):
            return table.fitting_on(table.open_dask_arrays(X, others, client), self.fit_on, client)
        options: TableOptions = {"client": client, "fit_on": self.fit_on}
        X, options["target"] = table.with_column(X, LABEL, others["y"])
        X, options["weight_column"] = table.with_column(X, WEIGHT, others["sample_weight"])
        X, options["id_column"] = table.with_column(X, ID, others["ids"])
        X, options["group_column"] = table.with_column(X, GROUP, others["groups"])
        opened = open_table(X, **options)
        assert isinstance(opened, PartitionedTable)
        return replace(opened, roles=replace(opened.roles, target=None)) if options["target"] == LABEL else opened

    def _held_out(self, pair: Any) -> tuple[Any, ...]:
        """A pair of features and labels, with what is on the cluster brought to this process."""
        if not (isinstance(pair, tuple | list) and any(is_dask_frame(one) or is_dask_array(one) for one in pair)):
            return pair  # type: ignore[no-any-return]
        client = table.active_client(self.client)
        return tuple(client.gather(client.compute(list(pair))))

    def __sklearn_clone__(self) -> Self:
        """A clone uses the same cluster."""
        params = self.get_params(deep=False) | {"client": None}
        cloned = type(self)(**{name: clone(value, safe=False) for name, value in params.items()})
        cloned.client = self.client
        return cloned

    def __getstate__(self) -> dict[str, Any]:
        """The state without the client, which is a connection of this process."""
        return super().__getstate__() | {"client": None}  # type: ignore[no-any-return]


def _probabilities(model: DoubtingEnsemble, rows: Any) -> NDArray[np.float64]:
    """What a worker does with a partition. Members refuse to score no rows."""
    if not len(rows):
        return np.empty((0, len(model.classes_)))
    return scores_of_rows(model, np.asarray(rows) if model.trained_on_.schema is None else rows)[1]


def _map_frame(score: Any, frame: Any, schema: Schema | None, n_classes: int) -> Any:
    """A lazy array of the scores of each partition. Its chunks have unknown lengths until they are computed."""
    dask = table.import_dask()
    from dask import array as da

    names = list(frame.columns) if schema is None else schema.sources
    missing = [name for name in names if name not in frame.columns]
    if missing:
        raise TableError(f"X has no column {missing[0]!r}, which the model was trained with.")
    sent = dask.delayed(score, traverse=False)
    blocks = [
        da.from_delayed(dask.delayed(call)(sent, part), shape=(np.nan, n_classes), dtype=np.float64)
        for part in frame[list(names)].to_delayed()
    ]
    return da.concatenate(blocks, allow_unknown_chunksizes=True)


def _map_array(score: Any, array: Any, schema: Schema | None, n_classes: int) -> Any:
    if schema is not None:
        raise TypeError("The model was trained on named columns. Pass a Dask DataFrame with these columns.")
    chunks = (array.chunks[0], (n_classes,))
    return array.rechunk({1: -1}).map_blocks(score, chunks=chunks, dtype=np.float64, meta=np.empty((0, 0)))


class DaskSelfPacedEnsembleClassifier(DaskEnsemble, ensembles.SelfPacedEnsembleClassifier):  # type: ignore[misc]  # `fit` takes rows of a cluster
    """`SelfPacedEnsembleClassifier` on a Dask cluster.

    Parameters and attributes are those of `SelfPacedEnsembleClassifier`, and two more.

    Parameters
    ----------
    client : distributed.Client, default=None
        The client of the cluster; by default the active one. It is not pickled with the model.
    fit_on : {"driver", "executor"}, default="driver"
        Where members are trained: in this process, or on the workers, as for `open_table`.

    See Also
    --------
    selfpaced.SelfPacedEnsembleClassifier : The same ensemble for rows in memory.
    selfpaced.open_table : Opens a Dask DataFrame for `fit_table`.

    Examples
    --------
    >>> import dask.dataframe as dd, pandas as pd
    >>> from distributed import Client
    >>> from selfpaced.clusters.dask import DaskSelfPacedEnsembleClassifier
    >>> from selfpaced.datasets import make_fraud
    >>> X, y = make_fraud(n_rows=2000, n_frauds=40, n_features=4, random_state=0)
    >>> rows = pd.DataFrame(X, columns=["a", "b", "c", "d"]).assign(is_fraud=y)
    >>> with Client(processes=False, n_workers=1, threads_per_worker=2, dashboard_address=":0") as client:
    ...     table = dd.from_pandas(rows, npartitions=4)
    ...     model = DaskSelfPacedEnsembleClassifier(random_state=0, client=client).fit(table, "is_fraud")
    ...     lazy = model.predict_proba(table)
    ...     scores = lazy.compute()
    >>> scores.shape
    (2000, 2)
    >>> type(model.to_local()).__name__
    'SelfPacedEnsembleClassifier'
    """


class DaskBalanceCascadeClassifier(DaskEnsemble, ensembles.BalanceCascadeClassifier):  # type: ignore[misc]  # `fit` takes rows of a cluster
    """`BalanceCascadeClassifier` on a Dask cluster. `client` and `fit_on` are as for `DaskSelfPacedEnsembleClassifier`.

    See Also
    --------
    selfpaced.BalanceCascadeClassifier : The same ensemble for rows in memory.
    """


class DaskUnderBaggingClassifier(DaskEnsemble, ensembles.UnderBaggingClassifier):  # type: ignore[misc]  # `fit` takes rows of a cluster
    """`UnderBaggingClassifier` on a Dask cluster. `client` and `fit_on` are as for `DaskSelfPacedEnsembleClassifier`.

    See Also
    --------
    selfpaced.UnderBaggingClassifier : The same ensemble for rows in memory.
    """


class DaskAutoSelfPacedClassifier(DaskEnsemble, AutoSelfPacedClassifier):  # type: ignore[misc]  # `fit` takes rows of a cluster
    """`AutoSelfPacedClassifier` on a Dask cluster. `client` and `fit_on` are as for `DaskSelfPacedEnsembleClassifier`.

    The rows by which recipes are compared are sent to this process. Their number does not grow with the table.

    See Also
    --------
    selfpaced.AutoSelfPacedClassifier : The same classifier for rows in memory.
    """

    def _held_out(self, pair: Any) -> tuple[Any, ...]:
        raise ValueError(
            "eval_set is for one ensemble. DaskAutoSelfPacedClassifier holds out rows itself to compare its recipes. "
            "Omit eval_set."
        )
