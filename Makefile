# The commands of the project; `make help` lists them. Everything runs in .venv, made from the locks.
.DEFAULT_GOAL := help
PYTHON ?= python3
BIN := .venv/bin
RUN := PATH="$(CURDIR)/$(BIN):$$PATH"
# Compiled loops look at the bounds of arrays, which they do not otherwise; their code is kept apart.
CHECKED = NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR="$(CURDIR)/.venv/numba-checked" $(RUN)
INSTALL := $(if $(shell command -v uv),uv pip install --quiet --python $(BIN)/python,$(BIN)/python -m pip install --quiet)

.PHONY: help demo repro test oracle damage faults fuzz bench lab check format docs lock

help:  ## list the commands
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 12

repro: .venv/.installed  ## raw logs → tidy tables → notebooks → site, whatever is out of date
	$(RUN) dvc repro
	@echo "The site is at $(CURDIR)/data/site/index.html"

demo: .venv/.installed  ## three minutes: measure this machine over SSH, pull, parse, publish, in a temporary clone
	$(RUN) python -m pipeline demo

test: .venv/.tested  ## the tests
	$(RUN) pytest -n auto --dist loadgroup tests --ignore tests/oracle --ignore tests/parse/test_damage.py --ignore tests/faults

oracle: .venv/.tested  ## hold the readers against other people's expected results, where the samples are
	$(RUN) pytest -n auto tests/oracle

damage: .venv/.tested  ## give each reader its samples cut, flipped, shuffled and in other encodings
	$(CHECKED) pytest -n auto tests/parse/test_damage.py

faults: .venv/.tested  ## collect from real hosts on loopback while clients, connections, disks and hosts fail
	$(RUN) pytest -n 2 tests/faults

fuzz: .venv/.tested  ## give each reader damaged input for SECONDS=60; what breaks one is kept in tests/fuzz/found
	NUMBA_DISABLE_JIT=1 $(RUN) python tests/fuzz/run.py --seconds $(or $(SECONDS),60)

bench: .venv/.tested  ## time pull against scp, and the readers against named references (needs 6 GB in TMPDIR, and an idle machine)
	$(RUN) python tests/benchmarks/bench_pull.py
	$(RUN) python tests/benchmarks/bench.py

lab: .venv/.installed  ## explore the same data in JupyterLab
	$(RUN) jupyter lab --notebook-dir=notebooks

check: .venv/.tested  ## lint, types, notebooks without outputs, data dictionary current
	$(RUN) ruff check .
	$(RUN) ruff format --check .
	$(RUN) mypy
	$(RUN) nbstripout --verify --keep-id notebooks/*.ipynb
	$(RUN) python -m pipeline docs --check

format: .venv/.tested  ## format code and notebooks, take outputs out of notebooks
	$(RUN) ruff check --fix .
	$(RUN) ruff format .
	$(RUN) nbstripout --keep-id notebooks/*.ipynb

docs: .venv/.installed  ## write data/README.md and the README's table of formats from the code
	$(RUN) python -m pipeline docs

lock:  ## resolve the newest versions anew (needs uv)
	uv pip compile pyproject.toml -o requirements.lock $(LOCK)
	uv pip compile pyproject.toml --extra test -c requirements.lock -o requirements-test.lock $(LOCK)
LOCK := --upgrade --universal --python-version 3.11 --fork-strategy fewest --generate-hashes --no-header --no-annotate --quiet

.venv/.installed: requirements.lock pyproject.toml
	$(PYTHON) -m venv .venv
	$(INSTALL) --require-hashes -r requirements.lock
	$(INSTALL) --no-deps --no-build-isolation -e .
	@touch $@

.venv/.tested: requirements-test.lock .venv/.installed
	$(INSTALL) --require-hashes -r requirements-test.lock
	@touch $@
