"""Several processes that share a port."""

import json

import psutil
import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.serving.running import Served

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def served(folder, tmp_path_factory):
    """A service with two workers, and how many of them had loaded the service when it announced its address."""
    served = Served(folder / "model.skops", "--workers", 2, folder=tmp_path_factory.mktemp("workers"))
    try:
        workers = psutil.Process(served.process.pid).children()
        if hasattr(psutil.Process, "memory_maps"):
            loaded = [any("pydantic_core" in part.path for part in worker.memory_maps()) for worker in workers]
            served.n_loaded = sum(loaded)
        yield served
    finally:
        served.end()


@pytest.mark.skipif(not hasattr(psutil.Process, "memory_maps"), reason="psutil cannot list loaded libraries here")
def test_the_address_is_told_when_all_workers_have_loaded_the_service(served):
    assert served.n_loaded == 2


def test_workers_share_a_port_and_their_metrics(served, rows):
    """Whichever worker is asked, it knows the rows of all, and their drift. A signal ends all of them."""
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
    assert served.end() == 143
