# Everything a person or CI does here. `make` alone shows the list.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

VENV := .venv
PYTHON := $(VENV)/bin/python
LAYERS := $(PYTHON) -c 'from importlinter.cli import lint_imports_command as main; main()'
DJADE := find templates -type f -print0 | xargs -0 $(VENV)/bin/djade --target-version 5.2
TEST_SETTINGS := DJANGO_SETTINGS_MODULE=scheduler_site.settings_test
PYTEST_ARGS ?=
# The files for `make test` and `make types`, for instance ARGS=tests/wire/test_retry.py.
ARGS ?=
BENCH_ARGS ?=
CHAOS_ARGS ?=
NOT_INSTALLED := 'Punctual is not running from $(CURDIR): it is not installed there (make setup).'

.PHONY: help setup setup-oidc setup-otel setup-dev lock sbom vulnerabilities up down ps test test-long fmt lint types check bench chaos screenshots clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo
	@echo '  Environment of up: PORT HOST DATA_DIR DATABASE_URL REDIS_URL WEBS WORKERS SCHEDULERS RECORDERS'
	@echo '  More arguments:    make test PYTEST_ARGS="-k cron -x"'

up: setup ## Start everything in the foreground; Ctrl-C drains and stops it
	@exec $(PYTHON) manage.py up

down: ## Stop what `make up` runs, and wait for its end
	@if [ -x $(PYTHON) ]; then exec $(PYTHON) manage.py down; else echo $(NOT_INSTALLED); fi

ps: ## List the running processes
	@if [ -x $(PYTHON) ]; then exec $(PYTHON) manage.py ps; else echo $(NOT_INSTALLED) >&2; exit 1; fi

test: setup-dev ## Run the tests, or those in ARGS (PYTEST_ARGS is passed on)
	@# One file is quicker in one process.
	@$(PYTHON) -m pytest $(if $(filter %.py,$(firstword $(ARGS))),,-n 2) $(PYTEST_ARGS) $(ARGS)

test-long: setup-dev ## Run the tests that take minutes: simulated days, a storm, a restored backup
	@$(PYTHON) -m pytest -n 2 -m slow $(PYTEST_ARGS) $(ARGS)

fmt: setup-dev ## Format the code and the templates
	@$(PYTHON) -m ruff format -q .
	@$(PYTHON) -m ruff check -q --fix --select I .
	@$(DJADE)

lint: setup-dev ## Lint the code, and check the imports between packages
	@$(PYTHON) -m ruff check $(or $(ARGS),.)
	@$(LAYERS)

types: setup-dev ## Check the types
	@$(PYTHON) -m mypy $(ARGS)

check: setup-dev ## Run every static check: format, lint, types, layers, migrations, API schema
	@echo '== format';     $(PYTHON) -m ruff format --check .
	@$(DJADE) --check
	@echo '== lint';       $(PYTHON) -m ruff check .
	@echo '== types';      $(PYTHON) -m mypy
	@echo '== layers';     $(LAYERS)
	@echo '== django';     $(TEST_SETTINGS) $(PYTHON) manage.py check --fail-level WARNING
	@echo '== migrations'; $(TEST_SETTINGS) $(PYTHON) manage.py makemigrations --check --dry-run
	@echo '== API schema'; $(TEST_SETTINGS) $(PYTHON) manage.py spectacular --validate --fail-on-warn > /dev/null

bench: setup-dev ## Measure every claim about speed, about two hours (BENCH_ARGS is passed on)
	@$(PYTHON) -m bench $(BENCH_ARGS)

chaos: setup-dev ## Inject every fault and judge the results, half an hour (CHAOS_ARGS is passed on)
	@$(PYTHON) -m bench.chaos $(CHAOS_ARGS)

screenshots: setup-dev ## Take the pictures of docs/images from a running product (needs Chromium)
	@$(PYTHON) -m tests.browser.screenshots

setup: ## Make the virtual environment and install the requirements
	@.ci/install requirements.txt

setup-oidc: ## The same, with the extra for sign-in by OpenID providers
	@.ci/install requirements-oidc.txt

setup-otel: ## The same, with the extra for traces by OpenTelemetry
	@.ci/install requirements-otel.txt

setup-dev: ## The same, with the requirements of tests and checks
	@.ci/install requirements-dev.txt

lock: ## Write the lock files anew, after a requirements file has changed
	@.ci/lock

sbom: setup ## Print the bill of materials (CycloneDX JSON) of what is installed
	@$(PYTHON) -m operations.bill_of_materials

vulnerabilities: ## Look the locked packages up in a database of vulnerabilities, where one is named
	@.ci/vulnerabilities

clean: ## Remove the virtual environment, the data in var and every cache
	@python=$(PYTHON); [ -x $$python ] || python=python3; code=0; \
	$$python -m launcher.run_lock var || code=$$?; \
	if [ $$code = 4 ]; then echo 'Punctual is running; stop it first: make down' >&2; exit 4; fi
	@# A directory outside, as for sockets where the path here is long, has a link here.
	@for link in var/servers/sockets var/servers var/sockets; do \
	  if [ -L $$link ]; then outside=$$(readlink -f $$link); \
	    case "$$outside" in */punctual-*) rm -rf -- "$$outside";; esac; fi; done
	@rm -rf var $(VENV) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis .coverage*
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
