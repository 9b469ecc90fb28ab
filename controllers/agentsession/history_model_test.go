package agentsession

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/catalog"
	"github.com/mooring-dev/mooring/internal/catalog/catalogstore"
	"github.com/mooring-dev/mooring/internal/failure"
	"github.com/mooring-dev/mooring/internal/session"
	"github.com/mooring-dev/mooring/test/sessiontest"
)

// model is what is declared. It says what that comes to, by nothing but the declarations, in the plainest words.
type model struct {
	coder    *v1alpha1.AgentSession
	sessions map[string]*v1alpha1.AgentSession
	servers  map[catalog.Ref]*v1alpha1.MCPServer
	labels   map[string]string // of the sessions' namespace
}

func (h *history) read() *model {
	h.t.Helper()
	m := &model{sessions: map[string]*v1alpha1.AgentSession{}, servers: map[catalog.Ref]*v1alpha1.MCPServer{}}
	sessions, servers, namespace := &v1alpha1.AgentSessionList{}, &v1alpha1.MCPServerList{}, &corev1.Namespace{}
	h.Expect(h.api.List(h.t.Context(), sessions)).To(Succeed())
	h.Expect(h.api.List(h.t.Context(), servers)).To(Succeed())
	h.Expect(h.api.Get(h.t.Context(), client.ObjectKey{Name: testNamespace}, namespace)).To(Succeed())
	for i := range sessions.Items {
		m.sessions[sessions.Items[i].Name] = &sessions.Items[i]
	}
	m.coder = m.sessions[coder.Name]
	h.Expect(m.coder).NotTo(BeNil())
	for i := range servers.Items {
		server := &servers.Items[i]
		m.servers[catalog.Ref{Namespace: server.Namespace, Name: server.Name}] = server
	}
	m.labels = namespace.Labels
	return m
}

// lineage is the session and its parents; it is whole when it ends with one that has no parent.
func (m *model) lineage() (members []*v1alpha1.AgentSession, whole bool) {
	for member := m.coder; member != nil && !slices.Contains(members, member); {
		members = append(members, member)
		if member.Spec.ParentRef == nil {
			return members, true
		}
		member = m.sessions[member.Spec.ParentRef.Name]
	}
	return members, false
}

// fault tells whether some declaration keeps it from being known what is to be offered.
func (m *model) fault() bool {
	if m.coder.Spec.MCP == v1alpha1.ToggleDisabled {
		return false
	}
	members, whole := m.lineage()
	return !whole || slices.ContainsFunc(members, func(member *v1alpha1.AgentSession) bool {
		selection, on := member.Spec.Servers, member.Spec.MCP != v1alpha1.ToggleDisabled
		return !readable(member.Spec.Tools) || on && selection != nil && odd(selection)
	})
}

// forbids says why a tool of this exposed name must not be offered; "" when no declaration of a session, nor that of
// the server, forbids it.
func (m *model) forbids(ref catalog.Ref, exposed string) string {
	server := m.servers[ref]
	switch {
	case server.Spec.Disabled:
		return "its server is disabled"
	case ref.Namespace != testNamespace && !m.permits(server):
		return "its server may not be used from here"
	}
	members, _ := m.lineage()
	for _, member := range members {
		spec := &member.Spec
		switch {
		case spec.MCP == v1alpha1.ToggleDisabled:
			return member.Name + " is switched off"
		case spec.ProjectConfig == v1alpha1.ToggleDisabled && server.Spec.Level != v1alpha1.LevelUser:
			return member.Name + " wants no project configuration"
		case !chooses(member, server):
			return member.Name + " does not choose its server"
		case spec.Tools != nil && readable(spec.Tools) && !passes(spec.Tools.Allow, spec.Tools.Deny, exposed):
			return member.Name + " denies it"
		}
	}
	return ""
}

// permits tells whether a server of another namespace may be used.
func (m *model) permits(server *v1alpha1.MCPServer) bool {
	switch allowed := server.Spec.AllowedNamespaces; {
	case allowed == nil:
		return false
	case allowed.From == v1alpha1.NamespacesSelector:
		return contains(m.labels, allowed.Selector.MatchLabels)
	default:
		return allowed.From == v1alpha1.NamespacesAll
	}
}

// chooses tells whether a session may choose a server, as far as what it says can be read. One that says nothing goes
// by its parent, and without one has all of its namespace.
func chooses(member *v1alpha1.AgentSession, server *v1alpha1.MCPServer) bool {
	selection, own := member.Spec.Servers, server.Namespace == testNamespace
	if selection == nil {
		return own || member.Spec.ParentRef != nil
	}
	if own && slices.Contains(selection.Exclude, v1alpha1.ServerExclusion{Name: server.Name}) {
		return false
	}
	named := slices.ContainsFunc(selection.Refs, func(ref v1alpha1.ServerReference) bool {
		return ref.Name == server.Name && (ref.Namespace == "" && own || ref.Namespace == server.Namespace)
	})
	matches := own && selection.Selector != nil && contains(server.Labels, selection.Selector.MatchLabels)
	return named || matches || odd(selection)
}

// odd tells whether a selection cannot be read.
func odd(selection *v1alpha1.ServerSelection) bool {
	return selection.Selector != nil && len(selection.Selector.MatchExpressions) > 0
}

func contains(have, wanted map[string]string) bool {
	for key, value := range wanted {
		if have[key] != value {
			return false
		}
	}
	return true
}

// readable tells whether globs can be read.
func readable(filter *v1alpha1.ToolFilter) bool {
	return filter == nil || !matches("", append(slices.Clone(filter.Allow), filter.Deny...), path.ErrBadPattern)
}

// passes tells whether globs let a name through.
func passes(allow, deny []string, name string) bool {
	return (len(allow) == 0 || matches(name, allow, nil)) && !matches(name, deny, nil)
}

// matches tells whether one of the globs matches, or fails like this.
func matches(name string, globs []string, fails error) bool {
	return slices.ContainsFunc(globs, func(glob string) bool {
		found, err := path.Match(glob, name)
		return fails != nil && err == fails || fails == nil && found //nolint:errorlint // path returns it as it is
	})
}

// withheld tells whether a server's declaration withholds a tool, as far as it can be read.
func withheld(server *v1alpha1.MCPServer, raw string) bool {
	tools := server.Spec.Tools
	if tools == nil {
		return false
	}
	return acceptable(server) && !passes(tools.Allow, tools.Deny, raw) ||
		tools.Pin == v1alpha1.PinStrict && tools.ApprovedDigest == ""
}

// acceptable tells whether a server's declaration can be acted on.
func acceptable(server *v1alpha1.MCPServer) bool {
	tools := server.Spec.Tools
	return tools == nil || readable(&v1alpha1.ToolFilter{Allow: tools.Allow, Deny: tools.Deny})
}

// How a server stands.
const (
	answers = "answers"
	mute    = "is connected, but its lists fail"
	down    = "is down"
	late    = "is connecting"
	refuses = "refuses to be used"
)

// far is one server, and what the controller of servers made of it.
type far struct {
	catalog.Ref
	uid   types.UID
	state string
	since time.Time // from when on it has been in this state
	lists []string
	// stored is its last list, made at an address; approved is the one that somebody approved.
	stored, approved []string
	address          string
	// judged is what was offered of it by the declaration that was accepted last, at an address; nil after a restart.
	judged        *catalog.Catalog
	judgedAddress string
	// behind: the controller of servers has not looked at it since something happened to it.
	behind bool
}

// part stands for the server in exposed names.
func (f *far) part() string {
	if f.Namespace != testNamespace {
		return f.Namespace + "-" + f.Name
	}
	return f.Name
}

// known tells whether it is known what is to be offered of it now.
func (f *far) known(server *v1alpha1.MCPServer) bool {
	if server == nil || f.behind || server.Spec.Disabled {
		return false
	}
	return acceptable(server) && f.address == addressOf(&server.Spec)
}

// offers are those of its stored tools that its declaration does not withhold.
func (f *far) offers(server *v1alpha1.MCPServer) []string {
	return slices.DeleteFunc(slices.Clone(f.stored), func(listed string) bool {
		raw, _, _ := strings.Cut(listed, "=")
		tools := server.Spec.Tools
		unapproved := tools != nil && tools.Pin == v1alpha1.PinStrict && !slices.Contains(f.approved, listed)
		return withheld(server, raw) || unapproved
	})
}

// become has a server stand otherwise.
func (f *far) become(state string) { f.state, f.since = state, time.Now() }

// look makes the pass of the controller of servers over one.
func (h *history) look(f *far) {
	h.t.Helper()
	f.behind = false
	server, key := h.server(f), session.Key(f.uid)
	if server == nil {
		h.sessions.Forget(key)
		h.store.Delete(key)
		return
	}
	address := addressOf(&server.Spec)
	item := catalogstore.Entry{Generation: server.Generation, ConfigHash: address}
	if server.Spec.Disabled || !acceptable(server) {
		h.sessions.Forget(key)
		if f.state == refuses {
			f.become(late)
		}
		if !server.Spec.Disabled {
			item.Acceptance, item.Trouble.Reason = catalogstore.NotAccepted, v1alpha1.ReasonInvalidConfiguration
			if f.judgedAddress == address {
				item.Offered = f.judged
			}
		}
		h.store.Set(key, item)
		return
	}
	snapshot := f.snapshot()
	if f.state == answers {
		f.stored, f.address, item.Listing = slices.Clone(f.lists), address, snapshot.ListingID
	}
	if f.address == address {
		item.Offered = stored(f.offers(server))
	}
	f.judged, f.judgedAddress = item.Offered, address
	if fault := snapshot.Fault; fault != nil {
		item.Trouble = catalogstore.Trouble{Class: string(fault.Class), Reason: string(fault.Reason), Message: f.state}
	}
	if f.state == mute {
		item.Trouble = catalogstore.Trouble{Reason: v1alpha1.ReasonListToolsFailed, Message: f.state}
	}
	h.sessions.Ensure(key, session.Config{Catalog: address})
	h.sessions.Set(key, snapshot)
	h.store.Set(key, item)
}

func (f *far) snapshot() session.Snapshot {
	fault := func(class failure.Class, reason failure.Reason) *session.Fault {
		return &session.Fault{Failure: failure.Failure{Class: class, Reason: reason}}
	}
	switch f.state {
	case answers:
		return session.Snapshot{
			State: session.Connected, Settled: true, Listing: sessiontest.Tools(f.lists...), ListingID: fmt.Sprint(f.lists),
		}
	case mute:
		return session.Snapshot{
			State: session.Connected, Settled: true, ListFault: fault(failure.Server, failure.ServerError),
		}
	case down:
		return session.Snapshot{
			State: session.Waiting, Settled: true, Fault: fault(failure.Transport, failure.ConnectFailed),
		}
	case refuses:
		return session.Snapshot{
			State: session.Retired, Settled: true, Retirement: session.Refused, RetiredAt: f.since,
			Fault: fault(failure.Auth, failure.AuthenticationFailed),
		}
	}
	return session.Snapshot{State: session.Connecting}
}

// nothingShelved is a catalog without tools, which is another thing than none.
var nothingShelved = catalog.New(nil)

func stored(tools []string) *catalog.Catalog {
	if len(tools) == 0 {
		return &nothingShelved
	}
	return offering(tools...)
}

// titleIn is the title of a tool as agents have it, "" when it has none.
func titleIn(entry json.RawMessage) string {
	var tool struct{ Title string }
	_ = json.Unmarshal(entry, &tool) // which offer.Decode has done before
	return tool.Title
}
