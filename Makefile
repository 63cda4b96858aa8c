# Ichor. `make demo` and `make test` do all their own set-up on a machine that has Rust, Go, a C compiler and make.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

CARGO_DENY_VERSION := 0.20.2
TOOLS := $(CURDIR)/target/tools
GO_MODULES := tests/controlplane tests/alerts tests/oracle benches/peer

.PHONY: help
help: ## List what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: demo
demo: ground ## Walk the reclaim of an orphan on a real API server and simulated nodes; Ctrl-C ends it
	@cargo run --quiet --locked -p ichor-ground --bin ichor-demo -- --ichor target/debug/ichor

.PHONY: test
test: ground helm ## Run every test: units, real API server, simulated nodes, recordings, Go parts
	@scripts/test

.PHONY: crash
crash: ground ## Kill the controller at every point of a reclaim, not only at the sample of `make test`
	@ICHOR_CRASH_POINTS=all cargo test --locked --test crash -- --nocapture

.PHONY: soak
soak: ground ## Load and rotations for ICHOR_SOAK_SECONDS (600); memory and file descriptors stay where they are
	@cargo test --locked --test rotation -- --ignored --nocapture soak

.PHONY: check
check: tools ## Format, lints, every crate alone, documentation and dependencies, with warnings as errors
	@cargo fmt --all --check
	@cargo clippy --locked --workspace --all-targets -- -D warnings
	@for crate in crds certs talos machineconfig webhook; do cargo check --quiet --locked -p ichor-$$crate; done
	@RUSTDOCFLAGS="-D warnings" cargo doc --locked --workspace --no-deps --quiet
	@for module in $(GO_MODULES); do (cd $$module && test -z "$$(gofmt -l .)" && go vet ./...); done
	@scripts/need cargo-deny $(CARGO_DENY_VERSION) $(TOOLS)
	@$(TOOLS)/bin/cargo-deny --locked check bans licenses sources

.PHONY: generate
generate: ## Write the generated files: CRDs and the list of their fields, the command line reference, the table of Talos's types
	@cargo run --quiet --locked -p ichor-crds --example generate
	@ICHOR_GENERATE=1 cargo test --quiet --locked -p ichor-crds --test schema no_field
	@$$(tests/oracle/build.sh) schema >machineconfig/data/talos.json
	@cargo run --quiet --locked --example cli_reference

.PHONY: bench
bench: ground ## Measure Ichor beside its peers in one run
	@benches/peer/build.sh
	@scripts/bench

.PHONY: fuzz
fuzz: ## Fuzz whatever reads what strangers wrote, ten minutes each (FUZZ_SECONDS, FUZZ_TARGETS)
	@scripts/fuzz

.PHONY: conformance
conformance: ground helm ## Install the chart and try every rule, on the cluster CONFORMANCE_KUBECONFIG names or one of the tests
	@cargo test --locked --test conformance -- --nocapture

.PHONY: image-check
image-check: ## Build the image's static program and run it where nothing else is (needs musl-gcc)
	@scripts/image-check

.PHONY: clean
clean: ## Remove all that was built
	@cargo clean

# What demo, tests and benchmarks stand on: the control plane, Talos's own library, the binaries.
.PHONY: ground
ground: tools
	@tests/controlplane/build.sh
	@tests/oracle/build.sh
	@cargo build --quiet --locked --workspace --bins

# What installs the chart.
.PHONY: helm
helm: tools
	@scripts/helm >/dev/null

.PHONY: tools
tools:
	@scripts/tools
