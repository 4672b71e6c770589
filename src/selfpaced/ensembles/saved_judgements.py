"""The judgements of recipes in a folder, so that a fit that was killed does not judge them again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from selfpaced.ensembles.checkpoint import ALLOWING, plan_hash, write_private
from selfpaced.ensembles.choosing import Judgements
from selfpaced.ensembles.judging import Judgement
from selfpaced.exceptions import CheckpointError
from selfpaced.safe_files.archive import dumped, loaded


class SavedJudgements(Judgements):
    """Judgements in the files of a checkpoint. `plan` describes the fit."""

    def __init__(self, folder: Path, plan: Mapping[str, Any], allow: str | Sequence[str]) -> None:
        self._folder = folder
        self._plan = plan_hash(plan)
        self._allow = allow

    def get(self, name: str) -> Judgement | None:
        path = self._path(name)
        if not path.exists():
            return None
        try:
            parts = loaded(path, str(path), ALLOWING, self._allow)
            belongs = (parts.pop("plan"), parts.pop("name")) == (self._plan, name)
            found = Judgement(**parts)
        except Exception as error:  # damaged files may raise anything
            raise CheckpointError(
                f"{path} of the checkpoint is damaged. Remove it, and the recipe is judged again."
            ) from error
        if not belongs:
            raise CheckpointError(f"{path} belongs to another fit. Remove it, and the recipe is judged again.")
        return found

    def put(self, name: str, judgement: Judgement) -> None:
        path = self._path(name)
        if not path.exists():
            parts = {"plan": self._plan, "name": name, **vars(judgement)}
            write_private(path, dumped(parts, "The judgement", ALLOWING, self._allow, "Fit without a checkpoint."))

    def _path(self, name: str) -> Path:
        return self._folder / f"judged-{sha256(name.encode()).hexdigest()[:16]}.skops"
