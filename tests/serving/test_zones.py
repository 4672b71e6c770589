"""A service of a model with zones answers the zone of each row."""

import pandas as pd
import pytest

from tests.serving.conftest import command
from tests.serving.running import Served

ZONES = "block: precision>=0.5, review: recall>=0.9, pass"


@pytest.mark.slow
def test_rows_have_the_zones_that_predict_gives_them(folder, rows, tmp_path):
    data, model, scores = folder / "payments.parquet", tmp_path / "model.skops", tmp_path / "scores.parquet"
    learned = ("--target", "is_fraud", "--base", "lightgbm", "--members", 2, "--exclude", "tx")
    command("train", data, *learned, "--rule", ZONES, "-o", model, "-q")
    command("predict", model, data, "-o", scores, "--threshold", "best", "-q")
    zones = pd.read_parquet(scores)["zone"].tolist()
    assert set(zones) == {"block", "review", "pass"}
    served = Served(model, folder=tmp_path)
    try:
        _, batch = served.post("/score/batch", rows)
        assert batch["zones"] == zones
        first = zones.index("block")
        _, answer = served.post("/score", rows[first])
        assert (answer["zone"], answer["alert"]) == ("block", True)
        _, described = served.get("/openapi.json")
        assert '"enum":["block","review","pass"]' in described
    finally:
        served.end()
