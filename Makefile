# Every target sets up what it needs in .venv; only Python 3.11+ with pip, and make, are assumed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
ML := .venv-ml
WORKERS ?= 2
CUPY ?= cupy-cuda13x

.PHONY: demo test long ml gpu bench docs lint check format clean

demo: $(VENV)/.demo
	$(BIN)/sixd demo

# workers share the cores: threads of BLAS would wait for each other, a factorization of 1000 rows for 0.3 s instead of 1 ms
test long: export OPENBLAS_NUM_THREADS ?= 1

test: $(VENV)/.test lint
	@echo 'the everyday tests: some six minutes on two cores (WORKERS=8 uses eight)'
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

long: $(VENV)/.test
	$(BIN)/python -m pytest -m long -n $(WORKERS) --dist worksteal

# sixd.torch and sixd.jax on the CPU, in an environment of their own: PyTorch's packages are large
ml: $(ML)/.ml
	$(ML)/bin/python -m pytest tests/ml

# several workers share the card's memory, of which each process with JAX would take three quarters
gpu: export XLA_PYTHON_CLIENT_PREALLOCATE ?= false

# on an NVIDIA GPU: the bits of every function, then the benchmarks, in benchmarks/GPU.md; CUPY names CuPy's package
gpu: $(VENV)/.gpu
	$(BIN)/python -m pytest tests/gpu -n $(WORKERS) --dist worksteal
	$(BIN)/python -m benchmarks.gpu

bench: $(VENV)/.bench
	$(BIN)/python -m benchmarks

# the site, in build/docs/html; UPDATE=1 stores what the pages show now, ONLY=rp_arm runs those pages alone
docs: $(VENV)/.docs
	cd docs && ../$(BIN)/python -m machinery --workers $(WORKERS) $(if $(UPDATE),--update) $(if $(ONLY),--only $(ONLY))

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

$(VENV)/.uv:
	@$(PYTHON) -c 'import sys; sys.exit("sixd needs Python 3.11 or newer, this is " + sys.version.split()[0] + ". Run make with PYTHON=python3.12, say.") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	@touch $@

$(VENV)/.demo: $(VENV)/.uv pyproject.toml
	$(BIN)/python -m uv pip install --quiet --python $(BIN)/python -e .
	@touch $@

$(VENV)/.test: $(VENV)/.uv pyproject.toml
	$(BIN)/python -m uv pip install --quiet --python $(BIN)/python -e '.[all,test]'
	$(BIN)/python -m uv pip install --quiet --python $(BIN)/python --no-deps 'dm-control>=1.0.50,<2'  # for its robot files alone
	$(BIN)/python -m uv pip install --quiet --python $(BIN)/python --no-deps 'nvidia-cuda-nvcc>=13,<14' || true  # for its assembler, ptxas
	@touch $@ $(VENV)/.demo

$(ML)/.ml: $(VENV)/.uv pyproject.toml
	$(PYTHON) -m venv $(ML)
	$(BIN)/python -m uv pip install --quiet --python $(ML)/bin/python -e '.[torch,jax,plot]' 'pytest>=8'
	@touch $@

$(VENV)/.bench: $(VENV)/.test pyproject.toml
	$(BIN)/python -m uv pip install --quiet --python $(BIN)/python -e '.[all,test,bench]'
	@touch $@

$(VENV)/.gpu: $(VENV)/.test pyproject.toml
	$(BIN)/python -m uv pip install --quiet --python $(BIN)/python $(CUPY)
	@touch $@

$(VENV)/.docs: $(VENV)/.test pyproject.toml
	$(BIN)/python -m uv pip install --quiet --python $(BIN)/python -e '.[all,test,docs]'
	@touch $@

clean:
	rm -rf $(VENV) $(ML) build dist .pytest_cache .mypy_cache .ruff_cache
