# Mooring. Needs Go, git and make; every other tool is built from pinned modules into bin/.
#
# Programs are built with CGO_ENABLED=0 and the Go cache's default paths, so that one build cache serves Mooring,
# its tools and the control plane alike.

SHELL := /bin/sh
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

ROOT := $(CURDIR)
BIN := $(ROOT)/bin
GO ?= go
# The same for programs that run it in other folders.
GO_COMMAND = $(if $(findstring /,$(GO)),$(abspath $(GO)),$(GO))
GOPACKAGES ?= ./...
# The modules of this repository are complete: no build may edit go.mod.
GOMODFLAGS := -mod=readonly

# The control plane of tests and demo: yours if you name one, otherwise the one in bin/.
ASSETS := $(if $(KUBEBUILDER_ASSETS),$(KUBEBUILDER_ASSETS),$(BIN))

# A real MCP server and the Node that runs it.
NODE_ASSETS := $(BIN)/node-assets
NODE := $(NODE_ASSETS)/node
SERVER_EVERYTHING := $(NODE_ASSETS)/node_modules/@modelcontextprotocol/server-everything/dist/index.js
SAMPLE_SERVER ?= ./hack/sample-server

TEST_ENV = KUBEBUILDER_ASSETS=$(ASSETS) MOORING_NODE=$(NODE) MOORING_SERVER_EVERYTHING=$(SERVER_EVERYTHING)
DEMO_ENV = $(TEST_ENV) CGO_ENABLED=0

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
IMAGE ?= mooring:latest
# go build that shows how far it has come; what is built stands in -name, and go build's arguments behind "--".
GO_BUILD = CGO_ENABLED=0 $(GO) run -C $(ROOT)/hack/controlplane $(GOMODFLAGS) ./gobuild -go "$(GO_COMMAND)"
BUILD_FLAGS = $(GOMODFLAGS) -buildvcs=false
# The race detector needs cgo, which needs the compiler that Go would call.
HAVE_CC = command -v $$($(GO) env CC | cut -d' ' -f1) >/dev/null 2>&1

CHART_FILES := charts/mooring/files
GENERATED := api config/crd/bases config/rbac/role.yaml $(CHART_FILES) CONTRIBUTING.md

CONTROLLER_GEN := $(BIN)/controller-gen
GOLANGCI_LINT := $(BIN)/golangci-lint
SETUP_ENVTEST := $(BIN)/setup-envtest

TOOLS_MOD := hack/tools/go.mod hack/tools/go.sum

##@ Start here

.PHONY: help
help: ## Show this list.
	@awk 'BEGIN {FS = ":.*## "} \
	  /^##@/ {printf "\n%s\n", substr($$0, 5)} \
	  /^[a-z][a-z-]*:.*## / {printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

##@ Run

.PHONY: demo
demo: demo-build ## Show Mooring at work on a control plane of its own; STAY=1 keeps it running.
	@$(DEMO_ENV) exec $(BIN)/demo $(if $(STAY),-stay)

.PHONY: demo-fleet
demo-fleet: demo-build ## Show a fleet with every kind of failing server; STAY=1 keeps it running.
	@$(DEMO_ENV) exec $(BIN)/demo -fleet $(if $(STAY),-stay)

.PHONY: demo-check
demo-check: demo-build ## The same without a terminal; fails when anything is not as described.
	@$(DEMO_ENV) exec $(BIN)/demo -check

# npm server-everything widens the demo, but the demo stands without a package registry.
.PHONY: demo-build
demo-build: controlplane build
	@echo "demo: building the sample server and the demo"
	@$(GO_BUILD) -label demo -name "the sample server" -dir $(ROOT) -- $(BUILD_FLAGS) -o $(BIN)/sample-server $(SAMPLE_SERVER)
	@$(GO_BUILD) -label demo -name "the demo" -dir $(ROOT) -- $(BUILD_FLAGS) -o $(BIN)/demo ./hack/demo
	@$(MAKE) --no-print-directory node-assets || echo "demo: goes on without npm server-everything"

##@ Build

.PHONY: build
build: ## Build bin/mooring.
	@(sleep 1 >/dev/null 2>&1; echo "mooring: building (minutes when the Go cache is cold)") & hint=$$!; \
	$(GO_BUILD) -label mooring -name bin/mooring -dir $(ROOT) -- $(BUILD_FLAGS) \
	  -ldflags "-X github.com/mooring-dev/mooring/internal/cli.version=$(VERSION)" -o $(BIN)/mooring .; \
	status=$$?; kill $$hint 2>/dev/null; exit $$status

.PHONY: controlplane
controlplane: ## Put etcd, kube-apiserver and kubectl into bin/.
	@test -e $(BIN)/.controlplane || echo "controlplane: looking for etcd, kube-apiserver and kubectl"
	@CGO_ENABLED=0 $(GO) run -C hack/controlplane $(GOMODFLAGS) . -go "$(GO_COMMAND)" -bin $(BIN)

.PHONY: node-assets
node-assets: $(NODE_ASSETS)/.installed ## Put npm server-everything, and a Node to run it, into bin/node-assets.

# No package's install script runs. The Node that runs the server is npm's package for this machine, else the one on PATH.
$(NODE_ASSETS)/.installed: hack/node-assets/package-lock.json
	@command -v npm >/dev/null 2>&1 || { echo "node-assets: npm not found; install Node.js 20 or later with npm" >&2; exit 1; }
	@mkdir -p $(NODE_ASSETS) && cp hack/node-assets/package.json $< $(NODE_ASSETS)/
	npm ci --prefix $(NODE_ASSETS) --ignore-scripts --no-audit --no-fund --no-progress
	@node=$$(ls $(NODE_ASSETS)/node_modules/node-*/bin/node 2>/dev/null | head -n 1); \
	  ln -sf "$${node:-$$(command -v node)}" $(NODE) && $(NODE) --version && touch $@

.PHONY: docker-build
docker-build: ## Build the image that IMAGE names.
	docker build --build-arg VERSION=$(VERSION) -t $(IMAGE) .

.PHONY: clean
clean: ## Throw away bin/, coverage/ and the state of `mooring dev`.
	rm -rf $(BIN) coverage .mooring

##@ Generate and check

.PHONY: generate
generate: $(CONTROLLER_GEN) ## Write deepcopy, apply configurations, CRDs, roles, the chart's copies and the table of floors.
	$(CONTROLLER_GEN) object paths=./api/...
	$(CONTROLLER_GEN) applyconfiguration paths=./api/...
	$(CONTROLLER_GEN) crd:ignoreUnexportedFields=true paths=./api/... output:crd:artifacts:config=config/crd/bases
	$(CONTROLLER_GEN) rbac:roleName=mooring-manager paths=./controllers/... paths=./internal/... \
	  output:rbac:artifacts:config=config/rbac
	@$(MAKE) --no-print-directory charts
	@CGO_ENABLED=0 $(GO) run $(GOMODFLAGS) ./hack/floors -table CONTRIBUTING.md

.PHONY: charts
charts: ## Copy the CRDs, roles and bindings of config/ into the Helm chart.
	@rm -rf $(CHART_FILES)
	@mkdir -p $(CHART_FILES)/crds $(CHART_FILES)/rbac $(CHART_FILES)/gateway
	@cp config/crd/bases/*.yaml $(CHART_FILES)/crds/
	@cp config/rbac/*role*.yaml $(CHART_FILES)/rbac/
	@cp config/gateway/rbac/*.yaml $(CHART_FILES)/gateway/

.PHONY: verify
verify: ## Generated files are up to date, CRDs small enough for a plain kubectl apply, floors kept.
	@hack/verify.sh $(GENERATED)
	@$(MAKE) --no-print-directory floors

.PHONY: floors
floors: ## Packages import downward only, whatever they reach through others.
	@CGO_ENABLED=0 $(GO) run $(GOMODFLAGS) ./hack/floors

.PHONY: lint
lint: $(GOLANGCI_LINT) ## Lint by .golangci.yml, the API by .golangci-kal.yml too.
	$(GOLANGCI_LINT) run --allow-parallel-runners ./...
	cd hack/controlplane && $(GOLANGCI_LINT) run --allow-parallel-runners -c $(ROOT)/.golangci.yml ./...
	$(GOLANGCI_LINT) run --allow-parallel-runners -c .golangci-kal.yml ./api/...

.PHONY: fmt
fmt: $(GOLANGCI_LINT) ## Format, import groups included.
	$(GOLANGCI_LINT) fmt ./...

##@ Test

# Lint runs vet. What repeats much or waits long on purpose does so in `make soak` only (test/pace).
TEST_FLAGS = $(GOMODFLAGS) -vet=off -count=1

.PHONY: test
test: controlplane ## Run all tests, with the race detector where a C compiler is.
	@CGO_ENABLED=0 $(GO) test -C hack/controlplane $(TEST_FLAGS) ./...
	@$(TEST_ENV) CGO_ENABLED=0 $(GO) test -C hack/tools $(TEST_FLAGS) ./argocd ./chart
	@if $(HAVE_CC); then race=-race cgo=1; else race= cgo=0; echo "test: no C compiler, so without the race detector"; fi; \
	  $(MAKE) --no-print-directory node-assets || { echo "test: without what npm has"; \
	    without='-skip=^(TestServerEverything|TestConformance|TestNPMClients)$$'; }; \
	  set -x; $(TEST_ENV) CGO_ENABLED=$$cgo $(GO) test $(TEST_FLAGS) $$race $$without -timeout 20m $(GOPACKAGES)

.PHONY: soak
soak: controlplane ## Run the tests that repeat much or wait long, in full (about 6 minutes).
	$(TEST_ENV) MOORING_SOAK=1 CGO_ENABLED=0 $(GO) test $(TEST_FLAGS) -timeout 20m \
	  -run 'TestProperty|TestFleetOfAgents|IdleFleet' ./controllers/... ./test/integration

# Packages of floors 0 to 2, without test support; what one's tests reach in another counts.
COVERED = $(shell $(GO) list ./internal/... | grep -vE '/internal/(cli|connect|gateway)(/|$$)|test$$')
COVER_DATA := $(ROOT)/coverage

.PHONY: cover
cover: controlplane ## Statement coverage of floors 0 to 2, each package at least 90 %.
	@rm -rf $(COVER_DATA) && mkdir -p $(COVER_DATA)
	@$(TEST_ENV) CGO_ENABLED=0 $(GO) test $(GOMODFLAGS) -timeout 15m -cover -coverpkg "$$(echo $(COVERED) | tr ' ' ,)" \
	  $(COVERED) -args -test.gocoverdir=$(COVER_DATA) >$(COVER_DATA)/log || { cat $(COVER_DATA)/log; exit 1; }
	@$(GO) tool covdata percent -i=$(COVER_DATA) | sed 's,.*/mooring/,,' | \
	  awk '{print; if ($$3 + 0 < 90) low = low " " $$1} END {if (low) {print "cover: less than 90 %:" low; exit 1}}'

.PHONY: bench
bench: controlplane build ## Measure the gateway beside Go's ReverseProxy (6 minutes); MARKDOWN=FILE writes the page.
	@$(GO_BUILD) -label bench -name "the benchmark" -dir $(ROOT) -- $(BUILD_FLAGS) -o $(BIN)/bench ./hack/bench
	@exec $(BIN)/bench -bin $(BIN) $(if $(MARKDOWN),-markdown $(MARKDOWN)) $(BENCH_FLAGS)

.PHONY: bench-packages
bench-packages: ## Run the benchmarks of single packages.
	CGO_ENABLED=0 $(GO) test $(GOMODFLAGS) -run '^$$' -bench . -benchmem $(GOPACKAGES)

##@ Tools

.PHONY: tools
tools: $(CONTROLLER_GEN) $(GOLANGCI_LINT) $(SETUP_ENVTEST) ## Build the pinned tools into bin/.

# A change of the pins is newer than the programs and builds them again.
TOOL_BUILD = $(GO_BUILD) -label tools -name $(@F) -dir $(ROOT)/hack/tools -- $(BUILD_FLAGS) -o $@

$(CONTROLLER_GEN): $(TOOLS_MOD)
	@echo "tools: building controller-gen"
	@$(TOOL_BUILD) sigs.k8s.io/controller-tools/cmd/controller-gen

$(SETUP_ENVTEST): $(TOOLS_MOD)
	@echo "tools: building setup-envtest"
	@$(TOOL_BUILD) sigs.k8s.io/controller-runtime/tools/setup-envtest

$(GOLANGCI_LINT): $(TOOLS_MOD) hack/tools/golangci-lint/main.go
	@echo "tools: building golangci-lint with the Kubernetes API linter (about 90 s when the Go cache is cold)"
	@$(TOOL_BUILD) ./golangci-lint
