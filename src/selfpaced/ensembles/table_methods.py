"""The methods of ensembles that score tables in files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from selfpaced.ensembles.table_scoring import (
    ScoringOptions,
    TableEvaluation,
    evaluation,
    open_to_score,
    rare_rows,
    scores_of,
    write_scores,
)
from selfpaced.ensembles.trained_on import TrainedOn
from selfpaced.remote_files import Place
from selfpaced.tables import DatabaseTable, Roles, StreamedTable
from selfpaced.tables.roles import names_of


class ScoresTables:
    """A fitted ensemble that scores tables in files, batch by batch."""

    trained_on_: TrainedOn

    def score_table(self, source: Any, **reading: Unpack[ScoringOptions]) -> NDArray[np.float64]:
        """The score of every row of some files, in order: the probability of `score_label_`.

        Parameters
        ----------
        source : path, URL, list of these, dataset, query or Table
            A source that `open_table` opens, except arrays and frames of clusters; or an open table.
        columns : list of str, default=None
            The features, for a model that was trained without feature names.
        progress : callable, default=None
            A function of the number of rows scored and of all rows (None with a filter), called after each batch.
        **reading : dict
            `filter`, `batch_rows`, `cache`, `cache_bytes`, `filesystem`, `connection` and `version`, as for
            `open_table`. They are refused for an open table.

        Returns
        -------
        ndarray of shape (n_rows,)
            The scores, in the order of the rows.
        """
        return scores_of(self, open_to_score(self, source, Roles(), reading), reading.get("progress"))

    def predict_table(
        self,
        source: Any,
        output: Any,
        *,
        keep: Sequence[str] = (),
        threshold: float | None = None,
        on_scores: Callable[[NDArray[np.float64]], None] | None = None,
        **reading: Unpack[ScoringOptions],
    ) -> Place | DatabaseTable:
        """Score files batch by batch and write the scores to a file, in the order of the rows.

        Parameters
        ----------
        source : path, URL, list of these, dataset, query or Table
            A source that `open_table` opens, except arrays and frames of clusters; or an open table.
        output : path, URL or DatabaseTable
            A Parquet or CSV file, by its ending, or `selfpaced.tables.DatabaseTable("postgresql://...", "scores")`. It
            is written only when all rows are scored.
        keep : list of str, default=()
            Columns of the source that are written beside the scores, such as ids.
        threshold : float, default=None
            Adds a column `alert`: whether the score is at or above the threshold.
        on_scores : callable, default=None
            A function that is called with the scores of each batch.
        **reading : dict
            The options of reading, as for `score_table`.

        Returns
        -------
        Path, RemoteFile or DatabaseTable
            The output. For two classes its column `score` is the probability of `score_label_`; for more classes
            there is a column `score_LABEL` for each label.
        """
        table = open_to_score(self, source, Roles(keep=tuple(names_of(keep))), reading)
        progress = reading.get("progress")
        return write_scores(self, table, output, threshold=threshold, progress=progress, on_scores=on_scores)

    def evaluate_table(
        self,
        source: Any,
        *,
        target: str | None = None,
        threshold: float | None = None,
        **reading: Unpack[ScoringOptions],
    ) -> TableEvaluation:
        """Score files batch by batch and compare the scores with the labels. Only labels and scores are kept in memory.

        Parameters
        ----------
        source : path, URL, list of these, dataset, query or Table
            A source that `open_table` opens, except arrays and frames of clusters; or an open table.
        target : str, default=None
            The column of labels; by default the one in training.
        threshold : float, default=None
            The lowest score of an alert. By default it is the best threshold by F1 on these rows, whose figures are
            slightly too good.
        **reading : dict
            The options of reading, as for `score_table`.

        Returns
        -------
        TableEvaluation
            AUCPRC, and the alerts at the threshold.

        Raises
        ------
        ValueError
            If the column of labels is not known.
        """
        check_is_fitted(self)
        if target is None:
            target = (source if isinstance(source, StreamedTable) else self.trained_on_).roles.target
        if target is None:
            raise ValueError("The column of labels is not known. Name it: evaluate_table(source, target='...').")
        table = open_to_score(self, source, Roles(target, self.trained_on_.positive), reading)
        is_rare = rare_rows(self.trained_on_, table)
        return evaluation(is_rare, scores_of(self, table, reading.get("progress")), threshold)
