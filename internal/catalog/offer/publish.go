package offer

import (
	"cmp"
	"slices"
	"sort"
	"strings"

	"github.com/mooring-dev/mooring/internal/catalog"
	"github.com/mooring-dev/mooring/internal/catalog/jsontree"
)

// CatalogTooLarge is the reason of servers whose slices gave way.
const CatalogTooLarge = "CatalogTooLarge"

// DefaultEndpoint is where the sidecar of an agent pod listens.
const DefaultEndpoint = "http://127.0.0.1:8330"

// Publication is what is to be written for an agent session.
type Publication struct {
	Document Document
	Encoded  catalog.Encoded
	// GaveWay are the servers whose slices were replaced by an error so that the rest fits, in the order of documents.
	GaveWay []catalog.Ref
	// Warnings name tools left out for their exposed name.
	Warnings catalog.Warnings
}

// Publish merges slices and errors and encodes the result with the connection settings for endpoint. While it is too
// large, the largest slice (of equal ones the first by server) is replaced by an error. It fails, with
// catalog.ErrTooLarge, only where the document does not fit without any slice.
func Publish(session catalog.Ref, endpoint string, all []Slice, errs []Error) (Publication, error) {
	bySize := slices.Clone(all)
	slices.SortStableFunc(bySize, func(a, b Slice) int {
		return cmp.Or(b.size()-a.size(), compareRefs(a.Ref, b.Ref))
	})
	mcp := MCPConfig(session, endpoint)
	best, err := publish(session, mcp, bySize, errs, 0)
	if err == nil {
		return best, nil
	}
	// The least number of slices that have to give way is searched for and not counted up: compressing is what costs.
	sort.Search(len(bySize), func(i int) bool {
		p, tried := publish(session, mcp, bySize, errs, i+1)
		if tried == nil {
			best, err = p, nil // the search ends with the last success
		}
		return tried == nil
	})
	return best, err
}

// publish lets the first gone of bySize give way.
func publish(session catalog.Ref, mcp []byte, bySize []Slice, errs []Error, gone int) (Publication, error) {
	var p Publication
	all := make([]Error, 0, gone+len(errs))
	for _, s := range bySize[:gone] {
		p.GaveWay = append(p.GaveWay, s.Ref)
		all = append(all, Error{Server: s.Ref, Reason: CatalogTooLarge})
	}
	slices.SortFunc(p.GaveWay, compareRefs)
	p.Document, p.Warnings = Merge(session, bySize[gone:], append(all, errs...))
	var err error
	p.Encoded, err = catalog.Pack(map[string][]byte{catalog.CatalogKey: p.Document.JSON(), catalog.MCPKey: mcp})
	if err != nil {
		return Publication{}, err
	}
	return p, nil
}

// MCPConfig returns mcp.json: how an MCP client reaches the agent session at endpoint (scheme, host and port).
func MCPConfig(session catalog.Ref, endpoint string) []byte {
	url := strings.TrimSuffix(endpoint, "/") + "/sessions/" + session.Namespace + "/" + session.Name + "/mcp"
	dst := jsontree.AppendText([]byte(`{"mcpServers":{"mooring":{"type":"http","url":`), url)
	return append(dst, `}}}`...)
}
