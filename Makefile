# make help lists the targets. Tools are run at the versions pinned here; nothing is installed.
SHELL := /usr/bin/env bash -o pipefail
.DEFAULT_GOAL := help

CONTROLLER_GEN := go run sigs.k8s.io/controller-tools/cmd/controller-gen@v0.21.0
GOLANGCI_LINT  := go run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0

VERSION ?= v0.1.0
IMAGE   ?= ghcr.io/capwin/cluster-api-provider-windows:$(VERSION)
OUT     ?= out
KEEP    ?=
TRIES   ?= 1000000

export CGO_ENABLED ?= 0

.PHONY: help
help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  %-20s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: demo
demo: ## Run a cluster with Windows machines in simulators; KEEP=1 leaves it running
	go run ./test/lab/demo $(if $(KEEP),-keep)

.PHONY: test
test: servers ## Run all tests
	go test ./...

.PHONY: test-race
test-race: servers ## Run all tests under the race detector (needs a C compiler)
	CGO_ENABLED=1 go test -race ./...

.PHONY: test-cloudbase-init
test-cloudbase-init: ## Run the real cloudbase-init on our user data (needs python3 with venv, and PyPI once)
	go test -count=1 -tags cloudbaseinit ./test/cloudbaseinit

.PHONY: test-kubelet
test-kubelet: ## Ask the real kubelet what it takes, and whether it takes what is rendered
	./test/kubelet/check.sh

.PHONY: fuzz
fuzz: ## Render TRIES machines that nobody would write, and look for text that left its place
	go test ./bootstrap -run '^$$' -fuzz FuzzRender -fuzztime $(TRIES)x -fuzzminimizetime 10x

.PHONY: bench
bench: ## Measure how long a rendering takes and what it allocates
	go test ./bootstrap -run '^$$' -bench Render

.PHONY: test-powershell
test-powershell: ## Run vectors and function tests on the scripts of a node (needs pwsh with Pester 5, or is left out)
	@./test/powershell/run.sh

.PHONY: servers
servers: ## Get the real servers that tests and demo run; the first time this takes minutes
	@go run ./test/servers/cmd/fetch >/dev/null

.PHONY: generate
generate: ## Write deep copies and CRDs anew from the API types, and docs/plan.md from the step kinds
	$(CONTROLLER_GEN) object paths=./api/...
	$(CONTROLLER_GEN) crd:maxDescLen=400 paths=./api/... output:crd:artifacts:config=config/crd/bases
	go run ./test/plandoc docs/plan.md

.PHONY: lint
lint: ## Run the linters of .golangci.yml, and our check of the scripts that nodes run
	$(GOLANGCI_LINT) run ./...
	go run ./test/scriptcheck

.PHONY: verify
verify: verify-generate lint test ## All that must hold before a merge: CI runs this

.PHONY: verify-generate
verify-generate: ## Fail when generated files are not what generate writes
	@before=$$(mktemp -d) && trap 'rm -rf "$$before"' EXIT && cp -r api config/crd docs/plan.md "$$before" && $(MAKE) --no-print-directory generate && \
	diff -r "$$before/api" api && diff -r "$$before/crd" config/crd && diff "$$before/plan.md" docs/plan.md || { echo "generated files were stale: commit what generate wrote"; exit 1; }

.PHONY: build
build: ## Build bin/manager
	go build -trimpath -ldflags '-s -w' -o bin/manager .

.PHONY: release
release: ## Write a local clusterctl repository to out/repository (VERSION, IMAGE, OUT)
	go run ./config/release -version $(VERSION) -image $(IMAGE) -out $(OUT)/repository

.PHONY: clean
clean: ## Remove what was built here; the servers in the user's cache stay
	rm -rf bin $(OUT)
