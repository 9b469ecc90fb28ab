package controllers

import (
	"context"
	"net/http"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"

	"github.com/mooring-dev/mooring/api/v1alpha1"
)

// The cache holds no ConfigMap that is not ours, however many a cluster has, and no namespace that was not named.
func TestCacheOptions(t *testing.T) {
	g := NewWithT(t)
	all := CacheOptions(nil)
	g.Expect(all.DefaultNamespaces).To(BeNil())
	g.Expect(all.ByObject).To(HaveLen(1))
	for object, by := range all.ByObject {
		g.Expect(object).To(BeAssignableToTypeOf(&corev1.ConfigMap{}))
		g.Expect(by.Label.Matches(labels.Set{v1alpha1.LabelManagedBy: "mooring"})).To(BeTrue())
		g.Expect(by.Label.Matches(labels.Set{v1alpha1.LabelManagedBy: "helm"})).To(BeFalse())
		g.Expect(by.Label.Matches(labels.Set{})).To(BeFalse())
	}
	g.Expect(CacheOptions([]string{"a", "b"}).DefaultNamespaces).To(Equal(map[string]cache.Config{"a": {}, "b": {}}))
}

func TestClientReadsItsOwnWritesWhereThereIsOneCache(t *testing.T) {
	g := NewWithT(t)
	for want, namespaces := range map[bool][][]string{true: {nil, {"a"}}, false: {{"a", "b"}}} {
		for _, named := range namespaces {
			g.Expect(*ClientOptions(named).Cache.EnableReadYourWritesConsistency).To(Equal(want), "%v", named)
		}
	}
}

// caching is a manager of which only the cache matters.
type caching struct {
	ctrl.Manager
	cache cache.Cache
}

func (c caching) GetCache() cache.Cache { return c.cache }

func TestReadyWhenTheCachesAre(t *testing.T) {
	g := NewWithT(t)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "/readyz", nil)
	g.Expect(err).NotTo(HaveOccurred())
	for _, synced := range []bool{true, false} {
		err := CachesSynced(caching{cache: &informertest.FakeInformers{Synced: &synced}})(request)
		if synced {
			g.Expect(err).NotTo(HaveOccurred())
		} else {
			g.Expect(err).To(MatchError("caches are not synced"))
		}
	}
}

// Only the leader holds sessions.
func TestSessionsAreLed(t *testing.T) {
	g := NewWithT(t)
	ran := false
	run := led(func(context.Context) error { ran = true; return nil })
	g.Expect(run.NeedLeaderElection()).To(BeTrue())
	g.Expect(run.Start(t.Context())).To(Succeed())
	g.Expect(ran).To(BeTrue())
}
