# Building, checking and describing a release. Included by the Makefile; docs/releases.md explains it.

CYCLONEDX_VERSION = 0.5.9
CYCLONEDX := $(TARGET_DIR)/tools/bin/cargo-cyclonedx
DIST := $(TARGET_DIR)/dist
VERSION = $(shell sed -n '/^\[workspace.package\]/,/^$$/s/^version = "\(.*\)"/\1/p' Cargo.toml)
# The machine that the programs are built on is the one that they run on.
DIST_TARGET = $(shell rustc -vV | sed -n 's/^host: //p')
# The texts of the licences of everything that is linked.
LICENSES := $(TARGET_DIR)/THIRD-PARTY-LICENSES

dist: serve-programs $(CYCLONEDX) ## Build a release for this kind of machine into target/dist: archive, checksums, bills of materials
	@rm -rf '$(DIST)' && mkdir -p '$(DIST)'
	@infra/release/licenses.py '$(DIST_TARGET)' > '$(LICENSES)'
	@infra/release/bills.sh '$(CYCLONEDX)' '$(DIST)' '$(VERSION)' '$(DIST_TARGET)'
	@infra/release/package.sh '$(SERVE_DIR)' '$(DIST)' '$(VERSION)' '$(DIST_TARGET)' '$(LICENSES)'

check-dist: dist ## Install the release of `make dist` into an empty folder, and show the demo with it
	@infra/release/check.sh '$(DIST)'

$(CYCLONEDX):
	@echo 'Installing cargo-cyclonedx $(CYCLONEDX_VERSION) into $(TARGET_DIR)/tools, once.'
	cargo install --debug --root '$(TARGET_DIR)/tools' --locked --version $(CYCLONEDX_VERSION) cargo-cyclonedx

dist-clients: ## Build the Python, TypeScript and Go clients of a release into target/dist-clients (needs Java and npm)
	@infra/clients/build.py '$(abspath $(TARGET_DIR))/dist-clients' '$(abspath $(TARGET_DIR))/clients'

version: ## Print the version of the workspace
	@echo '$(VERSION)'

release-notes: ## Print the chapter of CHANGELOG.md of the workspace's version
	@awk -v version='$(VERSION)' '/^## \[/ { inside = index($$0, "[" version "]") } inside' CHANGELOG.md | grep . || \
		{ echo 'CHANGELOG.md has no chapter [$(VERSION)]: rename [Unreleased].' >&2; exit 1; }

.PHONY: dist check-dist dist-clients version release-notes
