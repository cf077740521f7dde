# Each target sets up .venv first (.ci/setup): two to four minutes once, nothing afterwards.
# `make test` is what CI runs. PYTHON names another interpreter, WORKERS the test processes: twice the
# two cores of CI, since the tests of pages and commands wait for others much of the time.

SHELL := /bin/bash
WORKERS ?= 4
BIN := .venv/bin
PYTEST := $(BIN)/pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder
# Compiled once, not by every process that a test starts.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help demo lint test nightly lock

help: ## this list
	@awk -F ': .*## ' '/^[a-z]+: .*## / { printf "make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: ## examine a judge on the bundled sample and write its report
	@.ci/setup
	@$(BIN)/voirdire demo

lint: ## style, types and import contracts
	@.ci/setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

test: ## style, types, contracts, tests, and every branch of the pure modules
	@.ci/setup browser
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(PYTEST) -m "not slow" --cov

nightly: ## all that `make test` does, and the slow tests
	@.ci/setup browser
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(PYTEST) --timeout 3600 --cov

lock: ## resolve the dependencies of pyproject.toml anew, keeping pins that still fit
	@.ci/setup
	@$(BIN)/pip install -q uv
	$(BIN)/uv pip compile --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
		--all-extras pyproject.toml -o requirements.lock -q
