package refs

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mooring-dev/mooring/internal/secret"
)

// ReadKeys returns the values under several keys of the object that ref names, in their order and of one and the same
// version of it (a certificate and its key belong together), and that version: UID and resource version, as
// UID/version. Whatever the kind, they come as values that do not print: what people put into a ConfigMap is not ours
// to judge. ref's own key is not used.
//
// A NotFoundError, KeyNotFoundError or AccessDeniedError says what a person can do about it; any other error is the
// API server's.
func (t *Tracker) ReadKeys(
	ctx context.Context, ref Ref, keys ...string,
) (values []secret.Value, version string, err error) {
	watch, round, denied := t.standing(ref.scope())
	if denied {
		return nil, "", t.accessDenied(ref.scope())
	}
	data, version, err := t.get(ctx, ref)
	switch {
	case apierrors.IsNotFound(err):
		return nil, "", NotFoundError{Kind: ref.Kind, Namespace: ref.Namespace, Name: ref.Name}
	case apierrors.IsForbidden(err):
		if watch != nil {
			watch.refuse(round)
		}
		return nil, "", t.accessDenied(ref.scope())
	case err != nil:
		return nil, "", fmt.Errorf("get %s %q in namespace %q: %w", ref.Kind, ref.Name, ref.Namespace, err)
	}
	values = make([]secret.Value, 0, len(keys))
	for _, key := range keys {
		value, ok := data[key]
		if !ok {
			return nil, "", KeyNotFoundError{Kind: ref.Kind, Namespace: ref.Namespace, Name: ref.Name, Key: key}
		}
		values = append(values, secret.New(value))
	}
	return values, version, nil
}

// get reads the whole object. A ConfigMap's binaryData counts as data; the API keeps their keys apart.
func (t *Tracker) get(ctx context.Context, ref Ref) (data map[string]string, version string, err error) {
	data = map[string]string{}
	if ref.Kind == Secret {
		object, err := t.kube.CoreV1().Secrets(ref.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
		if err != nil {
			return nil, "", err
		}
		for key, value := range object.Data {
			data[key] = string(value)
		}
		return data, identityOf(object), nil
	}
	object, err := t.kube.CoreV1().ConfigMaps(ref.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
	if err != nil {
		return nil, "", err
	}
	for key, value := range object.BinaryData {
		data[key] = string(value)
	}
	for key, value := range object.Data {
		data[key] = value
	}
	return data, identityOf(object), nil
}

func identityOf(object metav1.Object) string {
	return string(object.GetUID()) + "/" + object.GetResourceVersion()
}

func (t *Tracker) accessDenied(s scope) error {
	return AccessDeniedError{Kind: s.kind, Namespace: s.namespace, Grant: GrantCommand(t.identity, s.namespace)}
}
