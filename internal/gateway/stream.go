package gateway

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/mooring-dev/mooring/internal/gateway/directory"
	"github.com/mooring-dev/mooring/internal/upstream/rpc"
)

// How many streams may stand.
const (
	maxStreams          = 2000
	maxStreamsPerCaller = 8
)

// streams counts those that stand. The zero value is ready.
type streams struct {
	mu      sync.Mutex
	guarded struct {
		all      int
		byCaller map[string]int
	}
}

// enter takes a place; false when there is none.
func (s *streams) enter(caller string) (leave func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := &s.guarded
	if g.all >= maxStreams || g.byCaller[caller] >= maxStreamsPerCaller {
		return nil, false
	}
	if g.byCaller == nil {
		g.byCaller = map[string]int{}
	}
	g.all++
	g.byCaller[caller]++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		g.all--
		if g.byCaller[caller]--; g.byCaller[caller] == 0 {
			delete(g.byCaller, caller)
		}
	}, true
}

const listChanged = "notifications/tools/list_changed"

// serveStream is the stream by which a client of the older protocols hears of changes: GET.
func (g *Gateway) serveStream(w http.ResponseWriter, v *visit) {
	if !acceptsOf(v.Header.Values("Accept")).stream {
		writeFault(w, http.StatusNotAcceptable, "GET gives an event stream: accept text/event-stream")
		return
	}
	g.stand(w, v, nil, rpc.Notification(listChanged, nil))
}

// listen is the same for a client of the stateless protocol, which says what it wants to hear of. Of all that, tools
// are what changes here.
func (g *Gateway) listen(w http.ResponseWriter, m *message) {
	var params struct {
		Notifications *struct {
			Tools bool `json:"toolsListChanged"`
		} `json:"notifications"`
	}
	if json.Unmarshal(m.Params, &params) != nil || params.Notifications == nil {
		g.write(w, m, http.StatusOK, rpc.Refusal(m.ID, rpc.InvalidParams, "params.notifications must say what to hear of"))
		return
	}
	agreed := map[string]any{}
	if params.Notifications.Tools {
		agreed["toolsListChanged"] = true
	}
	meta := map[string]any{"io.modelcontextprotocol/subscriptionId": m.ID}
	accepted := rpc.Notification("notifications/subscriptions/acknowledged",
		object(map[string]any{"notifications": agreed, "_meta": meta}))
	if !params.Notifications.Tools {
		out := newReply(w, accepts{stream: true})
		out.notify(accepted)
		out.finish(http.StatusOK, rpc.Reply(m.ID, object(map[string]any{"resultType": "complete", "_meta": meta})))
		return
	}
	g.stand(w, m.visit, accepted, rpc.Notification(listChanged, object(map[string]any{"_meta": meta})))
}

// stand keeps a stream until the client leaves, may no longer listen, or the gateway ends. The news is told when the
// list of tools is another one.
func (g *Gateway) stand(w http.ResponseWriter, v *visit, first, news []byte) {
	leave, ok := g.streams.enter(v.caller.Key())
	if !ok {
		w.Header().Set("Retry-After", "60")
		writeFault(w, http.StatusTooManyRequests, "too many streams stand; close some")
		return
	}
	defer leave()
	out := newReply(w, accepts{stream: true})
	out.live()
	if first != nil {
		out.notify(first)
	}
	list := listed(v.offer)
	alive := time.NewTicker(lifeInterval)
	defer alive.Stop()
	for {
		changed, stop := v.offer.Changed()
		if offer := g.find(v.offer.Kind, v.offer.Name); offer != nil {
			if now := listed(offer); !bytes.Equal(now, list) {
				list = now
				out.notify(news)
			}
		}
		select {
		case <-changed:
		case <-alive.C:
			out.live()
			ok = g.mayStay(v)
		case <-v.Context().Done():
			ok = false
		case <-g.ending:
			ok = false
		}
		stop()
		if !ok {
			return
		}
	}
}

// find is what is offered at a place now; nil when there is no such place.
func (g *Gateway) find(kind directory.Kind, name types.NamespacedName) *directory.Offer {
	if kind == directory.ServerKind {
		return g.options.Directory.ServerOffer(name)
	}
	return g.options.Directory.SessionOffer(name)
}

// calls are those in flight, so that they can be cancelled by their ids. The zero value is ready.
type calls struct {
	mu      sync.Mutex
	guarded map[callKey][]*call
}

// callKey is how a client names its call. Clients of one caller may use the same ids.
type callKey struct{ caller, place, id string }

func keyOf(v *visit, id json.RawMessage) callKey {
	return callKey{v.caller.Key(), string(v.offer.Kind) + " " + v.offer.Name.String(), string(id)}
}

func (c *calls) add(of *call) (remove func()) {
	key := keyOf(of.visit, of.ID)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.guarded == nil {
		c.guarded = map[callKey][]*call{}
	}
	c.guarded[key] = append(c.guarded[key], of)
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		rest := slices.DeleteFunc(c.guarded[key], func(other *call) bool { return other == of })
		if c.guarded[key] = rest; len(rest) == 0 {
			delete(c.guarded, key)
		}
	}
}

// cancel ends a call of which there is exactly one under its name.
func (c *calls) cancel(key callKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known := c.guarded[key]; len(known) == 1 {
		known[0].cancel()
	}
}

// note takes what wants no answer. Whoever answers us was not asked.
func (g *Gateway) note(m *message) {
	var params struct {
		ID json.RawMessage `json:"requestId"`
	}
	if m.Message.Method == methodCancelled && json.Unmarshal(m.Params, &params) == nil && params.ID != nil {
		g.calls.cancel(keyOf(m.visit, params.ID))
	}
}
