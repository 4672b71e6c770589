# Two commands on a fresh machine with Python 3.11+ and make: `make demo` and `make test`.
PYTHON ?= python3
BIN := .venv/bin
# Python compiles what is imported, once, if it may keep the result. pip would compile every file of every package.
unexport PYTHONDONTWRITEBYTECODE
PIP := $(BIN)/python -m pip install --quiet --no-compile
# uv installs the same versions in a quarter of the time. pip follows where uv fails: an index may be known to pip alone.
INSTALL = $(BIN)/uv pip install --quiet --python $(BIN)/python $(PACKAGES) || $(PIP) $(PACKAGES)
# The tests of a group share their cluster or browser. tests/conftest.py makes the groups, and puts the longest first.
# A process that crashes ends the run: xdist would replace it, and then wait for ever.
SIDE_BY_SIDE := -n auto --max-worker-restart 0 --dist loadscope --no-loadscope-reorder
PYTEST := $(BIN)/python -m pytest $(SIDE_BY_SIDE)

.PHONY: help demo test test-fast coverage mutants exam check check-types check-text system-packages bench field paper docs \
	pictures architecture release-check clean

help:
	@echo "make demo             install, then compare Self-paced Ensemble with the alternatives on generated tables"
	@echo "make test             install everything, then run all checks and tests"
	@echo "make test-fast        run the tests that are not slow and need no cluster and no browser"
	@echo "make coverage         run the tests, and print what they cover and which public functions they never call"
	@echo "make mutants          change the code in one place at a time, for an hour, and print the changes that no test notices"
	@echo "make exam             compare scores of the same rows and models in many forms, on random tables, for an hour"
	@echo "make check            check format, lint, types, layers, docstrings and spelling only"
	@echo "make system-packages  install Chromium, Java and PostgreSQL for the tests that need them (as root on Debian)"
	@echo "make architecture     write the tables of modules in ARCHITECTURE.md from their docstrings"
	@echo "make pictures         take the pictures of pages in docs/images again, with Chromium"
	@echo "make docs             build the documentation site into .site/ and check its links (open .site/index.html)"
	@echo "make test-oldest      run a part of the tests with the oldest versions that pyproject.toml allows"
	@echo "make release-check    build both archives, install the wheel into a clean environment and try it"
	@echo "make bench            run the benchmarks (an hour; peers are installed into .bench/)"
	@echo "make field            compare all methods on the tables of docs/field.md (hours; continues where it was stopped)"
	@echo "make paper            make a quick pass over the paper's experiments; the pages are in .paper/"

demo: .venv/installed-demo
	$(BIN)/selfpaced demo

# Each of these keeps one core busy, so two are done at a time.
test:
	$(MAKE) --jobs 2 .venv/installed-dev .venv/compiled check-types check-text system-packages
	$(PYTEST)

test-fast: .venv/installed-dev
	$(PYTEST) -m "not slow and not cluster and not browser"

system-packages:
	$(PYTHON) tools/system_packages.py

check: check-types check-text

check-types: .venv/installed-most
	$(BIN)/mypy

check-text: .venv/installed-most
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/python tools/check_layers.py
	$(BIN)/python tools/check_docstrings.py
	$(BIN)/codespell

# Measured tests take about twice as long. A test of time or memory may fail, so the figure follows in any case.
# A part of the tests: make coverage TESTS="tests/thresholds -m 'not slow'"
TESTS ?=
coverage: .venv/installed-dev
	rm -rf .coverage
	mkdir .coverage
	-$(BIN)/python -m coverage run -m pytest $(SIDE_BY_SIDE) $(TESTS)
	$(BIN)/python -m coverage combine --quiet
	$(BIN)/python -m coverage json --quiet -o .coverage/measured.json
	$(BIN)/python tools/covered.py .coverage/measured.json

# The same command goes on where it was stopped.
mutants: .venv/installed-dev
	$(BIN)/python tools/mutants.py

exam: .venv/installed-dev
	$(BIN)/python tools/exam.py

bench: .venv/installed-dev
	$(BIN)/python benchmarks/peers.py
	$(BIN)/python benchmarks/scaling.py
	$(BIN)/python benchmarks/accuracy.py
	$(BIN)/python benchmarks/outofcore.py
	$(BIN)/python benchmarks/remote.py
	$(BIN)/python benchmarks/cluster.py
	$(BIN)/python benchmarks/encoding.py
	$(BIN)/python benchmarks/calibration.py
	$(BIN)/python benchmarks/suspects.py
	$(BIN)/python benchmarks/stopping.py
	$(BIN)/python benchmarks/spread.py
	$(BIN)/python benchmarks/thresholds.py
	$(BIN)/python benchmarks/recipes.py
	$(BIN)/python benchmarks/scoring.py
	$(BIN)/python benchmarks/reasons.py
	$(BIN)/python benchmarks/history_service.py

field: .venv/installed-dev
	$(BIN)/python benchmarks/field.py
	$(BIN)/python benchmarks/field.py --render

# Cells whose data are not here fail with their reason; what has been finished is rendered all the same.
paper: .venv/installed-dev
	-$(BIN)/python -W ignore -m paper run --quick
	$(BIN)/python -m paper render --quick

# Examples of the gallery that have not changed since the last build are not run again. All pages are read again (-E),
# because Sphinx does not see every change of a docstring.
docs: .venv/installed-docs
	$(BIN)/python -m sphinx -b html -E -W --keep-going -q docs .site
	$(BIN)/python tools/check_site.py .site

# The standard library is enough for the first; the second trains a small model and opens its report in Chromium.
architecture:
	$(PYTHON) tools/architecture.py

pictures: .venv/installed-dev
	$(BIN)/python tools/pictures.py
	$(BIN)/python tools/draw_history.py

release-check: .venv/installed-release
	rm -rf dist
	$(BIN)/python -m build --outdir dist .
	$(BIN)/python -m twine check --strict dist/*
	$(BIN)/python tools/try_archives.py dist

.venv/bin/python:
	$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11) and 'selfpaced needs Python 3.11 or newer: make PYTHON=python3.11')"
	$(PYTHON) -m venv .venv
	$(PIP) --upgrade pip uv # an old pip has no --group

.venv/installed-demo: private PACKAGES := --editable '.[cli]'
.venv/installed-demo: .venv/bin/python pyproject.toml
	$(INSTALL)
	touch $@

# All but PySpark, which has no wheel: the checks need not wait until one is built.
.venv/installed-most: private PACKAGES := --editable \
	'.[catboost,cli,dask,delta,explain,frames,iceberg,lightgbm,onnx,remote,serve,smote,sql,xgboost]' --group dev --group docs
.venv/installed-most: .venv/bin/python pyproject.toml
	$(INSTALL)
	touch $@

.venv/installed-dev: private PACKAGES := --editable '.[all]' --group dev --group docs
.venv/installed-dev: .venv/installed-most
	$(INSTALL)
	touch $@

# What all tests import is compiled once, and not by every process of the tests for itself.
.venv/compiled: .venv/installed-most
	$(BIN)/python -m pytest --collect-only --quiet --ignore tests/cluster > /dev/null || true # pytest tells why when it runs them
	touch $@

.venv/installed-docs: private PACKAGES := --editable '.[cli,dask,explain]' --group docs
.venv/installed-docs: .venv/bin/python pyproject.toml
	$(INSTALL)
	touch $@

.venv/installed-release: private PACKAGES := --group release
.venv/installed-release: .venv/bin/python pyproject.toml
	$(INSTALL)
	touch $@

clean:
	rm -rf .venv .bench .coverage .mutants .paper .site dist docs/gallery docs/generated

# The oldest versions that pyproject.toml allows, without Spark, whose download is large. Left out are the test of accuracy
# on real data, and one-hot columns beside those of a polars frame, which scikit-learn cannot join before 1.8.
.PHONY: test-oldest
test-oldest: OLDEST := .venv/oldest
test-oldest: PACKAGES := --constraint $(OLDEST)/constraints.txt --group dev \
	--editable '.[catboost,cli,dask,delta,explain,frames,iceberg,lightgbm,onnx,remote,serve,smote,sql,xgboost]'
test-oldest: .venv/bin/python
	$(PYTHON) -m venv --clear $(OLDEST)
	$(PYTHON) tools/oldest.py > $(OLDEST)/constraints.txt
	$(BIN)/uv pip install --quiet --python $(OLDEST)/bin/python $(PACKAGES) || \
		($(OLDEST)/bin/python -m pip install --quiet --upgrade pip && $(OLDEST)/bin/python -m pip install --quiet $(PACKAGES))
	$(OLDEST)/bin/python -m pytest $(SIDE_BY_SIDE) --deselect tests/test_credit_fraud.py \
		--deselect 'tests/ensembles/test_inputs.py::test_a_pipeline_finds_its_columns_by_name[polars]' \
		tests/ensembles tests/onnx_export tests/persistence tests/scoring tests/tables tests/test_*.py
