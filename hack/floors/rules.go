package main

const module = "github.com/mooring-dev/mooring/"

// mostFiles is the most files that a package may have, without tests and generated ones.
const mostFiles = 12

// floors gives the floor of each package tree. A tree may import trees of lower floors, and itself. The longest
// matching path counts. Outside of api/, controllers/ and internal/ nothing has a floor: those are programs and tests.
var floors = map[string]int{
	"api":                      0,
	"internal/failure":         0,
	"internal/backoff":         0,
	"internal/catalog":         0,
	"internal/secret":          0,
	"internal/text":            0,
	"internal/session":         1,
	"internal/egress":          1,
	"internal/conditions":      1,
	"internal/configmap":       1,
	"internal/refs":            1,
	"internal/wake":            1,
	"internal/events":          1,
	"internal/metrics":         1,
	"internal/upstream":        2,
	"internal/oauth":           2,
	"internal/bridge":          2,
	"internal/importer":        2,
	"internal/gateway":         3,
	"controllers":              4,
	"controllers/mcpserver":    3,
	"controllers/agentsession": 3,
	"internal/cli":             5,
}

// What is kept out of packages, as prefixes of import paths.
var (
	kubernetes = []string{"k8s.io/", "sigs.k8s.io/", module + "api/"}
	sdk        = []string{"github.com/modelcontextprotocol/go-sdk"}
	clients    = []string{"k8s.io/client-go/", "sigs.k8s.io/controller-runtime/"}
	speakers   = []string{
		module + "internal/upstream", module + "internal/oauth", module + "internal/bridge", module + "internal/gateway",
	}
)

// promise says what a package tree never reaches, however long the way.
type promise struct {
	tree  string
	never []string
	// stdlib asks for more: nothing outside of the standard library but the trees in with.
	stdlib bool
	with   []string
}

var promises = []promise{
	{tree: "internal/failure", stdlib: true},
	{tree: "internal/backoff", stdlib: true},
	{tree: "internal/catalog", stdlib: true},
	{tree: "internal/secret", stdlib: true},
	{tree: "internal/text", stdlib: true},
	{tree: "internal/session", stdlib: true, with: []string{"internal/failure", "internal/backoff", "internal/secret"}},
	{tree: "internal/egress", stdlib: true, with: []string{"internal/failure"}},
	{tree: "api", never: sdk},
	{tree: "internal/conditions", never: sdk},
	{tree: "internal/configmap", never: sdk},
	{tree: "internal/refs", never: sdk},
	{tree: "internal/wake", never: sdk},
	{tree: "internal/events", never: sdk},
	{tree: "internal/metrics", never: sdk},
	{tree: "internal/upstream", never: kubernetes},
	{tree: "internal/oauth", never: append(append([]string{}, sdk...), kubernetes...)},
	{tree: "internal/bridge", never: kubernetes},
	{tree: "internal/importer", never: append(append([]string{}, sdk...), clients...)},
	{tree: "controllers", never: append(append([]string{}, sdk...), speakers...)},
}
