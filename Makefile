# Each target works in a fresh clone, on a machine with Python 3.11 or newer and make.
PYTHON ?= python3
BIN := .venv/bin
PIP := bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
INSTALL := .venv/$(PIP)

.PHONY: demo test fuzz check format bench reproduction clean

demo: .venv/demo
	$(BIN)/greville paper sine ecg

# One process per core, and one BLAS thread in each: more would wait for each other.
test: .venv/dev
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses auto --dist worksteal $(TESTS)

# Random sequences of operations against dense oracles: 20 kinds, 1,000 of each; about an hour.
SEQUENCES ?= 1000
fuzz: .venv/dev
	GREVILLE_SEQUENCES=$(SEQUENCES) OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest \
		--numprocesses auto tests/test_sequences.py

check: .venv/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: .venv/dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: .venv-bench/ready
	.venv-bench/bin/python -m benchmarks $(CASES)

# docs/reproduction.md and what it shows; needs MNIST, and about five minutes.
reproduction: .venv/demo
	rm -rf docs/reproduction
	$(BIN)/greville paper --out docs/reproduction
	rm docs/reproduction/report.html
	$(BIN)/python -m greville.paper._markdown docs/reproduction > docs/reproduction.md

clean:
	rm -rf .venv .venv-bench .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis build dist

# The build tools are installed first and isolation is off, so that they are pinned like the rest.
.venv/base: constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "greville needs Python 3.11 or newer; name one with: make PYTHON=python3.12 ..."; exit 1; }
	@echo "Setting up .venv (once) ..."
	@$(PYTHON) -m venv .venv
	@$(INSTALL) hatchling editables
	@touch $@

.venv/demo: .venv/base pyproject.toml
	@$(INSTALL) --no-build-isolation --editable '.[cli]'
	@touch $@

# The peers have an environment of their own.
.venv-bench/ready: constraints.txt pyproject.toml
	@$(PYTHON) -m venv .venv-bench
	@.venv-bench/$(PIP) hatchling editables
	@.venv-bench/$(PIP) --no-build-isolation --editable '.[cli]'
	@.venv-bench/$(PIP) hpelm==1.0.10 pyoselm==1.2.0 river==0.26.0 reservoirpy==0.4.2 padasip==1.2.2
	@.venv-bench/$(PIP) scikit-learn-intelex || echo "scikit-learn-intelex does not install here; it is left out"
	@touch $@

.venv/dev: .venv/base pyproject.toml
	@$(INSTALL) --no-build-isolation --editable '.[dev]'
	@touch $@ .venv/demo
