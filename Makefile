# Everything runs from .venv, which is made and kept up to date as needed: by `serve` and `demo`
# with what the service runs on, by all others with the tools too. Nothing but the locked files is
# ever installed.

PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && echo $$p && break; done)
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet
# The package as it lies here. Quiet about that: setuptools warns of every such installation.
EDITABLE := PYTHONWARNINGS=ignore $(PIP) --no-deps --no-build-isolation --no-index --editable .
UV ?= $(or $(wildcard $(BIN)/uv),uv)
UPGRADE ?=
ARGS ?=

# What the package itself is built from. The sources of its modules are used where they lie.
PACKAGE := pyproject.toml setup.py requirements-build.lock $(wildcard service/solver/*.c)

.PHONY: help install serve demo test check fix bench lock clean
.NOTPARALLEL:

help:
	@echo 'make serve    run the service on http://127.0.0.1:8000 (SQLite in ./data)'
	@echo 'make demo     four built-in players race; ends with the standings and their proof'
	@echo 'make test     run the tests             (ARGS="-k word" and the like are passed on)'
	@echo 'make check    format, lint, types, layers; changes nothing'
	@echo 'make fix      format, and mend what the linter can mend'
	@echo 'make bench    measure, and write bench/results.md'
	@echo 'make install  make .venv ready for all of these'
	@echo 'make lock     write the lock files anew (UPGRADE=1: with the newest releases); needs uv'
	@echo 'make clean    remove .venv and what the tools left behind; never ./data'

install: .venv/.dev

serve: .venv/.runtime
	@exec $(BIN)/samedeal serve $(ARGS)

demo: .venv/.runtime
	@exec $(BIN)/samedeal demo $(ARGS)

test: .venv/.dev
	$(BIN)/python -m pytest $(ARGS)

check: .venv/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

fix: .venv/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: .venv/.dev
	$(BIN)/python -m bench $(ARGS)

# Hashes of every file of a release, so that one lock serves all Pythons and machines.
COMPILE = $(UV) pip compile --quiet --no-config --universal --python-version 3.11 --generate-hashes \
	--no-header --no-emit-index-url $(if $(UPGRADE),--upgrade)

lock:
	@command -v $(UV) >/dev/null || { echo 'make lock needs uv: python3 -m pip install uv'; exit 1; }
	$(COMPILE) --group build --output-file requirements-build.lock
	$(COMPILE) pyproject.toml --output-file requirements.lock
	$(COMPILE) pyproject.toml --group dev --output-file requirements-dev.lock \
		--constraints requirements.lock --constraints requirements-build.lock

clean:
	rm -rf .venv build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis

$(BIN)/python:
	@if [ -z "$(PYTHON)" ]; then \
		echo 'No Python 3.11 or newer found. If you have one: make PYTHON=/path/to/python'; exit 1; fi
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
		echo 'The Python found ($(PYTHON)) cannot make a virtual environment: its part "venv" is missing.'; \
		echo 'On Debian and Ubuntu: apt-get install python3-venv. Or: make PYTHON=/path/to/another/python'; \
		exit 1; }
	@echo 'Making .venv ...'
	@$(PYTHON) -m venv .venv

.venv/.runtime: requirements.lock $(PACKAGE) | $(BIN)/python
	@echo 'Installing what the service runs on ...'
	@$(PIP) --require-hashes -r requirements-build.lock -r requirements.lock
	@$(EDITABLE)
	@touch $@

.venv/.dev: requirements-dev.lock requirements.lock $(PACKAGE) | $(BIN)/python
	@echo 'Installing what the service runs on, and the tools ...'
	@$(PIP) --require-hashes -r requirements-dev.lock
	@$(EDITABLE)
	@touch .venv/.runtime $@
