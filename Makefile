# Every task of the project. `make demo` and `make test` are the two to start with; each does its own set-up.
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3; do \
  $$p -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null && echo $$p && break; done || true)
PYTHON := $(or $(PYTHON),python3)
VENV := .venv
BIN := $(VENV)/bin
RUST_SOURCES := $(shell find core -name '*.rs' -o -name 'Cargo.toml') Cargo.toml Cargo.lock rust-toolchain.toml
REQUIRE_ALL ?=
PYTEST_ARGS ?=
# Processes that run tests side by side; most of their time they wait for processes of the runs under test.
JOBS ?= 3

.PHONY: help
help: ## List the tasks
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "  %-18s %s\n", $$1, $$2 }'

# ---- the two to start with

.PHONY: demo
demo: dev ## Run the training pipeline and both demos on this machine; ends with the path of a report
	@$(BIN)/gangplan demo all

.PHONY: test
test: ## Run every test, and name the suites that were left out (REQUIRE_ALL=1: leave none out)
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=target .make/packages test-rust
	@$(MAKE) --no-print-directory lint test-py
	@left=(); \
	if $(MAKE) --no-print-directory .make/kube-newest; then $(MAKE) --no-print-directory test-kube-newest; \
	else left+=("test-kube-newest (the newest Kubernetes client cannot be had)"); fi; \
	if ! missing=$$($(CLUSTER) cluster.bed.needs 2>&1); then left+=("test-cluster (missing: $$missing)"); \
	elif ! $(MAKE) --no-print-directory cluster-build; then left+=("test-cluster (its programs cannot be built)"); \
	else $(MAKE) --no-print-directory test-cluster; fi; \
	if [ $${#left[@]} -eq 0 ]; then echo "suites left out: none"; \
	elif [ -n "$(REQUIRE_ALL)" ]; then printf 'REQUIRE_ALL, but left out: %s\n' "$${left[@]}" >&2; exit 1; \
	else printf 'suites left out: %s\n' "$${left[@]}"; fi

# ---- set-up

.PHONY: dev
dev: .make/built ## Make .venv with everything in it, and build the solver into it

.make/needs: tools/needs
	@tools/needs $(PYTHON)
	@mkdir -p .make && touch $@

.make/packages: requirements.lock | .make/needs
	@echo "setting up $(VENV) (locked versions, about 2.5 GB) …"
	@rm -rf $(VENV) && $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@touch $@

.make/built: .make/packages pyproject.toml $(RUST_SOURCES)
	@echo "building the solver …"
	@PIP_QUIET=1 VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/maturin develop --quiet --release --locked
	@touch $@

.make/kube-newest: requirements-kube-newest.lock .make/built
	@echo "setting up .venv-kube-newest (the newest Kubernetes client) …"
	@rm -rf .venv-kube-newest && $(PYTHON) -m venv .venv-kube-newest
	@.venv-kube-newest/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes \
	  -r requirements-kube-newest.lock
	@touch $@

.PHONY: lock
lock: ## Choose newest versions again and write the lock files
	@$(PYTHON) -m venv .make/uv && .make/uv/bin/pip install --quiet uv
	@$(LOCK) --all-extras --group dev pyproject.toml --output-file requirements.lock
	@$(LOCK) --extra kube --group kube-newest pyproject.toml --output-file requirements-kube-newest.lock

LOCK := .make/uv/bin/uv pip compile --quiet --universal --generate-hashes --no-emit-index-url --no-emit-find-links \
  --custom-compile-command "make lock" --python-version 3.11

# ---- checks

.PHONY: crds
crds: dev ## Write deploy/crds from the resources that the package describes
	@$(BIN)/python tools/write_crds.py

.PHONY: lint
lint: dev ## Check format, lints, types and layers of all code
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@cargo fmt --all --check
	@cargo clippy --quiet --locked --workspace --all-targets -- -D warnings
	@RUSTDOCFLAGS="-D warnings" cargo doc --quiet --locked --workspace --no-deps

.PHONY: fmt
fmt: dev ## Format all code
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix-only --quiet . || true
	@cargo fmt --all

# The same cases in every run; another seed looks further.
PROPTEST_RNG_SEED ?= 20261130

.PHONY: test-rust
test-rust: | .make/needs ## Run the solver's tests
	@env -u MAKEFLAGS -u MFLAGS PROPTEST_RNG_SEED=$(PROPTEST_RNG_SEED) cargo test --quiet --locked --workspace

.PHONY: test-py
test-py: dev ## Run the Python tests (PYTEST_ARGS=… narrows them)
	@$(BIN)/python -m pytest -n $(JOBS) $(PYTEST_ARGS)

.PHONY: test-kube-newest
test-kube-newest: .make/kube-newest ## Run the tests of kube/ against the newest Kubernetes client
	@PYTHONPATH=python .venv-kube-newest/bin/python -m pytest tests/kube

# ---- a real Kubernetes cluster (needs root, Go and containerd)

CLUSTER = PYTHONPATH=tests $(BIN)/python -m
UP ?=

.PHONY: cluster-build
cluster-build: .make/packages ## Build the programs of the test cluster (some minutes, once; kept in ~/.cache/gangplan-bed)
	@$(CLUSTER) cluster.bed.programs

.PHONY: test-cluster
test-cluster: dev cluster-build ## Run the tests on real Kubernetes clusters, which they start themselves
	@$(BIN)/python -m pytest -p no:xdist $(PYTEST_ARGS) tests/cluster

.PHONY: cluster-up
cluster-up: dev cluster-build ## Start a cluster and leave it (UP="--nodes 2 --gpus 2 --fake-nodes 100 --foreground")
	@$(CLUSTER) cluster.up .make/cluster $(UP)

.PHONY: cluster-down
cluster-down: ## End the cluster of cluster-up
	@$(CLUSTER) cluster.down .make/cluster

.PHONY: bench-steps
bench-steps: dev ## Measure steps of a pipeline beside their own work, and a whole run on this machine
	@PYTHONPATH=tests $(BIN)/python -m kfpserver.bench_steps

.PHONY: bench-snapshot
bench-snapshot: dev cluster-build ## Measure the read of a cluster of 5,000 nodes and 50,000 pods (some minutes)
	@$(CLUSTER) cluster.bench_snapshot

POINTS ?= 200
.PHONY: cluster-kill-points
cluster-kill-points: dev cluster-build ## Kill submissions on a cluster whose requests fail (POINTS=200, KILL_SEED=N)
	@KILL_POINTS=$(POINTS) $(BIN)/python -m pytest -p no:xdist $(PYTEST_ARGS) tests/cluster/test_kill_points.py

.PHONY: demo-cluster
demo-cluster: dev cluster-build ## Start a real cluster, tell deadlock and affinity on it with real TensorFlow, and end it
	@$(CLUSTER) cluster.demo --report .gangplan/cluster.html

CASES ?= tests/data/cases
.PHONY: conformance
conformance: dev ## Solve and judge a folder of placement cases (CASES=DIR, SKIP_UNSUPPORTED=1, OUT=DIR)
	@PYTHONPATH=tests $(BIN)/python -m conformance "$(CASES)" $(if $(SKIP_UNSUPPORTED),--skip-unsupported) $(if $(OUT),--out "$(OUT)")

.PHONY: bench
bench: dev ## Measure the solver: a JSON line for each row, and the tables of docs/performance.md (RUNS=5, ONLY=ID,ID)
	@$(BIN)/python tools/bench.py --runs $(or $(RUNS),5) $(if $(ONLY),--only $(ONLY))

.PHONY: exactness
exactness: dev ## Print how the answers for one gang agree with a constraint model, and what best fit misses
	@PYTHONPATH=tests $(BIN)/python -m exactness

# ---- fuzzing

# Long enough for a release; shorter while one works.
FUZZ_SECONDS ?= 600

# Inputs that reach something new go to .make/corpus, an input that fails to core/fuzz/artifacts, and the run ends there.
.PHONY: fuzz
fuzz: .make/fuzz ## Fuzz the solver: any bytes, and any small cluster (FUZZ_SECONDS=600 each); finds go to .make/corpus
	@for target in decode solve; do \
	  echo "fuzzing $$target for $(FUZZ_SECONDS) s …"; \
	  mkdir -p .make/corpus/$$target core/fuzz/corpus/$$target; \
	  $(FUZZ) run --sanitizer none --fuzz-dir core/fuzz $$target .make/corpus/$$target core/fuzz/corpus/$$target -- \
	    -max_total_time=$(FUZZ_SECONDS) -max_len=4096 -timeout=20 -print_final_stats=1 2>&1 \
	    | grep -E 'ERROR|^error|panicked|SUMMARY|written to|Done|number_of_exec|exec_per_sec|new_units' ; \
	done

# Of the inputs below 400 bytes the fewest that together reach every branch that any of them reaches; how often does not
# count, which would keep thousands.
.PHONY: fuzz-corpus
fuzz-corpus: .make/fuzz ## Choose the committed inputs in core/fuzz/corpus anew, with what fuzzing found in .make/corpus
	@for target in decode solve; do \
	  small=.make/corpus/$$target-small; chosen=.make/corpus/$$target-chosen; \
	  rm -rf $$small $$chosen; \
	  mkdir -p $$small $$chosen .make/corpus/$$target core/fuzz/corpus/$$target; \
	  find .make/corpus/$$target core/fuzz/corpus/$$target -type f -size -400c -exec cp -t $$small {} +; \
	  $(FUZZ) run --sanitizer none --fuzz-dir core/fuzz $$target $$chosen $$small -- \
	    -set_cover_merge=1 -use_counters=0 2>&1 | grep -E 'ERROR|^error|new files'; \
	  rm -rf core/fuzz/corpus/$$target $$small; \
	  mv $$chosen core/fuzz/corpus/$$target; \
	done

# The coverage flags that fuzzing needs are unstable ones; RUSTC_BOOTSTRAP lets the pinned compiler take them.
FUZZ := RUSTC_BOOTSTRAP=1 .make/fuzz/bin/cargo-fuzz

.make/fuzz: | .make/needs
	@cargo install --quiet --locked --root $@ cargo-fuzz@0.13.2

# ---- what is committed or shipped

.PHONY: pipelines
pipelines: dev ## Compile the pipelines into pipelines/compiled
	@$(BIN)/python -m pipelines.compile

.PHONY: wheel
wheel: dev ## Build the wheel into dist
	@$(BIN)/maturin build --release --locked --quiet --out dist

.PHONY: clean
clean: ## Remove what was built
	@if [ -e .make/cluster/pid ]; then $(MAKE) --no-print-directory cluster-down; fi
	@rm -rf .make .venv .venv-kube-newest dist target .gangplan
