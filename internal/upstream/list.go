package upstream

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"time"

	"github.com/mooring-dev/mooring/internal/failure"
	"github.com/mooring-dev/mooring/internal/session"
	"github.com/mooring-dev/mooring/internal/upstream/mcphttp"
	"github.com/mooring-dev/mooring/internal/upstream/rpc"
)

// Limits of one list.
const (
	maxPages     = 100
	maxTools     = 2000
	maxListBytes = 8 << 20
)

// ErrCatalogTooLarge is in the chain of the failure of a list that exceeds a limit. Asking again will not help until
// the server's tools change.
var ErrCatalogTooLarge = errors.New("catalog too large")

// List implements session.Conn. timeouts.list bounds it as a whole.
func (c *conn) List(ctx context.Context) (*session.Listing, error) {
	if !c.hello.tools {
		return &session.Listing{NoTools: true}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, c.list)
	defer cancel()
	t := traversal{listing: &session.Listing{}, cursors: map[string]bool{}, seen: map[[sha256.Size]byte]bool{}}
	for cursor := ""; ; {
		page, err := c.page(ctx, cursor)
		if err != nil {
			return nil, err
		}
		if page == nil {
			return &session.Listing{NoTools: true}, nil
		}
		more, err := t.add(page)
		if err != nil {
			return nil, err
		}
		if !more {
			break
		}
		cursor = page.cursor
	}
	c.params.learn(c.modern, t.listing.Tools)
	return t.listing, nil
}

// page is one answer to tools/list.
type page struct {
	tools  []json.RawMessage
	cursor string // "" at the end
	ttl    time.Duration
}

// page asks for one page; nil when the server does not know tools/list.
func (c *conn) page(ctx context.Context, cursor string) (*page, error) {
	var params rpc.Object
	if cursor != "" {
		text, _ := json.Marshal(cursor) // text always encodes
		params = params.With("cursor", text)
	}
	m, err := c.transport.Exchange(ctx, c.request(failure.List, "tools/list", params))
	if errors.Is(err, mcphttp.ErrTooLarge) {
		return nil, tooLarge("one answer is larger than 16 MiB")
	}
	if err != nil {
		return nil, err
	}
	if err := checkResponse(failure.List, &m); err != nil {
		return nil, err
	}
	if fault, ok := m.Fault(); ok {
		if fault.Code == rpc.MethodNotFound && cursor == "" {
			return nil, nil //nolint:nilnil // the caller's third case, besides a page and a failure
		}
		return nil, refusedRequest(failure.List, fault)
	}
	return readPage(m.Result)
}

func readPage(result json.RawMessage) (*page, error) {
	o, err := rpc.ParseObject(result)
	if err != nil {
		return nil, failure.BadAnswer(failure.List, failure.ProtocolError, "a page that is no object")
	}
	p := &page{}
	if raw := o.Get("tools"); raw == nil || json.Unmarshal(raw, &p.tools) != nil {
		return nil, failure.BadAnswer(failure.List, failure.ProtocolError, "a page without a list of tools")
	}
	if raw := o.Get("nextCursor"); raw != nil && json.Unmarshal(raw, &p.cursor) != nil {
		return nil, failure.BadAnswer(failure.List, failure.ProtocolError, "a cursor that is no text")
	}
	var ttl float64
	if json.Unmarshal(o.Get("ttlMs"), &ttl) == nil && ttl > 0 {
		p.ttl = time.Duration(min(ttl, maxTTL.Seconds()*1000)) * time.Millisecond
	}
	return p, nil
}

const maxTTL = 24 * time.Hour

// traversal gathers the pages of one list.
type traversal struct {
	listing *session.Listing
	pages   int
	bytes   int
	cursors map[string]bool
	seen    map[[sha256.Size]byte]bool // tools, by their bytes
}

// add takes a page in and reports whether there is another one to ask for.
func (t *traversal) add(p *page) (bool, error) {
	t.pages++
	fresh := 0
	repeated := t.cursors[p.cursor]
	for _, tool := range p.tools {
		key := sha256.Sum256(tool)
		if t.pages > 1 && t.seen[key] {
			continue
		}
		t.seen[key] = true
		fresh++
		t.bytes += len(tool)
		t.listing.Tools = append(t.listing.Tools, tool)
	}
	if t.pages == 1 || p.ttl < t.listing.TTL {
		t.listing.TTL = p.ttl
	}
	if detail := t.excess(); detail != "" {
		return false, tooLarge(detail)
	}
	switch {
	case p.cursor == "":
		return false, nil
	case repeated, fresh == 0 && t.pages > 1:
		t.listing.Loop = true
		return false, nil
	case t.pages >= maxPages:
		return false, tooLarge("more than 100 pages")
	}
	t.cursors[p.cursor] = true
	return true, nil
}

func (t *traversal) excess() string {
	switch {
	case len(t.listing.Tools) > maxTools:
		return "more than 2000 tools"
	case t.bytes > maxListBytes:
		return "more than 8 MiB of tools"
	}
	return ""
}

func tooLarge(detail string) error {
	large := failure.BadAnswer(failure.List, failure.CatalogTooLarge, detail)
	large.Answered, large.Cause = true, ErrCatalogTooLarge
	return large
}
