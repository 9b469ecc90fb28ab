package agentsession

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/catalog/catalogstore"
	"github.com/mooring-dev/mooring/internal/failure"
	"github.com/mooring-dev/mooring/internal/session"
)

// Seed rule: connected, connecting, disconnected. What can be used is what is connected, or deferred: a call to it
// waits for the connection.
func TestSeedRule4_ServerStates(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
		names := []string{"deferred", "down", "downstored", "late", "listless", "off", "up"}
		objects := []string{}
		w := newWorld(t, agent().Ref("gone").SelectAll().Obj())
		for _, name := range names {
			server := declared(name)
			if name == "off" {
				server.Disabled()
			}
			w.Expect(w.api.Create(t.Context(), server.Obj())).To(Succeed())
			objects = append(objects, name)
		}
		w.Expect(objects).To(Equal(names))
		w.up("up", "x")
		w.late("deferred", "x")
		w.down("down")
		w.down("downstored", "x")
		w.late("late")
		w.stands("listless", session.Snapshot{
			State: session.Connected, Settled: true, ListFault: &session.Fault{Failure: failure.Failure{Class: failure.Server}},
		}, catalogstore.Entry{Trouble: catalogstore.Trouble{Class: "server", Reason: "ListToolsFailed", Message: "no list"}})
		w.pass()
		w.advance(30 * time.Second)
		w.Expect(w.servers()).To(Equal("deferred Deferred 1, down Disconnected 0, downstored Disconnected 1, " +
			"gone NotFound -, late Connecting 0, listless Connected 0, off Filtered -, up Connected 1"))
		session := w.get()
		w.Expect(session.Status.Summary).To(Equal("2/7"))
		w.Expect(w.ready()).To(Equal("True PartiallyAvailable"))
		w.Expect(session.Status.Servers[5].Class + " " + session.Status.Servers[5].Message).To(Equal("server no list"))
		w.Expect(session.Status.Servers[6].Message).To(Equal("the MCPServer is disabled"))
		w.Expect(session.Status.Endpoint).To(Equal("https://gateway.example/sessions/agents/coder/mcp"))
		w.Expect(w.offers()).To(Equal("mcp_deferred_x mcp_downstored_x mcp_up_x down: ConnectFailed gone: RefNotFound " +
			"late: Connecting listless: ListToolsFailed"))
	})
}

// What only servers did is joined; what a person did, and edges of Ready, are told at once.
func TestStatusIsQuiet(t *testing.T) {
	inBubble(t, "edges of servers are joined", func(t *testing.T) {
		w := newWorld(t, agent().Obj(), declared("a").Obj(), declared("b").Obj())
		w.up("a", "x")
		w.up("b", "y")
		w.pass()
		for range 12 { // a minute
			w.down("b", "y")
			w.pass()
			w.advance(4 * time.Second)
			w.up("b", "y")
			w.pass()
			w.advance(time.Second)
		}
		w.Expect(w.statusWrites - 1).To(BeNumerically("<=", 6))
		w.Expect(w.stores).To(Equal(1))
		w.advance(time.Minute)
		w.Expect(w.servers()).To(Equal("a Connected 1, b Connected 1"))
		w.Expect(w.ready()).To(Equal("True AllServersAvailable"))
	})
	inBubble(t, "edges of Ready are told at once, thirty times a minute", func(t *testing.T) {
		w := newWorld(t, agent().Obj(), declared("a").Obj())
		w.up("a", "x")
		w.pass()
		for i := range 15 {
			w.down("a", "x")
			w.pass()
			w.Expect(w.ready()).To(Equal("False NoServersAvailable"), "edge %d", i)
			w.advance(2 * time.Second)
			w.up("a", "x")
			w.pass()
			w.Expect(w.ready()).To(Equal("True AllServersAvailable"), "edge %d", i)
			w.advance(2 * time.Second)
		}
		w.Expect(w.statusWrites).To(Equal(31))
	})
	inBubble(t, "of more edges of Ready the last one is told within two seconds", func(t *testing.T) {
		w := newWorld(t, agent().Obj(), declared("a").Obj())
		w.up("a", "x")
		w.pass()
		for range 60 { // in half a minute
			w.down("a", "x")
			w.pass()
			w.advance(250 * time.Millisecond)
			w.up("a", "x")
			w.pass()
			w.advance(250 * time.Millisecond)
		}
		w.down("a", "x")
		w.pass()
		w.Expect(w.statusWrites - 1).To(BeNumerically("<=", 6+15+1))
		w.advance(2 * time.Second)
		w.Expect(w.ready()).To(Equal("False NoServersAvailable"))
	})
	inBubble(t, "a person's edit is told at once", func(t *testing.T) {
		w := newWorld(t, agent().Obj(), declared("a").Obj(), declared("b").Obj())
		w.up("a", "x")
		w.up("b", "y")
		w.pass()
		w.down("b", "y")
		w.pass()
		w.edit(func(s *v1alpha1.AgentSession) {
			s.Spec.Servers = &v1alpha1.ServerSelection{Refs: []v1alpha1.ServerReference{{Name: "a"}}}
		})
		w.pass()
		w.Expect(w.get().Status.ObservedGeneration).To(BeEquivalentTo(2))
		w.Expect(w.servers()).To(Equal("a Connected 1"))
	})
}

// The words for a server's trouble are those of its own status; a fault that was not told there yet has its own, and
// one that is over none.
func TestWordsForTrouble(t *testing.T) {
	inBubble(t, "not told yet", func(t *testing.T) {
		w := newWorld(t, agent().Obj(), declared("a").Obj())
		fault := &session.Fault{Failure: failure.Failure{Class: failure.Transport, Reason: failure.ConnectFailed}}
		w.stands("a", session.Snapshot{State: session.Waiting, Settled: true, Fault: fault}, catalogstore.Entry{})
		w.pass()
		w.Expect(w.get().Status.Servers[0].Message).To(Equal(
			"connection to https://a.example/mcp was refused; check that the server runs and listens there"))
		w.Expect(w.get().Status.Servers[0].Class).To(Equal("transport"))
	})
	inBubble(t, "over, and not told yet", func(t *testing.T) {
		w := newWorld(t, agent().Obj(), declared("a").Obj())
		w.stands("a", session.Snapshot{State: session.Connected, Settled: true}, catalogstore.Entry{
			Offered: offering("x"), Trouble: catalogstore.Trouble{Class: "transport", Reason: "ConnectFailed", Message: "down"},
		})
		w.pass()
		w.Expect(w.get().Status.Servers[0].Message + w.get().Status.Servers[0].Class).To(BeEmpty())
	})
	inBubble(t, "a newer catalog that does not fit", func(t *testing.T) {
		w := newWorld(t, agent().Obj(), declared("a").Obj())
		w.stands("a", session.Snapshot{State: session.Connected, Settled: true}, catalogstore.Entry{
			Offered: offering("x"), Trouble: catalogstore.Trouble{Reason: "CatalogTooLarge", Message: "too large; kept"},
		})
		w.pass()
		w.Expect(w.get().Status.Servers[0].Message).To(Equal("too large; kept"))
	})
	inBubble(t, "too long", func(t *testing.T) {
		w := newWorld(t, agent().Obj(), declared("a").Obj())
		w.stands("a", session.Snapshot{State: session.Connected, Settled: true}, catalogstore.Entry{
			Offered: offering("x"), Trouble: catalogstore.Trouble{Reason: "X", Message: strings.Repeat("é", 600)},
		})
		w.pass()
		w.Expect(w.get().Status.Servers[0].Message).To(Equal(strings.Repeat("é", 254) + "…"))
	})
}

// Seed rule: late failures are told after the gate; what the gate saw is in its outcome and the catalog's errors.
func TestSeedRule6_Events(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
		w := newWorld(t, agent().Obj(), declared("a").Obj(), declared("b").Obj())
		w.up("a", "x")
		w.late("b", "y")
		w.pass()
		w.advance(quarter)
		w.Expect(w.told.take()).To(Equal([]string{
			"Normal Published Publish: revision " + w.get().Status.Catalog.Revision + " is in ConfigMap coder-mcp-catalog",
		}))
		w.down("b", "y")
		w.pass()
		w.Expect(w.told.take()).To(Equal([]string{
			"Warning PartiallyAvailable Offer: these servers cannot be used now: b; status.servers says why",
		}))
		w.down("a", "x")
		w.pass()
		w.Expect(w.told.take()).To(Equal([]string{
			"Warning NoServersAvailable Offer: none of the selected servers can be used now; status.servers says why",
		}))
		w.up("a", "x", "z")
		w.pass()
		w.advance(time.Minute)
		w.Expect(w.told.take()).To(Equal([]string{
			"Normal Published Publish: revision " + w.get().Status.Catalog.Revision + " is in ConfigMap coder-mcp-catalog",
		}))
	})
}

func TestNamesAreListedUpToFive(t *testing.T) {
	g := NewWithT(t)
	g.Expect(first([]string{"a", "b"})).To(Equal("a, b"))
	g.Expect(first([]string{"a", "b", "c", "d", "e", "f", "g"})).To(Equal("a, b, c, d, e and 2 more"))
}

// A gate that holds says for whom, as long as it says anything.
// What is unremarkable and still leaves an agent without tools is told.
func TestWhyNothingIsOffered(t *testing.T) {
	for name, c := range map[string]struct {
		session *v1alpha1.AgentSession
		server  *v1alpha1.MCPServer
		want    string
	}{
		"nothing is declared": {agent().Obj(), nil, "no MCPServer is selected: nothing is offered"},
		"all are left out": {agent().Obj(), declared("a").Disabled().Obj(),
			"every MCPServer that matches is left out: nothing is offered; status.servers says why"},
		"a filter by raw names": {agent().Allow("a_*").Obj(), declared("a").Obj(), "every selected server can be used, but " +
			"spec.tools lets none of their tools through; it goes by exposed names, mcp_<server>_<tool>"},
		"a filter that fits": {agent().Allow("mcp_a_*").Obj(), declared("a").Obj(), "every selected server can be used"},
	} {
		inBubble(t, name, func(t *testing.T) {
			objects := []client.Object{c.session}
			if c.server != nil {
				objects = append(objects, c.server)
			}
			w := newWorld(t, objects...)
			w.up("a", "x")
			w.pass()
			w.advance(time.Minute)
			w.Expect(meta.FindStatusCondition(w.get().Status.Conditions, v1alpha1.ConditionReady).Message).To(Equal(c.want))
		})
	}
}

func TestAwaitedServersAreNamed(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
		w := newWorld(t, agent().Obj())
		for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
			w.Expect(w.api.Create(t.Context(), declared(name).Obj())).To(Succeed())
			w.late(name)
		}
		w.pass()
		w.advance(silence)
		message := func() string { return w.get().Status.Conditions[0].Message }
		w.Expect(message()).To(Equal("waiting for the first answer of agents/a, agents/b, agents/c, agents/d, agents/e " +
			"and 1 more, with no tools stored"))
		for _, name := range []string{"b", "c", "d", "e", "f"} {
			w.up(name, "x")
		}
		w.pass()
		w.advance(time.Second)
		w.Expect(message()).To(Equal("waiting for the first answer of agents/a, with no tools stored"))
	})
	inBubble(t, "with what keeps them from answering", func(t *testing.T) {
		w := newWorld(t, agent().Ref("gone").ForeignRef("shared", "x").Obj())
		w.pass()
		w.advance(silence)
		w.Expect(w.get().Status.Conditions[0].Message).To(Equal("waiting for the first answer of agents/gone (which is not " +
			"declared), shared/x (which may not be used from here), with no tools stored"))
	})
}
