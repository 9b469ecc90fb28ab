package gateway

import (
	"context"
	"net/http"
	"path"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/gateway/directory"
	"github.com/mooring-dev/mooring/internal/gateway/identity"
	"github.com/mooring-dev/mooring/internal/metrics"
	"github.com/mooring-dev/mooring/internal/session"
)

// Identity says who calls and what they may use.
type Identity interface {
	Authenticate(ctx context.Context, token string) (*identity.Caller, error)
	MayUse(ctx context.Context, caller *identity.Caller, object identity.Object) (bool, error)
}

// Sessions carry calls to servers.
type Sessions interface {
	Call(ctx context.Context, key session.Key, from session.Caller, call session.Call) (session.Answer, error)
}

// Directory says what is offered.
type Directory interface {
	SessionOffer(name types.NamespacedName) *directory.Offer
	ServerOffer(name types.NamespacedName) *directory.Offer
}

// Metrics count calls.
type Metrics interface {
	// Began counts a call in until what it returns is called.
	Began() (ended func())
	// Called notes what came of a call to a server.
	Called(call metrics.Call)
}

// Options are what a Gateway is made with.
type Options struct {
	Identity  Identity
	Directory Directory
	Sessions  Sessions
	// Hold has Sessions know a server before it is called; nil where another one sees to that.
	Hold func(ctx context.Context, server *v1alpha1.MCPServer) error
	// Anonymous takes requests without a token as those of a developer. It is for loopback listeners alone.
	Anonymous bool
	// AllowedHosts are names that the gateway is reached by besides loopback and the names of its Service.
	AllowedHosts []string
	// AllowedOrigins may call from browsers.
	AllowedOrigins []string
	// MaxInflightBytes bounds the requests and results that are held at one time. Default 256 MiB.
	MaxInflightBytes int64
	// Version is told to clients.
	Version string
	// Metrics has the series of calls.
	Metrics Metrics
	// Tracer has the spans of calls; nil for none.
	Tracer trace.Tracer
	// Log gets a line for each call.
	Log logr.Logger
}

// Gateway serves agents. New makes one.
type Gateway struct {
	options  Options
	guard    *guard
	sdk      *sdk
	inflight inflight
	streams  streams
	calls    calls
	requests atomic.Uint64
	// ending is closed when no stream is to stand any more.
	ending chan struct{}
	mux    *http.ServeMux
}

const defaultInflight = 256 << 20

// New returns a Gateway for the options.
func New(options Options) *Gateway {
	if options.MaxInflightBytes <= 0 {
		options.MaxInflightBytes = defaultInflight
	}
	g := &Gateway{
		options: options, guard: newGuard(options.AllowedHosts, options.AllowedOrigins), sdk: newSDK(options.Version),
		inflight: inflight{most: options.MaxInflightBytes}, mux: http.NewServeMux(),
		ending: make(chan struct{}),
	}
	const name = "{namespace}/{name}"
	for _, end := range []string{"/mcp", "/mcp/{$}"} {
		g.mux.HandleFunc("/sessions/"+name+end, g.serve(directory.SessionKind, g.serveMCP))
		g.mux.HandleFunc("/servers/"+name+end, g.serve(directory.ServerKind, g.serveMCP))
	}
	g.mux.HandleFunc("GET /sessions/"+name+"/catalog", g.serve(directory.SessionKind, g.serveCatalog))
	g.mux.HandleFunc("/", g.nothing)
	return g
}

// ServeHTTP implements http.Handler.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if fault := g.guard.check(w.Header(), r); fault != "" {
		writeFault(w, http.StatusForbidden, fault)
		return
	}
	if r.Method == http.MethodOptions && w.Header().Get("Access-Control-Allow-Origin") != "" {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	// The mux would answer a path that is not clean with a redirect, which turns a client's POST elsewhere.
	if place := r.URL.EscapedPath(); path.Clean(place) != strings.TrimSuffix(place, "/") {
		g.nothing(w, r)
		return
	}
	if r.Body != http.NoBody { // without one, the deadline would end the wait for a client to leave
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTimeout))
	}
	g.mux.ServeHTTP(w, r)
}

func (g *Gateway) nothing(w http.ResponseWriter, _ *http.Request) {
	writeFault(w, http.StatusNotFound, "there is nothing here; agents connect to /sessions/NAMESPACE/NAME/mcp")
}

// visit is one request of a caller who may use what it names.
type visit struct {
	*http.Request
	offer  *directory.Offer
	caller *identity.Caller
}

// serve lets those through who may use the object that the path names.
func (g *Gateway) serve(kind directory.Kind, next func(http.ResponseWriter, *visit)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		v := &visit{Request: r}
		name := types.NamespacedName{Namespace: r.PathValue("namespace"), Name: r.PathValue("name")}
		var ok bool
		if v.caller, ok = g.authenticate(w, r); !ok {
			return
		}
		if !possible(name) { // it is not asked for either: permissions are remembered by name
			g.nothing(w, r)
			return
		}
		v.offer = g.find(kind, name)
		if !g.authorise(w, v, kind, name) {
			return
		}
		if v.offer == nil {
			writeFault(w, http.StatusNotFound, "there is no "+string(kind)+" "+name.String())
			return
		}
		next(w, v)
	}
}

// possible tells whether an object can have the name.
func possible(name types.NamespacedName) bool {
	return len(validation.IsDNS1123Label(name.Namespace)) == 0 && len(validation.IsDNS1123Subdomain(name.Name)) == 0
}

// endStreams ends the streams that stand until a client leaves.
func (g *Gateway) endStreams() { close(g.ending) }
