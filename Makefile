# make run    sets up what is missing, measures the built-in study first-look on the virtual clock, writes its
#             report; CLOCK=real measures on this machine's own, KERNEL_SOURCE=linux-N.M.tar.xz builds from a tarball
# make test   sets up what is missing, builds, lints, runs all tests
# make check  vets, lints what changed and runs the tests that need no lab, kernel or browser, in under a minute
# make fresh  types these commands in root file systems of Debian 12, 13 and testing that have never seen Wiretime, as
#             root and as a user, and writes the table of docs/install.md; ROW=NAME does so in one of them (scripts/fresh -list)
# make kernel builds the kernel of the virtual clock, once, and checks it
# make chaos  runs studies and kills, stops and starves their processes at random for DURATION (1h), then checks that
#             nothing was lost or left; KILLS=1000 kills processes of runs on the virtual clock that often instead,
#             CAMPAIGN=1 with it those of campaigns: coordinators with their NATS servers, workers and guests;
#             JUMPS=1 also sets the machine's clock wrong now and then, for up to 3 s (needs root)
# make lighthouse has Lighthouse judge the accessibility of the report and of the pages of wiretime ui
# make studies measures the studies that README.md and docs show, and writes their tables and pictures;
#             STUDY=NAME does so for one of them, STUDY=-list lists them. It can be interrupted, and goes on
# make ui-pictures takes the pictures of docs/ui.md
# make dist   makes a release in dist/: archive, Debian package, container image, kernel source, bill of materials, checksums
# make image  builds the container image of a worker from what is committed, with podman or docker
# make campaign-simulation simulates campaigns of up to 1,000 workers and 1,000,000 loads, and writes docs/campaign-simulation.md

export CGO_ENABLED = 0
# One way to build for the program, the linter and the tests, so that nothing is compiled twice.
export GOFLAGS := $(strip $(filter-out -trimpath,$(shell go env GOFLAGS 2>/dev/null)) -trimpath)
# Tools and fetched files stay in here; deleting it is harmless.
CACHE := $(CURDIR)/.cache
LINT_VERSION := v2.15.0
LINT := $(CACHE)/bin/golangci-lint-$(LINT_VERSION)
ACTIONLINT_VERSION := v1.7.12
ACTIONLINT := $(CACHE)/bin/actionlint-$(ACTIONLINT_VERSION)
UI := report/ui/dist/index.html
# The pages of wiretime ui; they are built together with the report's.
APP := ui/dist
# The clock of make run, and where its results go: each has a store of its own.
CLOCK := virtual
STORE := $(if $(filter real,$(CLOCK)),results-real,results)
SETUP := $(CACHE)/bin/setup
KERNEL_SOURCE :=
SETUP_FLAGS := $(if $(KERNEL_SOURCE),-kernel-source $(KERNEL_SOURCE))
# Guests run the program, and how long it is shows in their figures: so it holds no folder's name, and every
# revision is as long as any other, tags or not.
REVISION := $(shell printf '%-13s' "$$(git describe --always --exclude='*' --dirty=+ --abbrev=12 2>/dev/null)")
BUILD := go build -buildvcs=false -ldflags "-X 'wiretime/runner.revision=$(REVISION)'"

.PHONY: check dist fresh image lighthouse run test test-long chaos bench kernel lint build setup setup-kernel setup-test clean page linter peers readers prerequisites readme-table studies ui-pictures compare-false-positives campaign-simulation advice $(SETUP)

run: $(SETUP)
	@$(SETUP) $(SETUP_FLAGS) $(CLOCK)
	@scripts/first-look $(STORE) $(CLOCK)

# It runs the set-up, the linter and all tests, and says at the end what failed.
TESTS := $(CACHE)/bin/tests

test: $(SETUP)
	@go build -o $(TESTS) ./cmd/tests
	@WIRETIME_NEED_KERNEL=1 WIRETIME_NEED_PEERS=1 $(TESTS) $(SETUP_FLAGS) ./...

check: $(LINT) $(UI)
	@scripts/check $(LINT)

# In root file systems of Debian 12, 13 and testing that have never seen Wiretime; ROW=NAME does so in one of them.
fresh:
	scripts/fresh $(ROW)

test-long: $(SETUP)
	@$(SETUP) $(SETUP_FLAGS) tests
	@echo "== Long tests: fuzzing every parser of foreign bytes for a while"
	scripts/fuzz 60s
	$(MAKE) dist
	@echo "== Long tests: all tests of make test and those that take too long for it"
	@go build -o $(TESTS) ./cmd/tests
	@WIRETIME_LONG=1 WIRETIME_NEED_KERNEL=1 WIRETIME_NEED_PEERS=1 $(TESTS) $(SETUP_FLAGS) -timeout 4h ./...
	@echo "== Long tests: the README's commands on machines that have never seen Wiretime"
	$(MAKE) fresh
	@echo "== Long tests: ten minutes of chaos, 200 kills of runs on the virtual clock, and 100 of campaigns"
	$(MAKE) chaos DURATION=10m
	$(MAKE) chaos KILLS=200
	$(MAKE) chaos CAMPAIGN=1 KILLS=100

DURATION := 1h
KILLS := 0
JUMPS :=
CAMPAIGN :=
CHAOS := $(CACHE)/bin/chaos

chaos: $(SETUP)
	@$(SETUP) $(SETUP_FLAGS) virtual
	@go build -o $(CHAOS) ./cmd/chaos
	@$(CHAOS) -duration $(DURATION) -kills $(KILLS) $(if $(CAMPAIGN),-campaign) $(if $(JUMPS),-clock)

bench: $(SETUP)
	@$(SETUP) $(SETUP_FLAGS) tests
	@echo "== The lab: RTT error, goodput against the link's rate, cost of a packet, variation of PLT"
	scripts/bench-lab
	@echo "== The emulator against veth and Mahimahi, in turns: throughput, processor time, accuracy"
	go test -v -run '^$$' -bench 'Throughput|Accuracy' -benchtime 5x ./lab
	go test -run '^$$' -bench . ./capture ./site
	@echo "== Media: goodput of each transport against iperf3 and bare copies, in turns, and both ends' processor time"
	go test -v -run '^$$' -bench Transfer -benchtime 21x ./media/transport
	go test -run '^$$' -bench . ./media/storage
	@echo "== SPDY against others: requests and bytes per second over one connection"
	WIRETIME_NEED_PEERS=1 go test -run '^$$' -bench Load ./spdy
	@echo "== SPDY against net/http's HTTP/2, in turns: requests per second of time and of each end's processor time, and idle sessions"
	go test -run '^$$' -bench Requests -benchtime 9x -timeout 60m ./spdy
	go test -run '^$$' -bench IdleSessions -benchtime 1x ./spdy
	@echo "== The virtual clock: what loads cost, into docs/performance.md"
	scripts/bench-loads --write $(if $(BEFORE),--before $(BEFORE))
	go test -run '^$$' -bench 'Find|ParseHAR|CopyPackets' ./critical ./capture ./runner
	@echo "== Results, exports and reports of large stores"
	WIRETIME_NEED_KERNEL=1 go test -run '^$$' -bench 'Overview|Results|Export|Report' -benchtime 1x -timeout 60m ./cmd/wiretime
	@echo "== Stores: octets per load, and what keeping them costs"
	scripts/bench-stores
	go test -run '^$$' -bench Keep -benchtime 100x ./store

kernel: $(SETUP)
	@$(SETUP) $(SETUP_FLAGS) virtual
	bin/wiretime kernel check

readme-table: $(SETUP)
	@$(SETUP) $(SETUP_FLAGS) virtual
	scripts/readme-table

# How often compare calls identical cells different, for docs/compare.md.
compare-false-positives:
	scripts/compare-false-positives

# What campaigns cost their coordinator, for docs/campaign-simulation.md.
SIMULATE := $(CACHE)/bin/simulate

campaign-simulation:
	@$(BUILD) -o $(SIMULATE) ./cmd/simulate
	@$(SIMULATE)

# The example in docs/advise.md.
advice: $(SETUP)
	@$(SETUP) $(SETUP_FLAGS) virtual
	scripts/advice

# The pictures of docs/ui.md.
ui-pictures: build
	go run ./cmd/uipictures

# docs/install.md says what is in it.
dist: build
	scripts/dist

# docs/deploy.md says how to use it.
image:
	@command -v podman docker >/dev/null || { echo "make: neither podman nor docker is installed" >&2; exit 3; }
	git archive HEAD | "$$(command -v podman || command -v docker)" build -f deploy/Containerfile -t wiretime \
		--build-arg REVISION="$$(git rev-parse --short=12 HEAD)" -

STUDY :=
studies: $(SETUP)
	@$(SETUP) $(SETUP_FLAGS) virtual
	go run ./cmd/studies $(STUDY)
	$(if $(filter-out first-look,$(STUDY)),,scripts/readme-table)

lighthouse: $(SETUP)
	@$(SETUP) $(SETUP_FLAGS) virtual
	scripts/lighthouse

lint: $(LINT) $(ACTIONLINT) $(UI)
	@echo "== Linting"
	$(LINT) run
	$(ACTIONLINT) -shellcheck= -pyflakes= .github/workflows/*.yml examples/ci/.github/workflows/*.yml

page: $(UI)

linter: $(LINT) $(ACTIONLINT)

peers:
	spdy/testdata/peers/install $(CACHE)/spdy-peers

readers:
	cmd/wiretime/testdata/readers/install $(CACHE)/readers

build: $(UI)
	@echo "== Building bin/wiretime"
	$(BUILD) -o bin/wiretime ./cmd/wiretime

$(UI): $(shell find report/ui/src -type f) $(wildcard report/ui/*.html report/ui/*.config.ts) report/ui/package-lock.json
	@echo "== Building the pages of the report and of wiretime ui (npm packages go to report/ui/node_modules)"
	cd report/ui && npm ci --no-audit --no-fund && npm run build
	mv report/ui/dist.new/app/app.html $(APP)/index.html
	mv report/ui/dist.new/app/app.js report/ui/dist.new/app/app.css $(APP)
	mv report/ui/dist.new/index.html $(UI)
	rm -r report/ui/dist.new

$(LINT):
	@echo "== Installing golangci-lint $(LINT_VERSION) into $(CACHE)/bin (once, a few minutes)"
	GOBIN=$(CACHE)/bin go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(LINT_VERSION)
	mv $(CACHE)/bin/golangci-lint $(LINT)

$(ACTIONLINT):
	@echo "== Installing actionlint $(ACTIONLINT_VERSION) into $(CACHE)/bin (once)"
	GOBIN=$(CACHE)/bin go install github.com/rhysd/actionlint/cmd/actionlint@$(ACTIONLINT_VERSION)
	mv $(CACHE)/bin/actionlint $(ACTIONLINT)

setup: $(SETUP)
	@$(SETUP) -packages-only real

setup-kernel: $(SETUP)
	@$(SETUP) -packages-only virtual

setup-test: $(SETUP)
	@$(SETUP) -packages-only tests

$(SETUP): prerequisites
	@go build -o $(SETUP) ./cmd/setup

prerequisites:
	@command -v go >/dev/null || { echo "make: Go is not installed: install Go 1.26 or newer, or Go 1.21 or newer, which fetches it" >&2; exit 3; }
	@version=$$(go env GOVERSION); case $$version in go1.2[6-9]*|go1.[3-9][0-9]*) ;; *) \
		echo "make: Wiretime needs Go 1.26, and this Go ($${version:-see above}) does not fetch it. Install Go 1.26 from https://go.dev/dl," >&2; \
		echo "make: or let Go 1.21 or newer fetch it: go env -w GOTOOLCHAIN=auto" >&2; exit 3; esac
	@command -v npm >/dev/null || { echo "make: npm is not installed: install Node.js 20.19 or newer, with npm" >&2; exit 3; }
	@node -e 'const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 20 || a == 20 && b >= 19 ? 0 : 1)' || \
		{ echo "make: this is Node.js $$(node --version): install 20.19 or newer" >&2; exit 3; }

clean:
	rm -rf bin $(UI) $(APP)/*
