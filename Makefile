# Each target works in a fresh clone, on a machine with Python 3.11 or newer and make.
# On Windows: in Git Bash, with GNU make. Environments have other folders there.
ifeq ($(OS),Windows_NT)
PYTHON ?= python
SCRIPTS := Scripts
else
PYTHON ?= python3
SCRIPTS := bin
endif
VENV ?= .venv
CONSTRAINTS ?= constraints.txt
ALL_EXTRAS ?= river,test-all
BIN := $(VENV)/$(SCRIPTS)
# Python compiles a module when it is first imported, and keeps that, if it may write; to compile all of
# them takes half of the set-up.
export PYTHONDONTWRITEBYTECODE :=
PIP := $(SCRIPTS)/python -m pip install --quiet --no-compile --disable-pip-version-check --constraint $(CONSTRAINTS)
INSTALL := $(VENV)/$(PIP)

# The tests whose results depend on the order in which BLAS adds up.
NUMERICS := tests/backend tests/linalg tests/layers tests/solvers tests/elm tests/forecasting tests/test_reliability.py

.PHONY: demo test test-all test-rest test-python test-lowest fuzz record check format bench reproduction docs dist clean

# A table first, then two of the paper's experiments in short; in greville-demo/.
demo: $(VENV)/demo
	@mkdir -p greville-demo
	$(BIN)/greville train examples/houses.csv --target price -o greville-demo/houses.greville
	$(BIN)/greville score greville-demo/houses.greville examples/more-houses.csv
	$(BIN)/greville explain greville-demo/houses.greville examples/more-houses.csv -o greville-demo/houses.html
	$(BIN)/greville compare examples/houses.csv --target price --plot greville-demo/compare.png
	$(BIN)/greville paper sine ecg --quick --quiet --out greville-demo/paper
	@echo "A page about the model: greville-demo/houses.html. Models compared: compare.png. The paper's figures: greville-demo/paper/report.html"
	@echo "The command for your own data: $(BIN)/greville --help"

# One process per core, and one BLAS thread in each: more would wait for each other.
PYTEST := OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses auto --dist worksteal

# Every promise once, in four minutes with the set-up: what a newcomer and every change need.
# KERNEL=Haswell: the numerics alone, on what OpenBLAS runs on such a processor.
# Without what takes a third of the time and says little more: MNIST, and scikit-learn's checks of the API.
ifdef KERNEL
TESTS ?= $(NUMERICS) --ignore=tests/elm/test_mnist.py --ignore=tests/elm/test_sklearn.py
export OPENBLAS_CORETYPE := $(KERNEL)
endif
ifeq ($(if $(KERNEL),$(filter-out x86_64 amd64,$(shell uname -m))),)
test: $(VENV)/test
	$(PYTEST) --part quick $(TESTS)
else
test:
	@echo "KERNEL=$(KERNEL) is for x86, and this is $(shell uname -m); nothing was tested."
endif

# All tests, also those of large packages: torch, Dask, river, numba, a browser.
test-all: test test-rest

# What `make test-all` runs beside `make test`. BLAS adds up in another order on every processor: all tests run
# with the kernels of this one, and then the numerics with those for the oldest, which differ most from them.
test-rest: $(VENV)/test-all
	$(PYTEST) --part rest $(TESTS)
	@$(MAKE) --no-print-directory test KERNEL=Prescott

# Random sequences of operations against dense oracles: 20 kinds, 1,000 of each, and 200 on the plain backend;
# about fifteen minutes on two cores. And the other tests of chance at full length: kills, damaged files, requests,
# forks, threads, long streams, false alarms. And the numerics with the kernels of two more processors.
SEQUENCES ?= 1000
fuzz: $(VENV)/test-all
	GREVILLE_SEQUENCES=$(SEQUENCES) OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest \
		--numprocesses auto tests/solvers/test_sequences.py
	GREVILLE_LONG=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses auto \
		tests/cli/test_hostile.py tests/cli/test_interrupts.py tests/serve/test_kill.py \
		tests/persistence/test_tampered.py tests/serve/test_sequences.py tests/solvers/test_dynamic.py \
		tests/solvers/test_single.py tests/test_monitor.py tests/test_threads.py
	@for kernel in Haswell Nehalem; do $(MAKE) --no-print-directory test KERNEL=$$kernel || exit 1; done

# What greville does, compared with what is recorded in tests/record: make record CASES='solvers/*'
# A change that is wanted is accepted with ACCEPT='solvers/opium*' NOTE='what changed and why'.
record: $(VENV)/test
	$(BIN)/python -m tests.record $(if $(ACCEPT),--accept,)$(foreach pattern,$(or $(ACCEPT),$(CASES)), '$(pattern)') \
		$(if $(NOTE),--note "$$NOTE")

# The tests on another Python, in an environment of its own: make test-python PYTHON=python3.12
test-python:
	@$(PYTHON) --version >/dev/null 2>&1 || \
		{ echo "There is no $(PYTHON) on this machine; nothing was tested."; exit 1; }
	@$(MAKE) --no-print-directory test-all \
		VENV=.venv-$$($(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])')

# The tests with the lowest versions that pyproject.toml allows; without river, which needs a newer SciPy.
test-lowest:
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 13))' || \
		{ echo "NumPy 2.0.0 runs on Python 3.11 and 3.12; name one with: make test-lowest PYTHON=python3.11"; exit 1; }
	@$(MAKE) --no-print-directory test-all VENV=.venv-lowest ALL_EXTRAS=test-all CONSTRAINTS=.venv-lowest/constraints.txt

# Those of constraints.txt, but for what constraints-lowest.txt names.
.venv-lowest/constraints.txt: constraints-lowest.txt constraints.txt
	@mkdir -p .venv-lowest
	@awk -F== '/^#/ {next} FNR == NR {lowest[$$1]} FNR == NR || !($$1 in lowest)' $^ > $@

# PLW1514: an encoding with every text file, since that of Windows is another. It is a preview of ruff's.
check: $(VENV)/dev
	$(BIN)/ruff check .
	$(BIN)/ruff check --preview --select PLW1514 src
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m tests.private_names

format: $(VENV)/dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# CASES=quick needs none of the other libraries, and CASES=series has an environment of its own.
ifeq ($(strip $(CASES)),quick)
bench: $(VENV)/demo
	$(BIN)/python -m benchmarks quick
else ifeq ($(strip $(CASES)),series)
bench: .venv-series/ready
	OPENBLAS_NUM_THREADS=1 NUMBA_NUM_THREADS=1 .venv-series/$(SCRIPTS)/python -m benchmarks series
else
bench: .venv-bench/ready
	$(if $(filter field,$(CASES)),@$(MAKE) --no-print-directory .venv-capymoa/ready)
	.venv-bench/$(SCRIPTS)/python -m benchmarks $(CASES)
endif

# docs/reproduction.md and what it shows; needs MNIST, and about five minutes.
reproduction: $(VENV)/demo
	rm -rf docs/reproduction
	$(BIN)/greville paper --out docs/reproduction
	rm docs/reproduction/report.html
	$(BIN)/python -m greville.paper.markdown docs/reproduction > docs/reproduction.md

# The site, in build/site; what is wrong with it is an error. Two to three minutes, half of them for the examples.
docs: $(VENV)/docs
	@echo "Building the site in build/site ..."
	@rm -rf build/site
	$(BIN)/python -m sphinx -W --keep-going -n --quiet -j auto -d build/doctrees docs build/site
	$(BIN)/python -m tests.site build/site

# The source distribution and the wheel, in dist/, and what must hold of them: tests/distribution.py.
# SDIST_TESTS=all: the source distribution's whole suite, not a quick part of it.
dist: $(VENV)/dist
	$(BIN)/python -m tests.distribution --constraint $(CONSTRAINTS) $(if $(SDIST_TESTS),--tests '$(SDIST_TESTS)')

clean:
	rm -rf .venv .venv-* .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis build dist docs/gallery docs/api/generated docs/api/examples

# The build tools are installed first and isolation is off, so that they are pinned like the rest.
$(VENV)/base: $(CONSTRAINTS)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "greville needs Python 3.11 or newer; name one with: make PYTHON=python3.12 ..."; exit 1; }
	@echo "Setting up $(VENV) (once) ..."
	@$(PYTHON) -m venv $(VENV)
	@$(INSTALL) hatchling editables
	@touch $@

$(VENV)/demo: $(VENV)/base pyproject.toml
	@$(INSTALL) --no-build-isolation --editable '.[cli,fast,serve]'
	@touch $@

$(VENV)/test: $(VENV)/base pyproject.toml
	@$(INSTALL) --no-build-isolation --editable '.[test]'
	@touch $@

$(VENV)/test-all: $(VENV)/base pyproject.toml
	@$(INSTALL) --no-build-isolation --editable '.[$(ALL_EXTRAS)]'
	@touch $@ $(VENV)/test $(VENV)/demo

$(VENV)/dev: $(VENV)/base pyproject.toml
	@$(INSTALL) --no-build-isolation --editable '.[dev]'
	@touch $@ $(VENV)/test

$(VENV)/docs: $(VENV)/base pyproject.toml
	@$(INSTALL) --no-build-isolation --editable '.[docs]'
	@touch $@ $(VENV)/demo

$(VENV)/dist: $(VENV)/test
	@$(INSTALL) build twine
	@touch $@

# aeon needs an older numba and pandas, and that numba an older NumPy.
.venv-series/ready: constraints.txt pyproject.toml
	@$(PYTHON) -m venv .venv-series
	@sed -e 's/^numba==.*/numba==0.63.1/' -e 's/^llvmlite==.*/llvmlite==0.46.0/' -e 's/^pandas==.*/pandas==3.0.6/' \
		-e 's/^numpy==.*/numpy==2.3.5/' \
		constraints.txt > .venv-series/constraints.txt
	@$(MAKE) --no-print-directory .venv-series/installed CONSTRAINTS=.venv-series/constraints.txt
	@touch $@

.venv-series/installed:
	@.venv-series/$(PIP) hatchling editables
	@.venv-series/$(PIP) --no-build-isolation --editable '.[fast]' aeon==1.6.0

# CapyMOA needs an older pandas, PyTorch, and Java (Debian: default-jre-headless).
.venv-capymoa/ready: constraints.txt
	@$(PYTHON) -m venv .venv-capymoa
	@.venv-capymoa/$(PIP) torch && .venv-capymoa/$(SCRIPTS)/python -m pip install --quiet capymoa==0.15.1 || \
		echo "CapyMOA does not install here; it is left out"
	@touch $@

# The libraries to compare with have an environment of their own.
.venv-bench/ready: constraints.txt pyproject.toml
	@$(PYTHON) -m venv .venv-bench
	@.venv-bench/$(PIP) hatchling editables
	@.venv-bench/$(PIP) --no-build-isolation --editable '.[cli,dask,fast,serve]'
	@.venv-bench/$(PIP) flask==3.1.3 hpelm==1.0.10 pyoselm==1.2.0 river reservoirpy==0.4.2 padasip==1.2.2
	@.venv-bench/$(PIP) scikit-learn-intelex || echo "scikit-learn-intelex does not install here; it is left out"
	@touch $@
