# Everything from a fresh checkout: `make run`. On Windows without make: the commands of the targets, in WSL 2.
PYTHON ?= python3
VENV := .venv/bin/python
# Half of the tests wait for a container or a terminal most of the time.
WORKERS := $(shell $(PYTHON) -c 'import os; print(2 * (os.cpu_count() or 1))')
# A worker that is done takes over tests from the others.
PYTEST := $(VENV) -m pytest -n $(WORKERS) --dist worksteal

.PHONY: help run test test-slow test-full test-runsc lint bench soak fuzz image image-full setup environment lock clean stop-engine

help:
	@echo 'make run         set everything up and start the chat (without a terminal: play the demo)'
	@echo 'make test        set everything up and run the tests'
	@echo 'make test-slow   the tests that take long: packages, kernels on the host, kill -9'
	@echo 'make test-full   the tests of all fifteen languages, on the full image'
	@echo 'make test-runsc  the tests of the sandbox with gVisor, where the engine has it'
	@echo 'make lint        ruff and mypy'
	@echo 'make bench       speed figures; make soak, make fuzz: long runs'
	@echo 'make image       the sandbox image; make image-full: the one with all languages'
	@echo 'make setup       set everything up, start nothing'
	@echo 'make lock        write requirements.txt and sandbox/image/packages.txt anew'
	@echo 'make stop-engine stop a Docker engine that the set-up started'
	@echo 'make clean       remove .venv and the caches of this checkout'

run: setup
	@if [ -t 0 ]; then $(VENV) main.py; else $(VENV) main.py --demo; fi

test: setup
	$(PYTEST) -m "not slow"

test-slow: setup
	$(PYTEST) -m slow

# Where the engine has gVisor as `runsc`, with --network=none and --platform=ptrace or systrap. What gVisor lacks is skipped,
# each with its reason; tests/sandbox/test_network.py is for an engine's network alone.
test-runsc: setup
	ROUNDTABLE_TEST_RUNTIME=runsc $(PYTEST) tests/sandbox/test_cases_*.py tests/sandbox/test_gvisor.py \
		tests/sandbox/test_bounds.py tests/sandbox/test_ends.py tests/sandbox/test_warm.py tests/sandbox/test_kernel.py \
		tests/sandbox/test_packages.py tests/sandbox/test_supervisor.py tests/sandbox/test_as_a_library.py tests/contracts

test-full: image-full
	ROUNDTABLE_FULL=1 $(VENV) -m pytest tests/full

lint: environment
	$(VENV) -m ruff check .
	$(VENV) -m ruff format --check .
	$(VENV) -m mypy .

bench: setup
	$(VENV) -m benchmarks

soak: setup
	$(VENV) -m tests.soak

fuzz: environment
	$(VENV) -m tests.fuzz

image: setup

image-full:
	@$(PYTHON) scripts/bootstrap.py image-full

setup:
	@$(PYTHON) scripts/bootstrap.py all

environment:
	@$(PYTHON) scripts/bootstrap.py environment

# The locks are for every platform (requirements.txt) and for the image's Linux (packages.txt).
lock: export UV_CUSTOM_COMPILE_COMMAND = make lock
lock:
	uv pip compile --quiet --universal --python-version 3.10 --no-emit-index-url requirements.in -o requirements.txt
	uv pip compile --quiet --python-platform x86_64-manylinux_2_28 --python-version 3.11 \
		sandbox/image/packages.in -o sandbox/image/packages.txt

stop-engine:
	@$(PYTHON) scripts/bootstrap.py stop-engine

clean:
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis benchmarks/results.json
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
