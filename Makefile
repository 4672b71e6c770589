# Two commands on a fresh machine with Python 3.11+ and make: `make demo` and `make test`.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: help demo test check bench paper clean

help:
	@echo "make demo   install, then compare Self-paced Ensemble with the alternatives on generated tables"
	@echo "make test   install everything, then run all checks and tests"
	@echo "make check  format, lint, types and layers only"
	@echo "make bench  run the benchmarks (an hour; peers are installed into .bench/)"
	@echo "make paper  a quick pass over the paper's experiments; the pages are in .paper/"

demo: .venv/installed-demo
	$(BIN)/selfpaced demo

test: check
	$(BIN)/python -m pytest -n auto --dist loadfile # a file's tests share their cluster or browser

check: .venv/installed-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python tools/check_layers.py

bench: .venv/installed-dev
	$(BIN)/python benchmarks/peers.py
	$(BIN)/python benchmarks/scaling.py
	$(BIN)/python benchmarks/accuracy.py
	$(BIN)/python benchmarks/outofcore.py
	$(BIN)/python benchmarks/cluster.py
	$(BIN)/python benchmarks/encoding.py
	$(BIN)/python benchmarks/calibration.py
	$(BIN)/python benchmarks/suspects.py
	$(BIN)/python benchmarks/stopping.py
	$(BIN)/python benchmarks/spread.py
	$(BIN)/python benchmarks/thresholds.py

# Cells whose data are not here fail with their reason; what has been finished is rendered all the same.
paper: .venv/installed-dev
	-$(BIN)/python -W ignore -m paper run --quick
	$(BIN)/python -m paper render --quick

.venv/bin/python:
	$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11) and 'selfpaced needs Python 3.11 or newer: make PYTHON=python3.11')"
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip

.venv/installed-demo: .venv/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable '.[cli]'
	touch $@

.venv/installed-dev: .venv/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable '.[all]' --group dev
	touch $@

clean:
	rm -rf .venv .bench .paper

# The oldest versions that pyproject.toml allows, without Spark, whose download is large. Left out are the test of accuracy
# on real data, and one-hot columns beside those of a polars frame, which scikit-learn cannot join before 1.8.
.PHONY: test-oldest
test-oldest: OLDEST := .venv/oldest
test-oldest:
	$(PYTHON) -m venv $(OLDEST)
	$(PYTHON) tools/oldest.py > $(OLDEST)/constraints.txt
	$(OLDEST)/bin/python -m pip install --quiet --upgrade pip
	$(OLDEST)/bin/python -m pip install --quiet --constraint $(OLDEST)/constraints.txt --group dev \
		--editable '.[cli,dask,explain,frames,lightgbm,onnx,smote,xgboost]'
	$(OLDEST)/bin/python -m pytest -n auto --dist loadfile --deselect tests/test_credit_fraud.py \
		--deselect 'tests/ensembles/test_inputs.py::test_a_pipeline_finds_its_columns_by_name[polars]' \
		tests/ensembles tests/onnx_export tests/persistence tests/scoring tests/tables tests/test_*.py
