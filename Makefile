# make demo: set up and run the main job. make test: set up and pass all tests.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

.PHONY: install demo test test-gpu fuzz app bench clean

install: $(READY)

$(READY): pyproject.toml constraints.txt requirements-oracles.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check --constraint constraints.txt --editable '.[app,lm,track,oracles,dev]'
	$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check --no-deps --requirement requirements-oracles.txt
	touch $(READY)

demo: install
	$(BIN)/ordinate compare k_back --encodings "rope,t5,sinusoidal,learned(rows=64),alibi" lr=0.003 steps=600 batch=32 evaluation_sequences=300

# Workers with one torch thread each use two cores better than one with two; a third works while one waits.
# Shapes are checked at every call where tensors are computed with; the other tests, and those of contracts, which are
# the most and call what these call, run without: checking takes a third of their time.
CHECKED := tests/core tests/interop tests/lm tests/model tests/oracle tests/statistics tests/tasks tests/training

test: install
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tests/browser/find_chromium.py
	OMP_NUM_THREADS=1 $(BIN)/pytest -n 3 --dist loadfile $(CHECKED)
	OMP_NUM_THREADS=1 ORDINATE_UNCHECKED=1 $(BIN)/pytest -n 3 --dist loadfile $(addprefix --ignore=,$(CHECKED))

# The tests of language models where there is an accelerator.
test-gpu: install
	ORDINATE_DEVICE=cuda $(BIN)/pytest tests/lm

# Ten thousand hostile command lines, files, stores and checkpoints, and two hundred kills: about half an hour.
fuzz: install
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.fuzz 10000 --kills 200

app: install
	$(BIN)/ordinate app

bench: install
	$(BIN)/python -m benchmarks

clean:
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
