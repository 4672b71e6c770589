"""Several processes that share a port."""

import json

import psutil
import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.serving.running import Served


@pytest.mark.slow
def test_workers_share_a_port_and_their_metrics(folder, rows, tmp_path):
    """Whichever worker is asked, it knows the rows of all, and their drift. A signal ends all of them."""
    served = Served(folder / "model.skops", "--workers", 2, folder=tmp_path)
    try:
        for some in (rows[:100], rows[100:200]):
            assert served.post("/score/batch", some)[0] == 200
        assert {served.post("/score", row)[0] for row in rows[:20]} == {200}

        def has_all():
            families = text_string_to_metric_families(served.get("/metrics")[1])
            found = {(one.name, *one.labels.values()): one.value for family in families for one in family.samples}
            return found["selfpaced_rows_total",] == 220 and ("selfpaced_drift_psi", "amount") in found

        for _ in range(5):
            served.until(has_all)
        assert json.loads(served.get("/ready")[1])["model"] == served.facts["version"]
    finally:
        code = served.end()
    assert code == 143


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(psutil.Process, "memory_maps"), reason="psutil cannot list loaded libraries here")
def test_the_address_is_told_when_all_workers_have_loaded_the_service(folder, tmp_path):
    served = Served(folder / "model.skops", "--workers", 2, folder=tmp_path)
    try:
        workers = psutil.Process(served.process.pid).children()
        loaded = [any("pydantic_core" in part.path for part in worker.memory_maps()) for worker in workers]
        assert sum(loaded) == 2
    finally:
        served.end()
