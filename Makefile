# `make` lists what there is.
.DEFAULT_GOAL := help
.PHONY: integrations reports sarif help demo demo-tiles test test-cuda test-gpu verdicts check bench bench-history cases corpus tools fmt clippy doc

# Tools that `make tools` put into a local folder come after the machine's own.
export PATH := $(PATH):$(CURDIR)/target/tools/bin

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: tools ## overlays on the sample upstream: applied, verified, built, tested, judged
	@scripts/demo

demo-tiles: tools ## rivals: five overlays for one fault, on the second sample upstream, side by side
	@scripts/demo tileattn

test: tools ## all tests
	cargo test --locked
	cargo test --locked --no-default-features --lib
	cargo check --locked --no-default-features --features serde
	cargo check --locked --no-default-features --features git
	cargo check --locked --no-default-features --features proof

test-cuda: tools ## compile and link all variants of the samples with nvcc; needs no GPU, brings nvcc
	@scripts/test-cuda

test-gpu: ## on a machine with a GPU: prove the samples, the whole RMS sweep, sanitizers; needs no Rust
	@scripts/gpu

verdicts: tools ## [SEED=N] [COUNT=N]: plant faults, prove overlays on them, print what was said against what was planted
	@scripts/verdicts $(or $(SEED),1) $(or $(COUNT),200)

check: fmt clippy doc ## what CI runs: format, lints, documentation, tests
	$(MAKE) test

bench: tools ## time whole commands against git, as ratios in one run
	@scripts/bench

bench-history: ## CLONE=DIR [SEED=N]: time status on a long history against git
	@scripts/bench-history "$(CLONE)" $(or $(SEED),1)

cases: ## CLONE=DIR: situations of MLX's history on a clone of it
	@scripts/cases "$(CLONE)"

corpus: ## CLONE=DIR [SEED=N] [COUNT=N]: overlays made from a clone's history, and their states
	@scripts/corpus "$(CLONE)" $(or $(SEED),1) $(or $(COUNT),1000)

integrations: ## look at the hook, the action and the job with the tools of their makers
	@scripts/integrations-check

sarif: ## hold what status, verify and prove say in SARIF against the published schema; needs npm
	@scripts/sarif-check

reports: tools ## write the sample's reports in docs/upstream anew, from evidence of this machine
	@scripts/reports

tools: ## bring CMake, ninja and a C++ compiler, if they are missing
	@scripts/tools

fmt:
	cargo fmt --check

clippy:
	cargo clippy --locked --all-targets -- -D warnings
	cargo clippy --locked --no-default-features --lib -- -D warnings

doc:
	RUSTDOCFLAGS="-D warnings" cargo doc --locked --no-deps --document-private-items
