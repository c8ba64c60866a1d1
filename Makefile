# bonuslab: one command sets up, tests and runs. `make help` lists the targets.
SHELL := /bin/bash
VENV := .venv
READY := $(VENV)/.ready
BIN := $(VENV)/bin

.PHONY: help venv test test-slow lint format docs docs-serve grid zoo constraints clean

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 16

venv: $(READY)  ## set up .venv, nothing else

$(READY): pyproject.toml constraints.txt deploy/set_up.sh
	@bash deploy/set_up.sh $(VENV) docs
	@touch $@

# Two processes share the files of tests in the order of tests/conftest.py; each has a Ray of its own.
test: lint  ## the whole test suite, slow tests left out
	$(BIN)/python -m pytest -m "not slow" -n 2 --dist loadscope --no-loadscope-reorder

test-slow: $(READY)  ## the slow tests alone
	$(BIN)/python -m pytest -m slow

lint: $(READY) build/typecheck/bonuslab  ## ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(READY)  ## rewrite the code in the house format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(READY)  ## build the documentation into build/site, without the network; any warning fails
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

docs-serve: $(READY)  ## show the documentation while you write it
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs serve

grid: $(READY)  ## the main job: train, report and track (laptop scale; options in ARGS="--scale paper --plan")
	$(BIN)/bonuslab grid $(ARGS)

zoo: $(READY)  ## train the agents of the zoo that are missing, and film the claims of the results page
	$(BIN)/python experiments/zoo_agents.py

# mypy does not follow setuptools' package map, so it gets the same map as links.
build/typecheck/bonuslab:
	@mkdir -p $@
	@for part in algorithms envs experiments platform; do ln -sfn ../../../$$part $@/$$part; done
	@for file in __init__ rllib; do ln -sfn ../../../platform/bonuslab/$$file.py $@/$$file.py; done

# The packages of the extra `aws` are not installed here; their versions stay.
constraints: $(READY)  ## write down the versions that are installed now
	{ $(BIN)/pip list --format=freeze --exclude bonuslab --exclude pip | sed 's/+cpu$$//'; \
	  grep -E '^(boto3|botocore|cuda-.*|jmespath|nvidia-.*|s3transfer|triton)==' constraints.txt; } | sort -fu > build/constraints.txt
	mv build/constraints.txt constraints.txt

clean:  ## remove .venv and everything that can be made again
	rm -rf $(VENV) build .pytest_cache .mypy_cache .ruff_cache *.egg-info
