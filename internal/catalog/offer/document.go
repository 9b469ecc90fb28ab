package offer

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mooring-dev/mooring/internal/catalog"
	"github.com/mooring-dev/mooring/internal/catalog/jsontree"
)

// Error says why a selected server has no slice. The zero Server stands for all servers.
type Error struct {
	Server catalog.Ref
	// Reason is the CamelCase reason at the time of publication.
	Reason string
}

// Document is an agent session's catalog.
type Document struct {
	Session catalog.Ref
	// Slices are sorted by namespace and name, each server once.
	Slices []Slice
	// Errors are sorted likewise; no server has two, or one and a slice.
	Errors []Error
	// Digest is the SHA-256 of the canonical JSON of the document without digest, revision and errors.
	Digest catalog.Digest
}

// Merge puts slices and errors together. Where a server is given twice, the first stands; where it has a slice, its
// error is dropped. The warnings name the tools that are left out because another has their exposed name.
func Merge(session catalog.Ref, all []Slice, errs []Error) (Document, catalog.Warnings) {
	d := Document{Session: session, Slices: slices.Clone(all)}
	slices.SortStableFunc(d.Slices, func(a, b Slice) int { return compareRefs(a.Ref, b.Ref) })
	d.Slices = slices.CompactFunc(d.Slices, func(a, b Slice) bool { return a.Ref == b.Ref })
	doubles := d.dropDoubles()
	d.Errors = slices.DeleteFunc(slices.Clone(errs), func(e Error) bool {
		_, offered := d.Slice(e.Server)
		return offered
	})
	slices.SortStableFunc(d.Errors, func(a, b Error) int { return compareRefs(a.Server, b.Server) })
	d.Errors = slices.CompactFunc(d.Errors, func(a, b Error) bool { return a.Server == b.Server })
	d.Digest = catalog.Sum(d.appendBody(make([]byte, 0, d.size())))
	return d, doubles
}

// dropDoubles leaves each exposed name to the first tool that has it.
func (d *Document) dropDoubles() catalog.Warnings {
	var warnings []catalog.Warning
	owner := map[string]catalog.Ref{}
	for i := range d.Slices {
		s := &d.Slices[i]
		s.Tools = slices.DeleteFunc(slices.Clone(s.Tools), func(t Tool) bool {
			first, taken := owner[t.Name]
			if taken {
				warnings = append(warnings, catalog.NewWarning(catalog.DuplicateTool, t.Name,
					fmt.Sprintf("%s of server %s is left out: server %s has a tool of this name", t.RawName, s.Ref, first)))
				return true
			}
			owner[t.Name] = s.Ref
			return false
		})
	}
	return catalog.Warnings{}.With(warnings...)
}

// Slice returns a server's part.
func (d Document) Slice(server catalog.Ref) (Slice, bool) {
	at, ok := slices.BinarySearchFunc(d.Slices, server, func(s Slice, r catalog.Ref) int { return compareRefs(s.Ref, r) })
	if !ok {
		return Slice{}, false
	}
	return d.Slices[at], true
}

// ToolCount is the number of tools on offer.
func (d Document) ToolCount() int {
	count := 0
	for _, s := range d.Slices {
		count += len(s.Tools)
	}
	return count
}

// Route is where a call to an exposed name goes.
type Route struct {
	Server  catalog.Ref
	UID     string
	RawName string
}

// Routes returns the way of every exposed name. It is the only way from such a name to a server.
func (d Document) Routes() map[string]Route {
	routes := make(map[string]Route, d.ToolCount())
	for _, s := range d.Slices {
		for _, t := range s.Tools {
			routes[t.Name] = Route{Server: s.Ref, UID: s.UID, RawName: t.RawName}
		}
	}
	return routes
}

// JSON returns catalog.json with its keys in canonical order.
func (d Document) JSON() []byte {
	dst := jsontree.AppendText(append(make([]byte, 0, d.size()), `{"digest":`...), string(d.Digest))
	dst = append(dst, `,"errors":[`...)
	for i, e := range d.Errors {
		dst = jsontree.AppendText(append(comma(dst, i), `{"reason":`...), e.Reason)
		if e.Server != (catalog.Ref{}) {
			dst = jsontree.AppendText(append(dst, `,"server":`...), e.Server.String())
		}
		dst = append(dst, '}')
	}
	dst = jsontree.AppendText(append(dst, `],"revision":`...), d.Digest.Revision())
	start := len(dst)
	dst = d.appendBody(dst)
	dst[start] = ',' // the body's members go on where those above end
	return dst
}

// appendBody writes the part of the document that its digest covers, as an object of its own.
func (d Document) appendBody(dst []byte) []byte {
	dst = strconv.AppendInt(append(dst, `{"schemaVersion":`...), catalog.SchemaVersion, 10)
	dst = append(dst, `,"servers":[`...)
	for i, s := range d.Slices {
		dst = s.appendServer(comma(dst, i))
	}
	dst = jsontree.AppendText(append(dst, `],"session":{"name":`...), d.Session.Name)
	dst = jsontree.AppendText(append(dst, `,"namespace":`...), d.Session.Namespace)
	dst = append(dst, `},"tools":[`...)
	count := 0
	for _, s := range d.Slices {
		for _, t := range s.Tools {
			dst = append(comma(dst, count), t.Entry...)
			count++
		}
	}
	return append(dst, ']', '}')
}

func (s Server) appendServer(dst []byte) []byte {
	dst = jsontree.AppendText(append(dst, `{"name":`...), s.Name)
	dst = jsontree.AppendText(append(dst, `,"namespace":`...), s.Namespace)
	if s.Notes != "" {
		dst = jsontree.AppendText(append(dst, `,"notes":`...), s.Notes)
	}
	dst = jsontree.AppendText(append(dst, `,"server":`...), s.String())
	if s.Source != "" {
		dst = jsontree.AppendText(append(dst, `,"source":`...), s.Source)
	}
	return append(jsontree.AppendText(append(dst, `,"uid":`...), s.UID), '}')
}

func comma(dst []byte, index int) []byte {
	if index > 0 {
		return append(dst, ',')
	}
	return dst
}

// size estimates the document's length, so that it is written into one piece of memory.
func (d Document) size() int {
	const frame, perServer, perError = 512, 256, 128
	total := frame + len(d.Errors)*perError
	for _, s := range d.Slices {
		total += s.size() + perServer + len(s.Notes) + len(s.Source)
	}
	return total
}

// parseRef reads "namespace/name".
func parseRef(text string) (catalog.Ref, bool) {
	namespace, name, ok := strings.Cut(text, "/")
	return catalog.Ref{Namespace: namespace, Name: name}, ok
}
