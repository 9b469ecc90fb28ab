package sessioncatalog

import (
	"cmp"
	"encoding/json"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/mooring-dev/mooring/internal/catalog"
	"github.com/mooring-dev/mooring/internal/catalog/jsontree"
	"github.com/mooring-dev/mooring/internal/text"
)

// Error says why a selected server has no entry. The zero Server stands for all servers.
type Error struct {
	Server catalog.Ref
	// Reason is the CamelCase reason at the time of publication.
	Reason string
}

// Document is an agent session's catalog.
type Document struct {
	Session catalog.Ref
	// Servers are sorted by namespace and name, each server once.
	Servers []ServerEntry
	// Errors are sorted likewise; no server has two, or one and an entry.
	Errors []Error
	// Digest is the SHA-256 of the canonical JSON of the document without digest, revision and errors.
	Digest catalog.Digest
}

// Merge puts entries and errors together. Where a server is given twice, the first stands; where it has an entry, its
// error is dropped. The collisions are the servers without tools that another server's have the exposed names of.
func Merge(session catalog.Ref, all []ServerEntry, errs []Error) (d Document, collisions []catalog.Ref) {
	d = Document{Session: session, Servers: slices.Clone(all)}
	slices.SortStableFunc(d.Servers, func(a, b ServerEntry) int { return compareRefs(a.Ref, b.Ref) })
	d.Servers = slices.CompactFunc(d.Servers, func(a, b ServerEntry) bool { return a.Ref == b.Ref })
	taken := map[string]bool{}
	for i := range d.Servers {
		s := &d.Servers[i]
		whole := len(s.Tools)
		*s = s.Select(func(t *Tool) bool {
			first := !taken[t.Name]
			taken[t.Name] = true
			return first
		})
		if len(s.Tools) < whole {
			collisions = append(collisions, s.Ref)
		}
	}
	d.Errors = slices.DeleteFunc(slices.Clone(errs), func(e Error) bool {
		_, offered := d.Server(e.Server)
		return offered
	})
	slices.SortStableFunc(d.Errors, func(a, b Error) int { return compareRefs(a.Server, b.Server) })
	d.Errors = slices.CompactFunc(d.Errors, func(a, b Error) bool { return a.Server == b.Server })
	d.Digest = catalog.Sum(d.appendBody(make([]byte, 0, d.size())))
	return d, collisions
}

// Server returns a server's part.
func (d Document) Server(server catalog.Ref) (ServerEntry, bool) {
	at, ok := d.find(server)
	if !ok {
		return ServerEntry{}, false
	}
	return d.Servers[at], true
}

func (d Document) find(server catalog.Ref) (at int, ok bool) {
	return slices.BinarySearchFunc(d.Servers, server, func(s ServerEntry, r catalog.Ref) int {
		return compareRefs(s.Ref, r)
	})
}

// ToolCount is the number of tools on offer.
func (d Document) ToolCount() int {
	count := 0
	for _, s := range d.Servers {
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
	for _, s := range d.Servers {
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
	for i, s := range d.Servers {
		dst = s.appendServer(comma(dst, i))
	}
	dst = jsontree.AppendText(append(dst, `],"session":{"name":`...), d.Session.Name)
	dst = jsontree.AppendText(append(dst, `,"namespace":`...), d.Session.Namespace)
	dst = append(dst, `},"tools":[`...)
	count := 0
	for _, s := range d.Servers {
		for _, t := range s.Tools {
			dst = append(comma(dst, count), t.Entry...)
			count++
		}
	}
	return append(dst, ']', '}')
}

func (s ServerInfo) appendServer(dst []byte) []byte {
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
	for _, s := range d.Servers {
		total += s.size() + perServer + len(s.Notes) + len(s.Source)
	}
	return total
}

// CatalogTooLarge is the reason of servers whose entries are dropped.
const CatalogTooLarge = "CatalogTooLarge"

// Publication is what is to be written for an agent session.
type Publication struct {
	Document Document
	Encoded  catalog.Encoded
	// Dropped are the servers whose entries were replaced by an error so that the rest fits; Collisions those without
	// some of their tools, because another server has tools of the same exposed names. Both are in the order of documents.
	Dropped, Collisions []catalog.Ref
}

// Publish merges entries and errors and encodes the result with the connection settings for the gateway, if there is
// one. While it is too large, the largest entry (of equal ones the first by server) is replaced by an error. It fails,
// with catalog.ErrTooLarge, only where the document does not fit without any entry.
func Publish(session catalog.Ref, gateway string, all []ServerEntry, errs []Error) (Publication, error) {
	bySize := slices.Clone(all)
	slices.SortStableFunc(bySize, func(a, b ServerEntry) int {
		return cmp.Or(b.size()-a.size(), compareRefs(a.Ref, b.Ref))
	})
	var mcp []byte
	if gateway != "" {
		mcp = MCPConfig(session, gateway)
	}
	best, err := publish(session, mcp, bySize, errs, 0)
	if err == nil {
		return best, nil
	}
	// The least number of entries to drop is searched for and not counted up: compressing is what costs.
	sort.Search(len(bySize), func(i int) bool {
		p, tried := publish(session, mcp, bySize, errs, i+1)
		if tried == nil {
			best, err = p, nil // the search ends with the last success
		}
		return tried == nil
	})
	return best, err
}

// publish leaves out the first of bySize.
func publish(session catalog.Ref, mcp []byte, bySize []ServerEntry, errs []Error, dropped int) (Publication, error) {
	var p Publication
	all := make([]Error, 0, dropped+len(errs))
	for _, s := range bySize[:dropped] {
		p.Dropped = append(p.Dropped, s.Ref)
		all = append(all, Error{Server: s.Ref, Reason: CatalogTooLarge})
	}
	slices.SortFunc(p.Dropped, compareRefs)
	p.Document, p.Collisions = Merge(session, bySize[dropped:], append(all, errs...))
	var err error
	documents := map[string][]byte{catalog.CatalogKey: p.Document.JSON()}
	if mcp != nil {
		documents[catalog.MCPKey] = mcp
	}
	p.Encoded, err = catalog.Pack(documents)
	if err != nil {
		return Publication{}, err
	}
	return p, nil
}

// Endpoint is the URL at which a gateway (scheme, host and port) serves the agent session.
func Endpoint(session catalog.Ref, gateway string) string {
	return strings.TrimSuffix(gateway, "/") + "/sessions/" + session.Namespace + "/" + session.Name + "/mcp"
}

// MCPConfig returns mcp.json: how an MCP client reaches the agent session at the gateway.
func MCPConfig(session catalog.Ref, gateway string) []byte {
	dst := jsontree.AppendText([]byte(`{"mcpServers":{"mooring":{"type":"http","url":`), Endpoint(session, gateway))
	return append(dst, `}}}`...)
}

// ServerInfo is what a document says of a server.
type ServerInfo struct {
	catalog.Ref
	// UID is that of the MCPServer, so that a server that was replaced by one of the same name gets no calls.
	UID string
	// Source says where the declaration came from: "mcp:<name> via <provider>".
	Source string
	// Notes tell agents what the connection is for.
	Notes string
}

// Tool is one tool under its exposed name.
type Tool struct {
	// Name is the exposed name.
	Name    string
	RawName string
	// Entry is the tool as it stands in the document: the MCP tool object in canonical JSON, its name the exposed one,
	// with server, rawName, digest (of the tool under its raw name) and compat.
	Entry json.RawMessage
}

// ServerEntry is one server's part of a document.
type ServerEntry struct {
	ServerInfo
	// Tools are sorted by raw name.
	Tools []Tool
}

// NewServerEntry offers tools, which are of a catalog and keep its order, under the names that part, the server's
// catalog.ServerPart, gives them.
func NewServerEntry(server ServerInfo, part string, tools []catalog.Tool) ServerEntry {
	server.Source, _ = text.Sanitise(server.Source)
	server.Notes, _ = text.Sanitise(server.Notes)
	out := ServerEntry{ServerInfo: server, Tools: make([]Tool, 0, len(tools))}
	var parser jsontree.Parser
	for _, tool := range tools {
		parser.Recycle()
		entry, _, err := parser.Parse(tool.Definition)
		if err != nil || entry.Kind != jsontree.Object {
			continue // not of a catalog
		}
		name := catalog.ExposedName(part, tool.Name)
		entry.Set("name", jsontree.Text(name))
		entry.Set("rawName", jsontree.Text(tool.Name))
		entry.Set("server", jsontree.Text(server.String()))
		entry.Set("digest", jsontree.Text(string(tool.Digest)))
		entry.Delete("compat")
		if len(tool.Compat) > 0 {
			marks := jsontree.Node{Kind: jsontree.Array}
			for _, mark := range tool.Compat {
				marks.Members = append(marks.Members, jsontree.Member{Node: jsontree.Text(string(mark))})
			}
			entry.Set("compat", marks)
		}
		size := len(tool.Definition) + len(name) + len(tool.Digest) + len(tool.Name) + len(server.Name) + 64
		out.Tools = append(out.Tools, Tool{Name: name, RawName: tool.Name, Entry: entry.Append(make([]byte, 0, size))})
	}
	return out
}

// Select returns the part of s whose tools are allowed.
func (s ServerEntry) Select(allows func(*Tool) bool) ServerEntry {
	s.Tools = slices.DeleteFunc(slices.Clone(s.Tools), func(t Tool) bool { return !allows(&t) })
	return s
}

// size is what the tools add to a document.
func (s ServerEntry) size() int {
	total := 0
	for _, tool := range s.Tools {
		total += len(tool.Entry) + 1
	}
	return total
}

// compareRefs orders servers as documents do.
func compareRefs(a, b catalog.Ref) int {
	return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
}
