"""The judgements of recipes in a folder, so that a fit that was killed does not judge them again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from io import BytesIO
from typing import Any

from selfpaced.ensembles.checkpoint import ALLOWING, plan_hash
from selfpaced.ensembles.choosing import Judgements
from selfpaced.ensembles.judging import Judgement
from selfpaced.exceptions import CheckpointError
from selfpaced.private_folders import PrivateFolder
from selfpaced.safe_files.archive import dumped, loaded


class SavedJudgements(Judgements):
    """Judgements in the files of a checkpoint. `plan` describes the fit."""

    def __init__(self, folder: PrivateFolder, plan: Mapping[str, Any], allow: str | Sequence[str]) -> None:
        self._folder = folder
        self._plan = plan_hash(plan)
        self._allow = allow

    def get(self, name: str) -> Judgement | None:
        file = _file_name(name)
        if not self._folder.has(file):
            return None
        path, content = f"{self._folder}/{file}", self._folder.read(file)
        try:
            parts = loaded(BytesIO(content), path, ALLOWING, self._allow)
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
        file = _file_name(name)
        if not self._folder.has(file):
            parts = {"plan": self._plan, "name": name, **vars(judgement)}
            content = dumped(parts, "The judgement", ALLOWING, self._allow, "Fit without a checkpoint.")
            self._folder.write(file, content)


def _file_name(name: str) -> str:
    return f"judged-{sha256(name.encode()).hexdigest()[:16]}.skops"
