"""Saving and loading as Spark does it, in files that run no code when they are loaded."""

from __future__ import annotations

import json
from io import BytesIO
from typing import Any

from pyspark.ml.util import MLReadable, MLReader, MLWritable, MLWriter

# What an error suggests for types that are not on the list of trusted ones.
ALLOWING = "save_model(model.to_local(), ..."


class Writer(MLWriter):  # type: ignore[misc]
    """Writes an estimator or a model through Spark, so that it may go wherever Spark writes."""

    def __init__(self, instance: Any) -> None:
        super().__init__()
        self._instance = instance

    def save(self, path: str) -> None:
        instance = self._instance
        given = {param.name: instance.getOrDefault(param) for param in instance.params if instance.isSet(param)}
        content, columns = instance.as_bytes(given)
        # What a saved Pipeline looks for in each of its stages.
        metadata = {"class": _name(type(instance)), "uid": instance.uid, "paramMap": columns}
        self._table([(content,)], "content binary").parquet(f"{path}/content")
        self._table([(json.dumps(metadata),)], "value string").text(f"{path}/metadata")

    def _table(self, rows: list[tuple[Any]], schema: str) -> Any:
        mode = "overwrite" if self.shouldOverwrite else "error"
        return self.sparkSession.createDataFrame(rows, schema).coalesce(1).write.mode(mode)


class Reader(MLReader):  # type: ignore[misc]
    def __init__(self, kind: Any) -> None:
        super().__init__()
        self._kind = kind

    def load(self, path: str) -> Any:
        metadata = json.loads(self.sparkSession.read.text(f"{path}/metadata").first()[0])
        if metadata["class"] != _name(self._kind):
            raise TypeError(f"{path} holds a {metadata['class'].rpartition('.')[2]}, not a {self._kind.__name__}.")
        content = BytesIO(self.sparkSession.read.parquet(f"{path}/content").first()[0])
        instance = self._kind.from_bytes(content, path)._resetUid(metadata["uid"])
        for name, value in metadata["paramMap"].items():
            instance.set(instance.getParam(name), value)
        return instance


def _name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__name__}"


class Saved(MLReadable, MLWritable):  # type: ignore[misc]
    """Objects that are saved and loaded as Spark does it, in files that run no code when they are loaded.

    `as_bytes` gives a skops archive of trusted types, and those of the given parameters that are plain JSON and not in
    it. `from_bytes` makes an instance from the archive.
    """

    def write(self) -> Writer:
        return Writer(self)

    @classmethod
    def read(cls) -> Reader:
        return Reader(cls)
