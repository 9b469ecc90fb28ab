package main

import "slices"

const module = "github.com/mooring-dev/mooring/"

// rule gives package trees of one kind their floor, and says what they never reach, however long the way. A tree may
// import trees of lower floors, and itself; of two rules for one package that of the longer path counts. Outside of
// api/, controllers/ and internal/ nothing has a floor: those are programs and tests.
type rule struct {
	floor int
	trees []string
	// mayUse is what the table in CONTRIBUTING.md says.
	mayUse string
	// never has prefixes of import paths.
	never []string
	// pure asks for more: nothing outside of the standard library but the prefixes of import paths in with.
	pure bool
	with []string
}

// What is kept out of packages, as prefixes of import paths.
var (
	kubernetes = []string{"k8s.io/", "sigs.k8s.io/", module + "api/"}
	sdk        = []string{"github.com/modelcontextprotocol/go-sdk"}
	clients    = []string{"k8s.io/client-go/", "sigs.k8s.io/controller-runtime/"}
)

var rules = []rule{
	{
		floor: 0, trees: []string{"api"}, mayUse: "Kubernetes' API machinery",
		never: slices.Concat(sdk, []string{module + "internal/", module + "controllers/"}),
	},
	{floor: -1, mayUse: "the standard library", pure: true, trees: []string{"internal/text"}},
	{
		floor: 0, mayUse: "the standard library and `internal/text`", pure: true, with: []string{module + "internal/text"},
		trees: []string{"internal/failure", "internal/backoff", "internal/catalog", "internal/secret"},
	},
	{
		floor: 1, trees: []string{"internal/session"},
		mayUse: "the standard library and pure packages of floor 0", pure: true,
		with: []string{
			module + "internal/failure", module + "internal/backoff", module + "internal/secret", module + "internal/text",
		},
	},
	{
		floor: 1, trees: []string{"internal/egress"},
		mayUse: "the same, and `golang.org/x/net` for the environment's proxies",
		pure:   true, with: []string{
			module + "internal/failure", module + "internal/text", "golang.org/x/net/", "golang.org/x/text/",
		},
	},
	{
		floor: 1, mayUse: "Kubernetes' client libraries", never: sdk,
		trees: []string{
			"internal/conditions", "internal/configmap", "internal/refs", "internal/wake", "internal/events", "internal/metrics",
		},
	},
	{
		floor: 2, trees: []string{"internal/upstream", "internal/oauth", "internal/bridge"},
		mayUse: "the MCP SDK; no Kubernetes", never: kubernetes,
	},
	{
		floor: 2, trees: []string{"internal/importer"},
		mayUse: "the API's types and YAML; no client libraries", never: slices.Concat(sdk, clients),
	},
	{
		floor: 2, trees: []string{"internal/catalog/catalogstore"}, mayUse: "catalogs and sessions",
		pure: true, with: []string{
			module + "internal/catalog", module + "internal/session", module + "internal/failure", module + "internal/backoff",
			module + "internal/secret", module + "internal/text",
		},
	},
	{
		floor: 3, trees: []string{"internal/connect"},
		mayUse: "all of these: the one way from an object to a session",
	},
	{floor: 4, trees: []string{"internal/gateway"}, mayUse: "the MCP SDK; servers only through `internal/connect`"},
	{
		floor: 4, trees: []string{"controllers/mcpserver", "controllers/agentsession"},
		mayUse: "no SDK; servers only through `internal/connect`; not one another", never: sdk,
	},
	{floor: 5, trees: []string{"controllers"}, mayUse: "every controller", never: sdk},
	{floor: 6, trees: []string{"internal/cli"}, mayUse: "everything"},
}

// seam is the only package between floors 2 and 4: what stands above it reaches the packages below that speak to MCP
// servers through it alone, and imports none of them.
var (
	seam     = "internal/connect"
	speakers = []string{"internal/upstream", "internal/oauth"}
	envelope = "internal/upstream/rpc"
	aboveIt  = []string{"controllers", "internal/gateway"}
)
