# krucible's commands; `make help` lists them.  Everything Python lives in .venv, installed from pinned, hashed
# requirements; stamp files there make a second call instant.

.DEFAULT_GOAL := help
.NOTPARALLEL:
.DELETE_ON_ERROR:

PYTHON ?= python3
# Compiled modules are kept in any case: each of the harness's processes would compile 800 again, in two seconds.
unexport PYTHONDONTWRITEBYTECODE
VENV   := .venv
BIN    := $(VENV)/bin
VENV_STAMP := $(VENV)/.stamp-venv
RUN_STAMP  := $(VENV)/.stamp-run
SPARK_STAMP := $(VENV)/.stamp-spark
DEV_STAMP  := $(VENV)/.stamp-dev
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet install
# Locks name every package, so that nothing is resolved again: pip takes the newest coverage for the "coverage[toml]"
# that pytest-cov asks for, and then refuses it as unpinned.  `pip check` reports what a lock lacks.
PIP_LOCKED := $(PIP) --require-hashes --no-deps
PIP_CHECK := @$(BIN)/python -m pip --disable-pip-version-check check --quiet
PIP_TOOLS := 7.6.2
# One worker a core; tests/sharing.py says which tests each has.
PYTEST := $(BIN)/python -m pytest --numprocesses=auto --maxprocesses=4 --durations=10 --durations-min=5
LOCK := pip-compile --quiet --generate-hashes --allow-unsafe --strip-extras --no-header \
        --no-emit-index-url --no-emit-find-links --no-emit-trusted-host

.PHONY: help demo test test-all announced test-fast check bench spark docs lock clean

help:
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | \
	 while IFS="$$(printf '\t')" read -r name text; do printf '  make %-10s %s\n' "$$name" "$$text"; done

demo: $(RUN_STAMP) ## set everything up, then break a three-node cluster and judge it
	$(BIN)/krucible setup
	$(BIN)/krucible run smoke/partition

test: PICKED := -m 'not long'
test: TAKES := 30 to 60 minutes
test: ## the tests, on real clusters too, with coverage gates
test-all: TAKES := 75 to 105 minutes
test-all: ## these and the longer ones: every gambit, every mutation on every recorded run, more versions
test test-all: announced $(DEV_STAMP) check
	$(BIN)/krucible setup
	$(BIN)/python -m tests.packages
	$(PYTEST) $(PICKED) --cov --cov-report=
	$(BIN)/python -m coverage report --include='checkers/*' --fail-under=100
	$(BIN)/python -m coverage report --omit='checkers/*' --fail-under=85

announced:
	@echo "This takes $(TAKES) on two cores.  'make test-fast' leaves out the slow tests, such as those on real clusters."

test-fast: $(DEV_STAMP) ## the quick tests: no Docker, no Spark, no browser, one mutation of a kind
	$(PYTEST) -m 'not slow'

check: $(DEV_STAMP) ## lint, formatting, types, import rules
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(DEV_STAMP) ## measure what krucible promises about speed, into docs/benchmarks.md
	$(BIN)/python -m benchmarks $(BENCH)

spark: $(SPARK_STAMP) ## install what `krucible pipeline` needs (490 MB)

docs: $(SPARK_STAMP) ## renew the generated pages
	$(BIN)/python -m results.pages.glossary docs/anomalies.md
	$(BIN)/krucible list --markdown > docs/scenarios.md
	$(BIN)/python -m harness.cli.reference_page docs/cli.md
	$(BIN)/python -m results.pipeline.tables_page docs/tables.md
	$(BIN)/python -m results.pages.gallery docs/gallery
	$(BIN)/python -m tests.mutations.page docs/mutations.md
	$(BIN)/python -m harness.seeded_bugs.page docs/seeded-bugs.md
	$(BIN)/krucible sensitivity --compare docs/sensitivity --out docs/sensitivity.md

lock: $(VENV_STAMP) ## renew requirements*.txt from requirements*.in
	set -e; tools=$$(mktemp -d); trap 'rm -rf "$$tools"' EXIT; \
	$(PYTHON) -m venv "$$tools"; "$$tools/bin/pip" --quiet install pip-tools==$(PIP_TOOLS); \
	"$$tools/bin/"$(LOCK) $(UPGRADE) --output-file requirements.txt requirements.in; \
	"$$tools/bin/"$(LOCK) $(UPGRADE) --output-file requirements-build.txt requirements-build.in; \
	"$$tools/bin/"$(LOCK) $(UPGRADE) --constraint requirements.txt --output-file requirements-spark.txt requirements-spark.in; \
	"$$tools/bin/"$(LOCK) $(UPGRADE) --constraint requirements-spark.txt --output-file requirements-dev.txt requirements-dev.in

clean: ## remove the virtual environment and caches; runs and images stay
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .coverage* build *.egg-info
	find . -name __pycache__ -not -path './runs/*' -prune -exec rm -rf {} +

$(VENV_STAMP):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "krucible needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) --version 2>&1)." >&2; \
	  echo "Name another one: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)" >&2; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { \
	  echo "$(PYTHON) can't make virtual environments; on Debian: apt-get install python3-venv" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(RUN_STAMP): $(VENV_STAMP) requirements.txt requirements-build.txt pyproject.toml
	$(PIP_LOCKED) -r requirements-build.txt
	$(PIP_LOCKED) -r requirements.txt
	$(PIP) --no-deps --no-build-isolation --editable .
	$(PIP_CHECK)
	@touch $@

$(SPARK_STAMP): $(RUN_STAMP) requirements-spark.txt
	$(PIP_LOCKED) -r requirements-spark.txt
	$(PIP_CHECK)
	@touch $@

$(DEV_STAMP): $(RUN_STAMP) requirements-dev.txt
	$(PIP_LOCKED) -r requirements-dev.txt
	$(PIP_CHECK)
	@touch $@
