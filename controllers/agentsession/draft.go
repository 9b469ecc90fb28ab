package agentsession

import (
	"fmt"
	"slices"
	"sync"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/controllers/agentsession/gate"
	"github.com/mooring-dev/mooring/controllers/agentsession/selection"
	"github.com/mooring-dev/mooring/internal/catalog"
	"github.com/mooring-dev/mooring/internal/catalog/offer"
	"github.com/mooring-dev/mooring/internal/session"
)

// slicesMade keeps what was made of each server's tools, for all agents that are offered it. A slice that was not made
// anew is the same pointer, so that who was offered it before knows without looking into it.
type slicesMade struct {
	mu      sync.Mutex
	guarded map[session.Key]map[bool]*sliceMade // by whether the server is a foreign one
}

// sliceMade is a slice and what it was made of.
type sliceMade struct {
	offered *catalog.Catalog
	server  offer.Server
	slice   *offer.Slice
}

// of returns the slice of a server's tools as they are offered now.
func (m *slicesMade) of(choice *selection.Choice, offered *catalog.Catalog) *offer.Slice {
	server := offer.Server{
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
	slice := offer.NewSlice(server, part, offered.Tools)
	m.guarded[key][choice.Foreign] = &sliceMade{offered: offered, server: server, slice: &slice}
	return &slice
}

// drop forgets a server that is gone.
func (m *slicesMade) drop(key session.Key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.guarded, key)
}

// draft is what is to be published: one slice or error for each selected server, in the order of the servers.
type draft struct {
	slices []*offer.Slice
	errors []offer.Error
}

// draft decides for each selected server what agents are to see of it.
func (r *Reconciler) draft(s *scope) draft {
	var d draft
	switch fault := s.chosen.Fault; {
	case fault != nil && s.document != nil:
		return s.remainder()
	case fault != nil:
		return draft{errors: []offer.Error{{Reason: v1alpha1.ReasonDiscoveryFailed}}}
	}
	before := s.document
	if before == nil {
		before = &offer.Document{}
	}
	for i := range s.servers {
		v := &s.servers[i]
		if !v.Selected() {
			continue
		}
		v.slice = r.sliceOf(s, v, before)
		if v.slice != nil {
			d.slices = append(d.slices, v.slice)
			continue
		}
		if failed, said := errorOf(s, v, before); said {
			d.errors = append(d.errors, failed)
		}
	}
	return d
}

// sliceOf is what is offered of a server: what is offered now, else what agents have of it. Nil where there is neither,
// and where it refuses to be used and has done so long enough.
func (r *Reconciler) sliceOf(s *scope, v *server, before *offer.Document) *offer.Slice {
	if v.Server == nil {
		return nil
	}
	if at := v.standing.WithdrawAt; !at.IsZero() {
		if !s.now.Before(at) {
			return nil
		}
		s.lookAgain(at)
	}
	var whole *offer.Slice
	if v.standing.Stored != nil {
		whole = r.slices.of(&v.Choice, v.standing.Stored)
	} else {
		at := slices.IndexFunc(before.Slices, func(o offer.Slice) bool { return o.Ref == v.Ref })
		if at < 0 || before.Slices[at].UID != string(v.Server.UID) {
			return nil
		}
		whole = &before.Slices[at]
	}
	return s.memory.pass(v.Ref, whole, s.chosen.Patterns, s.chosen.Allows)
}

// errorOf is what is said of a server without a slice. What was said once stands. A server that is only late gets its
// time first, unless its tools are being taken away.
func errorOf(s *scope, v *server, before *offer.Document) (offer.Error, bool) {
	for _, said := range before.Errors {
		if said.Server == v.Ref {
			return said, true
		}
	}
	_, had := before.Slice(v.Ref)
	limit := v.seen.Add(gate.HoldLimit)
	if v.standing.State == gate.Pending && !had && s.now.Before(limit) {
		s.lookAgain(limit)
		return offer.Error{}, false
	}
	return offer.Error{Server: v.Ref, Reason: v.standing.Reason}, true
}

// remainder is what stands while it is not known which servers there are: all that agents have, without what is gone or
// disabled.
func (s *scope) remainder() draft {
	d := draft{errors: s.document.Errors}
	for i := range s.document.Slices {
		if slice := &s.document.Slices[i]; s.usable[slice.Ref] {
			d.slices = append(d.slices, slice)
		}
	}
	return d
}

// takesAway tells whether a server loses its tools, or some of them because somebody edited a declaration. Tools that a
// server itself does not list any more, or lists changed, are not taken away: it may do so every second.
func (s *scope) takesAway(d *draft) bool {
	if s.document == nil {
		return false
	}
	return slices.ContainsFunc(s.document.Slices, func(o offer.Slice) bool {
		at := slices.IndexFunc(d.slices, func(n *offer.Slice) bool { return n.Ref == o.Ref })
		if at < 0 {
			return len(o.Tools) > 0
		}
		return s.edited(o.Ref) && lacks(d.slices[at], &o)
	})
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
		known && at >= 0 && s.servers[at].item != nil && s.servers[at].item.Generation != generation
}

// lacks tells whether a slice is without a tool that another one has.
func lacks(slice, other *offer.Slice) bool {
	names := map[string]bool{}
	for i := range slice.Tools {
		names[slice.Tools[i].Name] = true
	}
	return slices.ContainsFunc(other.Tools, func(tool offer.Tool) bool { return !names[tool.Name] })
}

// doubled are the servers that lost tools to others of the same exposed name.
func (d *draft) doubled(document *offer.Document) []catalog.Ref {
	var refs []catalog.Ref
	for _, slice := range d.slices {
		if merged, ok := document.Slice(slice.Ref); ok && len(merged.Tools) < len(slice.Tools) {
			refs = append(refs, slice.Ref)
		}
	}
	return refs
}

func (d *draft) publish(s *scope) (offer.Publication, error) {
	all := make([]offer.Slice, 0, len(d.slices))
	for _, slice := range d.slices {
		all = append(all, *slice)
	}
	self := catalog.Ref{Namespace: s.name.Namespace, Name: s.name.Name}
	publication, err := offer.Publish(self, offer.DefaultEndpoint, all, d.errors)
	if err != nil {
		return publication, fmt.Errorf("catalog: %w", err)
	}
	return publication, nil
}
