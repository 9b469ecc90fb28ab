package refs

import "fmt"

// NotFoundError says that a Secret or ConfigMap does not exist. Its owner is woken when it does.
type NotFoundError struct {
	Kind      Kind
	Namespace string
	Name      string
}

func (e NotFoundError) Error() string {
	return fmt.Sprintf("%s %q not found in namespace %q", e.Kind, e.Name, e.Namespace)
}

// KeyNotFoundError says that a Secret or ConfigMap exists without this key. Its owner is woken when it changes.
type KeyNotFoundError struct {
	Kind      Kind
	Namespace string
	Name      string
	Key       string
}

func (e KeyNotFoundError) Error() string {
	return fmt.Sprintf("%s %q in namespace %q has no key %q", e.Kind, e.Name, e.Namespace, e.Key)
}

// AccessDeniedError says that this process may not get, list and watch the kind in the namespace. Its owner is woken
// when that changes.
type AccessDeniedError struct {
	Kind      Kind
	Namespace string
	// Grant is the kubectl command that gives the permission.
	Grant string
}

func (e AccessDeniedError) Error() string {
	return fmt.Sprintf("not permitted to read %s in namespace %q; an administrator can permit it by: %s",
		e.Kind.resource(), e.Namespace, e.Grant)
}
