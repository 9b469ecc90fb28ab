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
GOPACKAGES ?= ./...
# The modules of this repository are complete: no build may edit go.mod.
GOMODFLAGS := -mod=readonly

# The control plane of tests and demo: yours if you name one, otherwise the one in bin/.
ASSETS := $(if $(KUBEBUILDER_ASSETS),$(KUBEBUILDER_ASSETS),$(BIN))

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

##@ Generate and check

.PHONY: generate
generate: $(CONTROLLER_GEN) ## Write deepcopy, apply configurations, CRDs and the manager's role.
	$(CONTROLLER_GEN) object:headerFile=hack/boilerplate.go.txt paths=./api/...
	$(CONTROLLER_GEN) applyconfiguration:headerFile=hack/boilerplate.go.txt paths=./api/...
	$(CONTROLLER_GEN) crd:ignoreUnexportedFields=true paths=./api/... output:crd:artifacts:config=config/crd/bases
	$(CONTROLLER_GEN) rbac:roleName=mooring-manager paths=./controllers/... paths=./internal/... \
	  output:rbac:artifacts:config=config/rbac

##@ Tools

TOOL_BUILD = cd hack/tools && CGO_ENABLED=0 $(GO) build $(GOMODFLAGS) -buildvcs=false -o $@

$(CONTROLLER_GEN): $(TOOLS_MOD)
	@echo "tools: building controller-gen"
	@$(TOOL_BUILD) sigs.k8s.io/controller-tools/cmd/controller-gen

$(SETUP_ENVTEST): $(TOOLS_MOD)
	@echo "tools: building setup-envtest"
	@$(TOOL_BUILD) sigs.k8s.io/controller-runtime/tools/setup-envtest

$(GOLANGCI_LINT): $(TOOLS_MOD) hack/tools/golangci-lint/main.go
	@echo "tools: building golangci-lint with the Kubernetes API linter (about 90 s when the Go cache is cold)"
	@$(TOOL_BUILD) ./golangci-lint

.PHONY: controlplane
controlplane: ## Put etcd, kube-apiserver and kubectl into bin/.
	@$(GO) run -C hack/controlplane $(GOMODFLAGS) . -bin $(BIN)
