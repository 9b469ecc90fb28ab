package mcpserver

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/catalog"
	"github.com/mooring-dev/mooring/internal/catalog/catalogstore"
	"github.com/mooring-dev/mooring/internal/failure"
	"github.com/mooring-dev/mooring/internal/session"
)

// lists is the snapshot of a session that listed tools, each "name" or "name=title".
func lists(tools ...string) session.Snapshot {
	snapshot := connected()
	for _, tool := range tools {
		name, title, _ := strings.Cut(tool, "=")
		snapshot.Listing.Tools = append(snapshot.Listing.Tools, json.RawMessage(
			fmt.Sprintf(`{"name":%q,"title":%q,"inputSchema":{"type":"object"}}`, name, title)))
	}
	snapshot.ListingID = fmt.Sprint(tools)
	return snapshot
}

// offered are the names of the tools that agents may be offered; "nothing stored" without a catalog.
func (w *world) offered() string {
	w.t.Helper()
	item := w.reconciler.Catalogs.Get(testKey).Entry
	w.Expect(item).NotTo(BeNil())
	if item.Offered == nil {
		return "nothing stored"
	}
	var names []string
	for _, tool := range item.Offered.Tools {
		names = append(names, tool.Name)
	}
	return strings.Join(names, " ")
}

// drift is the reason of ToolsDrifted, empty without it.
func (w *world) drift() string {
	w.t.Helper()
	return strings.TrimPrefix(standing(w.get())[v1alpha1.ConditionToolsDrifted], "True ")
}

func (w *world) pin(policy v1alpha1.PinPolicy, approved string) {
	w.t.Helper()
	w.edit(func(s *v1alpha1.MCPServer) { s.Spec.Tools = &v1alpha1.Tools{Pin: policy, ApprovedDigest: approved} })
}

// The first published list is trusted; later, what changed or came is withheld until it is approved.
func TestPinTrustOnFirstUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, declared().Pin(v1alpha1.PinTrustOnFirstUse).Obj())
		w.settle(lists("a", "b"))
		first := w.get().Status.Catalog.Digest
		w.Expect(w.offered()).To(Equal("a b"))
		w.Expect(w.drift()).To(BeEmpty())
		w.Expect(w.get().Status.Catalog.PinnedDigest).To(Equal(first))
		w.Expect(w.catalog().Data).To(HaveKey(catalog.ApprovedKey))

		w.settle(lists("a", "b=poisoned", "c"))
		changed := w.get()
		w.Expect(w.offered()).To(Equal("a"))
		w.Expect(w.drift()).To(Equal(v1alpha1.ReasonToolsChanged))
		w.Expect(message(changed, v1alpha1.ConditionToolsDrifted)).To(Equal("withheld, because not as approved: " +
			"b (changed), c (added); look at them, and approve them by setting spec.tools.approvedDigest to " +
			"status.catalog.digest"))
		w.Expect(changed.Status.Catalog.PinnedDigest).To(Equal(first))
		w.Expect(*changed.Status.Catalog.ToolCount).To(BeEquivalentTo(1))
		w.Expect(standing(changed)[v1alpha1.ConditionReady]).To(Equal("True Ready"))
		w.Expect(w.published()).To(Equal([]string{"a", "b", "c"}), "what is stored is what the server lists")
		w.Expect(w.told.take()).To(ContainElement("Warning ToolsChanged Publish"))

		w.pin(v1alpha1.PinTrustOnFirstUse, changed.Status.Catalog.Digest)
		w.pass()
		w.Expect(w.offered()).To(Equal("a b c"))
		w.Expect(w.drift()).To(BeEmpty())
		w.Expect(w.get().Status.Catalog.PinnedDigest).To(Equal(changed.Status.Catalog.Digest))

		time.Sleep(time.Minute) // writes are drawn from a bucket
		w.settle(lists("a"))
		w.Expect(w.drift()).To(BeEmpty(), "tools that vanish are not drift")
		w.Expect(w.offered()).To(Equal("a"))
	})
}

// A manifest that names what is approved is trusted at first use in that alone: whoever answers first in the server's
// place approves nothing.
func TestPinTrustOnFirstUseOfWhatTheManifestApproves(t *testing.T) {
	approved := catalog.Parse(lists("a").Listing.Tools).Digest
	w := newWorld(t, declared().Pin(v1alpha1.PinTrustOnFirstUse).Obj())
	w.pin(v1alpha1.PinTrustOnFirstUse, string(approved))
	w.settle(lists("a=evil"))
	w.Expect(w.offered()).To(BeEmpty())
	w.Expect(w.drift()).To(Equal(v1alpha1.ReasonAwaitingApproval))
	w.Expect(message(w.get(), v1alpha1.ConditionToolsDrifted)).To(HavePrefix("what the server lists was not approved"))
	w.Expect(w.catalog().Data).NotTo(HaveKey(catalog.ApprovedKey))
	w.Expect(w.get().Status.Catalog.PinnedDigest).To(BeEmpty())

	w.restart()
	w.settle(lists("a"))
	w.Expect(w.offered()).To(Equal("a"))
	w.Expect(w.drift()).To(BeEmpty())
	w.Expect(w.approvedDigest()).To(Equal(string(approved)))
	w.Expect(w.get().Status.Catalog.PinnedDigest).To(Equal(string(approved)))

	w.restart() // whose writes are drawn from another bucket
	w.settle(lists("a=evil"))
	w.Expect(w.offered()).To(BeEmpty())
	w.Expect(w.drift()).To(Equal(v1alpha1.ReasonToolsChanged))
}

// Nothing is offered before somebody approved it.
func TestPinStrict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, declared().Pin(v1alpha1.PinStrict).Obj())
		w.settle(lists("a", "b"))
		w.Expect(w.offered()).To(BeEmpty())
		w.Expect(w.drift()).To(Equal(v1alpha1.ReasonAwaitingApproval))
		w.Expect(w.catalog().Data).NotTo(HaveKey(catalog.ApprovedKey))
		w.Expect(w.get().Status.Catalog.PinnedDigest).To(BeEmpty())
		w.pin(v1alpha1.PinStrict, string(catalog.Sum([]byte("another list"))))
		w.pass()
		w.Expect(w.offered()).To(BeEmpty())
		w.pin(v1alpha1.PinStrict, w.get().Status.Catalog.Digest)
		w.pass()
		w.Expect(w.offered()).To(Equal("a b"))
		w.Expect(w.drift()).To(BeEmpty())
		w.settle(lists("a", "b", "c"))
		w.Expect(w.offered()).To(Equal("a b"))
		w.Expect(w.drift()).To(Equal(v1alpha1.ReasonToolsChanged))
		time.Sleep(time.Minute) // writes are drawn from a bucket
		w.pin(v1alpha1.PinNone, "")
		w.pass()
		w.Expect(w.offered()).To(Equal("a b c"))
		w.Expect(w.drift()).To(BeEmpty())
		w.Expect(w.catalog().Data).NotTo(HaveKey(catalog.ApprovedKey), "without a pin nothing is recorded")
		w.Expect(w.get().Status.Catalog.PinnedDigest).To(BeEmpty())
	})
}

// A record of what was approved that is missing, or is not the one that was made, approves nothing.
func TestPinBaselineLost(t *testing.T) {
	for name, lose := range map[string]func(w *world){
		"deleted": func(w *world) { w.Expect(w.api.Delete(w.t.Context(), w.catalog())).To(Succeed()) },
		"damaged": func(w *world) {
			object := w.catalog()
			object.Data[catalog.ApprovedKey] = strings.Replace(object.Data[catalog.ApprovedKey], `"title":""`, `"title":"x"`, 1)
			w.Expect(w.api.Update(w.t.Context(), object)).To(Succeed())
		},
		"replaced by one that is well formed": func(w *world) {
			object := w.catalog()
			other := catalog.NewBaseline(catalog.Parse(lists("a", "b=poisoned").Listing.Tools))
			encoded, err := catalog.ServerDocument{Approved: &other}.Encode()
			w.Expect(err).NotTo(HaveOccurred())
			object.Data[catalog.ApprovedKey] = encoded.Data[catalog.ApprovedKey]
			w.Expect(w.api.Update(w.t.Context(), object)).To(Succeed())
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, declared().Pin(v1alpha1.PinTrustOnFirstUse).Obj())
			w.settle(lists("a", "b"))
			first := w.get().Status.Catalog.Digest
			lose(w)
			for range 2 { // it does not heal by being looked at
				w.settle(lists("a", "b=poisoned"))
				w.Expect(w.offered()).To(BeEmpty())
				w.Expect(w.drift()).To(Equal(v1alpha1.ReasonBaselineLost))
				w.Expect(w.get().Status.Catalog.PinnedDigest).To(Equal(first))
			}
			w.restart()
			w.settle(lists("a", "b=poisoned"))
			w.Expect(w.drift()).To(Equal(v1alpha1.ReasonBaselineLost))
			w.pin(v1alpha1.PinTrustOnFirstUse, w.get().Status.Catalog.Digest)
			w.pass()
			w.Expect(w.offered()).To(Equal("a b"))
			w.Expect(w.drift()).To(BeEmpty())
		})
	}
}

// After a restart, and while the server is down, what was approved is offered and nothing else.
func TestPinHoldsWithoutAConnection(t *testing.T) {
	w := newWorld(t, declared().Pin(v1alpha1.PinTrustOnFirstUse).Obj())
	w.settle(lists("a", "b"))
	w.settle(lists("a", "b=poisoned"))
	w.restart()
	w.pass()
	w.Expect(w.offered()).To(Equal("a"))
	w.Expect(w.drift()).To(Equal(v1alpha1.ReasonToolsChanged))
}

// A server that lists its tools late has not been trusted with none: the first list that has some is the first use.
func TestPinTrustsTheFirstListWithTools(t *testing.T) {
	w := newWorld(t, declared().Pin(v1alpha1.PinTrustOnFirstUse).Obj())
	w.settle(lists())
	w.Expect(w.published()).To(BeEmpty())
	w.Expect(w.catalog().Data).NotTo(HaveKey(catalog.ApprovedKey))
	w.Expect(w.get().Status.Catalog.PinnedDigest).To(BeEmpty())
	w.Expect(standing(w.get())[v1alpha1.ConditionCatalogPublished]).To(Equal("True NoTools"))
	w.Expect(w.drift()).To(BeEmpty())

	w.restart()
	w.settle(lists("a", "b"))
	w.Expect(w.offered()).To(Equal("a b"))
	w.Expect(w.drift()).To(BeEmpty())
	w.Expect(w.get().Status.Catalog.PinnedDigest).To(Equal(w.get().Status.Catalog.Digest))

	w.restart() // whose writes are drawn from another bucket
	w.settle(lists())
	w.Expect(w.drift()).To(BeEmpty())
	w.restart()
	w.settle(lists("a", "b=poisoned"))
	w.Expect(w.offered()).To(Equal("a"), "that all tools vanished is no new beginning")
	w.Expect(w.drift()).To(Equal(v1alpha1.ReasonToolsChanged))
}

// down is the snapshot of a server that could not be reached since the process started.
func down() session.Snapshot {
	return session.Snapshot{State: session.Waiting, Settled: true, Fault: &session.Fault{
		Failure: failure.Failure{Class: failure.Transport, Reason: failure.ConnectFailed},
	}}
}

// approvedDigest is the digest of what the ConfigMap records as approved.
func (w *world) approvedDigest() string {
	w.t.Helper()
	object := w.catalog()
	baseline, err := catalog.DecodeBaseline(object.Data, object.BinaryData)
	w.Expect(err).NotTo(HaveOccurred())
	return string(baseline.Digest())
}

// What is approved while no list was made in this process, because the server is down, is recorded at once: the next
// list is compared with that, and not with what was approved before.
func TestPinApprovalWithoutAList(t *testing.T) {
	for name, c := range map[string]struct {
		policy v1alpha1.PinPolicy
		first  []string // what was offered before the approval
		reason string
	}{
		"trust on first use": {v1alpha1.PinTrustOnFirstUse, []string{"a"}, v1alpha1.ReasonToolsChanged},
		"strict":             {v1alpha1.PinStrict, nil, v1alpha1.ReasonAwaitingApproval},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, declared().Pin(c.policy).Obj())
			w.settle(lists("a"))
			w.settle(lists("a", "b"))
			changed := w.get().Status.Catalog.Digest
			w.restart()
			w.stores = 0
			w.settle(down())
			w.Expect(w.offered()).To(Equal(strings.Join(c.first, " ")))
			w.Expect(w.drift()).To(Equal(c.reason))
			w.Expect(w.stores).To(Equal(0), "nothing was approved")

			w.pin(c.policy, changed)
			w.pass()
			w.Expect(w.offered()).To(Equal("a b"))
			w.Expect(w.drift()).To(BeEmpty())
			w.Expect(w.approvedDigest()).To(Equal(changed))
			w.Expect(w.get().Status.Catalog.PinnedDigest).To(Equal(changed))
			w.Expect(*w.get().Status.Catalog.ToolCount).To(BeEquivalentTo(2))
			w.Expect(w.get().Status.Catalog.Encoding).To(Equal(v1alpha1.EncodingIdentity))
			w.Expect(standing(w.get())[v1alpha1.ConditionConnected]).To(Equal("False ConnectFailed"))
			writes := w.statusWrites
			w.pass()
			w.Expect([]int{w.stores, w.statusWrites}).To(Equal([]int{1, writes}), "once")

			w.restart()
			w.settle(lists("a", "b", "c"))
			w.Expect(w.offered()).To(Equal("a b"))
			w.Expect(message(w.get(), v1alpha1.ConditionToolsDrifted)).To(HavePrefix(
				"withheld, because not as approved: c (added); look"))
			w.Expect(w.approvedDigest()).To(Equal(changed))
			w.Expect(w.get().Status.Catalog.PinnedDigest).To(Equal(changed))
		})
	}
}

// An approval of another list than the stored one, a lost record and a rejected declaration record nothing.
func TestPinRecordsNothingElseWithoutAList(t *testing.T) {
	w := newWorld(t, declared().Pin(v1alpha1.PinTrustOnFirstUse).Obj())
	w.settle(lists("a"))
	first := w.get().Status.Catalog.Digest
	w.settle(lists("a", "b"))
	changed := w.get().Status.Catalog.Digest
	w.restart()
	w.settle(down())
	w.stores = 0
	w.pin(v1alpha1.PinTrustOnFirstUse, string(catalog.Sum([]byte("another list"))))
	w.pass()
	w.Expect(w.drift()).To(Equal(v1alpha1.ReasonToolsChanged))
	w.edit(func(s *v1alpha1.MCPServer) { s.Spec.Tools.Allow, s.Spec.Tools.ApprovedDigest = []string{"["}, changed })
	w.pass()
	w.Expect(w.stores).To(Equal(0))
	w.Expect(w.approvedDigest()).To(Equal(first))

	object := w.catalog()
	delete(object.Data, catalog.ApprovedKey)
	w.Expect(w.api.Update(t.Context(), object)).To(Succeed())
	w.pin(v1alpha1.PinTrustOnFirstUse, "")
	w.pass()
	w.Expect(w.stores).To(Equal(0))
	w.Expect(w.drift()).To(Equal(v1alpha1.ReasonBaselineLost))
	w.Expect(w.offered()).To(BeEmpty())
}

// While there is no list, status follows the declaration as it does with one, and remarks on the last list stand.
func TestStatusFollowsTheDeclarationWithoutAList(t *testing.T) {
	w := newWorld(t, declared().Obj())
	snapshot := lists("a", "b")
	snapshot.Listing.Loop = true
	w.settle(snapshot)
	w.restart()
	w.stores = 0
	w.settle(down())
	w.Expect(*w.get().Status.Catalog.ToolCount).To(BeEquivalentTo(2))
	w.edit(func(s *v1alpha1.MCPServer) { s.Spec.Tools = &v1alpha1.Tools{Allow: []string{"a"}} })
	w.pass()
	w.Expect(*w.get().Status.Catalog.ToolCount).To(BeEquivalentTo(1))
	w.Expect(w.get().Status.Warnings).To(HaveLen(1))
	w.Expect(*w.get().Status.WarningCount).To(BeEquivalentTo(1))
	w.Expect(w.stores).To(Equal(0))
}

// Many drifted tools are named up to ten.
func TestDriftedToolsAreNamedUpToTen(t *testing.T) {
	w := newWorld(t, declared().Pin(v1alpha1.PinTrustOnFirstUse).Obj())
	w.settle(lists("a"))
	var many []string
	for i := range 12 {
		many = append(many, fmt.Sprintf("t%02d", i))
	}
	w.settle(lists(append(many, "a")...))
	w.Expect(message(w.get(), v1alpha1.ConditionToolsDrifted)).To(ContainSubstring("t09 (added), and 2 more; look"))
}

// What a pass decided is in the catalog store, whole: list, offer and trouble belong together.
func TestCatalogStore(t *testing.T) {
	item := func(w *world) catalogstore.Entry {
		item := w.reconciler.Catalogs.Get(testKey).Entry
		w.Expect(item).NotTo(BeNil())
		return *item
	}
	t.Run("a server that is up", func(t *testing.T) {
		w := newWorld(t, declared().Allow("a*").Obj())
		w.settle(lists("a", "b"))
		w.Expect(w.offered()).To(Equal("a"))
		w.Expect(item(w).Listing).To(Equal("[a b]"))
		w.Expect(item(w).Trouble).To(Equal(catalogstore.Trouble{}))
		before := item(w).Offered
		w.pass()
		w.Expect(item(w).Offered).To(BeIdenticalTo(before), "what did not change is the same")
	})
	t.Run("a filter that cannot be read offers what was offered before", func(t *testing.T) {
		w := newWorld(t, declared().Allow("a*").Obj())
		w.settle(lists("a", "b"))
		w.edit(func(s *v1alpha1.MCPServer) { s.Spec.Tools.Allow = []string{"["} })
		w.pass()
		w.Expect(w.offered()).To(Equal("a"))
		w.Expect(item(w).Acceptance).To(Equal(catalogstore.NotAccepted))
		w.Expect(item(w).Trouble.Reason).To(Equal(v1alpha1.ReasonInvalidConfiguration))
		w.restart()
		w.pass()
		w.Expect(w.offered()).To(Equal("nothing stored"), "what was offered is not known any more")
	})
	t.Run("a Secret that is missing", func(t *testing.T) {
		w := newWorld(t, declared().Bearer("login", "token").Obj())
		w.pass()
		w.Expect(item(w).Acceptance).To(Equal(catalogstore.AwaitsReference))
		w.Expect(item(w).Trouble.Reason).To(Equal(v1alpha1.ReasonSecretNotFound))
		w.Expect(w.offered()).To(Equal("nothing stored"))
	})
	t.Run("a server that is down, with a stored catalog", func(t *testing.T) {
		w := newWorld(t, declared().Obj())
		w.settle(lists("a"))
		w.settle(session.Snapshot{State: session.Waiting, Settled: true, Fault: &session.Fault{
			Failure: failure.Failure{Class: failure.Transport, Reason: failure.ConnectFailed},
		}})
		w.Expect(w.offered()).To(Equal("a"))
		w.Expect(item(w).Trouble.Class + " " + item(w).Trouble.Reason).To(Equal("transport ConnectFailed"))
		w.Expect(item(w).Trouble.Message).To(Equal(message(w.get(), v1alpha1.ConditionConnected)))
	})
	t.Run("a list that failed", func(t *testing.T) {
		w := newWorld(t, declared().Obj())
		snapshot := lists("a")
		snapshot.ListFault = &session.Fault{Failure: failure.Failure{Class: failure.Server, Reason: failure.ServerError}}
		w.settle(snapshot)
		w.Expect(item(w).Trouble.Class + " " + item(w).Trouble.Reason).To(Equal("server ListToolsFailed"))
		w.Expect(w.offered()).To(Equal("a"))
	})
	t.Run("an empty list that is not believed", func(t *testing.T) {
		w := newWorld(t, declared().Obj())
		snapshot := lists()
		snapshot.Listing, snapshot.ListingID, snapshot.EmptyUnconfirmed = nil, "", true
		w.settle(snapshot)
		w.Expect(item(w).Trouble.Reason).To(Equal(v1alpha1.ReasonEmptyCatalog))
	})
	t.Run("another configuration", func(t *testing.T) {
		w := newWorld(t, declared().Obj())
		w.settle(lists("a"))
		w.edit(func(s *v1alpha1.MCPServer) { s.Spec.HTTP.URL = "https://other.example/mcp" })
		w.pass()
		w.Expect(w.offered()).To(Equal("nothing stored"))
		w.Expect(item(w).ConfigHash).NotTo(BeEmpty())
	})
	t.Run("disabled, and gone", func(t *testing.T) {
		w := newWorld(t, declared().Obj())
		w.settle(lists("a"))
		var told []session.Key
		w.reconciler.Catalogs.Changed = func(key session.Key) { told = append(told, key) }
		w.edit(func(s *v1alpha1.MCPServer) { s.Spec.Disabled = true })
		w.pass()
		w.Expect(w.offered()).To(Equal("nothing stored"))
		w.Expect(w.api.Delete(t.Context(), w.get())).To(Succeed())
		w.pass()
		w.Expect(w.reconciler.Catalogs.Get(testKey).Entry).To(BeNil())
		w.Expect(slices.Compact(told)).To(Equal([]session.Key{testKey}))
	})
}

// Others hear of a session besides the controller, also of one that is bound to nothing here.
func TestKeysTellOthers(t *testing.T) {
	g := NewWithT(t)
	var told []session.Key
	keys := &Keys{Also: func(key session.Key) { told = append(told, key) }}
	keys.Notify("x")
	keys.Notify(testKey)
	g.Expect(told).To(Equal([]session.Key{"x", testKey}))
}
