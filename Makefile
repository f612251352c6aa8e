# Everything that the README promises. Each target sets up what it needs.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
VENV := .venv

.PHONY: help setup demo test lint bench evidence

help: ## this list
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

setup: $(VENV)/.done ## what the build and the tests need beyond Rust itself
	@if command -v rustup >/dev/null; then rustup target add wasm32-wasip2 >/dev/null; fi

# Real counterparts for the tests, as their authors publish them.
$(VENV)/.done: tests/requirements.txt
	@command -v python3 >/dev/null || { apt-get update -qq && apt-get install -y -qq python3 python3-venv; }
	@python3 -c 'import ensurepip' 2>/dev/null || { apt-get update -qq && apt-get install -y -qq python3-venv; }
	python3 -m venv $(VENV)
	$(VENV)/bin/pip install --quiet --disable-pip-version-check -r tests/requirements.txt
	@touch $@

demo: setup ## the whole story against a payment service that misbehaves
	@cargo build --quiet -p proofport
	@cargo run --quiet -p proofport -- demo

test: setup ## every test
	cargo test --workspace --quiet

lint: ## formatting and lints
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --quiet -- -D warnings

bench: ## speed and memory, as a table and as target/evidence/bench.json
	@mkdir -p target/evidence
	cargo run --release --quiet -p proofport-tests --bin bench

evidence: setup ## the long fault runs, one JSON of counts each under target/evidence/
	@mkdir -p target/evidence
	cargo run --release --quiet -p proofport-tests --bin evidence
