package mcpserver

import (
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/catalog"
	"github.com/mooring-dev/mooring/internal/configmap"
	"github.com/mooring-dev/mooring/internal/failure"
	"github.com/mooring-dev/mooring/internal/session"
)

const day = 24 * time.Hour

// listed is lists with the time at which the server answered.
func listed(tools ...string) session.Snapshot {
	snapshot := lists(tools...)
	snapshot.ListedAt = time.Now()
	return snapshot
}

// confirmedAt is when status says that the server last listed its tools.
func (w *world) confirmedAt() time.Time {
	w.t.Helper()
	w.Expect(w.get().Status.Catalog.ConfirmedAt).NotTo(BeNil())
	return w.get().Status.Catalog.ConfirmedAt.Time
}

// A server that gives the same list every ten minutes costs one status write a day, and no write of its ConfigMap.
func TestConfirmationIsWrittenOnceADay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, declared().Obj())
		begun := time.Now()
		w.Expect(w.settle(listed("a")).RequeueAfter).To(Equal(day))
		w.Expect(w.confirmedAt()).To(BeTemporally("==", begun))
		w.statusWrites, w.stores = 0, 0
		for range 10 * 24 * 6 { // ten days
			time.Sleep(10 * time.Minute)
			w.sessions.Set(testKey, listed("a"))
			w.Expect(w.pass().RequeueAfter).To(BeNumerically(">=", time.Hour))
		}
		w.Expect([]int{w.statusWrites, w.stores}).To(Equal([]int{10, 0}))
		w.Expect(w.confirmedAt()).To(BeTemporally("==", begun.Add(10*day)))

		time.Sleep(time.Hour)
		changed := time.Now()
		w.settle(listed("a", "b"))
		w.Expect(w.confirmedAt()).To(BeTemporally("==", changed), "another list is another confirmation")

		time.Sleep(2 * day)
		stale := listed("a", "b")
		stale.ListedAt = changed
		stale.ListFault = &session.Fault{Failure: failure.Failure{Class: failure.Server, Reason: failure.ServerError}}
		w.Expect(w.settle(stale).RequeueAfter).To(Equal(time.Hour), "it may be listed soon")
		w.Expect(w.confirmedAt()).To(BeTemporally("==", changed), "a list that failed confirms nothing")
	})
}

// 30 days after a server last listed its stored tools they are no longer in the catalog store in its absence, as status
// says;
// when it is back they are, without a write of the ConfigMap.
func TestStoredCatalogExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, declared().Obj())
		w.settle(listed("a"))
		time.Sleep(10 * time.Hour)
		w.restart()
		w.Expect(w.settle(down()).RequeueAfter).To(Equal(30*day - 10*time.Hour))
		w.stores = 0

		time.Sleep(30*day - 10*time.Hour - time.Second)
		w.pass()
		w.Expect(w.offered()).To(Equal("a"))
		w.Expect(standing(w.get())[v1alpha1.ConditionCatalogPublished]).To(Equal("True Published"))

		time.Sleep(time.Second)
		w.Expect(w.pass().RequeueAfter).To(BeZero())
		w.Expect(w.offered()).To(Equal("nothing stored"))
		w.Expect(standing(w.get())[v1alpha1.ConditionCatalogPublished]).To(Equal("Unknown AwaitingConnection"))
		w.Expect(message(w.get(), v1alpha1.ConditionCatalogPublished)).To(Equal("the tools are listed once the server is " +
			"connected; those that are stored are offered to no new AgentSession, because the server has not listed them " +
			"for 30 days"))
		w.Expect(w.published()).To(Equal([]string{"a"}), "what is stored stays")
		writes := w.statusWrites
		time.Sleep(day)
		w.pass()
		w.Expect(w.statusWrites).To(Equal(writes))

		w.restart()
		w.settle(down())
		w.Expect(w.offered()).To(Equal("nothing stored"))
		connecting := session.Snapshot{State: session.Connected, Settled: true, ListFault: &session.Fault{
			Failure: failure.Failure{Class: failure.Server, Reason: failure.ServerError},
		}}
		w.settle(connecting)
		w.Expect(w.offered()).To(Equal("nothing stored"), "connected is not listed")
		w.Expect(standing(w.get())[v1alpha1.ConditionCatalogPublished]).To(Equal("False ListToolsFailed"))
		w.Expect(message(w.get(), v1alpha1.ConditionCatalogPublished)).To(HaveSuffix(
			"; those that are stored are offered to no new AgentSession, because the server has not listed them for 30 days"))

		back := time.Now()
		w.settle(listed("a"))
		w.Expect(w.offered()).To(Equal("a"))
		w.Expect(standing(w.get())[v1alpha1.ConditionCatalogPublished]).To(Equal("True Published"))
		w.Expect(w.confirmedAt()).To(BeTemporally("==", back))
		w.Expect(w.stores).To(Equal(0))
	})
}

// What the process itself listed expires like what it found: a restart does not decide what agents are offered. While a
// server is connected its tools stay, however long its lists fail.
func TestOwnListExpiresToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, declared().Obj())
		snapshot := listed("a")
		w.settle(snapshot)
		time.Sleep(30 * day)
		snapshot.ListFault = &session.Fault{Failure: failure.Failure{Class: failure.Server, Reason: failure.ServerError}}
		w.settle(snapshot)
		w.Expect(w.offered()).To(Equal("a"))
		snapshot.State, snapshot.Fault = session.Waiting, snapshot.ListFault
		w.settle(snapshot)
		w.Expect(w.offered()).To(Equal("nothing stored"))
	})
}

// Where status does not tell when the stored catalog was confirmed, it was when it was written.
func TestConfirmedWhenWritten(t *testing.T) {
	at := func(days int) metav1.Time { return metav1.NewTime(time.Unix(0, 0).Add(time.Duration(days) * day)) }
	document := &catalog.ServerDocument{ConfigHash: "hash", Catalog: catalog.Parse(nil)}
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		CreationTimestamp: at(1),
		ManagedFields: []metav1.ManagedFieldsEntry{
			{Manager: "mooring", Time: ptr.To(at(2))}, {Manager: "kubectl", Time: ptr.To(at(3))}, {Manager: "mooring"},
		},
	}}
	found := storedCatalog{configmap.Found[contents]{Document: contents{document: document}, Object: object}}
	written := storedCatalog{configmap.Found[contents]{Document: found.Document}}
	told := v1alpha1.CatalogStatus{
		ConfigHash: "hash", Digest: string(document.Catalog.Digest), ConfirmedAt: ptr.To(at(4)),
	}
	otherHash, otherDigest, silent := told, told, told
	otherHash.ConfigHash, otherDigest.Digest, silent.ConfirmedAt = "x", "x", nil
	for name, c := range map[string]struct {
		stored storedCatalog
		status *v1alpha1.CatalogStatus
		want   time.Time
	}{
		"told":                 {found, &told, at(4).Time},
		"told of another hash": {found, &otherHash, at(2).Time},
		"told of another list": {found, &otherDigest, at(2).Time},
		"not told":             {found, &silent, at(2).Time},
		"no status":            {found, nil, at(2).Time},
		"written in this pass": {written, nil, time.Time{}},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(c.stored.confirmed(c.status)).To(BeTemporally("==", c.want))
		})
	}
}
