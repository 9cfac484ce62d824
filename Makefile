# make demo: set up and run the main job. make test: set up and pass all tests.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
PIP := $(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check

# Bytecode is kept inside .venv: without it every process that a test starts compiles torch again, three seconds each.
export PYTHONDONTWRITEBYTECODE :=
export PYTHONPYCACHEPREFIX := $(CURDIR)/.venv/pycache

.PHONY: install demo docs check test test-all checked unchecked test-gpu fuzz app bench clean

.PHONY: install demo check test test-all checked unchecked test-gpu fuzz app notebooks bench clean

install: $(READY)

$(READY): pyproject.toml constraints.txt requirements-oracles.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(PIP) --constraint constraints.txt --editable '.[app,lm,track,ray,lm-eval,oracles,dev]'
	$(PIP) --no-deps --requirement requirements-oracles.txt
	touch $(READY) .venv/.demo-ready .venv/.app-ready

# The demonstration and the app install only what they run.
.venv/.%-ready: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(PIP) --constraint constraints.txt --editable '.[$(EXTRA)]'
	touch $@

demo: EXTRA := report
demo: .venv/.demo-ready
	$(BIN)/ordinate compare k_back --encodings "rope,t5,sinusoidal,learned(rows=64),alibi" lr=0.003 steps=600 batch=32 evaluation_sequences=300

check: install
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Shapes are checked at every call where tensors are computed with. The other tests, and the contracts, which are the
# most and call what these call, run without: the checks take a third of their time.
CHECKED := $(addprefix tests/,core interop lm model oracle probes statistics tasks training)
PYTEST := OMP_NUM_THREADS=1 $(BIN)/pytest --dist loadfile --no-loadscope-reorder --durations 20
SAMPLE := --sample

# `test` runs every contract once and one in four of its further shapes, others at every commit; `test-all` runs all.
# Static checks and both kinds of tests run side by side: workers with one torch thread each, more of them than there
# are cores because some wait, and no core idles while the last file of one kind is at work.
test-all: SAMPLE :=
test test-all: install
	$(BIN)/python tests/browser/find_chromium.py
	$(MAKE) --no-print-directory --jobs 3 SAMPLE='$(SAMPLE)' check checked unchecked

# Its output comes when it has ended, so that it does not get between the lines of the others; the file has it before.
checked: install
	@$(PYTEST) -n 1 $(SAMPLE) $(CHECKED) > .venv/checked.txt 2>&1; code=$$?; cat .venv/checked.txt; exit $$code

unchecked: install
	ORDINATE_UNCHECKED=1 $(PYTEST) -n 2 $(SAMPLE) $(addprefix --ignore=,$(CHECKED))

# What only a GPU can show: training in bfloat16 through the FlexAttention and SDPA kernels, packed documents, exact
# resumption and branches on CUDA, pinned rows, and two processes with nccl (copies and shards), which need two GPUs.
test-gpu: install
	ORDINATE_DEVICE=cuda $(BIN)/pytest tests/lm

# Ten thousand hostile command lines, files, stores and checkpoints, and two hundred kills: about half an hour.
fuzz: install
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.fuzz 10000 --kills 200

app: EXTRA := app
app: .venv/.app-ready
	$(BIN)/ordinate app

# The documentation site, into build/site; a warning is an error. `make test` builds it too and walks through it.
docs: install
	$(BIN)/python docs/website.py

# Writes and runs all notebooks, those of the lessons in notebooks/lessons: about ten minutes.
notebooks: install
	OMP_NUM_THREADS=1 $(BIN)/python docs/notebooks.py

bench: install
	$(BIN)/python -m benchmarks

clean:
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
