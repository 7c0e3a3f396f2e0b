# All targets. `make` without arguments lists them.

CARGO_DENY_VERSION = 0.20.2
TARGET_DIR := $(or $(CARGO_TARGET_DIR),target)
BIN_DIR := $(TARGET_DIR)/debug
SERVE_DIR := $(TARGET_DIR)/serve
# The tests' log and records.
SUITE := $(TARGET_DIR)/suite
# The real agents' programs, installed by npm.
AGENTS := $(TARGET_DIR)/agents
CARGO_DENY := $(TARGET_DIR)/tools/bin/cargo-deny

SHELL := bash
.DEFAULT_GOAL := help

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z][a-z-]*:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: programs ## Show one complete run: one command, no account, no key
	@AWO_BIN_DIR='$(BIN_DIR)' infra/demo/run.sh

picture: programs ## Record the demo anew as docs/demo.svg (asciinema from PyPI, svg-term from npm)
	@infra/demo/record.sh '$(TARGET_DIR)/recording' '$(BIN_DIR)' docs/demo.svg

run: programs ## Run the service in the foreground on http://127.0.0.1:8787
	@exec '$(BIN_DIR)/awo-local'

serve: serve-programs ## Run the optimised service, on the data of `make run` (the first build takes some minutes)
	@exec '$(SERVE_DIR)/awo-local'

serve-programs:
	@if [ ! -x '$(SERVE_DIR)/awo-local' ]; then \
		echo 'Building the service, optimised. The first time takes some minutes; later it is some seconds.'; \
	fi
	@cargo build --locked --profile serve -p awo -p awo-local -p awo-runner

PREFIX = /opt/awo
install: serve-programs ## Install the optimised programs and the systemd unit for one server (PREFIX=/opt/awo; DESTDIR=…)
	@$(MAKE) --no-print-directory install-programs PROGRAMS='$(SERVE_DIR)'

# Without a build, so that an installation needs no compiler.
install-programs:
	@install -d '$(DESTDIR)$(PREFIX)/bin' '$(DESTDIR)$(PREFIX)/share'
	@install -m 755 '$(PROGRAMS)/awo' '$(PROGRAMS)/awo-local' '$(PROGRAMS)/runner' '$(DESTDIR)$(PREFIX)/bin'
	@sed 's|/opt/awo|$(PREFIX)|g' infra/single-server/awo.service > '$(DESTDIR)$(PREFIX)/share/awo.service'
	@echo 'Installed below $(DESTDIR)$(PREFIX); the unit is share/awo.service.'

programs:
	@if [ ! -x '$(BIN_DIR)/awo-local' ]; then \
		echo 'Building the service. The first time takes some minutes; later it is a second or two.'; \
	fi
	@cargo build --locked -p awo -p awo-local -p awo-runner

# Many tests wait for processes and deadlines: two for each core keep the cores busy.
TEST_THREADS ?= $(shell echo $$(( 2 * $$(nproc) )))

test: ## Run all tests, and check that they cover all that is documented
	@$(MAKE) --no-print-directory $(DEPLOY_VENV)/receivers/.ready || \
		echo 'Without the library of Standard Webhooks: the test that wants it says so.'
	@$(MAKE) --no-print-directory $(DEPLOY_VENV)/focus/.ready || \
		echo 'Without the validator of FOCUS: the test that wants it says so.'
	@cargo test --workspace --locked --no-run
	@rm -rf '$(SUITE)' && mkdir -p '$(SUITE)'
	@# The whole product beside everything else: each of them often waits. No other suite's name begins with p.
	@set -o pipefail; export AWO_ANSWERS_FILE='$(abspath $(SUITE))/answers' AWO_CALLS_FILE='$(abspath $(SUITE))/calls' \
		RUST_TEST_THREADS='$(TEST_THREADS)'; \
		cargo test --workspace --locked --no-fail-fast --lib --bins --test '[!p]*' >'$(SUITE)/others' 2>&1 & others=$$!; \
		cargo test --workspace --locked --no-fail-fast --test product 2>&1 | tee '$(SUITE)/log'; product=$$?; \
		wait $$others; others=$$?; tee -a '$(SUITE)/log' <'$(SUITE)/others'; \
		exit $$(( product || others ))
	@'$(BIN_DIR)/check-suite' '$(SUITE)/log' '$(SUITE)/answers' '$(SUITE)/calls'

test-agents: $(AGENTS)/installed ## Run the real Claude Code, Codex and opencode (from npm), Go and Maven (from Debian) against local servers
	@# As `make test` builds it: another choice of packages would rebuild half of the crates.
	@cargo test --workspace --locked --no-run
	@mkdir -p '$(SUITE)'
	@set -o pipefail; \
		if ! tests/agents/packages.sh; then \
			echo 'Without Go or Maven (apt-get install golang-go maven): the tests of their registries are left out.'; \
			export AWO_LEFT_OUT=registries::; \
		fi; \
		tests/agents/run.sh '$(AGENTS)' cargo test --workspace --locked --test programs -- \
			--test-threads 2 $${AWO_LEFT_OUT:+--skip $$AWO_LEFT_OUT} 2>&1 | tee '$(SUITE)/agents.log' && \
		'$(BIN_DIR)/check-suite' '$(SUITE)/agents.log'

$(AGENTS)/installed: tests/agents/package.json tests/agents/package-lock.json
	@echo 'Installing Claude Code, Codex and opencode from npm into $(AGENTS), once.'
	@rm -rf '$(AGENTS)' && mkdir -p '$(AGENTS)' && cp $^ '$(AGENTS)'
	@# Not `ci`: a registry may lack opencode's packages for other machines, which must not fail the installation.
	@npm install --prefix '$(AGENTS)' --omit-lockfile-registry-resolved --no-audit --no-fund --loglevel error
	@touch '$@'

# Clients of forges that others wrote, installed by npm.
FORGES := $(TARGET_DIR)/forges

test-forges: $(FORGES)/installed programs ## Let jose and Octokit (from npm) judge the service's calls as a GitHub App, and the stand-in
	@cp tests/forges/app.mjs '$(FORGES)'
	@FORGES_TOOLS='$(abspath $(FORGES))' cargo test --locked -p awo-tests --test proofs

$(FORGES)/installed: tests/forges/package.json
	@echo 'Installing clients of forges from npm into $(FORGES), once.'
	@rm -rf '$(FORGES)' && mkdir -p '$(FORGES)' && cp $^ '$(FORGES)'
	@npm install --prefix '$(FORGES)' --no-audit --no-fund --loglevel error
	@touch '$@'

# The console's tests: Chromium is Debian's, the rest npm's.
CONSOLE := $(TARGET_DIR)/console

test-console: ## Check the console's types, and try it in a real browser (Chromium) over three months of runs
	@if ! tests/console/install.sh '$(CONSOLE)'; then \
		echo 'test-console: skipped, since this machine has no Chromium, Node.js or npm registry'; \
	else \
		$(MAKE) --no-print-directory $(DEPLOY_VENV)/focus/.ready || echo 'Without DuckDB: its sums are not compared.'; \
		cargo test --workspace --locked --no-run --quiet && \
		FOCUS_PYTHON="$$(ls '$(abspath $(DEPLOY_VENV))/focus/bin/python' 2>/dev/null)" \
			tests/console/run.sh '$(CONSOLE)' '$(BIN_DIR)/seed-console'; \
	fi

RUNS ?= 100000
bench-console: ## Measure how long the console's first page takes in a browser with RUNS settled runs (100000)
	@if ! tests/console/install.sh '$(CONSOLE)'; then \
		echo 'bench-console: skipped, since this machine has no Chromium, Node.js or npm registry'; \
	else \
		cargo test --workspace --locked --no-run --quiet && \
		AWO_BENCH_TABLE='$(AWO_BENCH_TABLE)' tests/console/run.sh '$(CONSOLE)' '$(BIN_DIR)/seed-console' '$(RUNS)'; \
	fi

test-tutorials: programs ## Run the tutorials' commands on projects from PyPI, npm and crates.io
	@tests/tutorials/run.py '$(BIN_DIR)'

test-clients: programs ## Build and install the Python, TypeScript and Go clients, run a scenario with each, and fuzz the service by its document
	@tests/clients/run.py '$(BIN_DIR)' '$(abspath $(TARGET_DIR))/clients'

test-integrations: programs ## Run the GitHub Action and the GitLab component as jobs against the service, and check them by public schemas
	@tests/integrations/run.py '$(BIN_DIR)' '$(abspath $(TARGET_DIR))/integrations'

test-telemetry: programs ## Send runs to a real collector (rotel, from PyPI), and read its output with OpenTelemetry's own types
	@tests/telemetry/run.py '$(BIN_DIR)' '$(abspath $(TARGET_DIR))/telemetry'

test-mcp: programs ## Let the official clients of the Model Context Protocol (PyPI, npm) do work orders
	@tests/mcp/run.py '$(BIN_DIR)' '$(abspath $(TARGET_DIR))/mcp'

test-outage: programs ## Let a run wait ten minutes for its provider, and another one in vain for fifteen (SECONDS=600 TOO_LONG=960, 0: without)
	@tests/outage/run.py '$(BIN_DIR)' --seconds '$(or $(SECONDS),600)' --too-long '$(or $(TOO_LONG),960)'

check-attacks: programs ## Run attacks against the service on this machine, as each user that it may have, and print a table (ONLY='sparse caches': some)
	@tests/attacks/run.py '$(BIN_DIR)' $(ONLY)

test-model: ## Compare N random sequences of all operations with the model (N=10000; SEED=… repeats them)
	AWO_MODEL_SEQUENCES='$(or $(N),10000)' AWO_MODEL_SEED='$(or $(SEED),$(shell date +%s))' \
		cargo test --locked -p awo-tests --test product model:: -- --nocapture

test-schedules: ## Compare the times of N random cron expressions with croniter and cron-parser (N=10000; SEED=… repeats them)
	@cargo build --locked -p awo-schedules --example cron-cases
	@tests/schedules/run.sh '$(abspath $(TARGET_DIR))/schedules' '$(BIN_DIR)/examples/cron-cases' \
		'$(or $(N),10000)' '$(or $(SEED),$(shell date +%s))'

test-crash: programs ## Test all crash points: each AWS call of each step, with each fault (make test raises one of seven faults in each call, another one each day)
	AWO_CRASH_PART=all cargo test --workspace --locked --test product -- \
		crash_points:: families:: purge::crashes:: cost_reports::whatever environments::crashes:: --nocapture

openapi: programs ## Regenerate docs/openapi.json and its examples from the code and its responses
	AWO_WRITE_OPENAPI=1 cargo test --locked -p awo-tests --test product -- openapi::the_document
	AWO_WRITE_OPENAPI=1 cargo test --locked -p awo-tests --test product -- openapi::examples openapi::errors
	AWO_WRITE_OPENAPI=1 cargo test --locked -p awo-tests --test product -- openapi::

template: ## Regenerate the functions of template.yaml and their programs from the route table, the code and infra/sam/functions.yaml
	AWO_WRITE_TEMPLATE=1 cargo test --workspace --locked --test product -- template::programs template::written

calls: programs ## Regenerate tests/golden/calls.md: the AWS calls of each operation and of a run
	AWO_WRITE_CALLS=1 cargo test --locked -p awo-tests --test product -- costs::a_read_costs

lint: $(CARGO_DENY) ## Check format, lints, licences, and known vulnerabilities if RustSec's database is reachable
	cargo fmt --all --check
	tests/shared-builds.sh
	cargo clippy --workspace --all-targets --locked -- -D warnings
	cargo clippy -p awo-tests --test programs --locked -- -D warnings
	'$(CARGO_DENY)' --locked check bans licenses sources
	tests/advisories.sh '$(CARGO_DENY)'

$(CARGO_DENY):
	@echo 'Installing cargo-deny $(CARGO_DENY_VERSION) into $(TARGET_DIR)/tools, once.'
	cargo install --debug --root '$(TARGET_DIR)/tools' --locked --version $(CARGO_DENY_VERSION) cargo-deny

DYNOXIDE_VERSION = 3.2.0
DYNOXIDE := $(TARGET_DIR)/tools/bin/dynoxide

$(DYNOXIDE):
	@echo 'Installing the embedded database as a program into $(TARGET_DIR)/tools, once: the floor of the bench.'
	cargo install --root '$(TARGET_DIR)/tools' --locked --version $(DYNOXIDE_VERSION) dynoxide-rs \
		--no-default-features --features native-sqlite,http-server,cli

bench-machine: $(DYNOXIDE) ## Measure the throughput of one machine, beside that of its embedded database alone
	@cargo build --locked --profile serve -p awo -p awo-local -p awo-runner
	@cargo build --locked --profile serve -p awo-tests --bin measure-machine
	@'$(SERVE_DIR)/measure-machine' '$(DYNOXIDE)'

# The rows of `make bench`: each measurement adds its own.
BENCH := $(abspath $(TARGET_DIR))/bench.md

bench: programs ## Measure latency, throughput, CPU, memory and sizes; at the end one table of results, goals and misses
	@cargo build --locked -p awo-tests --bins
	@cargo build --locked --release -p awo-tests --bin measure-webhooks --bin measure-bodies
	@printf '| measure | result | goal | |\n|---|--:|--:|---|\n' > '$(BENCH)'
	@AWO_BENCH_TABLE='$(BENCH)' '$(BIN_DIR)/measure-spine'
	@AWO_BENCH_TABLE='$(BENCH)' '$(BIN_DIR)/measure-stops'
	@AWO_BENCH_TABLE='$(BENCH)' '$(BIN_DIR)/measure-reads'
	@AWO_BENCH_TABLE='$(BENCH)' '$(BIN_DIR)/measure-rivals'
	@AWO_BENCH_TABLE='$(BENCH)' '$(TARGET_DIR)/release/measure-webhooks'
	@AWO_BENCH_TABLE='$(BENCH)' '$(TARGET_DIR)/release/measure-bodies'
	@AWO_BENCH_TABLE='$(BENCH)' $(MAKE) --no-print-directory bench-machine bench-functions
	@echo && cat '$(BENCH)'

bench-caches: programs ## Measure what caches save a Node and a Python project, with packages from npm and PyPI
	@tests/caches/measure.py '$(BIN_DIR)'

ONLY =
bench-repositories: programs ## Measure plans, verdicts and seeded faults of real packages; writes docs/repositories.md (ONLY='npm|crate heck': some; WORK=DIR keeps downloads and results, so that a later run adds to them)
	@tests/repositories/run.py '$(BIN_DIR)' --only '$(ONLY)' $(if $(WORK),--work '$(WORK)')

include infra/deploy.mk
include infra/release.mk

.PHONY: check-attacks help demo picture run serve serve-programs install install-programs programs openapi template calls test test-agents test-forges test-console test-tutorials test-clients test-integrations test-telemetry test-mcp test-outage test-crash test-model test-schedules lint bench bench-caches bench-console bench-machine bench-repositories
