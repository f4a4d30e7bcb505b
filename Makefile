# Viewlet's commands; `make help` lists them. Everything runs in .venv, which `make setup` makes.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.PHONY: help setup demo test test-spark test-lowest test-wheel test-dbt test-all check format fuzz docs-sql docs docs-functions docs-notebook screenshots bench bench-tpch bench-orderbook bench-operators bench-matrix bench-views bench-signal bench-loops bench-create lock clean

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
PIP := $(BIN)/python -m pip --disable-pip-version-check install -qq
COMPILE := uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header

help: ## list these commands
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | awk -F '\t' '{ printf "  make %-16s %s\n", $$1, $$2 }'

setup: $(READY) ## make .venv with the locked dependencies; install Java where that is possible

$(READY): requirements.lock requirements-build.lock pyproject.toml tools/need-java
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	  || { echo "viewlet needs Python 3.11 or newer: install it, or name one with make PYTHON=/path/to/python3" >&2; exit 1; }
	@bash tools/need-java
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv \
	  || { rm -rf .venv; echo "viewlet needs Python's venv module: install the package python3-venv" >&2; exit 1; }
	@echo "installing the locked dependencies into .venv"
	@$(PIP) --require-hashes -r requirements-build.lock
	@$(PIP) --require-hashes --no-build-isolation -r requirements.lock
	@$(PIP) --no-deps --no-build-isolation --editable .
	@touch $@

demo: $(READY) ## a retail warehouse, six views, a stream of epochs: what it costs, beside recomputing
	@$(BIN)/viewlet demo

# Tests wait for the JVM half of the time, so that one worker more than there are cores keeps them busy.
WORKERS := $(shell n=$$(( $$(nproc 2>/dev/null || sysctl -n hw.ncpu) + 1 )); echo $$(( n < 4 ? n : 4 )))
PYTEST := pytest -n $(WORKERS) --dist worksteal

test: check ## lint, type-check, and run the tests: what CI runs
	@bash tools/need-chromium
	$(BIN)/$(PYTEST) -m "not slow"

VERSION ?= 4.3.0
OTHER_SPARKS := $(shell sed -n 's/^pyspark==\([^ ]*\) .*/\1/p' requirements-sparks.lock)
BY_VERSION := versions analyse refusals fragments udf oracle found database sql_parse extremes user_aggregates \
  distinct kernels_spark group_aggregates group_windows percentiles sessions sketches short_decimals \
  types watermarks all_types caller_session collations failing not_in numbers ordered_aggregates
test-spark: .venv-spark-$(VERSION)/.ready ## what depends on the version of Spark, tested on another one: VERSION=4.3.0
	.venv-spark-$(VERSION)/bin/$(PYTEST) -m "not slow" $(BY_VERSION:%=tests/test_%.py) tests/project

LOCKS := requirements.lock requirements-build.lock pyproject.toml tools/other-venv tools/need-java
.venv-spark-%/.ready: $(LOCKS) requirements-sparks.lock
	@bash tools/need-java
	@bash tools/other-venv <(grep '^pyspark==$* ' requirements-sparks.lock) .venv-spark-$* $(PYTHON)
	@touch $@

test-lowest: .venv-lowest/.ready ## the tests with the lowest supported PySpark, PyArrow, NumPy and pandas
	.venv-lowest/bin/$(PYTEST) -m "not slow and not spark"
	.venv-lowest/bin/$(PYTEST) -m "not slow and spark" $(BY_VERSION:%=tests/test_%.py) tests/project

.venv-lowest/.ready: $(LOCKS) requirements-lowest.lock
	@bash tools/need-java
	@bash tools/other-venv requirements-lowest.lock .venv-lowest $(PYTHON)
	@touch $@

PYTHONS ?= $(or $(shell for v in 3.11 3.12 3.13; do python$$v -c '' 2>/dev/null && echo python$$v; done; true),$(PYTHON))
test-wheel: ## the wheel in empty environments, with the lowest and the newest supported versions, on each installed Python
	@bash tools/need-java
	for python in $(PYTHONS); do for versions in lowest newest; do \
	  bash tools/wheel-venv requirements-$$versions.lock .venv-wheel $$python; \
	  .venv-wheel/bin/python -I tests/installed.py; \
	done; done

test-dbt: $(READY) .venv-dbt/.ready ## dbt-viewlet: types, and dbt's own tests for adapters beside ours, in an environment of its own
	cd dbt-viewlet && ../$(BIN)/mypy --python-executable ../.venv-dbt/bin/python # dbt needs an older pathspec than mypy does
	.venv-dbt/bin/pytest -c dbt-viewlet/pyproject.toml dbt-viewlet/tests

.venv-dbt/.ready: $(LOCKS) dbt-viewlet/requirements.lock dbt-viewlet/pyproject.toml
	@bash tools/need-java
	@bash tools/other-venv dbt-viewlet/requirements.lock .venv-dbt $(PYTHON)
	@.venv-dbt/bin/python -m pip --disable-pip-version-check install -qq --no-deps --no-build-isolation --editable dbt-viewlet
	@touch $@

test-all: check ## the same with the slow tests, many more examples, and on all supported versions
	@bash tools/need-chromium
	VIEWLET_TEST_PROFILE=thorough $(BIN)/$(PYTEST)
	for version in $(OTHER_SPARKS); do $(MAKE) test-spark VERSION=$$version; done
	$(MAKE) test-lowest test-wheel test-dbt

check: $(READY) ## lint and type-check
	$(BIN)/ruff check .
	$(BIN)/ruff format --check --quiet .
	$(BIN)/mypy

format: $(READY) ## format the sources
	$(BIN)/ruff check --fix --quiet .
	$(BIN)/ruff format .

MINUTES ?= 60
ENGINES ?= inproc,spark
fuzz: $(READY) ## random views against Spark SQL for MINUTES=60; failures go to tests/oracle/found, coverage to docs/fuzz.md
	$(BIN)/python -m tests.fuzz --minutes $(MINUTES) --engine $(ENGINES) $(if $(SEED),--seed $(SEED))

docs: $(READY) ## build the site of the documentation into build/site
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet

docs-notebook: $(READY) ## run the tutorial as a notebook, and write what it prints to docs/tutorial-notebook.md
	$(BIN)/python -m tests.docs.notebook

docs-sql: $(READY) ## write docs/sql.md: each feature of SQL, how it is kept fresh and what a change costs
	VIEWLET_GOLDEN=write $(BIN)/pytest -q tests/test_features.py

screenshots: $(READY) ## take the pictures of the page that the documentation shows
	@bash tools/need-chromium
	$(BIN)/python -m tests.ui.screenshots docs/images

docs-functions: $(READY) ## write docs/functions.md: each function of Spark, and how views with it are kept fresh (15 minutes)
	VIEWLET_GOLDEN=write $(BIN)/pytest -q tests/test_spark_examples.py

bench: $(READY) ## measure refreshes beside recomputation, at 1, 10 and 100 times the data
	$(BIN)/python -m benchmarks

bench-tpch: $(READY) ## measure the 22 queries of TPC-H beside Spark SQL and DuckDB, at scale 1 (half an hour)
	$(BIN)/python -m benchmarks.tpch

bench-orderbook: $(READY) ## measure the six order-book queries beside first-order maintenance and recomputation
	$(BIN)/python -m benchmarks.orderbook

bench-operators: $(READY) ## windows, min and max, distinct counts and other operators that are no sums, at ten million rows
	$(BIN)/python -m benchmarks.operators --out docs/operators.md

bench-matrix: $(READY) ## matrix programs beside NumPy from scratch: a changed row, batches of rows, durable epochs, Spark (an hour)
	$(BIN)/python -m benchmarks.matrix --sizes 1000 2000 4000 --largest 8000 --tall 1000000 --rows 1000000 --size 2000 --blocks 6000 --out docs/matrix-figures.md

bench-loops: $(READY) ## loops over graphs and points that change, beside SciPy, DuckDB and DataFrames from scratch; PART=small …
	for part in $(or $(PART),small million web large points); do \
		$(BIN)/python -m benchmarks.loops $$part --out docs/loops-figures.md --images docs/images || exit 1; done

bench-create: $(READY) ## make each of the 22 views of TPC-H beside Spark SQL running its query, at scale 1 (ten minutes)
	$(BIN)/python -m benchmarks.create --out docs/create.md

bench-views: $(READY) ## a hundred views on one table: what an epoch of 1 row and of 100 costs
	$(BIN)/python -m benchmarks.views --out docs/views.md

.PHONY: bench-against
COMMIT ?= HEAD~1
bench-against: $(READY) ## epochs of TPC-H now and at COMMIT=HEAD~1, in turns: did a change make refreshing slower?
	$(BIN)/python -m benchmarks.against $(COMMIT)

.PHONY: bench-load
bench-load: $(READY) ## loading TPC-H's largest table, at scale 1, beside Spark writing it as Parquet
	$(BIN)/python -m benchmarks.load --out docs/load.md

.PHONY: bench-opening
bench-opening: $(READY) ## opening a warehouse with all 22 views of TPC-H, at scale 1, and the first epochs of a process
	$(BIN)/python -m benchmarks.opening --out docs/opening.md

.PHONY: bench-sources soak
bench-sources: $(READY) ## rows a second from each source to a refreshed view, beside inserting them
	$(BIN)/python -m benchmarks.sources --out docs/source-rates.md

soak: $(READY) ## watch a folder and PostgreSQL while they change: memory, disk, lag; MINUTES=60
	$(BIN)/python -m benchmarks.soak --minutes $(MINUTES) --out docs/soak.md

bench-signal: $(READY) ## signal pipelines beside SciPy, pandas, DuckDB and Spark: long signals, grouped queries, epochs
	$(BIN)/python -m benchmarks.signal --samples 10000000 --readings 5000000 --groups 10 10000 --stored 10000000 --history 1000000 --spark

lock: ## resolve requirements*.in into the lock files (needs uv)
	$(COMPILE) requirements-build.in -o requirements-build.lock
	$(COMPILE) requirements.in -o requirements.lock
	$(COMPILE) --resolution lowest-direct pyproject.toml -o requirements-lowest.lock
	$(COMPILE) pyproject.toml -o requirements-newest.lock
	$(COMPILE) dbt-viewlet/requirements.in -o dbt-viewlet/requirements.lock

clean: ## remove the environments, caches and the demo's warehouse
	rm -rf .venv .venv-* .mypy_cache dbt-viewlet/logs .pytest_cache .ruff_cache .hypothesis build warehouse src/*.egg-info
