# The commands of a working day. Each sets up what it needs; the first setup takes some minutes.
#   make demo CASE=digits-misdeployed      another case
#   make test ARGS="-k parity -x"          anything that pytest takes; `-n 0 -s` in one process, that may print
#   make setup PYTHON=python3.12           another interpreter

PYTHON ?= python3
CASE ?= digits
ARGS ?=

BIN := .venv/bin
# First on the path, so that what DVC starts finds this `assay`.
export PATH := $(CURDIR)/$(BIN):$(PATH)
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.PHONY: help setup demo test check plan bench bench-planted images clean

help: ## list these commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' Makefile

setup: .venv/.installed ## create .venv and install the pinned tree into it

demo: setup ## investigate a bundled case: its verdict and where its report is
	@answer=$$($(BIN)/assay run "$(CASE)"); status=$$?; printf '%s\n' "$$answer"; \
	case "$$status $$answer" in \
	  "0 "*report*) ;; \
	  "1 "*report*) echo "The gate did not open: that is this case's finding, not a fault." ;; \
	  *) echo "make demo: it broke (exit status $$status). What this machine lacks: $(BIN)/assay doctor" >&2; \
	    [ $$status -gt 1 ] || status=3; exit $$status ;; \
	esac

# The tests of one file stay in one process, and share what they made; files begin in their order, the many quick ones last.
test: setup ## run the tests, in two processes
	$(BIN)/python -m pytest -n logical --maxprocesses=2 --dist loadfile --no-loadscope-reorder $(ARGS)

check: setup ## lint, types, imports between rooms, stale graph
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/assay plan --check

plan: setup ## write the graph (dvc.yaml) from the stages, params and cases
	$(BIN)/assay plan

bench: setup ## measure speed, and print it beside its targets
	$(BIN)/python -m bench $(ARGS)

bench-planted: setup ## plant faults, examine, count what was right; QUICK=1: a small sample
	$(BIN)/python -m bench planted --jobs 2 $(if $(QUICK),--quick,--peers --write) $(ARGS)

images: setup ## build the images that the stages run in
	$(BIN)/assay images build

clean: ## remove .venv and the tools' caches; runs, reports and DVC's cache stay
	@if [ -x $(BIN)/assay ]; then $(BIN)/assay server stop; fi
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .grimp_cache
	find . -name __pycache__ -not -path './.git/*' -prune -exec rm -rf {} +

.venv/.installed: pyproject.toml constraints.txt
	@command -v git >/dev/null || { echo "assay needs git. On Debian: apt install git" >&2; exit 2; }
	@command -v "$(PYTHON)" >/dev/null || { \
	  echo "There is no $(PYTHON). On Debian: apt install python3 python3-venv" >&2; exit 2; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "assay needs Python 3.11 or newer; $(PYTHON) is $$("$(PYTHON)" -V 2>&1)." \
	    "Name another one: make $(MAKECMDGOALS) PYTHON=python3.12" >&2; exit 2; }
	@"$(PYTHON)" -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "$(PYTHON) cannot make a virtual environment. On Debian: apt install python3-venv" >&2; exit 2; }
	@echo "[1/2] creating .venv with $$("$(PYTHON)" -V)"
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || "$(PYTHON)" -m venv --clear .venv
	@echo "[2/2] installing what constraints.txt pins (some minutes the first time; torch is the largest)"
	@$(BIN)/python -m pip install -c constraints.txt -e '.[stages,dev]' || { \
	  echo "make setup: the installation broke off, see above. The same command resumes it." >&2; exit 3; }
	@$(BIN)/python -m venv .venv/rocrate && .venv/rocrate/bin/python -m pip install -q roc-validator==0.13.0 || \
	  echo "make setup: no validator of RO-Crates, so one test is skipped" >&2
	@touch $@
