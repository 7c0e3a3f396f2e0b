# Building, checking and deploying the cloud deployment. Included by the Makefile.

STACK ?= awo
# The stored answers for a stack, by its name; not in git.
ANSWERS := .local/deploy/$(STACK).env
answered = $(shell sed -n 's/^$(1)=//p' '$(ANSWERS)' 2>/dev/null)
ARCH ?= $(or $(call answered,Architecture),arm64)
# The stack's region, else the default of the AWS tools.
ANSWERED_REGION = $(call answered,Region)
IN_REGION = $(or $(REGION),$(ANSWERED_REGION),$(AWS_REGION),$(AWS_DEFAULT_REGION),$(shell aws configure get region 2>/dev/null))
# Without one, an image gets a tag of its own and becomes the stack's. The repository moves no tag to another image.
IMAGE_TAG ?=
# The image of tasks; `runner-base` is the base for a team's own image.
IMAGE_TARGET ?= runner
DEPLOY_VENV := .venv
DEPLOY_TOOLS := $(DEPLOY_VENV)/tools/bin
# A Linux machine builds for its own architecture; anything else needs cargo-lambda's cross compiler.
MACHINE := $(shell uname -s)/$(patsubst aarch64,arm64,$(shell uname -m))
LAMBDA_TARGET := $(if $(filter Linux/$(ARCH),$(MACHINE)),--compiler cargo,$(if $(filter arm64,$(ARCH)),--arm64,--x86-64))
# By package name: a folder of routes may have the name of a shared crate.
FUNCTION_MANIFESTS := $(filter-out functions/runner/%,$(wildcard functions/*/Cargo.toml))
FUNCTION_PACKAGES := $(shell sed -n '/^\[package\]/,/^$$/s/^name = "\(.*\)"/--package \1/p' $(FUNCTION_MANIFESTS))

check-deploy: $(DEPLOY_VENV)/tools/.ready $(DEPLOY_VENV)/ministack/.ready ## Check the cloud deployment on this machine, without an account (PROFILE=dev: with the programs of the tests)
	PROFILE='$(PROFILE)' $(DEPLOY_TOOLS)/python -B tests/deploy/check_deploy.py $(if $(ONLY),--only $(ONLY))

# A program that aborts on panic never unwinds: without unwind tables it is a tenth smaller.
BUILD_FUNCTIONS = PATH="$(abspath $(DEPLOY_TOOLS)):$$PATH" RUSTFLAGS='-C force-unwind-tables=no' \
	cargo lambda build --release --locked

# `dev` takes the programs of `make test` instead, for a check that need not wait for a release build.
PROFILE = release
# Marks the functions in target/lambda as built from these sources with this profile.
BUILT := target/lambda/.built-$(ARCH)-$(PROFILE)
FUNCTION_SOURCES := $(shell find functions shared -name '*.rs' -o -name Cargo.toml) Cargo.toml Cargo.lock docs/openapi.json $(wildcard functions/openapi/page/* functions/console/static/* functions/console/static/vendor/*)

# A program without symbols needs no copy.
STRIPPED = if readelf -S "$(BIN_DIR)/$$program" | grep -q '\.symtab'; \
	then strip -o "target/lambda/$$program/bootstrap" "$(BIN_DIR)/$$program"; \
	else ln -f "$(BIN_DIR)/$$program" "target/lambda/$$program/bootstrap"; fi

build: $(BUILT) ## Build the functions for the cloud (ARCH=arm64 or x86_64)

$(BUILT): $(DEPLOY_VENV)/tools/.ready $(FUNCTION_SOURCES)
	@rm -rf target/lambda
ifeq ($(PROFILE),dev)
	@cargo build --locked --workspace --bins
	@awk 'FNR == 1 || /^$$/ { bin = 0 } /^\[\[bin\]\]/ { bin = 1 } bin && /^name = / { print $$3 }' $(FUNCTION_MANIFESTS) | tr -d '"' | while read -r program; do \
		mkdir -p "target/lambda/$$program" && $(STRIPPED) || exit 1; done
else
	$(BUILD_FUNCTIONS) $(LAMBDA_TARGET) --lambda-dir target/lambda $(FUNCTION_PACKAGES)
endif
	@touch '$@'

# One function of each kind, and the baseline.
MEASURED := get-work-order create-work-order kill-work-order deliver-webhooks sweep bare-function

bench-functions: $(DEPLOY_VENV)/tools/.ready programs ## Measure start and call costs of functions, beside a bare handler
	@$(BUILD_FUNCTIONS) --compiler cargo --lambda-dir target/bench \
		--package awo-work-orders --package awo-workers --package awo-bare-function $(MEASURED:%=--bin %)
	@cargo build --locked -p awo-tests --bin measure-functions
	@'$(BIN_DIR)/measure-functions' target/bench

sam-build: $(BUILT)
	ARCH=$(ARCH) $(DEPLOY_TOOLS)/sam build --parameter-overrides Architecture=$(ARCH)

deploy: region $(DEPLOY_VENV)/tools/.ready ## Deploy to AWS with your credentials; shows the changes, and asks for confirmation (STACK=awo, ARCH=…, PARAMETERS='Name=value …', TAGS='Name=value …', PLAN=1)
	@STACK='$(STACK)' ARCH='$(ARCH)' AWS_REGION='$(IN_REGION)' ANSWERS='$(ANSWERS)' SAM='$(DEPLOY_TOOLS)/sam' \
		MAKE='$(MAKE)' YES='$(YES)' IGNORE_QUOTAS='$(IGNORE_QUOTAS)' PLAN='$(PLAN)' TAGS='$(TAGS)' infra/deploy.sh $(PARAMETERS)

restore: region ## Bring tables of the stack back to a moment, under their names (AT=2026-11-20T08:00:00Z, TABLES='WorkTable …', needs aws)
	@STACK='$(STACK)' AWS_REGION='$(IN_REGION)' AT='$(AT)' TABLES='$(TABLES)' YES='$(YES)' infra/restore.sh

check-restore: $(DEPLOY_VENV)/tools/.ready ## Try `make restore` on a stand-in for DynamoDB
	$(DEPLOY_TOOLS)/python -B tests/deploy/check_restore.py

# One region for every target that calls AWS.
region:
	@if [ -z '$(IN_REGION)' ]; then echo 'Which region? REGION=eu-central-1, AWS_REGION, or `aws configure set region`.' >&2; exit 1; fi
	@if [ -n '$(ANSWERED_REGION)' ] && [ '$(ANSWERED_REGION)' != '$(IN_REGION)' ]; then \
		echo 'The stack $(STACK) was deployed to $(ANSWERED_REGION) ($(ANSWERS)), and REGION says $(IN_REGION): give another STACK=, or none.' >&2; exit 1; fi

bucket:
	@if [ -z '$(BUCKET)' ]; then echo 'make package BUCKET=name: which bucket shall the functions go to?' >&2; exit 1; fi

package: bucket region sam-build ## Upload the functions to your bucket and write the template that refers to them (BUCKET=…)
	$(DEPLOY_TOOLS)/sam package --region '$(IN_REGION)' --s3-bucket '$(BUCKET)' --output-template-file target/packaged.yaml
	@echo 'target/packaged.yaml can be deployed by anybody who may read that bucket:'
	@echo "aws cloudformation deploy --region '$(IN_REGION)' --stack-name '$(STACK)' --template-file target/packaged.yaml --s3-bucket '$(BUCKET)'" \
		"--capabilities CAPABILITY_IAM CAPABILITY_AUTO_EXPAND --parameter-overrides Architecture=$(ARCH)"

# For `eval "$(make --silent stack-env)"`: afterwards `awo admin` and `awo` use the stack.
stack-env: region ## Print the settings of awo and of operate.md's commands for the stack STACK (needs aws)
	@aws cloudformation describe-stacks --region '$(IN_REGION)' --stack-name $(STACK) --query 'Stacks[0].Outputs[].[OutputKey,OutputValue]' \
		--output text | infra/stack-env.sh $(STACK)

# For the stack's architecture, regardless of ARCH. With a separate builder, since docker's cannot compress with zstd; layers of
# the previous image are reused, whichever machine built it.
image: region ## Build the image of runs, push it to the stack's repository, and deploy its digest (needs docker and aws; IMAGE_AGENTS, IMAGE_PACKAGES, IMAGE_TARGET; IMAGE_TAG=… pushes only)
	@set -e; \
	stack() { aws cloudformation describe-stacks --region '$(IN_REGION)' --stack-name '$(STACK)' --query "$$1" --output text; }; \
	repository=$$(stack "Stacks[0].Outputs[?OutputKey=='RunnerRepository'].OutputValue"); \
	architecture=$$(stack "Stacks[0].Parameters[?ParameterKey=='Architecture'].ParameterValue"); \
	previous=$$(stack "Stacks[0].Parameters[?ParameterKey=='RunnerImage'].ParameterValue"); \
	case "$$architecture" in arm64) platform=linux/arm64 ;; x86_64) platform=linux/amd64 ;; \
		*) echo "image: the stack $(STACK) has the architecture '$$architecture'" >&2; exit 1 ;; esac; \
	tag='$(IMAGE_TAG)'; [ -n "$$tag" ] || tag=runs-$$(date -u +%Y%m%d-%H%M%S); \
	case "$$previous" in "$$repository"*) cached="--cache-from $$previous" ;; *) cached= ;; esac; \
	aws ecr get-login-password --region '$(IN_REGION)' | docker login --username AWS --password-stdin "$${repository%%/*}"; \
	docker buildx inspect awo >/dev/null 2>&1 || docker buildx create --name awo --driver docker-container >/dev/null; \
	mkdir -p target; \
	docker buildx build --builder awo --platform "$$platform" --provenance=false --target '$(IMAGE_TARGET)' \
		$(if $(IMAGE_AGENTS),--build-arg AGENTS='$(IMAGE_AGENTS)') $(if $(IMAGE_PACKAGES),--build-arg PACKAGES='$(IMAGE_PACKAGES)') \
		$$cached --cache-to type=inline --metadata-file target/image.json \
		--output "type=image,push=true,oci-mediatypes=true,compression=zstd,force-compression=true,name=$$repository:$$tag" \
		--file infra/runner/Dockerfile .; \
	digest=$$(sed -n 's/.*"containerimage.digest": *"\(sha256:[0-9a-f]*\)".*/\1/p' target/image.json); \
	[ -n "$$digest" ] || { echo 'image: docker reported no digest in target/image.json' >&2; exit 1; }; \
	echo "image: $$repository:$$tag is $$repository@$$digest"; \
	[ -n '$(IMAGE_TAG)' ] || $(DEPLOY_IMAGE) PARAMETERS="RunnerImage=$$repository@$$digest"

DEPLOY_IMAGE = $(MAKE) --no-print-directory deploy STACK='$(STACK)'

# Separate environments: the tools and the stand-in need different versions of one library, and the
# tests of deliveries need only one library.
$(DEPLOY_VENV)/tools/.ready: tests/deploy/requirements.txt
$(DEPLOY_VENV)/ministack/.ready: tests/deploy/requirements-ministack.txt
$(DEPLOY_VENV)/receivers/.ready: tests/golden/requirements.txt
# Not with every Python: it looks for one.
$(DEPLOY_VENV)/focus/.ready: tests/focus/requirements.txt tests/focus/install.sh
	tests/focus/install.sh $(@D)
	@touch $@
$(DEPLOY_VENV)/%/.ready:
	python3 -m venv $(@D)
	$(@D)/bin/pip install --quiet --disable-pip-version-check --requirement $^
	@touch $@

check-image: ## Ask Debian whether the packages of the image of runs and of .devcontainer can be installed
	@tests/image/check-packages.sh

.PHONY: check-deploy check-restore restore check-image build bench-functions sam-build bucket region package deploy stack-env image
