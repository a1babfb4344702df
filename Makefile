# make run    sets up what is missing, measures the built-in study, writes its report
# make test   sets up what is missing, builds, lints, runs all tests
# make kernel builds the kernel of the virtual clock, once, and checks it

export CGO_ENABLED = 0
# Tools and fetched files stay in here; deleting it is harmless.
CACHE := $(CURDIR)/.cache
LINT_VERSION := v2.15.0
LINT := $(CACHE)/bin/golangci-lint-$(LINT_VERSION)
UI := report/ui/dist/index.html
STORE := results
REVISION := $(shell git describe --always --dirty --abbrev=12 2>/dev/null)

.PHONY: run test test-long bench kernel lint build setup setup-kernel setup-test clean

run: setup build
	@echo "== Measuring: one page of many small images, four protocols, three networks"
	bin/wiretime run first-look --store $(STORE)
	bin/wiretime report --store $(STORE) -o $(STORE)/report.html

test: setup-test build lint
	@echo "== Building the kernel of the virtual clock, if it is not there (some minutes)"
	bin/wiretime kernel build
	@echo "== Testing the report's page"
	cd report/ui && npm test
	@echo "== Testing everything else, as root where this is root, and as an unprivileged user"
	WIRETIME_NEED_KERNEL=1 WIRETIME_NEED_PEERS=1 go test ./...

test-long: setup-test build
	@echo "== Long tests: fuzzing every parser of foreign bytes for a while"
	scripts/fuzz 60s
	@echo "== Long tests: a thousand boots of one batch, all bytes compared"
	bin/wiretime kernel build
	WIRETIME_LONG=1 WIRETIME_NEED_KERNEL=1 go test -run 'TestThousandBoots' -timeout 60m -v ./guest

bench: setup build
	@echo "== The lab: RTT error, goodput against the link's rate, cost of a packet"
	go test -run '^$$' -bench . -benchtime 200x ./lab -skip Goodput
	go test -run '^$$' -bench Goodput -benchtime 1x ./lab
	go test -run '^$$' -bench . ./network ./capture ./site
	scripts/setup tests
	@echo "== Media: goodput of each transport against iperf3 and bare copies, in turns, and both ends' processor time"
	go test -v -run '^$$' -bench Transfer -benchtime 21x ./media/transport
	go test -run '^$$' -bench . ./media/storage
	@echo "== SPDY against others: requests and bytes per second over one connection"
	WIRETIME_NEED_PEERS=1 go test -run '^$$' -bench Load ./spdy
	@echo "== Pages: variation of PLT and time beside the page's own"
	scripts/bench-pages
	@echo "== Both clocks: the same pages on each, and how many the virtual one does per second"
	scripts/bench-clocks

kernel: setup-kernel build
	@echo "== The kernel of the virtual clock: building takes some minutes, once"
	bin/wiretime kernel build
	bin/wiretime kernel check

lint: $(LINT)
	@echo "== Linting"
	$(LINT) run

build: $(UI)
	@echo "== Building bin/wiretime"
	go build -ldflags "-X wiretime/runner.revision=$(REVISION)" -o bin/wiretime ./cmd/wiretime

$(UI): $(shell find report/ui/src -type f) report/ui/index.html report/ui/package-lock.json
	@echo "== Building the report's page (npm packages go to report/ui/node_modules)"
	cd report/ui && npm ci --no-audit --no-fund && npm run build
	@touch $(UI)

$(LINT):
	@echo "== Installing golangci-lint $(LINT_VERSION) into $(CACHE)/bin (once, a few minutes)"
	GOBIN=$(CACHE)/bin go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(LINT_VERSION)
	mv $(CACHE)/bin/golangci-lint $(LINT)

setup:
	@scripts/setup

setup-kernel:
	@scripts/setup kernel

setup-test:
	@scripts/setup tests

clean:
	rm -rf bin report/ui/dist/index.html
