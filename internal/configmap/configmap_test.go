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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/catalog"
)

var (
	errUnwell = errors.New("the API server is not well")
	tools     = types.NamespacedName{Namespace: "agents", Name: "fs-mcp-tools"}
	fs        = Owner{Kind: "MCPServer", Name: "fs", UID: "uid-fs"}
)

// storeOver is a Store over a fake API server that answers to what creates or deletes with an error, unless it is nil.
func storeOver(t *testing.T, answer error, objects ...client.Object) *Store {
	t.Helper()
	scheme := runtime.NewScheme()
	NewWithT(t).Expect(clientgoscheme.AddToScheme(scheme)).To(Succeed())
	NewWithT(t).Expect(v1alpha1.AddToScheme(scheme)).To(Succeed())
	api := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
	return &Store{Live: api, Client: interceptor.NewClient(api, interceptor.Funcs{
		Create: func(
			ctx context.Context, c client.WithWatch, object client.Object, options ...client.CreateOption,
		) error {
			if answer != nil {
				return answer
			}
			return c.Create(ctx, object, options...)
		},
		Delete: func(
			ctx context.Context, c client.WithWatch, object client.Object, options ...client.DeleteOption,
		) error {
			if answer != nil {
				return answer
			}
			return c.Delete(ctx, object, options...)
		},
	})}
}

// find reads the ConfigMap; nil when there is none.
func (s *Store) find(t *testing.T) *corev1.ConfigMap {
	t.Helper()
	object := &corev1.ConfigMap{}
	err := s.Live.Get(t.Context(), tools, object)
	if apierrors.IsNotFound(err) {
		return nil
	}
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return object
}

func content(value string) *Content {
	return &Content{
		Place:       Place{NamespacedName: tools, Owner: fs, Labels: map[string]string{"app": "test"}},
		Annotations: map[string]string{"era": "modern"},
		Encoded:     catalog.Encoded{Data: map[string]string{"tools.json": value}},
	}
}

// owned is a ConfigMap with a controller reference.
func owned(apiVersion, kind, name string, uid types.UID) *corev1.ConfigMap {
	yes := true
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: tools.Namespace, Name: tools.Name,
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: apiVersion, Kind: kind, Name: name, UID: uid, Controller: &yes,
		}},
	}}
}

func TestWrite(t *testing.T) {
	g := NewWithT(t)
	store := storeOver(t, nil)
	version, err := store.Write(t.Context(), content("1"), nil)
	g.Expect(err).NotTo(HaveOccurred())
	object := store.find(t)
	g.Expect(object.ResourceVersion).To(Equal(version))
	g.Expect(object.Data).To(Equal(map[string]string{"tools.json": "1"}))
	g.Expect(object.Labels).To(Equal(map[string]string{"app": "test"}))
	g.Expect(object.Annotations).To(Equal(map[string]string{"era": "modern"}))
	g.Expect(content("1").Matches(object)).To(BeTrue())
	g.Expect(content("2").Matches(object)).To(BeFalse())

	next, err := store.Write(t.Context(), content("2"), object)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(next).NotTo(Equal(version))
	_, err = store.Write(t.Context(), content("3"), object)
	g.Expect(err).To(MatchError(ErrSuperseded), "it is another version now")
	_, err = store.Write(t.Context(), content("3"), nil)
	g.Expect(err).To(MatchError(ErrSuperseded), "it exists")
	latest := store.find(t)
	g.Expect(latest.Data).To(Equal(map[string]string{"tools.json": "2"}))
	g.Expect(store.Client.Delete(t.Context(), latest)).To(Succeed())
	_, err = store.Write(t.Context(), content("3"), latest)
	g.Expect(err).To(MatchError(ErrSuperseded), "it is gone")
}

// Data is replaced whole, whoever put it there; what others keep in the metadata stays.
func TestWriteReplacesAllDataAndKeepsForeignMetadata(t *testing.T) {
	g := NewWithT(t)
	stale := owned("mooring.dev/v1alpha1", "MCPServer", "fs", "uid-former")
	stale.Data = map[string]string{"tools.json": "old", "stray": "x"}
	stale.BinaryData = map[string][]byte{"tools.json.gz": {1}}
	stale.Labels = map[string]string{"theirs": "1", "app": "other"}
	stale.Annotations = map[string]string{"theirs": "1", "era": "legacy", "gone": "x"}
	stale.Finalizers = []string{"example.com/theirs"}
	theirs := metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: "p", UID: "uid-p"}
	stale.OwnerReferences = append(stale.OwnerReferences, theirs)
	store := storeOver(t, nil, stale)
	wanted := content("new")
	wanted.Annotations["gone"] = ""
	_, err := store.Write(t.Context(), wanted, store.find(t))
	g.Expect(err).NotTo(HaveOccurred())
	object := store.find(t)
	g.Expect(object.Data).To(Equal(map[string]string{"tools.json": "new"}))
	g.Expect(object.BinaryData).To(BeEmpty())
	g.Expect(object.Labels).To(Equal(map[string]string{"theirs": "1", "app": "test"}))
	g.Expect(object.Annotations).To(Equal(map[string]string{"theirs": "1", "era": "modern"}))
	g.Expect(object.Finalizers).To(Equal([]string{"example.com/theirs"}))
	g.Expect(object.OwnerReferences).To(ConsistOf(theirs, HaveField("UID", fs.UID)))
	g.Expect(wanted.Matches(object)).To(BeTrue())
}

// What does not match: other data, a former owner, a label or an annotation that is missing or other.
func TestStands(t *testing.T) {
	for name, damage := range map[string]func(object *corev1.ConfigMap){
		"data":                 func(o *corev1.ConfigMap) { o.Data["stray"] = "x" },
		"a label":              func(o *corev1.ConfigMap) { delete(o.Labels, "app") },
		"an annotation":        func(o *corev1.ConfigMap) { o.Annotations["era"] = "legacy" },
		"one that is unwanted": func(o *corev1.ConfigMap) { o.Annotations["gone"] = "x" },
		"a former owner":       func(o *corev1.ConfigMap) { o.OwnerReferences[0].UID = "uid-former" },
		"no owner":             func(o *corev1.ConfigMap) { o.OwnerReferences = nil },
	} {
		t.Run(name, func(t *testing.T) {
			wanted := content("1")
			wanted.Annotations["gone"] = ""
			object := wanted.over(nil).DeepCopy()
			NewWithT(t).Expect(wanted.Matches(object)).To(BeTrue())
			damage(object)
			NewWithT(t).Expect(wanted.Matches(object)).To(BeFalse())
		})
	}
}

// Of several writers of a ConfigMap, we are told by name.
func TestWrittenAt(t *testing.T) {
	at := func(hour int) metav1.Time { return metav1.NewTime(time.Date(2026, 1, 1, hour, 0, 0, 0, time.UTC)) }
	wrote := func(manager string, hour int) metav1.ManagedFieldsEntry {
		then := at(hour)
		return metav1.ManagedFieldsEntry{Manager: manager, Time: &then}
	}
	for name, c := range map[string]struct {
		fields []metav1.ManagedFieldsEntry
		want   int
	}{
		"nobody told":             {nil, 1},
		"we did":                  {[]metav1.ManagedFieldsEntry{wrote("mooring", 5)}, 5},
		"somebody else did later": {[]metav1.ManagedFieldsEntry{wrote("mooring", 5), wrote("kubectl", 7)}, 5},
		"without a time":          {[]metav1.ManagedFieldsEntry{{Manager: "mooring"}}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: at(1), ManagedFields: c.fields}}
			NewWithT(t).Expect(WrittenAt(object)).To(Equal(at(c.want).Time))
		})
	}
}

// Only an answer that will not change by itself is one that people must act on.
func TestWhichAnswersRejectAWrite(t *testing.T) {
	itself := errors.New("the answer")
	things := schema.GroupResource{Resource: "things"}
	ending := apierrors.NewForbidden(things, "fs", errUnwell)
	ending.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	for name, c := range map[string]struct {
		err  error
		want error // nil: a WriteRejected; itself: the answer
	}{
		"quota":                {apierrors.NewForbidden(things, "fs", errors.New("exceeded quota: few")), nil},
		"invalid":              {apierrors.NewInvalid(schema.GroupKind{}, "fs", nil), nil},
		"too large":            {apierrors.NewRequestEntityTooLargeError("etcd"), nil},
		"policy":               {apierrors.NewBadRequest("denied the request"), nil},
		"conflict":             {apierrors.NewConflict(things, "fs", errUnwell), ErrSuperseded},
		"namespace is deleted": {ending, ErrEnding},
		"our token":            {apierrors.NewUnauthorized("expired"), itself},
		"no namespace":         {apierrors.NewNotFound(things, "agents"), itself},
		"too fast":             {apierrors.NewTooManyRequests("slow", 1), itself},
		"internal error":       {apierrors.NewInternalError(errUnwell), itself},
		"no answer":            {errUnwell, itself},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := NewWithT(t)
				_, err := storeOver(t, c.err).Write(t.Context(), content("1"), nil)
				var rejected *WriteRejected
				if errors.As(err, &rejected); c.want != nil {
					g.Expect(rejected.Applies(time.Now(), content("1").Encoded, nil)).To(BeFalse())
					if errors.Is(c.want, itself) {
						c.want = c.err
					}
					g.Expect(err).To(MatchError(c.want))
					return
				}
				g.Expect(rejected).NotTo(BeNil())
				g.Expect(err).To(MatchError(c.err))
				g.Expect(err.Error()).To(Equal(`the API server refused to store ConfigMap "fs-mcp-tools" (` + c.err.Error() +
					`); change what it goes by, such as a quota, an admission policy or the manager's role; ` +
					`it is tried again every minute`))
				applies := func(after time.Duration, value string, before *corev1.ConfigMap) bool {
					return rejected.Applies(time.Now().Add(after), content(value).Encoded, before)
				}
				g.Expect(applies(time.Minute-1, "1", nil)).To(BeTrue())
				g.Expect(applies(time.Minute, "1", nil)).To(BeFalse())
				g.Expect(applies(0, "2", nil)).To(BeFalse(), "other content")
				other := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "7"}}
				g.Expect(applies(0, "1", other)).To(BeFalse(), "in the place of another one")
			})
		})
	}
}

// Only what belonged to the owner that is gone goes with it.
func TestRemove(t *testing.T) {
	const ours, later = "mooring.dev/v1alpha1", "mooring.dev/v1"
	nobodys := owned("", "", "", "")
	nobodys.OwnerReferences = nil
	for name, c := range map[string]struct {
		stored *corev1.ConfigMap
		uid    types.UID
		there  bool // an owner of the name
		gone   bool
	}{
		"the owner's":                       {stored: owned(ours, "MCPServer", "fs", "uid-fs"), uid: "uid-fs", gone: true},
		"of a later API version":            {stored: owned(later, "MCPServer", "fs", "uid-fs"), uid: "uid-fs", gone: true},
		"its successor's":                   {stored: owned(ours, "MCPServer", "fs", "uid-2"), uid: "uid-fs"},
		"another one's":                     {stored: owned(ours, "MCPServer", "db", "uid-fs"), uid: "uid-fs"},
		"of another kind":                   {stored: owned(ours, "AgentSession", "fs", "uid-fs"), uid: "uid-fs"},
		"of another group":                  {stored: owned("example.com/v1", "MCPServer", "fs", "uid-fs"), uid: "uid-fs"},
		"of no group":                       {stored: owned("a/b/c", "MCPServer", "fs", "uid-fs"), uid: "uid-fs"},
		"nobody's":                          {stored: nobodys, uid: "uid-fs"},
		"unknown, and really gone":          {stored: owned(ours, "MCPServer", "fs", "uid-fs"), gone: true},
		"unknown, and declared again since": {stored: owned(ours, "MCPServer", "fs", "uid-fs"), there: true},
	} {
		t.Run(name, func(t *testing.T) {
			objects := []client.Object{c.stored}
			if c.there {
				objects = append(objects, &v1alpha1.MCPServer{ObjectMeta: metav1.ObjectMeta{
					Namespace: tools.Namespace, Name: fs.Name,
				}})
			}
			store := storeOver(t, nil, objects...)
			owner := Owner{Kind: fs.Kind, Name: fs.Name, UID: c.uid}
			at := &Place{NamespacedName: tools, Owner: owner}
			NewWithT(t).Expect(store.Remove(t.Context(), at, &v1alpha1.MCPServer{})).To(Succeed())
			NewWithT(t).Expect(store.find(t) == nil).To(Equal(c.gone))
		})
	}
	t.Run("there is none", func(t *testing.T) {
		at := &Place{NamespacedName: tools, Owner: fs}
		NewWithT(t).Expect(storeOver(t, nil).Remove(t.Context(), at, &v1alpha1.MCPServer{})).To(Succeed())
	})
}

func TestRemovalThatFails(t *testing.T) {
	things := schema.GroupResource{Resource: "configmaps"}
	for name, c := range map[string]struct {
		answer error
		want   error
	}{
		"changed meanwhile": {answer: apierrors.NewConflict(things, "fs", errUnwell)},
		"gone meanwhile":    {answer: apierrors.NewNotFound(things, "fs")},
		"unwell":            {answer: errUnwell, want: errUnwell},
	} {
		t.Run(name, func(t *testing.T) {
			store := storeOver(t, c.answer, owned("mooring.dev/v1alpha1", "MCPServer", "fs", "uid-fs"))
			err := store.Remove(t.Context(), &Place{NamespacedName: tools, Owner: fs}, &v1alpha1.MCPServer{})
			if c.want == nil {
				NewWithT(t).Expect(err).NotTo(HaveOccurred())
			} else {
				NewWithT(t).Expect(err).To(MatchError(c.want))
			}
		})
	}
}
