package connect

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"sync"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/catalog"
	"github.com/mooring-dev/mooring/internal/egress"
	"github.com/mooring-dev/mooring/internal/failure"
	"github.com/mooring-dev/mooring/internal/oauth"
	"github.com/mooring-dev/mooring/internal/secret"
	"github.com/mooring-dev/mooring/internal/session"
	"github.com/mooring-dev/mooring/internal/upstream"
)

// Era is a way of speaking MCP.
type Era = upstream.Era

// EraMemory is what is known of the era that a server speaks.
type EraMemory = upstream.EraMemory

// Options are the same for all servers of a process.
type Options struct {
	// Values reads Secrets and ConfigMaps.
	Values Values
	// Egress judges every address; nil has the built-in refusals.
	Egress *egress.Policy
	// UserAgent, "name/version", is told to servers.
	UserAgent string
}

// Connector makes sessions' configurations. It is safe for concurrent use.
type Connector struct {
	options Options
	tokens  *oauth.Sources

	mu      sync.Mutex
	guarded map[session.Key]speaks
}

// speaks is what is known of the protocol of a server under one config hash.
type speaks struct {
	hash string
	era  *EraMemory
}

// New returns a Connector that knows nothing of any server yet.
func New(options Options) *Connector {
	return &Connector{options: options, tokens: oauth.NewSources(), guarded: map[session.Key]speaks{}}
}

// Session is the session that a declaration asks for.
type Session struct {
	session.Config
	// References tells the versions of all objects that were read, as a hash; empty when there is none. It changes with
	// each write to one of them, and says nothing of what they hold.
	References string
	// Era is shared by all sessions to the server under this config hash.
	Era *EraMemory
}

// Check judges what can be judged without reading a reference. The error is a *NotAccepted.
func (c *Connector) Check(server *v1alpha1.MCPServer) error {
	http := server.Spec.HTTP
	if http == nil {
		if server.Spec.Disabled {
			return nil
		}
		return &NotAccepted{v1alpha1.ReasonNotSupportedYet, "spec.stdio is not supported by this version of Mooring; " +
			"serve the command over HTTP and use spec.http", true}
	}
	err := c.checkURL(server.Namespace, "spec.http.url", withoutVariables(http.URL), Target(&server.Spec))
	if err != nil || http.Auth == nil || http.Auth.OAuthClientCredentials == nil {
		return err
	}
	return c.checkURL(server.Namespace, "spec.http.auth.oauthClientCredentials.tokenURL",
		http.Auth.OAuthClientCredentials.TokenURL, "")
}

// checkURL refuses what is no URL, and a literal address that may never be dialled. Messages show target, or the URL
// without its query.
func (c *Connector) checkURL(namespace, field, text, target string) error {
	parsed, err := url.Parse(text)
	if err != nil || parsed.Host == "" {
		return Invalid("%s is not a URL; write it as https://host[:port]/path", field)
	}
	if target == "" {
		target = (&url.URL{Scheme: parsed.Scheme, Host: parsed.Host, Path: parsed.Path}).String()
	}
	if err := c.options.Egress.ForNamespace(namespace).CheckLiteral(parsed.Host); err != nil {
		return &NotAccepted{v1alpha1.ReasonAddressNotAllowed, failure.Message(failure.Classify(err), target), true}
	}
	return nil
}

// Session returns the session that a server is to have, nil where it is disabled. server has the status that was read:
// the session goes on from there. A *NotAccepted says what is to be fixed.
func (c *Connector) Session(ctx context.Context, server *v1alpha1.MCPServer) (*Session, error) {
	if err := c.Check(server); err != nil || server.Spec.Disabled {
		return nil, err
	}
	spec := &server.Spec
	declared := declare(server.Namespace, spec)
	references, err := declared.resolve(ctx, c.options.Values)
	if err != nil {
		return nil, err
	}
	config, era := &declared.config, c.era(server)
	config.Timeouts, config.UserAgent, config.Era = timeouts(spec), c.options.UserAgent, era
	config.Egress = c.options.Egress.ForNamespace(server.Namespace)
	dialer, err := c.dialer(declared)
	if err != nil {
		return nil, Invalid(
			"the server cannot be dialled as declared: %v; correct spec.http or spec.protocolVersion", err)
	}
	replay, err := replayed(spec)
	if err != nil {
		return nil, err
	}
	connection := secret.FingerprintOf(*config)
	return &Session{References: references, Era: era, Config: session.Config{
		Generation: server.Generation,
		Dialer:     dialer,
		Connection: connection,
		Catalog:    Hash(spec),
		Wake:       secret.Fingerprint(fmt.Sprint(server.Generation), connection),
		Reconnect:  server.Annotations[v1alpha1.AnnotationReconnect],
		Address:    hostPort(config.URL),
		Restore:    restored(server, references),
		Timeouts:   config.Timeouts,
		Recovery:   recovery(spec),
		Calls: session.Calls{
			MaxConcurrent: spec.MaxConcurrent(), IdleTimeout: spec.IdleTimeout(), Replay: replay,
		},
		HealthInterval:  spec.HealthInterval(),
		RefreshInterval: spec.RefreshInterval(),
	}}, nil
}

func (c *Connector) dialer(declared *declaration) (*upstream.Dialer, error) {
	if declared.source != nil {
		source, err := declared.source(c)
		if err != nil {
			return nil, err
		}
		declared.config.TokenSource = source
	}
	return upstream.NewDialer(declared.config)
}

// Forget drops what is known of a server whose object is gone.
func (c *Connector) Forget(key session.Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.guarded, key)
}

// era is what is known of the server under its present config hash.
func (c *Connector) era(server *v1alpha1.MCPServer) *EraMemory {
	key, hash := session.Key(server.UID), Hash(&server.Spec)
	c.mu.Lock()
	defer c.mu.Unlock()
	known := c.guarded[key]
	if known.era == nil || known.hash != hash {
		known = speaks{hash: hash, era: &EraMemory{}}
		c.guarded[key] = known
	}
	return known.era
}

// hostPort is what a session dials, with the scheme's default port.
func hostPort(text secret.Value) string {
	parsed, err := url.Parse(text.Reveal())
	switch {
	case err != nil:
		return ""
	case parsed.Port() != "":
		return parsed.Host
	case parsed.Scheme == "http":
		return net.JoinHostPort(parsed.Hostname(), "80")
	}
	return net.JoinHostPort(parsed.Hostname(), "443")
}

func timeouts(spec *v1alpha1.MCPServerSpec) session.Timeouts {
	return session.Timeouts{
		Connect: spec.ConnectTimeout(), List: spec.ListTimeout(), Call: spec.CallTimeout(), CallMax: spec.CallMax(),
	}
}

// replayed tells which tools a person named as safe to be called again; nil for none.
func replayed(spec *v1alpha1.MCPServerSpec) (func(tool string) bool, error) {
	if spec.Calls == nil || len(spec.Calls.ReplayTools) == 0 {
		return nil, nil //nolint:nilnil // nothing may be replayed
	}
	globs, err := catalog.CompileGlobs(spec.Calls.ReplayTools)
	if err != nil {
		return nil, Invalid("spec.calls.replayTools: %v; correct it", err)
	}
	return globs.Match, nil
}

// recovery translates the API's "0s", never probe, into the supervisor's negative.
func recovery(spec *v1alpha1.MCPServerSpec) session.Recovery {
	interval := spec.ProbeInterval()
	if interval == 0 {
		interval = -1
	}
	return session.Recovery{
		Attempts: spec.Attempts(), Cooldown: spec.Cooldown(), Strikes: spec.Strikes(), ProbeInterval: interval,
	}
}
