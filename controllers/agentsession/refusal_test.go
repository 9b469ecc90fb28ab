package agentsession

import (
	"errors"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/configmap"
)

// forbidden is what the API server answers to a write that a quota does not leave room for.
func forbidden() error {
	return apierrors.NewForbidden(corev1.Resource("configmaps"), "coder-mcp-catalog", errors.New("exceeded quota: few"))
}

// What the API server refuses to store is told in its words, silences nothing else, and is tried again in a minute;
// other content takes its turn before that.
func TestRefusedFirstCatalog(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
		w := newWorld(t, agent().Obj(), declared("a").Obj(), declared("b").Obj())
		w.up("a", "x")
		w.down("b")
		w.storeErrors = []error{forbidden()}
		w.pass()
		w.Expect(w.due).To(Equal(time.Now().Add(configmap.RetryInterval)))
		w.Expect(w.offers()).To(Equal("nothing"))
		w.Expect(w.servers()).To(Equal("a Connected -, b Disconnected -"))
		w.Expect(w.ready()).To(Equal("False PublishFailed"))
		w.Expect(says(w.get(), v1alpha1.ConditionReconciling)).To(Equal("True ProgressingWithRetry"))
		w.Expect(says(w.get(), v1alpha1.ConditionStalled)).To(BeEmpty(), "it is tried again")
		published := meta.FindStatusCondition(w.get().Status.Conditions, v1alpha1.ConditionCatalogPublished)
		w.Expect(published.Reason).To(Equal("PublishFailed"))
		w.Expect(published.Message).To(Equal(`the API server refused to store ConfigMap "coder-mcp-catalog" ` +
			`(configmaps "coder-mcp-catalog" is forbidden: exceeded quota: few); change what it goes by, such as a quota, ` +
			`an admission policy or the manager's role; it is tried again every minute`))
		w.Expect(w.told.take()).To(Equal([]string{"Warning PublishFailed Publish: " + published.Message}))

		w.storeErrors = []error{forbidden(), forbidden(), forbidden()}
		for i := range 6 {
			w.up("b", fmt.Sprint(i))
			w.pass()
			w.Expect(w.ready()).To(Equal("False PublishFailed"))
			w.Expect(says(w.get(), v1alpha1.ConditionCatalogPublished)).To(Equal("False PublishFailed"))
		}
		w.Expect(w.servers()).To(Equal("a Connected -, b Connected -"))
		w.Expect(w.stores).To(Equal(1+configmap.WriteBurst), "what is not in the refused one takes its turn")
		w.advance(10 * time.Second)
		w.Expect(w.stores).To(Equal(2 + configmap.WriteBurst))
		w.advance(configmap.RetryInterval - time.Second)
		w.Expect(w.stores).To(Equal(2+configmap.WriteBurst), "it is not asked again before its time")
		w.advance(time.Second)
		w.Expect(w.offers()).To(Equal("mcp_a_x mcp_b_5"))
		w.Expect(w.ready()).To(Equal("True AllServersAvailable"))
		w.Expect(w.stores).To(Equal(3 + configmap.WriteBurst))
	})
}

// A later catalog that is refused is not told as published, however often it is looked at; the last good one stands.
func TestRefusedLaterCatalog(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
		w := newWorld(t, agent().Obj(), declared("a").Obj())
		w.up("a", "x")
		w.pass()
		w.up("a", "x", "y")
		w.pass()
		w.up("a", "x")
		w.storeErrors = []error{nil, forbidden()}
		w.pass()
		w.advance(10 * time.Second)
		w.up("a", "x", "more")
		w.pass()
		w.advance(10 * time.Second)
		for range 6 {
			w.advance(4 * time.Second)
			w.pass()
			w.Expect(says(w.get(), v1alpha1.ConditionCatalogPublished)).To(Equal("False PublishFailed"))
			w.Expect(w.ready()).To(Equal("True AllServersAvailable"), "agents can use what they have")
		}
		w.Expect(meta.FindStatusCondition(w.get().Status.Conditions, v1alpha1.ConditionCatalogPublished).Message).
			To(HaveSuffix("; the last catalog stays published"))
		w.Expect(w.offers()).To(Equal("mcp_a_x"))
		w.Expect(w.stores).To(Equal(4), "what was refused takes no turn")
		w.advance(configmap.RetryInterval)
		w.Expect(w.offers()).To(Equal("mcp_a_more mcp_a_x"))
		w.Expect(says(w.get(), v1alpha1.ConditionCatalogPublished)).To(Equal("True Published"))
	})
}

// While a catalog is refused, status tells of the one that agents have, also where that was not told before.
func TestRefusedLaterCatalogTellsOfThePresentOne(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
		w := newWorld(t, agent().Obj(), declared("a").Obj())
		w.up("a", "x")
		w.pass()
		for _, tool := range []string{"second", "third"} { // status is not written so soon again
			w.up("a", tool)
			w.pass()
		}
		w.storeErrors = []error{forbidden()}
		w.advance(time.Second)
		w.edit(func(s *v1alpha1.AgentSession) { s.Spec.Tools = &v1alpha1.ToolFilter{Deny: []string{"*_third"}} })
		w.pass()
		w.Expect(w.offers()).To(Equal("mcp_a_third"))
		w.Expect(w.ready()).To(Equal("False PublishFailed"))
		w.Expect(w.get().Status.Catalog.Digest).To(Equal(string(w.document().Digest)))
	})
}

// A catalog that is lost and may not be put back does not stay published, and nothing is called Ready meanwhile.
func TestRefusalToPutBackWhatIsLost(t *testing.T) {
	for loss, loses := range map[string]func(w *world){
		"deleted": losses["itself"],
		"damaged": func(w *world) {
			object := w.configMap()
			object.Data["catalog.json"] = "{"
			w.Expect(w.api.Update(w.t.Context(), object)).To(Succeed())
		},
	} {
		inBubble(t, loss, func(t *testing.T) {
			w := newWorld(t, agent().Obj(), declared("a").Obj())
			w.up("a", "x")
			w.pass()
			loses(w)
			w.storeErrors = []error{forbidden()}
			w.pass()
			w.Expect(w.ready()).To(Equal("False PublishFailed"))
			w.Expect(meta.FindStatusCondition(w.get().Status.Conditions, v1alpha1.ConditionCatalogPublished).Message).
				NotTo(ContainSubstring("stays published"))
			w.advance(configmap.RetryInterval)
			w.Expect(w.offers()).To(Equal("mcp_a_x"))
			w.Expect(w.ready()).To(Equal("True AllServersAvailable"))
		})
	}
}
