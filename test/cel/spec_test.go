package cel

import (
	"fmt"
	"strings"
	"testing"
)

const (
	oneTransport = "set exactly one transport: http or stdio"
	nameForm     = "name must consist of letters, digits and '_', and not begin with a digit"
	versionForm  = "protocolVersion must be a date such as 2025-11-25"
	providerForm = "provider must begin with a letter or digit and consist of letters, digits, spaces and . _ / @ -"
	imageForm    = "image must be an image reference such as ghcr.io/acme/server:1.2"
	digestForm   = "approvedDigest must be a digest as status.catalog.digest shows it: sha256: and 64 hexadecimal digits"
	selectorWhen = "set selector exactly when from is Selector"
	callMaxBelow = "callMax must not be below call"

	// server is a transport to which cases add other fields of the spec.
	server = `http: {url: "https://mcp.example.com/mcp"}`
	image  = `image: "ghcr.io/acme/server:1.2", command: [server]`
)

// with is a valid server with these further fields of the spec.
func with(fields string) string {
	return `{` + server + `, ` + fields + `}`
}

// stdio is a stdio server with these further fields.
func stdio(fields string) string {
	return `stdio: {` + image + `, ` + fields + `}`
}

var digest = strings.Repeat("0123456789abcdef", 4)

var specAcceptances = []accepted{
	{"http alone", server},
	{"stdio alone", `stdio: {` + image + `}`},
	{"stdio with everything", stdio(`args: [--root, "$(ROOT)", ""], env: [{name: HOME, value: /tmp}, {name: _KEY1, ` +
		`valueFrom: ` + gh + `}], resources: {requests: {cpu: 100m, memory: 64Mi}, limits: {memory: 1Gi}}`)},
	{"image by digest", `stdio: {image: "registry.example:5000/a/b@sha256:` + digest + `", command: [server]}`},
	{"variables", with(`variables: [{name: ORG, value: acme}, {name: _x9, value: ""}, {name: KEY, ` +
		`valueFrom: ` + gh + `}]`)},
	{"disabled", with(`disabled: true`)},
	{"enabled in so many words", with(`disabled: false`)},
	{"level Project", with(`level: Project`)},
	{"level User", with(`level: User`)},
	{"provider", with(`provider: claude-code`)},
	{"provider with spaces", with(`provider: GitHub Copilot @acme/x_1.2`)},
	{"notes of several lines", with(`notes: "What it is for.\nAnd what not: größer."`)},
	{"protocol version", with(`protocolVersion: "2025-11-25"`)},
	{"calls", with(`calls: {maxConcurrent: 1, replayTools: ["*"]}`)},
	{"most concurrent calls", with(`calls: {maxConcurrent: 1024, replayTools: ["read_*", "get-?"]}`)},
	{"recovery", with(`recovery: {attempts: 1, strikes: 1}`)},
	{"most recovery", with(`recovery: {attempts: 10, strikes: 10}`)},
	{"sharing PerCaller", with(`sessions: {sharing: PerCaller}`)},
	{"sharing Shared", with(`sessions: {sharing: Shared}`)},
	{"tools", with(`tools: {allow: ["*"], deny: ["delete_*", "my tool"], pin: TrustOnFirstUse}`)},
	{"pin None", with(`tools: {pin: None}`)},
	{"pin Strict", with(`tools: {pin: Strict, approvedDigest: "sha256:` + digest + `"}`)},
	{"from Same", with(`allowedNamespaces: {from: Same}`)},
	{"from All", with(`allowedNamespaces: {from: All}`)},
	{"from Selector", with(`allowedNamespaces: {from: Selector, selector: {matchLabels: {team: a}}}`)},
	{"empty policies", with(`timeouts: {}, calls: {}, recovery: {}, sessions: {}, health: {}, tools: {}`)},
}

var specRefusals = []refused{
	{"no transport", `{}`, invalid("spec", oneTransport)},
	{"both transports", `{` + server + `, stdio: {` + image + `}}`, invalid("spec", oneTransport)},
	{"stdio without a command", `stdio: {image: server}`, []string{"spec.stdio.command: Required value"}},
	{"stdio without an image", `stdio: {command: [server]}`, []string{"spec.stdio.image: Required value"}},
	{"image with a space", `stdio: {image: "a b", command: [server]}`, invalidValue("spec.stdio.image", "a b", imageForm)},
	{"env in clear and from a Secret", stdio(`env: [{name: K, value: v, valueFrom: ` + gh + `}]`),
		invalid("spec.stdio.env[0]", valueOrFrom)},
	{"env without a value", stdio(`env: [{name: K}]`), invalid("spec.stdio.env[0]", valueOrFrom)},
	{"env name with a hyphen", stdio(`env: [{name: MY-KEY, value: v}]`),
		invalidValue("spec.stdio.env[0].name", "MY-KEY", nameForm)},
	{"variable in clear and from a Secret", with(`variables: [{name: K, value: v, valueFrom: ` + gh + `}]`),
		invalid("spec.variables[0]", valueOrFrom)},
	{"variable without a value", with(`variables: [{name: K}]`), invalid("spec.variables[0]", valueOrFrom)},
	{"variable name with a leading digit", with(`variables: [{name: 1K, value: v}]`),
		invalidValue("spec.variables[0].name", "1K", nameForm)},
	{"variable defined twice", with(`variables: [{name: K, value: v}, {name: K, value: w}]`),
		[]string{`spec.variables[1]: Duplicate value: {"name":"K"}`}},
	{"unknown level", with(`level: Team`),
		[]string{`spec.level: Unsupported value: "Team": supported values: "Project", "User"`}},
	{"provider of two lines", with(`provider: "a\nb"`), invalidValue("spec.provider", "a\nb", providerForm)},
	{"protocol version latest", with(`protocolVersion: latest`),
		invalidValue("spec.protocolVersion", "latest", versionForm)},
	{"protocol version with more", with(`protocolVersion: "2025-11-25-rc"`),
		invalidValue("spec.protocolVersion", "2025-11-25-rc", versionForm)},
	{"no concurrent call", with(`calls: {maxConcurrent: 0}`), []string{
		"spec.calls.maxConcurrent: Invalid value: 0: spec.calls.maxConcurrent in body should be greater than or equal to 1",
	}},
	{"too many concurrent calls", with(`calls: {maxConcurrent: 1025}`), []string{
		"spec.calls.maxConcurrent: Invalid value: 1025: spec.calls.maxConcurrent in body should be less than or equal " +
			"to 1024",
	}},
	{"no attempt", with(`recovery: {attempts: 0}`), []string{
		"spec.recovery.attempts: Invalid value: 0: spec.recovery.attempts in body should be greater than or equal to 1",
	}},
	{"no strike", with(`recovery: {strikes: 0}`), []string{
		"spec.recovery.strikes: Invalid value: 0: spec.recovery.strikes in body should be greater than or equal to 1",
	}},
	{"glob given twice", with(`calls: {replayTools: [a, a]}`),
		[]string{`spec.calls.replayTools[1]: Duplicate value: "a"`}},
	{"empty glob", with(`tools: {allow: [""]}`), []string{
		`spec.tools.allow[0]: Invalid value: "": spec.tools.allow[0] in body should be at least 1 chars long`,
	}},
	{"unknown sharing", with(`sessions: {sharing: None}`),
		[]string{`spec.sessions.sharing: Unsupported value: "None": supported values: "PerCaller", "Shared"`}},
	{"unknown pin", with(`tools: {pin: Always}`),
		[]string{`spec.tools.pin: Unsupported value: "Always": supported values: "None", "TrustOnFirstUse", "Strict"`}},
	{"digest without its kind", with(`tools: {approvedDigest: "` + digest + `"}`),
		invalidValue("spec.tools.approvedDigest", digest, digestForm)},
	{"digest cut off", with(`tools: {approvedDigest: "sha256:0123456789ab"}`),
		invalidValue("spec.tools.approvedDigest", "sha256:0123456789ab", digestForm)},
	{"Selector without a selector", with(`allowedNamespaces: {from: Selector}`),
		invalid("spec.allowedNamespaces", selectorWhen)},
	{"selector without Selector", with(`allowedNamespaces: {from: All, selector: {}}`),
		invalid("spec.allowedNamespaces", selectorWhen)},
	{"allowed namespaces without from", with(`allowedNamespaces: {}`),
		[]string{"spec.allowedNamespaces.from: Required value"}},
}

func TestSpecAccepted(t *testing.T) { runAccepted(t, mcpServer, specAcceptances) }

func TestSpecRefused(t *testing.T) { runRefused(t, mcpServer, specRefusals) }

// durationField is one duration of the spec, its bounds and a value just outside of each.
type durationField struct {
	parent, field, message    string
	least, most, short, above string
}

var durationFields = []durationField{
	{"timeouts", "connect", "from 1s to 10m, such as 30s", "1s", "10m", "999ms", "10m1s"},
	{"timeouts", "list", "from 1s to 10m, such as 60s", "1s", "10m", "0.9s", "601s"},
	{"timeouts", "call", "from 1s to 1h, such as 60s", "1s", "1h", "0s", "1h0m1s"},
	{"timeouts", "callMax", "from 1s to 24h, such as 15m", "1000ms", "24h", "0s", "24h1s"},
	{"recovery", "cooldown", "from 1s to 1h, such as 30s", "1s", "60m", "0s", "61m"},
	{"sessions", "idleTimeout", "from 1s to 24h, such as 10m", "1s", "24h0m0s", "0s", "25h"},
	{"health", "interval", "from 5s to 1h, such as 60s", "5s", "1h", "4s", "3601s"},
	{"tools", "refreshInterval", "from 10s to 24h, such as 10m", "10s", "1440m", "9.999s", "24h0m0.001s"},
	{"recovery", "probeInterval", "from 10s to 24h, such as 5m", "10s", "24h", "1s", "25h"},
}

func (f durationField) spec(value string) string {
	return with(fmt.Sprintf("%s: {%s: %q}", f.parent, f.field, value))
}

func (f durationField) refusal() string {
	if f.field == "probeInterval" {
		return f.field + " must be 0s or a duration " + f.message
	}
	return f.field + " must be a duration " + f.message
}

// refused lists what is outside of the bounds, what is not a duration, and what other software takes for one.
func (f durationField) refused() []refused {
	var cases []refused
	for _, value := range []string{
		f.short, f.above, "-5m", "1d", "1w", "60", "5 minutes", "1m 30s", ".5m", "PT5M", "1us",
		"9999999999h", "99999h99999h99999h99999h", "",
	} {
		cases = append(cases, refused{
			name: f.field + " " + value, spec: f.spec(value),
			want: invalidValue("spec."+f.parent+"."+f.field, value, f.refusal()),
		})
	}
	return cases
}

func TestDurationsAccepted(t *testing.T) {
	cases := []accepted{
		{"probeInterval 0s", with(`recovery: {probeInterval: 0s}`)},
		{"call alone above the default of callMax", with(`timeouts: {call: 30m}`)},
		{"callMax alone below the default of call", with(`timeouts: {callMax: 10s}`)},
		{"24h in milliseconds", with(`timeouts: {callMax: 86400000ms}`)},
		{"several units and a fraction", with(`timeouts: {callMax: 1h2m3.000000004s5ms}`)},
		{"callMax equal to call", with(`timeouts: {call: 60s, callMax: 1m}`)},
	}
	for _, f := range durationFields {
		cases = append(cases,
			accepted{f.field + " at least", f.spec(f.least)}, accepted{f.field + " at most", f.spec(f.most)})
	}
	runAccepted(t, mcpServer, cases)
}

func TestDurationsRefused(t *testing.T) {
	cases := []refused{
		{"callMax below call", with(`timeouts: {call: 2m, callMax: 90s}`), invalid("spec.timeouts.callMax", callMaxBelow)},
		{"number", with(`timeouts: {connect: 30}`), []string{
			`spec.timeouts.connect: Invalid value: "integer": spec.timeouts.connect in body must be of type string: "integer"`,
		}},
		{"longer than a duration is", with(`timeouts: {connect: "` + strings.Repeat("1s", 17) + `"}`),
			[]string{"spec.timeouts.connect: Too long: may not be more than 32 bytes"}},
	}
	for _, f := range durationFields {
		cases = append(cases, f.refused()...)
	}
	runRefused(t, mcpServer, cases)
}
