package configmap

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/catalog"
)

var kind = Kind{
	Name: "MCPServer", Suffix: "-mcp-tools",
	Component: v1alpha1.ComponentServerCatalog, OwnerLabel: v1alpha1.LabelServer,
}

// pass is what one pass over an object does with its ConfigMap.
type pass struct {
	*WithT
	t       *testing.T
	store   *Store
	place   *Place
	owned   Owned[string]
	decoded int
}

func passes(t *testing.T, store *Store) *pass {
	owner := tools
	owner.Name = fs.Name
	return &pass{WithT: NewWithT(t), t: t, store: store, place: kind.Place(owner, fs.UID), owned: NewOwned[string]()}
}

func (p *pass) read(expected bool) Found[string] {
	p.t.Helper()
	found, err := p.owned.Read(p.t.Context(), p.store, p.place, expected, func(object *corev1.ConfigMap) string {
		p.decoded++
		return object.Data["tools.json"]
	})
	p.Expect(err).NotTo(HaveOccurred())
	return found
}

func (p *pass) write(value string, found *Found[string], urgent bool) (time.Duration, error) {
	content := &Content{Place: *p.place, Encoded: catalog.Encoded{Data: map[string]string{"tools.json": value}}}
	return p.owned.Write(p.t.Context(), p.store, content, found, value, urgent)
}

func TestPlace(t *testing.T) {
	g := NewWithT(t)
	place := passes(t, nil).place
	g.Expect(place.NamespacedName).To(Equal(tools))
	g.Expect(place.Owner).To(Equal(fs))
	g.Expect(place.Labels).To(Equal(map[string]string{
		v1alpha1.LabelManagedBy: v1alpha1.LabelManagedByValue, v1alpha1.LabelServer: "fs",
		v1alpha1.LabelComponent: v1alpha1.ComponentServerCatalog,
	}))
}

// Each version is decoded once, and one that was written by us not at all.
func TestEachVersionIsDecodedOnce(t *testing.T) {
	p := passes(t, storeOver(t, nil))
	found := p.read(false)
	p.Expect(found.Version).To(BeEmpty())
	wait, err := p.write("1", &found, true)
	p.Expect(err).NotTo(HaveOccurred())
	p.Expect(wait).To(BeZero())
	p.Expect(found.Document).To(Equal("1"))
	for range 2 {
		again := p.read(false)
		p.Expect(again.Document).To(Equal("1"))
		p.Expect(again.Version).To(Equal(found.Version))
		p.Expect(again.Labelled()).To(BeTrue())
	}
	p.Expect(p.decoded).To(BeZero())
	object := p.store.find(t)
	object.Data["tools.json"] = "theirs"
	p.Expect(p.store.Client.Update(t.Context(), object)).To(Succeed())
	p.Expect(p.read(false).Document).To(Equal("theirs"))
	p.Expect(p.read(false).Document).To(Equal("theirs"))
	p.Expect(p.decoded).To(Equal(1))
}

// What is as it is to be costs neither a write nor a token, and the budget is for what is not urgent.
func TestWritesAreBudgeted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := passes(t, storeOver(t, nil))
		found := p.read(false)
		for _, value := range []string{"1", "2", "2", "2", "3"} {
			wait, err := p.write(value, &found, value == "1")
			p.Expect(err).NotTo(HaveOccurred())
			p.Expect(wait).To(BeZero(), value)
			found = p.read(false)
		}
		wait, err := p.write("4", &found, false)
		p.Expect(err).NotTo(HaveOccurred())
		p.Expect(wait).To(Equal(RefillInterval))
		p.Expect(p.store.find(t).Data).To(HaveKeyWithValue("tools.json", "3"))
		_, err = p.write("5", &found, true)
		p.Expect(err).NotTo(HaveOccurred())
		p.Expect(p.store.find(t).Data).To(HaveKeyWithValue("tools.json", "5"))
		time.Sleep(RefillInterval)
		found = p.read(false)
		wait, err = p.write("6", &found, false)
		p.Expect(err).NotTo(HaveOccurred())
		p.Expect(wait).To(BeZero())
	})
}

// What the API server rejected is not sent again for a minute, unless somebody asks for it; what waits for its turn
// after that is told as rejected, too.
func TestRejectionIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sent, full := 0, true
		store := storeOver(t, nil)
		store.Client = interceptor.NewClient(store.Client.(client.WithWatch), interceptor.Funcs{Create: func(
			ctx context.Context, c client.WithWatch, object client.Object, options ...client.CreateOption,
		) error {
			if sent++; full {
				return apierrors.NewForbidden(corev1.Resource("configmaps"), object.GetName(), errors.New("quota"))
			}
			return c.Create(ctx, object, options...)
		}})
		p := passes(t, store)
		found := p.read(false)
		var rejected *WriteRejected
		for range 3 {
			_, err := p.write("1", &found, true)
			p.Expect(errors.As(err, &rejected)).To(BeTrue())
		}
		p.Expect(sent).To(Equal(1))
		for range WriteBurst {
			_, err := p.write("1", &found, false)
			p.Expect(err).To(MatchError(rejected))
			p.owned.budget.Draw(time.Now())
		}
		wait, err := p.write("2", &found, false)
		p.Expect(wait).To(Equal(RefillInterval))
		p.Expect(err).To(MatchError(rejected))
		full = false
		p.owned.Retry()
		p.Expect(p.owned.Rejection()).NotTo(HaveOccurred())
		_, err = p.write("1", &found, true)
		p.Expect(err).NotTo(HaveOccurred())
		p.Expect(sent).To(Equal(2))
	})
}

// The cache does not hold what lacks our label: where one is expected, or a write met one, the API server is asked.
func TestWhoseItIsIsAskedOfTheAPIServer(t *testing.T) {
	theirs := owned("apps/v1", "Deployment", "fs", "d")
	store := storeOver(t, nil, theirs)
	cached := storeOver(t, apierrors.NewAlreadyExists(corev1.Resource("configmaps"), tools.Name))
	p := passes(t, &Store{Client: cached.Client, Live: store.Live})
	p.Expect(p.read(true).Foreign).To(BeTrue())

	p = passes(t, &Store{Client: cached.Client, Live: store.Live})
	found := p.read(false)
	p.Expect(found.Object).To(BeNil())
	_, err := p.write("1", &found, true)
	p.Expect(err).To(MatchError(ErrTaken))
	found = p.read(false)
	p.Expect(found.Foreign).To(BeTrue())
	p.Expect(found.Document).To(BeEmpty())
	p.Expect(p.decoded).To(BeZero())
	p.Expect(store.Client.Delete(t.Context(), theirs)).To(Succeed())
	p.Expect(p.read(false).Foreign).To(BeFalse())
}
