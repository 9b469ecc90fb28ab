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

// exposedEntries keeps the entries made of each server's tools, for all agents that are offered them. An entry that was
// not made anew is the same pointer, so that a session which has it knows without looking into it.
type exposedEntries struct {
	mu      sync.Mutex
	guarded map[session.Key]map[bool]exposedEntry // by whether the server is a foreign one
}

// exposedEntry is an entry and what it was made of.
type exposedEntry struct {
	offered *catalog.Catalog
	info    sessioncatalog.ServerInfo
	entry   *sessioncatalog.ServerEntry
}

// of returns the entry of a server's tools as they are offered now.
func (e *exposedEntries) of(choice *selection.Choice, offered *catalog.Catalog) *sessioncatalog.ServerEntry {
	info := sessioncatalog.ServerInfo{
		Ref: choice.Ref, UID: string(choice.Server.UID), Source: choice.Source(), Notes: choice.Server.Spec.Notes,
	}
	key := session.Key(choice.Server.UID)
	e.mu.Lock()
	defer e.mu.Unlock()
	made := e.guarded[key][choice.Foreign]
	if made.entry != nil && made.offered == offered && made.info == info {
		return made.entry
	}
	part := catalog.ServerPart(choice.Namespace, choice.Name, choice.Foreign)
	entry := sessioncatalog.NewServerEntry(info, part, offered.Tools)
	if e.guarded == nil {
		e.guarded = map[session.Key]map[bool]exposedEntry{}
	}
	if e.guarded[key] == nil {
		e.guarded[key] = map[bool]exposedEntry{}
	}
	e.guarded[key][choice.Foreign] = exposedEntry{offered: offered, info: info, entry: &entry}
	return &entry
}

// drop forgets a server that is gone.
func (e *exposedEntries) drop(key session.Key) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.guarded, key)
}

// desiredCatalog is what is to be published: one entry or error for each selected server, in the order of the servers.
type desiredCatalog struct {
	servers []*sessioncatalog.ServerEntry
	errors  []sessioncatalog.Error
}

// desire decides for each selected server what agents are to see of it. While it is not known which servers are
// selected, what they have stays, but for what is withdrawn.
func (r *Reconciler) desire(s *scope) (desired desiredCatalog) {
	before, unknown := s.agents.document, s.chosen.Fault != nil
	switch {
	case before == nil && unknown:
		return desiredCatalog{errors: []sessioncatalog.Error{{Reason: v1alpha1.ReasonDiscoveryFailed}}}
	case before == nil:
		before = &sessioncatalog.Document{}
	case unknown:
		desired.errors = slices.Clone(before.Errors)
	}
	for i := range s.servers {
		v := &s.servers[i]
		if !v.Selected() {
			continue
		}
		if v.offered = r.entryOf(s, v, before); v.offered != nil {
			desired.servers = append(desired.servers, v.offered)
			continue
		}
		if failed, known := errorOf(s, v, before); known && !slices.Contains(desired.errors, failed) {
			desired.errors = append(desired.errors, failed)
		}
	}
	return desired
}

// entryOf is what is offered of a server: what is offered now, else what agents have of it. Nil where there is neither,
// and where it refuses to be used and has done so long enough.
func (r *Reconciler) entryOf(s *scope, v *server, before *sessioncatalog.Document) *sessioncatalog.ServerEntry {
	if v.Server == nil {
		return nil
	}
	if at := v.readiness.WithdrawAt; !at.IsZero() {
		if !s.now.Before(at) {
			return nil
		}
		s.lookAgain(at)
	}
	filter := s.toolFilter()
	if v.readiness.Stored != nil && s.chosen.Fault == nil {
		if v.entry.Acceptance == catalogstore.NotAccepted { // they are what an earlier declaration let through
			filter = filter.with(v.Server)
		}
		return s.memory.filtered(v.Ref, r.exposed.of(&v.Choice, v.readiness.Stored), filter)
	}
	at := slices.IndexFunc(before.Servers, func(had sessioncatalog.ServerEntry) bool { return had.Ref == v.Ref })
	if at < 0 || before.Servers[at].UID != string(v.Server.UID) {
		return nil
	}
	return s.memory.filtered(v.Ref, &before.Servers[at], filter.with(v.Server))
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

// toolSelection is the part of an entry that passes a filter.
type toolSelection struct {
	whole    *sessioncatalog.ServerEntry
	patterns string
	part     *sessioncatalog.ServerEntry
}

// filtered is the part of an entry that passes. What was selected before is not selected again.
func (m *memory) filtered(
	ref catalog.Ref, whole *sessioncatalog.ServerEntry, filter toolFilter,
) *sessioncatalog.ServerEntry {
	if filter.patterns == "" {
		delete(m.selections, ref)
		return whole
	}
	if was := m.selections[ref]; was.whole == whole && was.patterns == filter.patterns {
		return was.part
	}
	part := whole.Select(filter.allows)
	m.selections[ref] = toolSelection{whole: whole, patterns: filter.patterns, part: &part}
	return &part
}

// errorOf is what is said of a server without an entry. What was said once stays. A server that is only late gets its
// time first, unless its tools are being withdrawn.
func errorOf(s *scope, v *server, before *sessioncatalog.Document) (failed sessioncatalog.Error, known bool) {
	for _, failed := range before.Errors {
		if failed.Server == v.Ref {
			return failed, true
		}
	}
	_, had := before.Server(v.Ref)
	limit := v.seen.Add(gate.HoldLimit)
	if v.readiness.State == gate.Pending && !had && s.now.Before(limit) {
		s.lookAgain(limit)
		return sessioncatalog.Error{}, false
	}
	return sessioncatalog.Error{Server: v.Ref, Reason: v.readiness.Reason}, true
}

// withdraws tells whether a server loses its tools, or some of them because somebody edited a declaration. Tools that a
// server itself does not list any more, or lists changed, are not withdrawn: it may do so every second. Under a fault
// lists do not count, so that all that goes is withdrawn.
func (s *scope) withdraws(desired *desiredCatalog) bool {
	if s.agents.document == nil || s.memory.basis.covers(s, desired) { // what agents have was made of it
		return false
	}
	return slices.ContainsFunc(s.agents.document.Servers, func(had sessioncatalog.ServerEntry) bool {
		at := slices.IndexFunc(desired.servers, func(n *sessioncatalog.ServerEntry) bool { return n.Ref == had.Ref })
		if at < 0 || desired.servers[at].UID != had.UID {
			return len(had.Tools) > 0
		}
		kept := map[string]bool{}
		for i := range desired.servers[at].Tools {
			kept[desired.servers[at].Tools[i].Name] = true
		}
		lost := had.Select(func(tool *sessioncatalog.Tool) bool { return !kept[tool.Name] })
		return len(lost.Tools) > 0 &&
			(s.chosen.Fault != nil || s.edited(had.Ref) || len(lost.Select(s.allows(had.Ref)).Tools) < len(lost.Tools))
	})
}

// allows tells of a tool of a server whether the declarations as they are allow it. That somebody edited them is told
// by one that they deny also where it is not known of which ones the ConfigMap was made, as after a restart.
func (s *scope) allows(ref catalog.Ref) func(tool *sessioncatalog.Tool) bool {
	filter := s.toolFilter()
	if v := s.find(ref); v != nil {
		filter = filter.with(v.Server)
	}
	return filter.allows
}

// edited tells whether the filters, or a server's declaration, are others than when agents were last given its tools.
func (s *scope) edited(ref catalog.Ref) bool {
	basis, v := &s.memory.basis, s.find(ref)
	if basis.version == "" {
		return false
	}
	generation, known := basis.generations[ref]
	return s.chosen.Patterns != basis.patterns ||
		known && v != nil && v.entry != nil && v.entry.Generation != generation
}
