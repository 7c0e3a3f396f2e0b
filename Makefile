# The short way to everything. `make` alone lists the targets.

CARGO_DENY_VERSION = 0.20.2
TARGET_DIR := $(or $(CARGO_TARGET_DIR),target)
BIN_DIR := $(TARGET_DIR)/debug
SERVE_DIR := $(TARGET_DIR)/serve
# What the tests said and saw.
SUITE := $(TARGET_DIR)/suite
# The real agents' programs, as npm installs them.
AGENTS := $(TARGET_DIR)/agents
CARGO_DENY := $(TARGET_DIR)/tools/bin/cargo-deny

SHELL := bash
.DEFAULT_GOAL := help

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z][a-z-]*:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: programs ## See the whole service at work: one command, no account, no key
	@AWO_BIN_DIR='$(BIN_DIR)' infra/demo/run.sh

run: programs ## Run the service in the foreground on http://127.0.0.1:8787
	@exec '$(BIN_DIR)/awo-local'

serve: serve-programs ## Run the service as a team does: optimised, on the data of `make run` (the first build takes some minutes)
	@exec '$(SERVE_DIR)/awo-local'

serve-programs:
	@if [ ! -x '$(SERVE_DIR)/awo-local' ]; then \
		echo 'Building the service, optimised. The first time takes some minutes; later it is some seconds.'; \
	fi
	@cargo build --locked --profile serve -p awo -p awo-local -p awo-runner

PREFIX = /opt/awo
install: serve-programs ## Install the optimised programs and the systemd unit for one server (PREFIX=/opt/awo; DESTDIR=…)
	@$(MAKE) --no-print-directory install-programs PROGRAMS='$(SERVE_DIR)'

# Without a build, so that those who install need no compiler.
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

test: ## Run all tests, and check that they show all that is documented
	@$(MAKE) --no-print-directory $(DEPLOY_VENV)/receivers/.ready || \
		echo 'Without the library of Standard Webhooks: the test that wants it says so.'
	@$(MAKE) --no-print-directory $(DEPLOY_VENV)/focus/.ready || \
		echo 'Without the validator of FOCUS: the test that wants it says so.'
	@rm -rf '$(SUITE)' && mkdir -p '$(SUITE)'
	@set -o pipefail; AWO_ANSWERS_FILE='$(abspath $(SUITE))/answers' \
		AWO_CALLS_FILE='$(abspath $(SUITE))/calls' \
		cargo test --workspace --locked --no-fail-fast 2>&1 | tee '$(SUITE)/log'
	@'$(BIN_DIR)/check-suite' '$(SUITE)/log' '$(SUITE)/answers' '$(SUITE)/calls'

test-agents: $(AGENTS)/installed ## Run the real Claude Code, Codex and opencode (from npm) against a model server of our own
	@# As `make test` builds it: another choice of packages would build half of the crates anew.
	@cargo test --workspace --locked --no-run
	@mkdir -p '$(SUITE)'
	@set -o pipefail; tests/agents/run.sh '$(AGENTS)' \
		cargo test --workspace --locked --test programs -- --test-threads 2 2>&1 | tee '$(SUITE)/agents.log'
	@'$(BIN_DIR)/check-suite' '$(SUITE)/agents.log'

$(AGENTS)/installed: tests/agents/package.json tests/agents/package-lock.json
	@echo 'Installing Claude Code, Codex and opencode from npm into $(AGENTS), once.'
	@rm -rf '$(AGENTS)' && mkdir -p '$(AGENTS)' && cp $^ '$(AGENTS)'
	@# Not `ci`: what of opencode a registry does not have for other machines must not fail it.
	@npm install --prefix '$(AGENTS)' --omit-lockfile-registry-resolved --no-audit --no-fund --loglevel error
	@touch '$@'

# The console's tests: Chromium is Debian's, the rest npm's.
CONSOLE := $(TARGET_DIR)/console

test-console: ## Check the console's types, and try it in a real browser (Chromium) over three months of runs
	@if ! tests/console/install.sh '$(CONSOLE)'; then \
		echo 'test-console: skipped, since this machine has no Chromium, Node.js or npm registry'; \
	else \
		cargo test --workspace --locked --no-run --quiet && \
		tests/console/run.sh '$(CONSOLE)' '$(BIN_DIR)/seed-console'; \
	fi

test-tutorials: programs ## Run the tutorials' commands on projects from PyPI, npm and crates.io
	@tests/tutorials/run.py '$(BIN_DIR)'

test-model: ## Compare N random sequences of everything with the model (N=10000; SEED=… for certain ones)
	AWO_MODEL_SEQUENCES='$(or $(N),10000)' AWO_MODEL_SEED='$(or $(SEED),$(shell date +%s))' \
		cargo test --locked -p awo-tests --test product model:: -- --nocapture

test-crash: programs ## Try all crash points: each call to AWS of each step, with each fault (make test tries a third a day)
	AWO_CRASH_PART=all cargo test --workspace --locked --test product -- \
		crash_points:: families:: purge::crashes:: cost_reports::whatever --nocapture

openapi: programs ## Write docs/openapi.json and its examples anew, from the code and its answers
	AWO_WRITE_OPENAPI=1 cargo test --locked -p awo-tests --test product -- openapi::the_document
	AWO_WRITE_OPENAPI=1 cargo test --locked -p awo-tests --test product -- openapi::examples openapi::errors
	AWO_WRITE_OPENAPI=1 cargo test --locked -p awo-tests --test product -- openapi::

calls: programs ## Write tests/golden/calls.md anew: what each operation and a run ask of AWS
	AWO_WRITE_CALLS=1 cargo test --locked -p awo-tests --test product -- costs::a_read_costs

lint: $(CARGO_DENY) ## Check format, lints, licences, and known holes where RustSec's database can be reached
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

bench-machine: $(DYNOXIDE) ## Measure what one machine does, beside what its embedded database does by itself
	@cargo build --locked --profile serve -p awo -p awo-local -p awo-runner
	@cargo build --locked --profile serve -p awo-tests --bin measure-machine
	@'$(SERVE_DIR)/measure-machine' '$(DYNOXIDE)'

bench: programs ## Measure what a client waits for, what a delivery costs, and what idling costs
	@cargo build --locked -p awo-tests --bins
	@cargo build --locked --release -p awo-tests --bin measure-webhooks --bin measure-bodies
	@'$(BIN_DIR)/measure-spine'
	@'$(BIN_DIR)/measure-stops'
	@'$(BIN_DIR)/measure-reads'
	@'$(BIN_DIR)/measure-rivals'
	@'$(TARGET_DIR)/release/measure-webhooks'
	@'$(TARGET_DIR)/release/measure-bodies'
	@$(MAKE) --no-print-directory bench-machine
	@$(MAKE) --no-print-directory bench-functions

include infra/deploy.mk

.PHONY: help demo run serve serve-programs install install-programs programs openapi calls test test-agents test-console test-tutorials test-crash test-model lint bench bench-machine
