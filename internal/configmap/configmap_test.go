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

// storeOver is a Store over a fake API server that answers to the next write, or deletion, with an error.
func storeOver(t *testing.T, answer error, objects ...client.Object) *Store {
	t.Helper()
	scheme := runtime.NewScheme()
	NewWithT(t).Expect(clientgoscheme.AddToScheme(scheme)).To(Succeed())
	NewWithT(t).Expect(v1alpha1.AddToScheme(scheme)).To(Succeed())
	api := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
	return &Store{Live: api, Client: interceptor.NewClient(api, interceptor.Funcs{
		Apply: func(
			ctx context.Context, c client.WithWatch, object runtime.ApplyConfiguration, options ...client.ApplyOption,
		) error {
			if answer != nil {
				return answer
			}
			return c.Apply(ctx, object, options...)
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

func content(value, replaces string) *Content {
	return &Content{
		NamespacedName: tools, Owner: fs, Replaces: replaces,
		Labels: map[string]string{"app": "test"}, Annotations: map[string]string{"era": "modern"},
		Encoded: catalog.Encoded{Data: map[string]string{"tools.json": value}},
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

func TestApply(t *testing.T) {
	g := NewWithT(t)
	store := storeOver(t, nil)
	version, err := store.Apply(t.Context(), content("1", ""))
	g.Expect(err).NotTo(HaveOccurred())
	object := store.find(t)
	g.Expect(object.ResourceVersion).To(Equal(version))
	g.Expect(object.Data).To(Equal(map[string]string{"tools.json": "1"}))
	g.Expect(object.Labels).To(Equal(map[string]string{"app": "test"}))
	g.Expect(object.Annotations).To(Equal(map[string]string{"era": "modern"}))
	g.Expect(fs.Owns(object)).To(BeTrue())
	g.Expect(metav1.GetControllerOf(object)).To(HaveField("UID", fs.UID))

	next, err := store.Apply(t.Context(), content("2", version))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(next).NotTo(Equal(version))
	_, err = store.Apply(t.Context(), content("3", version))
	g.Expect(err).To(MatchError(ErrSuperseded), "it is another version now")
	g.Expect(store.find(t).Data).To(Equal(map[string]string{"tools.json": "2"}))
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
func TestWhichAnswersRefuseToStore(t *testing.T) {
	itself := errors.New("the answer")
	things := schema.GroupResource{Resource: "things"}
	ending := apierrors.NewForbidden(things, "fs", errUnwell)
	ending.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	for name, c := range map[string]struct {
		err  error
		want error // nil: a RefusedError; itself: the answer
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
				_, err := storeOver(t, c.err).Apply(t.Context(), content("1", ""))
				var refused *RefusedError
				if errors.As(err, &refused); c.want != nil {
					g.Expect(refused.Stands(time.Now())).To(BeFalse())
					if errors.Is(c.want, itself) {
						c.want = c.err
					}
					g.Expect(err).To(MatchError(c.want))
					return
				}
				g.Expect(refused).NotTo(BeNil())
				g.Expect(err).To(MatchError(c.err))
				g.Expect(err.Error()).To(Equal(`the API server refused to store ConfigMap "fs-mcp-tools" (` + c.err.Error() +
					`); change what it goes by, such as a quota, an admission policy or the manager's role; ` +
					`it is tried again every minute`))
				g.Expect(refused.Stands(time.Now().Add(time.Minute - 1))).To(BeTrue())
				g.Expect(refused.Stands(time.Now().Add(time.Minute))).To(BeFalse())
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
			NewWithT(t).Expect(store.Remove(t.Context(), tools, owner, &v1alpha1.MCPServer{})).To(Succeed())
			NewWithT(t).Expect(store.find(t) == nil).To(Equal(c.gone))
		})
	}
	t.Run("there is none", func(t *testing.T) {
		NewWithT(t).Expect(storeOver(t, nil).Remove(t.Context(), tools, fs, &v1alpha1.MCPServer{})).To(Succeed())
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
			err := store.Remove(t.Context(), tools, fs, &v1alpha1.MCPServer{})
			if c.want == nil {
				NewWithT(t).Expect(err).NotTo(HaveOccurred())
			} else {
				NewWithT(t).Expect(err).To(MatchError(c.want))
			}
		})
	}
}
