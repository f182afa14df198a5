# make demo and make test are the two commands of the README: each makes .venv,
# installs what it needs and runs. Nothing is done twice.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
OLDEST := .oldest-venv

# Bytecode of tests and sources is kept: without it each process compiles them again.
unexport PYTHONDONTWRITEBYTECODE

# A worker that crashes ends the tests: a new one would wait for the lost tests for ever.
PYTEST = pytest -n 2 --max-worker-restart 0

EXAMPLES = ls examples/*.py | xargs -n 1 -P 2 $(BIN)/python

.PHONY: demo test test-all test-oldest lint docs docs-serve bench clean

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

$(VENV)/.installed: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/pip install --quiet --constraint constraints.txt --editable .
	touch $@

$(VENV)/.installed-docs: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[docs]'
	touch $(VENV)/.installed $@

$(VENV)/.installed-test: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[test]'
	touch $(VENV)/.installed $@

# Without the linters: import-linter needs a newer rich than our floor.
$(OLDEST)/.installed: pyproject.toml constraints-oldest.txt
	$(PYTHON) -m venv --clear $(OLDEST)
	$(OLDEST)/bin/python -m pip install --quiet --upgrade pip
	$(OLDEST)/bin/pip install --quiet --constraint constraints-oldest.txt --editable '.[plot]' pytest pytest-xdist hypothesis beartype
	touch $@

demo: $(VENV)/.installed  ## what wisecrowd does, in a minute
	$(BIN)/wisecrowd demo

lint: $(VENV)/.installed-test  ## style, types, who imports whom
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --num-workers 2
	$(BIN)/lint-imports

test: lint  ## what CI runs
	$(BIN)/$(PYTEST) -m "not slow"
	$(EXAMPLES)

test-all: lint  ## with the slow tests, and four times as many random examples
	WISECROWD_EXAMPLES=50 $(BIN)/$(PYTEST)
	$(EXAMPLES)

test-oldest: $(OLDEST)/.installed  ## with the oldest versions that pyproject.toml allows
	$(OLDEST)/bin/$(PYTEST) -m "not slow"

# -n: a link that leads nowhere is a warning; -W: a warning is an error, after all are told.
docs: $(VENV)/.installed-docs  ## the site, in site/
	rm -rf site docs/api
	$(BIN)/python -m sphinx -n -W --keep-going -q -b html docs site

docs-serve: docs  ## the site in a browser, on this machine only
	@echo "Open http://127.0.0.1:8000 in a browser. Ctrl-C ends it."
	$(BIN)/python -m http.server --bind 127.0.0.1 --directory site 8000

bench: $(VENV)/.installed-test  ## speed and memory beside peers
	$(BIN)/python benchmarks/run.py

clean:
	rm -rf $(VENV) $(OLDEST) .bench-venv .ci-venv demo-run site docs/api
