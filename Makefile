# Everything runs in .venv, which is made when first needed and renewed when pyproject.toml changes.
# The examples of one page build on each other, so tests are shared out by file.
# Another interpreter: make test PYTHON=python3.13

PYTHON ?= python3
WORKERS ?= 2
VENV := .venv
BIN := $(VENV)/bin
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.PHONY: help demo test lint docs benchmarks figures build clean

help: ## show this list
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "make %-11s %s\n", $$1, $$2}'

demo: $(VENV)/.for-use ## release the built-in Sioux Falls trips, with a table and a picture
	$(BIN)/dpauto demo

test: $(VENV)/.for-development ## run every test and every example of the documentation
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile

lint: $(VENV)/.for-development ## check style, types and the order of the rooms
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

docs: $(VENV)/.for-development ## build the documentation in docs/_build/html, warnings being errors
	$(BIN)/python -m sphinx -E -W --keep-going -q -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

benchmarks: $(VENV)/.for-benchmarks ## measure, peers included (many minutes)
	$(BIN)/python -m benchmarks

figures: $(VENV)/.for-use ## draw the paper's figures in docs/accuracy/figures (ten minutes)
	$(BIN)/python examples/figure_mnfa.py
	$(BIN)/python examples/figure_bounds.py
	$(BIN)/python examples/traffic.py

build: $(VENV)/.for-development ## make the wheel and the source archive in dist/
	$(BIN)/python -m build

clean: ## remove what make has made, the environment included
	rm -rf $(VENV) build dist demo-output docs/_build docs/reference/generated
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "dpauto needs Python 3.11 or newer; name one with: make PYTHON=python3.13" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

# The stamps: with an unchanged pyproject.toml, a second `make` starts at once.
$(VENV)/.for-use: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[draw,plots,tables]'
	@touch $@

$(VENV)/.for-development: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $@ $(VENV)/.for-use

$(VENV)/.for-benchmarks: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[benchmarks,draw,plots,tables]'
	@touch $@
