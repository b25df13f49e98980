# Everything runs in .venv, which `make setup` builds from nothing.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
RESULTS ?= results
PROFILE ?=
DATA_LIMIT ?= 200MB
JOBS ?= 1
KILLS ?= 1000
INPUTS ?= 1e6
PROBLEMS ?= 300

.PHONY: setup run test check format bench docs site soak fuzz sweep reproduce-tables clean help

help:  ## show these targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "make %-18s %s\n", $$1, $$2}'

setup: $(VENV)/.installed  ## make .venv and install the project into it

$(VENV)/.installed: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("mpu-bench needs Python 3.11 or newer, and $(PYTHON) is " + sys.version.split()[0] + "; name another: make PYTHON=python3.12 ..." if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@

run: setup  ## the quick start: no download, less than a minute
	$(BIN)/mpu-bench run configs/quickstart.yaml --results $(RESULTS)

test: setup  ## all tests; those on real data need MPU_BENCH_MIRROR
	$(BIN)/python -m pytest --numprocesses auto

soak: setup  ## a thousand kills and other faults, resumable, about an hour: build/soak; KILLS=100 for fewer
	$(BIN)/python scripts/soak.py --kills $(KILLS)

check: setup  ## lint, format, types, the floors of the architecture, and plain words in the documentation
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python scripts/prose.py

format: setup  ## let ruff put the code into form
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

bench: setup  ## seconds as ratios to external solvers, into results/bench.csv; some minutes (fetches the papers' smaller datasets)
	$(BIN)/python scripts/bench/linear.py
	$(BIN)/python scripts/bench/kernel.py
	$(BIN)/python scripts/bench/online.py
	$(BIN)/python scripts/bench/meb.py
	$(BIN)/python scripts/bench/growth.py
	$(BIN)/python scripts/bench/estimators.py
	$(BIN)/python scripts/bench/compile.py
	$(BIN)/python -W ignore scripts/bench/cluster.py

docs: setup  ## the documentation as a site that opens from disk: build/docs/index.html
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --config-file - < docs/mkdocs.yml

site: docs  ## the pages of results/baseline with the documentation: build/site/index.html
	$(BIN)/mpu-bench report $(filter-out %-ci/,$(wildcard results/baseline/*/)) --out build/site --documentation docs/index.html
	rm -rf build/site/docs
	cp -r build/docs build/site/docs

fuzz: setup  ## a million damaged inputs, resumable, about 40 minutes: build/fuzz; INPUTS=1e5 for fewer (Linux)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[fuzz]'
	$(BIN)/python scripts/fuzz.py --inputs $(INPUTS)

sweep: setup  ## every classifier on 300 small problems against an exact optimum, resumable, about an hour: build/sweep; PROBLEMS=50 for fewer
	$(BIN)/python scripts/sweep.py --problems $(PROBLEMS)

reproduce-tables: setup  ## what the papers report, re-run (hours; PROFILE=ci: minutes; JOBS=2: two at once where no seconds are compared); only what is missing runs
	$(BIN)/mpu-bench reproduce $(if $(PROFILE),--profile $(PROFILE)) --jobs $(JOBS) --data-limit $(DATA_LIMIT) --results $(RESULTS)

clean:  ## remove .venv and every cache of the checkout, never results
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache build dist src/*.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
