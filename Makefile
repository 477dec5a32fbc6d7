# make help lists the targets. Tools run at the versions that are pinned here; nothing is installed.
SHELL := /usr/bin/env bash -o pipefail
.DEFAULT_GOAL := help

CONTROLLER_GEN := go run sigs.k8s.io/controller-tools/cmd/controller-gen@v0.21.0
GOLANGCI_LINT  := go run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
GOVULNCHECK    := go run golang.org/x/vuln/cmd/govulncheck@v1.9.0

VERSION ?= v0.1.0
IMAGE   ?= ghcr.io/capwin/cluster-api-provider-windows:$(VERSION)
OUT     ?= out
BIN     ?= bin
# What --version prints.
LINKED  := -X github.com/capwin/cluster-api-provider-windows/internal/version.release=$(VERSION)
# For the provenance of a release: the source, and a URI of who builds it. The default is the machine where make runs.
REVISION ?= $(shell git describe --always --dirty --abbrev=40 --exclude='*')
BUILDER  ?= https://localhost/make
KEEP    ?=
TRIES   ?= 1000000
MADE     ?= 500
STANDING ?= 5000
PARTIES  ?= all
WRITE    ?=
AT       ?=

export CGO_ENABLED ?= 0

# What a newcomer needs, in that order.
FIRST := demo quick-start check test verify nightly servers generate build clean

.PHONY: help
help: ## Show this list
	@awk -F ':.*## ' -v first="$(FIRST)" '/^[a-z-]+:.*## /{does[$$1] = $$2; all[++count] = $$1} \
	END {n = split(first, at, " "); for (i = 1; i <= n; i++) {printf "  %-20s %s\n", at[i], does[at[i]]; does[at[i]] = ""} \
	print "\nFor parts, figures and releases:"; \
	for (i = 1; i <= count; i++) if (does[all[i]] != "") printf "  %-20s %s\n", all[i], does[all[i]]}' $(MAKEFILE_LIST)

.PHONY: demo
demo: ## Run a cluster with Windows machines in simulators; KEEP=1 leaves it running
	go run ./test/suites/lab/demo $(if $(KEEP),-keep)

.PHONY: picture
picture: ## Run the demo and draw its screen anew, for the README: docs/demo.svg
	go run ./test/suites/lab/demo -picture docs/demo.svg

.PHONY: quick-start
quick-start: servers ## Run the commands of docs/quick-start.md in simulators, and print each with its output
	@go test -vet=off ./test/suites/lab -count=1 -run '^TestTutorial$$' -v -timeout 30m -args -tutorial.page=quick-start.md

# Tests make hundreds of thousands of small files. In memory, where there is room for them, they take a tenth of the time. What go
# builds is larger and stays on the disk; a test would follow it there, so it does not learn of that folder. What debuggers need is
# not linked, and vet is part of lint. Garbage is collected less often, except by our managers: test/kit/servers sees to that.
ROOM_IN_MEMORY := $(shell [[ $$(df --output=avail -B1G /dev/shm 2>/dev/null | tail -1) -ge 8 ]] 2>/dev/null && echo /dev/shm)
GO_TEST := GOGC=400 $(if $(ROOM_IN_MEMORY),GOTMPDIR=$${TMPDIR:-/tmp} TMPDIR=$(ROOM_IN_MEMORY)) go test -vet=off -ldflags=-s \
	$(if $(ROOM_IN_MEMORY),-exec 'env -u GOTMPDIR')
# Packages of tests share the servers of a host. With SHARED= each package starts its own.
SHARED ?= 1
HOST := $(if $(SHARED),$(if $(ROOM_IN_MEMORY),GOTMPDIR=$${TMPDIR:-/tmp} TMPDIR=$(ROOM_IN_MEMORY)) go run ./test/kit/host env)
# Packages wait for their servers more than they work: one more than the processors runs at a time. With two more, each takes so
# much longer that nothing is won.
AT_ONCE := $(shell echo $$(($$(getconf _NPROCESSORS_ONLN) + 1)))
# What takes longest begins first, or it runs alone in the end. Beside the two that start most servers, the room of vSphere, which
# mostly waits.
LONGEST := ./test/suites/lab ./test/suites/frontdoor ./internal/cloud/vsphere ./test/suites/security ./test/suites/release ./test/suites/lab/demo ./test/suites/controllers \
	./test/suites/linux ./test/suites/crash ./test/suites/addresses ./test/suites/admission ./test/sim/guest ./test/suites/security/crowd ./test/repo/image

# The folders of this module in which Go files differ from BASE.
BASE ?= origin/main
CHANGED = $(shell { git diff --name-only --diff-filter=d $$(git merge-base HEAD $(BASE) 2>/dev/null || echo HEAD) -- '*.go'; \
	git ls-files --others --exclude-standard -- '*.go'; } | xargs -r -n 1 dirname | sort -u | sed 's|^|./|' | \
	grep -vE '^./test/(alerts|containerd|gitops|kubelet|tools)($$|/)|/testdata(/|$$)')

# Without -exec, go keeps the results of packages that did not change: the first run takes five minutes, the next one half a minute.
.PHONY: check
check: servers ## Run on every save: the linters of the packages that differ from BASE, and all tests that start no control plane
	$(if $(CHANGED),$(GOLANGCI_LINT) run $(CHANGED))
	STORIES=none GOGC=400 go test -vet=off -ldflags=-s -short -timeout 10m ./...

.PHONY: test
test: servers ## Run all tests but the stories
	{ STORIES=$${STORIES-none} $(HOST) $(GO_TEST) -timeout 40m -p $(AT_ONCE) $(LONGEST) ./... && \
	cd test/upstream/gitops && $(GO_TEST) ./... && cd ../containerd && $(GO_TEST) ./...; } | ./hack/longest/run.sh

.PHONY: words
words: ## Count the words of the pages for users; AT=COMMIT counts those of a commit beside them
	@go test -vet=off -count=1 -run '^TestWordsOfUsersPages$$' -v ./test/repo -args -words.at=$(AT) | sed 's/^ *words_test.go:[0-9]*: //'

.PHONY: plain
plain: ## Count names that are function words, and sentences that say or tell; AT=COMMIT counts those of a commit as well
	@go test -vet=off -count=1 -run '^TestPlain$$' -v ./test/repo -args -plain.at=$(AT) | sed 's/^ *plain_test.go:[0-9]*: //'

.PHONY: entered
entered: ## Count the lines that one create enters, five times for each cloud
	@go test -vet=off -count=1 -run '^TestEntered$$' -v ./test/repo -args -entered.runs=5 | sed 's/^ *entered_test.go:[0-9]*: //'

.PHONY: lines
lines: ## Count the lines of the rooms that keep what is for Linux off Windows; AT=COMMIT counts those of a commit as well
	@go test -vet=off -count=1 -run '^TestLinesKeptOnLinux$$' -v ./test/repo -args -lines.at=$(AT) | sed 's/^ *lines_test.go:[0-9]*: //'

.PHONY: house
house: ## Count the lines that are gone since AT=COMMIT, and the arrows between the files of each cloud, then and now
	@go test -vet=off -count=1 -run '^TestHouse$$' -v ./test/repo -args -house.at=$(AT) | sed 's/^ *house_test.go:[0-9]*: //'

.PHONY: wrong-pools
wrong-pools: servers ## Print what the plugin says of pools that people write wrongly, and of topologies, beside what a cluster says
	@go test -vet=off -count=1 -run '^TestWrongPools$$' -v ./test/suites/wrongpools | sed 's/^ *wrongpools_test.go:[0-9]*: //'
	@go test -vet=off -count=1 -run '^TestClasses$$/^agreed$$' -v ./test/suites/release | sed 's/^ *classes_test.go:[0-9]*: //'

.PHONY: test-race
test-race: servers ## Run all tests but the stories under the race detector (needs a C compiler)
	@cc=$$(go env CC); command -v "$${cc%% *}" >/dev/null || { \
	echo "LEFT OUT: the race detector, because it needs a C compiler and there is no $$cc: install one, or set CC"; exit; }; \
	STORIES=none CGO_ENABLED=1 $(GO_TEST) -race -timeout 2h -p $(AT_ONCE) $(LONGEST) ./... | ./hack/longest/run.sh

.PHONY: test-faults
test-faults: servers ## Have each call of the API servers fail alone, with each kind of error, and kill the controllers at each effect alone, in the lives of machines; takes 10 minutes
	$(GO_TEST) ./test/suites/crash -count=1 -run "^Test(Faults|Crash)$$" -v -timeout 30m -args -every-fault

# A package whose tests have such a matrix takes the flag from test/kit/proved, and stands here.
PROVED := ./test/suites/crash ./internal/cloud/vsphere ./internal/cloud/azure ./test/sim/fake

.PHONY: test-proved
test-proved: servers ## Run all rows of the matrices that hold our promises against crashes, wrong clocks and lost rights; takes 20 minutes
	$(GO_TEST) $(PROVED) -count=1 -run 'Proved|Crash|Contract|Chosen|Gone|Moved|NotFound' -v -timeout 60m -args -proved | \
		awk -f test/kit/proved/sum.awk

.PHONY: test-proof-mutants
test-proof-mutants: ## Negate each comparison that decides whose a VM is, and fail if no test sees it; takes 10 minutes
	@./test/kit/proved/mutants.sh

.PHONY: test-agree
test-agree: servers ## Take every file of test/suites/agree through the plugin and through a cluster, and compare what they say; takes 5 minutes
	$(GO_TEST) ./test/suites/agree -count=1 -v -timeout 30m -args -all

.PHONY: test-hostile
test-hostile: ## Have the plugin read hostile files as a whole, and print what memory and time each takes
	$(GO_TEST) ./test/suites/hostile -count=1 -v -timeout 30m -args -all

.PHONY: test-security
test-security: servers ## Try all attacks of test/suites/security; print what came of each, how many were tried, and that none gained; takes 5 minutes
	$(GO_TEST) ./test/suites/security -count=1 -v -timeout 60m -args -all

.PHONY: test-cloudbase-init
test-cloudbase-init: ## Run the real cloudbase-init on our user data (needs python3 with venv, and PyPI once)
	go test -count=1 -tags cloudbaseinit ./test/upstream/cloudbaseinit

.PHONY: test-alerts
test-alerts: ## Run the alerts of config/monitoring in Prometheus' engine (building it takes minutes the first time)
	cd test/upstream/alerts && go vet ./... && go test -count=1 ./...

.PHONY: test-kubelet
test-kubelet: ## Check with the real kubelet which settings it accepts, and that it accepts what is rendered
	./test/upstream/kubelet/check.sh

.PHONY: test-pods
test-pods: servers ## Ask a Service from a pod on a Windows node, for each CNI, mode, Windows and condition; takes 3 minutes
	$(GO_TEST) ./test/suites/lab -count=1 -run "^TestPods$$" -v -timeout 30m -args -pods.all

.PHONY: test-linux
test-linux: servers ## Bring a cluster up before its Windows machines, step by step, with policies, without and before 1.36; takes 15 minutes
	$(GO_TEST) ./test/suites/linux -count=1 -run "^Test(LinuxFirst|Before136|NotKubeadms|KeeperOfManyDaemonSets)$$" -v -timeout 30m -args -linux.all

.PHONY: test-smoke
test-smoke: servers ## Run clusterctl windows smoke against real servers with each fault alone; takes 3 minutes
	$(GO_TEST) ./test/suites/lab -count=1 -run "^TestSmoke$$" -v -timeout 30m -args -smoke.all

.PHONY: test-frontdoor
test-frontdoor: servers ## Make clusters of both clouds by one command, rotate, move them, leave parts out, take each identity; print times; takes 15 minutes
	$(GO_TEST) ./test/suites/frontdoor -count=1 -run "^TestOneCommand$$" -v -timeout 40m -args -frontdoor.all

.PHONY: test-programs
test-programs: ## Build kube-proxy, flanneld and CNI programs for Windows, and ask their own code what it makes of what we render
	./test/upstream/programs/check.sh

.PHONY: test-workloads
test-workloads: ## Read where CoreDNS and kube-proxy of kubeadm 1.30 to 1.37 and add-ons may run from their modules, and compare; WRITE=-write
	go run ./test/repo/workloads $(WRITE) internal/placement/testdata/workloads.json

.PHONY: test-rights
test-rights: servers ## Try the rights of nodes, and kube-proxy with them, on API servers 1.30.14, 1.36.3 and 1.37.2, which it builds once
	./test/kit/servers/rights.sh

.PHONY: test-policies
test-policies: servers ## Ask the policies that keep Linux workloads on Linux, and that bound sizes, on API servers 1.30.14, 1.34.4, 1.36.3 and 1.37.2, some of which it builds once
	./test/suites/linux/policies.sh

.PHONY: fuzz
fuzz: ## Render TRIES machines with arbitrary values, and check that no value escapes from its place
	go test ./bootstrap -run '^$$' -fuzz FuzzRender -fuzztime $(TRIES)x -fuzzminimizetime 10x

.PHONY: bench
bench: ## Measure the time and memory of a rendering
	go test ./bootstrap -run '^$$' -bench Render

.PHONY: bench-hostile
bench-hostile: servers ## Make and remove 50 machines among hostile tenants, all and each alone; print times, memory, looks and calls; PARTIES=lists
	$(GO_TEST) ./test/suites/security/crowd -count=1 -run TestCrowd -v -args -each=10
	$(GO_TEST) ./test/suites/security/crowd -count=1 -run TestParties -v -timeout 5h -args -parties=$(PARTIES)

.PHONY: bench-clusters
bench-clusters: servers ## Measure looks at 200 clusters with 500 Nodes and 300 workloads, and at one with 50,000 DaemonSets
	$(GO_TEST) ./test/suites/linux -count=1 -run "^TestKeeperOfMany" -v -timeout 40m -args -linux.all

.PHONY: bench-vsphere
bench-vsphere: servers ## Measure what 1, 40, MADE and STANDING machines cost in the lab's vCenter; MADE=500 STANDING=5000
	go test ./test/suites/cost -count=1 -v -timeout 3h -args -made=$(MADE) -standing=$(STANDING)

.PHONY: bench-azure
bench-azure: servers ## Measure what 1, 50, 1,000 and 5,000 machines cost in the simulated Azure; print counts, times, memory
	go test ./test/suites/cost/azure -count=1 -v -timeout 2h -args -full
	go test ./test/suites/cost -run TestStandingInAzure -count=1 -v -timeout 1h -args -inazure=5000

.PHONY: outdated
outdated: ## List the direct dependencies of all modules here of which there is a newer version
	@for module in . $(dir $(wildcard test/*/*/go.mod)); do cd $(CURDIR)/$$module && \
	go list -m -u -f '{{with .Update}}{{$$.Path}} {{$$.Version}} -> {{.Version}}{{end}}' \
	$$(go list -m -f '{{if not (or .Indirect .Main)}}{{.Path}}{{end}}' all) || :; done | sort -u

.PHONY: bench-plugin
bench-plugin: ## Measure the size of clusterctl-windows, and the time of a plan from a file of 50 pools
	go test ./test/suites/plugin -count=1 -run '^Test(Size|ManyPools)$$' -v

.PHONY: test-powershell
test-powershell: ## Hold the scripts of a node against the vectors on a real PowerShell; JOBS=2 processes, SLOWEST=1 lists tests
	@./test/upstream/powershell/run.sh

.PHONY: test-twins
test-twins: ## Carry out 5,000 generated plans, or TWINS of the seed SEED, by the scripts of a node and by the lab, and compare
	@./test/upstream/twins/run.sh

.PHONY: test-twins-short
test-twins-short: ## Carry out 200 of these plans, by the day's SEED
	@TWINS=200 ./test/upstream/twins/run.sh

.PHONY: test-machines-short
test-machines-short: ## Live the lives of 126 rendered machines on a real PowerShell, a tenth of them with faults, by the day's SEED
	@./test/upstream/machines/run.sh part

.PHONY: test-machines
test-machines: ## Live the lives of these machines with every fault: programs fail, commands throw, the power goes; takes an hour
	@./test/upstream/machines/run.sh all

.PHONY: test-mutants
test-mutants: ## Put a fault for each row of test/upstream/powershell's README into a copy of the scripts, and fail if one is not seen
	@./test/upstream/powershell/mutants.sh

# Stories are tests that go a whole way with real programs (test/kit/stories). make test runs none of them, make verify a third, which
# the commit draws.
STORY_ROOMS := ./test/repo ./test/suites/lab ./test/suites/lab/demo ./test/suites/linux ./test/suites/release ./test/suites/security ./test/suites/security/crowd

.PHONY: stories
stories: servers ## Run all stories, and the other tests of their rooms
	$(GO_TEST) -count=1 -timeout 60m -p $(AT_ONCE) $(STORY_ROOMS)

# ROOMS are folders, with commas between; without, those of test/repo/mutants/rooms.txt. MUTANTS is how many are tried in each, in BOX.
MUTANTS ?= 25
BOX ?= 2h
.PHONY: mutants-go
mutants-go: ## Put MUTANTS faults of the seed SEED into the Go code of each of ROOMS, and print those that its tests do not see; takes BOX at most
	@go run ./test/repo/mutants -seed $${SEED:-1} -count $(MUTANTS) -time $(BOX) -rooms "$(ROOMS)"

.PHONY: stress
stress: servers ## Run each test that waits or starts a process TIMES times beside LOOPS busy loops (PACKAGES); goes on where it was ended
	@./hack/stress/run.sh

# What takes long, and what no change waits for. .github/workflows/nightly.yml runs each of them every night.
NIGHTLY := stories test-race test-mutants mutants-go test-proof-mutants test-twins test-machines test-proved test-faults test-programs \
	test-kubelet test-workloads test-pods test-smoke test-frontdoor test-linux test-rights test-policies test-agree test-hostile \
	test-security test-alerts test-cloudbase-init fuzz quick-start

.PHONY: nightly
nightly: ## Run all of the long checks (NIGHTLY); the end is the time of each, what was left out, and what failed
	@MAKE="$(MAKE)" ./hack/nightly/run.sh $(NIGHTLY)

.PHONY: servers
servers: ## Get the real servers for tests and demo; this takes minutes the first time
	@go run ./test/kit/servers/cmd/fetch >/dev/null

.PHONY: generate
generate: ## Generate deep copies and CRDs from the API types, docs/plan.md from the step kinds, docs/conditions.md from the reasons, two pages from the plugin
	$(CONTROLLER_GEN) object paths=./api/...
	$(CONTROLLER_GEN) crd:maxDescLen=400 paths=./api/... output:crd:artifacts:config=config/crd/bases
	go run ./hack/plandoc docs/plan.md
	go run ./hack/reasondoc docs/conditions.md
	go test ./cmd/clusterctl-windows -count=1 -run '^TestReferencePage$$' -update
	go test ./cmd/clusterctl-windows/objects -count=1 -run '^TestNamesPage$$' -update

.PHONY: lint
lint: ## Run the linters of .golangci.yml, and the check of the scripts that nodes run
	@echo "golangci-lint: the first run builds it, which takes minutes"
	$(GOLANGCI_LINT) run ./...
	go run ./hack/scriptcheck

# Twins and machines go by a clock of their own, so that they run beside make test, with what the tests of Go leave of the processors.
BESIDE := test-twins-short test-machines-short

.PHONY: verify
verify: export STORIES = $(shell git rev-parse HEAD)
verify: verify-generate verify-crds lint ## Check everything that a merge needs; CI runs this
	@MAKE="$(MAKE)" ./hack/beside/run.sh test $(BESIDE)
	@$(MAKE) --no-print-directory test-powershell
	@echo "left out: two thirds of the stories, and what else only make nightly runs: $(filter-out stories,$(NIGHTLY))"
	@[[ -n $${REAL:-} ]] || echo "left out: the real programs of peers (REAL names no folder with them), so stand-ins played them: see test/kit/peers"

.PHONY: verify-generate
verify-generate: ## Fail if generated files are not up to date
	@before=$$(mktemp -d) && trap 'rm -rf "$$before"' EXIT && cp -r api config/crd docs/plan.md docs/conditions.md docs/clusterctl-windows.md docs/names.md "$$before" && $(MAKE) --no-print-directory generate && \
	diff -r "$$before/api" api && diff -r "$$before/crd" config/crd && diff "$$before/plan.md" docs/plan.md && diff "$$before/conditions.md" docs/conditions.md && \
	diff "$$before/clusterctl-windows.md" docs/clusterctl-windows.md && diff "$$before/names.md" docs/names.md || { echo "generated files were not up to date; commit the new ones"; exit 1; }

.PHONY: verify-crds
verify-crds: ## Fail if the CRDs take back what users have of the last release
	go run ./hack/crdcheck

.PHONY: renew-crds
renew-crds: ## Until the first release: hold the CRDs to what they are now; WHY="..." says why they changed
	@go run ./hack/crdcheck renew "$$WHY"

.PHONY: build
build: build-plugin ## Build bin/manager, and the plugin of clusterctl and kubectl
	go build -trimpath -ldflags '-s -w $(LINKED)' -o $(BIN)/manager .

.PHONY: build-plugin
build-plugin: ## Build the plugin alone: bin/clusterctl-windows, and its names for kubectl
	go build -trimpath -ldflags '-s -w $(LINKED)' -o $(BIN)/clusterctl-windows ./cmd/clusterctl-windows
	ln -sf clusterctl-windows $(BIN)/kubectl-capwin
	ln -sf clusterctl-windows $(BIN)/kubectl_complete-capwin

.PHONY: image
image: ## Write the image of both managers, for all platforms, to out/image, and the lists of its modules to out/sbom
	go run ./hack/image -version $(VERSION) -revision $(REVISION) -out $(OUT)

.PHONY: push
push: image ## Build the image and push it to a registry with the login of docker or podman, without either (IMAGE)
	go run ./hack/image -push $(IMAGE) -out $(OUT)

.PHONY: release
release: vulncheck image ## Write image, module lists, a clusterctl repository and their provenance to out (VERSION, IMAGE, BUILDER)
	go run ./hack/release -version $(VERSION) -image $(IMAGE) -out $(OUT)/repository \
		-built $(OUT) -revision $(REVISION) -builder $(BUILDER) $(if $(filter left-out,$(VULNCHECK)),-vulncheck=left-out)

.PHONY: repository
repository: ## Write the clusterctl repository alone, for an image that you built and pushed yourself (IMAGE)
	go run ./hack/release -version $(VERSION) -image $(IMAGE) -out $(OUT)/repository

.PHONY: vulncheck
vulncheck: ## Search for known vulnerabilities that our code reaches; VULNCHECK=left-out leaves it out, as the provenance of a release records
	@if [[ "$(VULNCHECK)" == left-out ]]; then \
		echo "LEFT OUT: govulncheck did not run, because of VULNCHECK=left-out" >&2; \
	elif curl --silent --fail --max-time 20 --output /dev/null https://vuln.go.dev/index/db.json; then \
		$(GOVULNCHECK) ./...; \
	else \
		echo "https://vuln.go.dev does not answer, so govulncheck cannot run: try again later, or set VULNCHECK=left-out" >&2; \
		exit 1; \
	fi

.PHONY: clean
clean: ## Remove what was built here, but keep the servers in the user's cache
	rm -rf bin $(OUT)
