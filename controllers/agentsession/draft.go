package agentsession

import (
	"fmt"
	"slices"
	"sync"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/controllers/agentsession/gate"
	"github.com/mooring-dev/mooring/controllers/agentsession/selection"
	"github.com/mooring-dev/mooring/internal/catalog"
	"github.com/mooring-dev/mooring/internal/catalog/catalogstore"
	"github.com/mooring-dev/mooring/internal/catalog/sessioncatalog"
	"github.com/mooring-dev/mooring/internal/session"
)

// entryCache keeps what was made of each server's tools, for all agents that are offered it. A slice that was not made
// anew is the same pointer, so that who was offered it before knows without looking into it.
type entryCache struct {
	mu      sync.Mutex
	guarded map[session.Key]map[bool]*sliceMade // by whether the server is a foreign one
}

// sliceMade is a slice and what it was made of.
type sliceMade struct {
	offered *catalog.Catalog
	server  sessioncatalog.ServerInfo
	slice   *sessioncatalog.ServerEntry
}

// of returns the slice of a server's tools as they are offered now.
func (m *entryCache) of(choice *selection.Choice, offered *catalog.Catalog) *sessioncatalog.ServerEntry {
	server := sessioncatalog.ServerInfo{
		Ref: choice.Ref, UID: string(choice.Server.UID), Source: choice.Source(), Notes: choice.Server.Spec.Notes,
	}
	key := session.Key(choice.Server.UID)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.guarded == nil {
		m.guarded = map[session.Key]map[bool]*sliceMade{}
	}
	if m.guarded[key] == nil {
		m.guarded[key] = map[bool]*sliceMade{}
	}
	if made := m.guarded[key][choice.Foreign]; made != nil && made.offered == offered && made.server == server {
		return made.slice
	}
	part := catalog.ServerPart(choice.Namespace, choice.Name, choice.Foreign)
	slice := sessioncatalog.NewServerEntry(server, part, offered.Tools)
	m.guarded[key][choice.Foreign] = &sliceMade{offered: offered, server: server, slice: &slice}
	return &slice
}

// drop forgets a server that is gone.
func (m *entryCache) drop(key session.Key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.guarded, key)
}

// draft is what is to be published: one slice or error for each selected server, in the order of the servers.
type draft struct {
	slices []*sessioncatalog.ServerEntry
	errors []sessioncatalog.Error
}

// draft decides for each selected server what agents are to see of it. While it is not known which servers are
// selected, what they have stands, but for what is withdrawn.
func (r *Reconciler) draft(s *scope) draft {
	var d draft
	before, frozen := s.document, s.chosen.Fault != nil
	switch {
	case before == nil && frozen:
		return draft{errors: []sessioncatalog.Error{{Reason: v1alpha1.ReasonDiscoveryFailed}}}
	case before == nil:
		before = &sessioncatalog.Document{}
	case frozen:
		d.errors = slices.Clone(before.Errors)
	}
	for i := range s.servers {
		v := &s.servers[i]
		if !v.Selected() {
			continue
		}
		if v.slice = r.sliceOf(s, v, before); v.slice != nil {
			d.slices = append(d.slices, v.slice)
			continue
		}
		if failed, said := errorOf(s, v, before); said && !slices.Contains(d.errors, failed) {
			d.errors = append(d.errors, failed)
		}
	}
	return d
}

// sliceOf is what is offered of a server: what is offered now, else what agents have of it. Nil where there is neither,
// and where it refuses to be used and has done so long enough.
func (r *Reconciler) sliceOf(s *scope, v *server, before *sessioncatalog.Document) *sessioncatalog.ServerEntry {
	if v.Server == nil {
		return nil
	}
	if at := v.standing.WithdrawAt; !at.IsZero() {
		if !s.now.Before(at) {
			return nil
		}
		s.lookAgain(at)
	}
	passes := s.toolFilter()
	if v.standing.Stored != nil && s.chosen.Fault == nil {
		if v.entry.Acceptance == catalogstore.NotAccepted { // they are what an earlier declaration let through
			passes = passes.with(v.Server)
		}
		return s.memory.pass(v.Ref, r.slices.of(&v.Choice, v.standing.Stored), passes)
	}
	at := slices.IndexFunc(before.Servers, func(o sessioncatalog.ServerEntry) bool { return o.Ref == v.Ref })
	if at < 0 || before.Servers[at].UID != string(v.Server.UID) {
		return nil
	}
	return s.memory.pass(v.Ref, &before.Servers[at], passes.with(v.Server))
}

// toolFilter is what a tool must pass. patterns is a text that is equal exactly when what passes is.
type toolFilter struct {
	patterns string
	allows   func(tool *sessioncatalog.Tool) bool
}

// toolFilter is what the session and its parents let through.
func (s *scope) toolFilter() toolFilter {
	return toolFilter{patterns: s.chosen.Patterns, allows: func(tool *sessioncatalog.Tool) bool {
		return s.chosen.Allows(tool.Name)
	}}
}

// with adds what a server's declaration demands of tools that agents have, where no newer ones are known that it was
// judged with: its filter, and that something was approved where all must be. A filter that cannot be read is refused
// elsewhere, and limits nothing.
func (f toolFilter) with(server *v1alpha1.MCPServer) toolFilter {
	tools := server.Spec.Tools
	if tools == nil {
		return f
	}
	filter, err := catalog.NewFilter(tools.Allow, tools.Deny)
	unapproved := server.Spec.PinPolicy() == v1alpha1.PinStrict && tools.ApprovedDigest == ""
	return toolFilter{
		patterns: fmt.Sprintf("%s%q %q %t\n", f.patterns, tools.Allow, tools.Deny, unapproved),
		allows: func(tool *sessioncatalog.Tool) bool {
			return f.allows(tool) && !unapproved && (err != nil || filter.Allows(tool.RawName))
		},
	}
}

// errorOf is what is said of a server without a slice. What was said once stands. A server that is only late gets its
// time first, unless its tools are being taken away.
func errorOf(s *scope, v *server, before *sessioncatalog.Document) (sessioncatalog.Error, bool) {
	for _, said := range before.Errors {
		if said.Server == v.Ref {
			return said, true
		}
	}
	_, had := before.Server(v.Ref)
	limit := v.seen.Add(gate.HoldLimit)
	if v.standing.State == gate.Pending && !had && s.now.Before(limit) {
		s.lookAgain(limit)
		return sessioncatalog.Error{}, false
	}
	return sessioncatalog.Error{Server: v.Ref, Reason: v.standing.Reason}, true
}

// takesAway tells whether a server loses its tools, or some of them because somebody edited a declaration. Tools that a
// server itself does not list any more, or lists changed, are not taken away: it may do so every second. Under a fault
// lists do not count, so that all that goes is taken away.
func (s *scope) takesAway(d *draft) bool {
	if s.document == nil || s.memory.last.covers(s, *d) { // what agents have was made of it
		return false
	}
	return slices.ContainsFunc(s.document.Servers, func(o sessioncatalog.ServerEntry) bool {
		at := slices.IndexFunc(d.slices, func(n *sessioncatalog.ServerEntry) bool { return n.Ref == o.Ref })
		if at < 0 || d.slices[at].UID != o.UID {
			return len(o.Tools) > 0
		}
		lost := lacking(d.slices[at], &o)
		return len(lost) > 0 && (s.chosen.Fault != nil || s.edited(o.Ref) || slices.ContainsFunc(lost, s.denies(o.Ref)))
	})
}

// denies tells of a tool of a server whether the declarations as they stand deny it. That somebody edited them is told
// by that also where it is not known of which ones the ConfigMap was made, as after a restart.
func (s *scope) denies(ref catalog.Ref) func(tool *sessioncatalog.Tool) bool {
	passes := s.toolFilter()
	if at := slices.IndexFunc(s.servers, func(v server) bool { return v.Ref == ref }); at >= 0 {
		passes = passes.with(s.servers[at].Server)
	}
	return func(tool *sessioncatalog.Tool) bool { return !passes.allows(tool) }
}

// edited tells whether the filters, or a server's declaration, are others than when agents were last given its tools.
func (s *scope) edited(ref catalog.Ref) bool {
	last := &s.memory.last
	if last.version == "" {
		return false
	}
	at := slices.IndexFunc(s.servers, func(v server) bool { return v.Ref == ref })
	generation, known := last.generations[ref]
	return s.chosen.Patterns != last.patterns ||
		known && at >= 0 && s.servers[at].entry != nil && s.servers[at].entry.Generation != generation
}

// lacking are the tools of a slice that another one is without.
func lacking(from, slice *sessioncatalog.ServerEntry) []*sessioncatalog.Tool {
	names := map[string]bool{}
	for i := range from.Tools {
		names[from.Tools[i].Name] = true
	}
	var lost []*sessioncatalog.Tool
	for i := range slice.Tools {
		if tool := &slice.Tools[i]; !names[tool.Name] {
			lost = append(lost, tool)
		}
	}
	return lost
}

func (d *draft) publish(s *scope) (sessioncatalog.Publication, error) {
	all := make([]sessioncatalog.ServerEntry, 0, len(d.slices))
	for _, slice := range d.slices {
		all = append(all, *slice)
	}
	self := catalog.Ref{Namespace: s.name.Namespace, Name: s.name.Name}
	publication, err := sessioncatalog.Publish(self, sessioncatalog.DefaultEndpoint, all, d.errors)
	if err != nil {
		return publication, fmt.Errorf("catalog: %w", err)
	}
	return publication, nil
}
