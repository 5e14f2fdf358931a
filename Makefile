# Works on a fresh machine with Python 3.11+ and make: the virtual environment is created on first use.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
TEST_READY := $(VENV)/.ready-test
DEV_READY := $(VENV)/.ready-dev
LIBRARY := src/rankloom/_kernels/library.abi3.so
KERNELS := $(shell find src/rankloom/_kernels build_kernels -name '*.py' -o -name '*.txt' -o -name '*.c')
# uv needs a third of the time of pip; without the bytecode, warnings of compiling packages would fail tests.
# To use pip: make INSTALL='.venv/bin/python -m pip install'
INSTALL ?= $(BIN)/python -m uv pip install --compile-bytecode
WORKERS ?= 2
EXAMPLES := quick
PYTEST = $(BIN)/python -m pytest --quiet -n $(WORKERS) --dist worksteal --hypothesis-profile=$(EXAMPLES)
# Compiled modules and rewritten assertions are kept for the next run.
unexport PYTHONDONTWRITEBYTECODE
KERNEL_TESTS := $(patsubst %,tests/fusion_graph/test_%.py,index weave graph golden) tests/index/test_normalize.py \
  $(patsubst %,tests/aggregate/%.py,graphs/test_rank_graphs graphs/test_query_graph graphs/test_context reranking/test_udlf) tests/weft \
  $(patsubst %,tests/rankers/%.py,image/test_alignments image/test_contour text/test_bag_of_words text/test_word_graph text/test_word_movers) \
  $(patsubst %,tests/index/test_shards.py::test_%,sharded_graphs_and_vectors_are_those_of_the_whole cutting_again_gives_the_same_bytes) \
  tests/ranks/test_query_search.py tests/ranks/test_cells.py::test_compared_pairs_and_kept_neighbors_follow_the_rules
# An environment that has only the declared dependencies, and pytest; its tests are those of the main job.
PLAIN := $(VENV)/plain
PLAIN_TESTS := $(patsubst %,tests/cli/test_%.py,build fuse evaluate compare)

.DEFAULT_GOAL := help
.PHONY: help kernels demo test long exhaustive plain plain-install fuzz check format lint types imports coverage bench effectiveness docs notebooks release clean

help: ## Show this help
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):[^#]*## /\1\t/' | expand -t 10

$(TEST_READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "rankloom needs Python 3.11 or later; choose it with: make PYTHON=python3.11 ..."; exit 1; }
	@echo "Setting up $(VENV), which takes half a minute, and compiling the kernels, which takes about another."
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	$(INSTALL) --quiet --editable '.[test]'
	@touch $@

# Compiled while the package is installed, and again after its sources have changed.
$(LIBRARY): $(KERNELS) | $(TEST_READY)
	@echo "Compiling the kernels; this takes half a minute of two cores."
	$(BIN)/python build_kernels/compile.py
	@touch $@

$(DEV_READY): $(TEST_READY) $(LIBRARY)
	$(INSTALL) --quiet --editable '.[dev]'
	@touch $@

$(PLAIN)/.ready: $(LIBRARY)
	$(PYTHON) -m venv --clear $(PLAIN)
	$(BIN)/python -m uv pip install --python $(PLAIN)/bin/python --quiet --editable . pytest
	@touch $@

kernels: $(TEST_READY) ## After a change of src/rankloom/_kernels: record what is called, and compile it
	rm -f $(VENV)/signatures
	RANKLOOM_KERNELS=plain RANKLOOM_KERNELS_RECORD=$(VENV)/signatures $(PYTEST) tests/_kernels/test_scenarios.py
	LC_ALL=C sort -u $(VENV)/signatures -o src/rankloom/_kernels/signatures.txt
	$(BIN)/python build_kernels/compile.py

demo: $(LIBRARY) ## Rank the emoji, print a table of methods and serve the page
	$(BIN)/rankloom demo

test: $(LIBRARY) ## Run the tests and the doctests, without the long ones
	$(PYTEST) -rs -m 'not long and not exhaustive'

long: $(DEV_READY) # the tests marked long
	$(PYTEST) -rs -m 'long and not exhaustive'

exhaustive: $(DEV_READY) ## The tests that repeat others many times: kills at random moments, damage at every place
	$(PYTEST) -rs -m exhaustive

plain: $(TEST_READY) # kernels must give the same results when they are interpreted
	RANKLOOM_KERNELS=plain $(PYTEST) -k 'not digits' $(KERNEL_TESTS)

plain-install: $(PLAIN)/.ready # the main job must need no extra; tests/conftest.py, which does, is left out
	$(PLAIN)/bin/python -m pytest --quiet --confcutdir tests/cli $(PLAIN_TESTS)

fuzz: $(LIBRARY) ## Random input against the oracle: 20,000 API and 5,000 command-line cases, with bounds checked
	RANKLOOM_FUZZ_API=20000 RANKLOOM_FUZZ_CLI=5000 $(PYTEST) tests/fuzz
	RANKLOOM_KERNELS=jit NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(abspath $(VENV))/boundscheck RANKLOOM_FUZZ_API=2000 RANKLOOM_FUZZ_CLI=100 \
	  $(PYTEST) tests/fuzz

check long plain exhaustive: EXAMPLES := full

check: format lint types imports test long plain plain-install ## Everything that CI checks; make exhaustive repeats some of it

format: $(DEV_READY)
	$(BIN)/ruff format --check .

lint: $(DEV_READY)
	$(BIN)/ruff check .
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.github-issue-forms .github/ISSUE_TEMPLATE/bug.yml .github/ISSUE_TEMPLATE/idea.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.dependabot .github/dependabot.yml

types: $(DEV_READY)
	$(BIN)/mypy

imports: $(DEV_READY)
	$(BIN)/lint-imports

coverage: $(DEV_READY) ## Run the tests and print what share of each module they reach, that of kernels interpreted
	$(PYTEST) --cov --cov-report= -m 'not long and not exhaustive'
	RANKLOOM_KERNELS=plain $(PYTEST) --cov --cov-append --cov-report= -k 'not digits' $(KERNEL_TESTS)
	$(BIN)/coverage report --skip-covered

bench: $(DEV_READY) ## Measure speed and memory against yardsticks taken in the same run
	$(BIN)/python benchmarks/run.py

effectiveness: $(DEV_READY) ## Measure the methods on all collections in RANKLOOM_DATA; takes half an hour, resumes
	$(BIN)/python experiments/one_ranker.py results/effectiveness
	$(BIN)/python experiments/merged.py results/effectiveness
	$(BIN)/python experiments/effectiveness.py results/effectiveness

docs: $(DEV_READY) ## Regenerate the pages made from the code, and build the documentation site into ./site
	$(BIN)/python docs/make_pages.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

notebooks: $(DEV_READY) ## Run the notebooks of the documentation; Soccer needs RANKLOOM_DATA
	$(BIN)/python docs/tools/notebooks.py

release: $(DEV_READY) ## Build sdist and wheel in dist/, and run README.md where only the wheel is installed; uploads nothing
	rm -rf dist
	RANKLOOM_WHEEL=portable $(BIN)/python -m uv build --quiet --out-dir dist
	$(BIN)/twine check --strict dist/*.whl dist/*.tar.gz
	$(PYTHON) -m venv --clear $(VENV)/release
	$(BIN)/python -m uv pip install --python $(VENV)/release/bin/python --quiet dist/*.whl
	$(VENV)/release/bin/python tests/doc_blocks.py README.md
	@ls -l dist

clean: ## Remove the virtual environment and caches
	rm -rf $(VENV) dist .coverage .pytest_cache .mypy_cache .ruff_cache .hypothesis demo-output site
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
