# Everything that the README promises. Each target sets up what it needs.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
VENV := .venv
NODE := tests/node_modules
TARGET := $(or $(CARGO_TARGET_DIR),target)

.PHONY: help setup wasm servers demo test lint bench evidence sabotage fuzz

help: ## this list
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

setup: wasm servers $(VENV)/.done $(NODE)/.done ## what the build and the tests need beyond Rust itself

wasm:
	@if command -v rustup >/dev/null; then rustup target add wasm32-wasip2 2>/dev/null; fi

# Other people's intermediaries, OpenSSH's server and what lays a network cable, from Debian. The tests run
# their own; no service of the system's is started or enabled, and one that was there before is left alone.
servers:
	@export PATH="$$PATH:/usr/sbin:/usr/local/sbin" DEBIAN_FRONTEND=noninteractive; missing=(); \
	for program in squid nginx sshd ip; do command -v $$program >/dev/null || missing+=($$program); done; \
	if (( $${#missing[@]} == 0 )); then exit 0; fi; \
	packages="$${missing[*]/#nginx/nginx-light}"; packages="$${packages/sshd/openssh-server openssh-client}"; \
	packages="$${packages/%ip/iproute2}"; \
	if (( EUID != 0 )); then \
		echo "The tests need $${missing[*]}. As root: apt-get install --no-install-recommends $$packages" >&2; \
		exit 1; \
	fi; \
	policy=/usr/sbin/policy-rc.d; \
	if [[ ! -e $$policy ]]; then \
		trap "rm -f $$policy" EXIT; \
		printf '#!/bin/sh\nexit 101\n' >$$policy; \
		chmod 755 $$policy; \
	fi; \
	apt-get update -qq; \
	apt-get install -y -qq --no-install-recommends $$packages </dev/null; \
	for service in "$${missing[@]/#sshd/ssh}"; do \
		if [[ $$service == ip ]]; then continue; fi; \
		if command -v systemctl >/dev/null; then systemctl --quiet disable $$service; fi; \
		if command -v update-rc.d >/dev/null; then update-rc.d $$service disable; fi; \
		if [[ -e /etc/init.d/$$service ]]; then /etc/init.d/$$service stop >/dev/null 2>&1 || true; fi; \
	done

# Real counterparts for the tests, as their authors publish them.
$(VENV)/.done: tests/requirements.txt
	@command -v python3 >/dev/null || { apt-get update -qq && apt-get install -y -qq python3 python3-venv; }
	@python3 -c 'import ensurepip' 2>/dev/null || { apt-get update -qq && apt-get install -y -qq python3-venv; }
	python3 -m venv $(VENV)
	$(VENV)/bin/pip install --quiet --disable-pip-version-check -r tests/requirements.txt
	@touch $@

# The official clients of MCP for Node.js. No package's script is run.
$(NODE)/.done: tests/package.json tests/package-lock.json
	@command -v npm >/dev/null || { apt-get update -qq && apt-get install -y -qq --no-install-recommends nodejs npm; }
	@# Not `npm ci`: one package names another for Windows, optional, that not every registry has.
	npm install --no-save --prefix tests --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

demo: wasm ## the whole story against a payment service that misbehaves
	@# The whole workspace's features, so that nothing is built twice for the tests.
	@cargo build --quiet --workspace --bin proofport
	@$(TARGET)/debug/proofport demo

test: setup ## every test
	cargo test --workspace --quiet

lint: ## formatting and lints
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --quiet -- -D warnings

bench: ## speed and memory, as a table and as target/evidence/bench.json
	@mkdir -p target/evidence
	cargo build --release --quiet --workspace --bins
	$(TARGET)/release/bench

evidence: setup ## the long fault runs, one JSON of counts each under target/evidence/
	@mkdir -p target/evidence
	cargo build --release --quiet --workspace --bins
	$(TARGET)/release/evidence

sabotage: ## breaks one law after another in a copy of the tree, and shows that a test sees each
	@cargo build --quiet --package proofport-sabotage --target-dir $(TARGET)/sabotage/runner
	@$(TARGET)/sabotage/runner/debug/sabotage $(ONLY)

fuzz: ## the property tests of the laws with many more random histories than `make test` tries
	PROPTEST_CASES=$(or $(CASES),50000) cargo test --workspace --quiet --test laws -- properties envelope
